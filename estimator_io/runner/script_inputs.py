"""The input functions that a program would hand to an Estimator, found by running it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from estimator_io.errors import OptionError
from estimator_io.runner import program
from estimator_io.runner.input_calls import InputCall
from estimator_io.runner.places import error_place, last_line

__all__ = ["script_input_fns"]


def script_input_fns(
    script: str,
    arguments: Sequence[str] = (),
    *,
    is_module: bool = False,
    tf1: bool = False,
    visit: Callable[[InputCall], None] | None = None,
) -> list[InputCall]:
    """Runs a program whose Estimators do nothing, and returns what they were handed.

    The program runs as `__main__`, as with `estimator-io run`: its flags, its files and whatever it
    does beside the Estimator are real, so it should run in a process of its own. train, evaluate,
    predict, train_and_evaluate and the exports do nothing: an evaluation returns NaN for each
    metric, a prediction has no row. Folders that the program would remove stay
    (`shutil.rmtree`, `tf.io.gfile.rmtree`), but for temporary ones that it made.

    Args:
      script: the path of the program, or its import name.
      arguments: what it is given behind its own name.
      is_module: whether `script` is the import name of a module, as with python -m.
      tf1: whether `import tensorflow` in it means TensorFlow 1 (`estimator-io run --tf1`).
      visit: is called with each input_fn at the moment it is handed over, while what the program
        has opened or set up for it is still there.

    Returns:
      One `InputCall` for each mode, name and place in the program, in the order of the calls. A
      program that ends with an error behind its first one gives those before, and a warning.

    Raises:
      OptionError: there is no such program, it hands none to an Estimator, or it raises before.
      CompatibilityError: tf.estimator cannot be provided.

    Example::

      for call in script_input_fns("train.py", ["--batch_size=32"]):
          print(call.name, call.place, call.params)
    """
    from estimator_io import compat
    from estimator_io.runner.interception import Enough, intercepted

    found = None if is_module else program.find_script(script)
    compat.install()
    program_builtins = None
    if tf1:
        from estimator_io.runner.tf1 import activate

        program_builtins = activate(found.folder if found else os.getcwd())
    found = found or program.find_module(script)
    if found.spec is not None:
        program_builtins = getattr(found.spec.loader, "builtins", None)
    calls: list[InputCall] = []

    def take(call: InputCall) -> None:
        calls.append(call)
        if visit is not None:
            visit(call)

    end = ""
    with intercepted(take):
        try:
            program.execute(found, [*arguments], program_builtins)
        except SystemExit as error:
            if error.code not in (None, 0):
                end = f"ended with exit code {error.code!r}"
        except Enough:
            pass  # it goes on for as long as no metric is good enough
        except Exception as error:
            place = error_place(error)
            end = f"raised {last_line(error)}{f' at {place}' if place else ''}"
    _require_calls(script, calls, end)
    return calls


def _require_calls(script: str, calls: list[InputCall], end: str) -> None:
    if calls:
        if end:
            logging.getLogger("estimator_io").warning(
                "%s %s behind the %d. input_fn, which ran nothing here; what it would hand to an"
                " Estimator later is not looked at",
                script,
                end,
                len(calls),
            )
        return
    if end:
        raise OptionError(
            f"{script} {end}, before it handed an input_fn to an Estimator. Mend it, or give it the"
            " arguments it needs: --script SCRIPT -- ARGS."
        )
    raise OptionError(
        f"{script} ran to its end and handed no input_fn to an Estimator. Expected: a program that"
        " calls train, evaluate, predict or train_and_evaluate of tf.estimator with the arguments"
        " it was given."
    )
