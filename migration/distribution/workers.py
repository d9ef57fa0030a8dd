"""The processes that train one model in step, under MultiWorkerMirroredStrategy."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError

__all__ = ["Workers"]


class Workers:
    """The workers of one model, as one of them sees them; one process alone is one worker.

    Each question is answered by all workers together, so each must ask it at the same step.

    Args:
      strategy: under which the model was built.

    Attributes:
      count: how many there are.
      is_chief: whether this one writes checkpoints and events.
    """

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        jobs = _jobs(strategy)
        self.count = max(1, sum(jobs.values()))
        self.is_chief = True
        if self.count > 1:
            resolver = strategy.cluster_resolver
            first = "chief" if "chief" in jobs else "worker"
            self.is_chief = (resolver.task_type, resolver.task_id) == (first, 0)
        self._sum = tf.function(self._summed)
        self._all = tf.function(self._gathered)

    def any(self, flag: bool) -> bool:
        """Whether any worker says so."""
        if self.count == 1:
            return flag
        return int(self._sum(tf.constant(int(flag)))) > 0

    def require_same_step(self, step: int, model_dir: str) -> None:
        """Waits for all workers, and refuses to train if they restored different checkpoints.

        Raises:
          OptionError: in each worker, with the steps of all.
        """
        if self.count == 1:
            return
        steps = self._all(tf.constant([step], tf.int64)).numpy().tolist()
        if len(set(steps)) > 1:
            raise OptionError(
                "The workers did not restore the same checkpoint, so they would not train one"
                f" model. Received: the steps {steps}. Expected: a model_dir that all of them see;"
                f" here it is {model_dir!r}."
            )

    def _summed(self, value: Any) -> Any:
        each = self._strategy.run(tf.identity, args=(value,))
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, each, axis=None)

    def _gathered(self, value: Any) -> Any:
        return self._strategy.gather(self._strategy.run(tf.identity, args=(value,)), axis=0)


def _jobs(strategy: Any) -> dict[str, int]:
    resolver = getattr(strategy, "cluster_resolver", None)
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) or resolver is None:
        return {}
    return {job: len(tasks) for job, tasks in resolver.cluster_spec().as_dict().items()}
