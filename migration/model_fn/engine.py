"""The Estimator behind a ModelFnModel: its calls of train, evaluate and predict, step by step."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.compat import estimator_module
from estimator_io.errors import NoDataError, OptionError
from migration.model_fn.checkpoints import adopt, checkpoint_step, copy_checkpoint
from migration.model_fn.feeding import Placeholders
from migration.model_fn.noting import noting
from migration.model_fn.restoring import refused_checkpoint, require_warm_start
from migration.model_fn.stepping import AbandoningHook, Ended, StepHook, SteppedCall

__all__ = ["Engine"]

v1 = tf.compat.v1

InputFunction = Callable[..., Any]


class Engine:
    """Drives an Estimator by steps; knows nothing of Keras.

    Args:
      model_fn: the legacy function.
      params: for the model_fn.
      config: a RunConfig, or None.
      model_dir: instead of the config's.
      warm_start_from: as the Estimator takes it.
      hooks: of every training call.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        *,
        params: Mapping[str, Any] | None,
        config: Any,
        model_dir: str | None,
        warm_start_from: Any,
        hooks: Sequence[Any],
    ) -> None:
        self._refuse_strategies(config)
        self._noting = noting(model_fn, params)
        self.estimator = estimator_module().Estimator(
            self._noting,
            model_dir=model_dir,
            config=config,
            params=None if params is None else dict(params),
            warm_start_from=warm_start_from,
        )
        self._hooks = tuple(hooks)
        self._listeners: tuple[Any, ...] = ()
        self._attached: list[Any] = []
        self._calls: dict[str, SteppedCall] = {}
        self._specs: dict[str, Any] = {}
        self._placeholders: dict[str, Placeholders] = {}
        self._predictions: Any = None

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and event files."""
        return self.estimator.model_dir

    @contextlib.contextmanager
    def training_with(self, hooks: Sequence[Any], listeners: Sequence[Any]) -> Iterator[None]:
        """Training calls that begin inside have more hooks, and saving listeners."""
        kept = self._hooks, self._listeners
        self._hooks, self._listeners = (*self._hooks, *hooks), (*self._listeners, *listeners)
        try:
            yield
        finally:
            self._hooks, self._listeners = kept

    def attach(self, hook: Any) -> None:
        """Adds a hook to the training calls that begin before `detach_all`; once is enough."""
        if not any(known is hook for known in (*self._hooks, *self._attached)):
            self._attached.append(hook)

    @property
    def hooked(self) -> bool:
        """Whether training calls that begin now have hooks, which may end them."""
        return bool(self._hooks or self._attached)

    def detach_all(self) -> None:
        """Forgets the hooks that were attached."""
        self._attached.clear()

    # -- one call, step by step ------------------------------------------------------------------

    def begin(
        self,
        mode: str,
        data: InputFunction | Any,
        *,
        name: str | None = None,
        watch: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        """Begins a call of the Estimator.

        Args:
          mode: "train", "eval" or "infer".
          data: an input function, which then runs in the Estimator's own graph, or the element spec
            of the batches that `step` will be given.
          name: of the evaluation, for the folder of its events.
          watch: returns further tensors that `step` shall give back, by name, given the
            EstimatorSpec; called when the graph is built, to which it may add.
        """
        self._placeholders.pop(mode, None)
        self._specs.pop(mode, None)
        if callable(data) and not isinstance(data, tf.TypeSpec):
            input_fn = data
        else:
            self._placeholders[mode] = Placeholders(data)
            input_fn = self._placeholders[mode].input_fn
        checkpoint = None if mode == "train" else self.save()
        estimator = self.estimator

        prefix = estimator.latest_checkpoint() if mode == "train" else checkpoint
        variables: dict[str, Any] = {}
        if mode == "train" and prefix is None:
            require_warm_start(estimator._warm_start_settings)

        def call(hook: StepHook) -> Any:
            try:
                return run(hook)
            except tf.errors.OpError as error:
                unlike = None
                if prefix is not None and not hook.has_session:
                    unlike = refused_checkpoint(prefix, variables)
                if unlike is None:
                    raise
                raise unlike from error

        def run(hook: StepHook) -> Any:
            if mode == "train":
                return estimator.train(
                    input_fn,
                    hooks=[hook, *self._hooks, *self._attached],
                    saving_listeners=self._listeners,
                )
            if mode == "eval":
                return estimator.evaluate(
                    input_fn, hooks=[hook], checkpoint_path=checkpoint, name=name
                )
            for self._predictions in estimator.predict(
                input_fn, hooks=[hook], checkpoint_path=checkpoint, yield_single_examples=False
            ):
                pass
            return None

        def fetches() -> Any:
            spec = self._specs[mode] = self._noting.spec
            variables.update({v.op.name: v.shape for v in v1.global_variables()})
            watched = {} if watch is None else watch(spec)
            if mode == "infer":
                return watched
            # A bare tensor costs a session less in every step than a dict.
            return {"loss": spec.loss, **watched} if watched else spec.loss

        self._calls[mode] = SteppedCall(call, fetches)

    def begun(self, mode: str) -> bool:
        """Whether a call of `mode` has begun and was not finished."""
        return mode in self._calls

    def running(self, mode: str) -> bool:
        """Whether the call of `mode` may take another step, as far as it has told."""
        return self.begun(mode) and self._calls[mode].running

    def ended(self, mode: str) -> bool:
        """Whether the call of `mode` has no more steps to give, as far as it has told."""
        return not self.begun(mode) or self._calls[mode].ended

    def block(self, mode: str) -> int:
        """Steps of the call that are handed over at once, where they are allowed ahead."""
        return self._calls[mode].block if self.begun(mode) else 1

    def step(self, mode: str, batch: Any = None, *, ahead: int = 0) -> Any:
        """Takes one step of a call that has begun.

        Args:
          mode: "train", "eval" or "infer".
          batch: eager tensors; None where an input function gives the batches.
          ahead: how many steps more the Estimator may begin before it is asked for them, where an
            input function gives the batches.

        Returns:
          {"loss": float32 scalar} and what is watched, or for "infer" the predictions of the batch.

        Raises:
          Ended: the input is exhausted, or a hook had asked to stop.
        """
        call, placeholders = self._calls[mode], self._placeholders.get(mode)
        feed = {} if placeholders is None else lambda: placeholders.feed(batch)
        result = call.step(feed, ahead=ahead)
        if mode == "infer":
            return self._predictions
        return result if isinstance(result, dict) else {"loss": result}

    def look(self, tensor: Callable[[Any], Any], batch: Any) -> Any:
        """Returns the value of `tensor(spec)` for a batch, without a step of the training."""
        feed = self._placeholders["train"].feed(batch)
        return self._visit(lambda session: session.run(tensor(self._specs["train"]), feed))

    def finish(self, mode: str) -> Any:
        """Ends a call as exhausted input does, and returns what it returned.

        A call that fails, or whose end is interrupted, is still to be abandoned.
        """
        value = self._calls[mode].finish()
        del self._calls[mode]
        return value

    def abandon(self, mode: str) -> None:
        """Ends a call as an error does; does nothing where none has begun."""
        if self.begun(mode):
            self._calls.pop(mode).abandon()

    def abandoning_hook(self) -> Any:
        """Returns a hook for the calls of the Estimator that run within one of its training."""
        return AbandoningHook(lambda: self._calls.get("train"))

    # -- variables and checkpoints ---------------------------------------------------------------

    @property
    def global_step(self) -> int:
        """The steps that the model was trained for."""
        call = self._calls.get("train")
        if call is not None and not call.over:
            with contextlib.suppress(Ended):  # it may end while another thread asks
                return int(call.visit(_global_step))
        return checkpoint_step(self.estimator.latest_checkpoint())

    def save(self) -> str | None:
        """Returns the checkpoint of the current step, written if need be; None before training."""
        if not self.running("train"):
            return self.estimator.latest_checkpoint()
        latest = self.estimator.latest_checkpoint()
        if latest is not None and checkpoint_step(latest) == self.global_step:
            return latest
        prefix = os.path.join(self.model_dir, "model.ckpt")
        return self._visit(
            lambda session: self._saver(session).save(session, prefix, _global_step(session))
        )

    def copy_to(self, prefix: str) -> None:
        """Writes the current variables as a checkpoint of the prefix `prefix`.

        Raises:
          NoDataError: nothing was trained yet, so there are no variables.
        """
        saved = self.save()
        if saved is None:
            raise NoDataError(
                f"There are no weights to save to {prefix!r}: the model was not trained yet, and"
                f" {self.model_dir!r} holds no checkpoint. Train first."
            )
        copy_checkpoint(saved, prefix)

    def load(self, prefix: str) -> None:
        """Goes on from the checkpoint `prefix` of the same model_fn."""
        if self.running("train"):
            self._visit(lambda session: self._saver(session).restore(session, prefix))
        else:
            adopt(prefix, self.model_dir)

    def values(self) -> dict[str, np.ndarray]:
        """Returns the value of each variable by its name."""
        if self.running("train"):
            return self._visit(lambda session: session.run(_variables(session)))
        names = self.estimator.get_variable_names() if self.estimator.latest_checkpoint() else []
        return {name: self.estimator.get_variable_value(name) for name in sorted(names)}

    def assign(self, values: Iterable[np.ndarray]) -> None:
        """Gives the variables, in the order of `values`, new values while training runs.

        Raises:
          OptionError: training is not running, so there is no session that holds them.
        """
        if not self.running("train"):
            raise OptionError(
                "set_weights works while fit runs, when a session holds the variables. Otherwise"
                " give a checkpoint to load_weights(…)."
            )

        def assign(session: Any) -> None:
            pairs = zip(_variables(session).values(), values, strict=True)
            for variable, value in pairs:
                variable.load(value, session)

        self._visit(assign)

    def _visit(self, function: Callable[[Any], Any]) -> Any:
        return self._calls["train"].visit(function)

    def _saver(self, session: Any) -> Any:
        scaffold = self._specs["train"].scaffold if "train" in self._specs else None
        if scaffold is not None and scaffold.saver is not None:
            return scaffold.saver
        return session.graph.get_collection(tf.compat.v1.GraphKeys.SAVERS)[0]

    @staticmethod
    def _refuse_strategies(config: Any) -> None:
        for name in ("train_distribute", "eval_distribute"):
            strategy = getattr(config, name, None)
            if strategy is not None:
                raise OptionError(
                    f"config.{name} names a distribution strategy, under which a ModelFnModel"
                    f" cannot step. Received: {type(strategy).__name__}. Keep the Estimator for it"
                    " (estimator_io.compat), or port the model and take"
                    " migration.run_config_to_strategy(config)."
                )


def _variables(session: Any) -> dict[str, Any]:
    variables = session.graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
    return {variable.op.name: variable for variable in sorted(variables, key=lambda v: v.op.name)}


def _global_step(session: Any) -> Any:
    return session.run(tf.compat.v1.train.get_global_step(session.graph))
