"""Runs the test cases that the tensorflow-estimator 2.15.0 wheel itself brings.

The wheel has no tests, but the classes behind its public tests of the canned estimators: each takes
the functions that make what it tests. They are imported, given those functions, and run::

    python -m tests.compat.shipped_cases 2 [--all]   # with the API of TensorFlow 2; results as JSON
    python -m tests.compat.shipped_cases 1 [--all]   # with the API of TensorFlow 1, likewise
    python -m tests.compat.shipped_cases store       # writes tests/compat/shipped_cases.json

Without --all, every sixth test of each class runs: the first, seventh, … with the API of TensorFlow
2, the fourth, tenth, … with that of TensorFlow 1 where there are so many, so that both together run
every third one of what the classes have in common. The stored results are those of all of them on
TensorFlow 2.15.1 with its own tf.estimator, on CPU. TensorFlow 1 needs a process of its own, as
does what the classes set on TensorFlow's modules.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import subprocess
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("shipped_cases.json")
EVERY = 6
_CANNED = "tensorflow_estimator.python.estimator.canned"
_COLUMNS = {
    1: "tensorflow.python.feature_column.feature_column",
    2: "tensorflow.python.feature_column.feature_column_v2",
}
Makers = dict[str, Callable[..., Any]]


def canned(name: str) -> Any:
    return importlib.import_module(f"{_CANNED}.{name}")


def own_makers(version: int) -> Makers:
    """Returns, by the parameter that takes it, what makes DNN and linear estimators."""
    dnn, linear = canned("dnn"), canned("linear")
    suffix = "V2" if version == 2 else ""
    return {
        "dnn_model_fn": dnn.dnn_model_fn_v2 if version == 2 else dnn._dnn_model_fn,
        "dnn_logit_fn_builder": (
            dnn.dnn_logit_fn_builder_v2
            if version == 2
            else lambda **options: dnn.dnn_logit_fn_builder(
                **{"input_layer_partitioner": None, **options}
            )
        ),
        "dnn_classifier_fn": getattr(dnn, f"DNNClassifier{suffix}"),
        "dnn_regressor_fn": getattr(dnn, f"DNNRegressor{suffix}"),
        "linear_classifier_fn": getattr(linear, f"LinearClassifier{suffix}"),
        "linear_regressor_fn": getattr(linear, f"LinearRegressor{suffix}"),
    }


def bound_cases(version: int) -> Iterator[tuple[str, type[unittest.TestCase]]]:
    """Yields a name and a test case for every class that the wheel brings for this API."""
    import tensorflow as tf

    makers = own_makers(version)
    columns = importlib.import_module(_COLUMNS[version])
    suffix = "testing_utils" if version == 2 else "testing_utils_v1"
    for kind in ("dnn", "linear"):
        utilities = canned(f"{'' if version == 2 else 'v1.'}{kind}_{suffix}")
        for name, base in inspect.getmembers(utilities, inspect.isclass):
            if not name.startswith("Base"):
                continue
            parameters = list(inspect.signature(base.__init__).parameters)[1:]
            options = {
                parameter: columns if parameter.startswith("fc_") else makers[parameter.lstrip("_")]
                for parameter in parameters
            }
            yield name, bind(tf.test.TestCase, base, options)


def bind(test_case: type, base: Any, options: dict[str, Any]) -> type[unittest.TestCase]:
    def __init__(self: Any, method: str = "runTest") -> None:  # noqa: N807
        test_case.__init__(self, method)
        base.__init__(self, **options)

    return type(base.__name__, (base, test_case), {"__init__": __init__})


def selected_methods(case: type[unittest.TestCase], version: int, everything: bool) -> list[str]:
    names = unittest.TestLoader().getTestCaseNames(case)
    own = [name for name in names if name != "test_session"]  # that one is TensorFlow's helper
    first = EVERY // 2 if version == 1 and len(own) > EVERY // 2 else 0
    return own if everything else own[first::EVERY]


class Outcomes(unittest.TestResult):
    """Keeps, by the id of a test, how it ended, the error of each failure, and the seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[str, str] = {}
        self.problems: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.group = ""
        self._start = 0.0

    def startTest(self, test: Any) -> None:  # noqa: N802
        super().startTest(test)
        self._start = time.perf_counter()
        self.ends[self._id(test)] = "passed"

    def stopTest(self, test: Any) -> None:  # noqa: N802
        super().stopTest(test)
        self.seconds[self._id(test)] = time.perf_counter() - self._start

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.ends[self._id(test)] = "skipped"

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.ends[self._id(test)] = "failed"
        self.problems[self._id(test)] = self._exc_info_to_string(err, test)  # type: ignore[attr-defined]

    addError = addFailure  # noqa: N815

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.addFailure(test, err)

    def _id(self, test: Any) -> str:
        return f"{self.group}.{test._testMethodName}"


def run(version: int, everything: bool) -> Outcomes:
    """Runs the cases in this process, which is then of no use for anything else."""
    import estimator_io.compat

    estimator_io.compat.install()
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    if version == 1:
        tf.compat.v1.disable_v2_behavior()
    outcomes = Outcomes()
    for name, case in bound_cases(version):
        outcomes.group = f"v{version}.{name}"
        for method in selected_methods(case, version, everything):
            case(method).run(outcomes)
    return outcomes


def differences(found: dict[str, str]) -> dict[str, str]:
    """Returns, by test id, what ended otherwise than stored."""
    stored = json.loads(STORED.read_text())["results"]
    return {
        name: f"stored {stored.get(name)}, found {end}"
        for name, end in found.items()
        if end != stored.get(name)
    }


def store() -> None:
    import tensorflow as tf

    ends: dict[str, str] = {}
    for version in ("1", "2"):
        command = [sys.executable, "-m", __spec__.name, version, "--all"]
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        ends.update(json.loads(found.stdout.splitlines()[-1])["ends"])
    content = {"tensorflow": tf.__version__, "results": dict(sorted(ends.items()))}
    STORED.write_text(json.dumps(content, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", choices=["1", "2", "store"])
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    if arguments.cases == "store":
        store()
        return
    found = run(int(arguments.cases), arguments.all)
    different = differences(found.ends) if STORED.exists() else {}
    facts = {"different": different, "ends": found.ends, "problems": found.problems}
    print(json.dumps({**facts, "seconds": found.seconds}))


if __name__ == "__main__":
    main()
