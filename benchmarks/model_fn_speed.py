"""Steps/s of ModelFnModel.fit against Estimator.train: `python -m benchmarks.model_fn_speed`.

The same model_fn, the same input function and the same number of steps in one process, by turns: a
multilayer perceptron in sizes whose step takes about 1 ms and about 10 ms on two cores, an input
function that runs inside the graph (`fit(input_fn)`), and the same Dataset read eagerly and fed
(`fit(dataset)`), which costs a copy of each batch. Steps are timed by a hook of the Estimator after
a warm-up, so neither graphs nor sessions count; checkpoints, summaries and logs are off. What is
told is the median of the paired ratios with its 95 % interval (benchmarks/pairs.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import Interval, median_of_ratios, run_pairs
from benchmarks.report import machine, markdown_table, spell_machine, write_json

REQUIRED = 0.95


@dataclasses.dataclass(frozen=True)
class Size:
    """A perceptron and how long to train it.

    Attributes:
      features: columns of a batch.
      units: of each hidden layer.
      batch: rows of a step.
      steps: timed ones.
    """

    features: int
    units: tuple[int, ...]
    batch: int
    steps: int


SIZES = {
    "small": Size(32, (64, 32), 64, 2000),
    "1 ms": Size(64, (256, 256), 128, 1500),
    "10 ms": Size(256, (1024, 1024), 256, 250),
}


def model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
    import tensorflow as tf

    v1 = tf.compat.v1
    net, width = features["x"], params["features"]
    for at, units in enumerate((*params["units"], 1)):
        kernel = v1.get_variable(f"kernel_{at}", (width, units))
        bias = v1.get_variable(f"bias_{at}", (units,), initializer=v1.zeros_initializer())
        net, width = tf.matmul(net, kernel) + bias, units
        net = tf.nn.relu(net) if units > 1 else net
    loss = v1.losses.sigmoid_cross_entropy(labels[:, None], net)
    optimizer = v1.train.AdagradOptimizer(0.05)
    train_op = optimizer.minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(size: Size) -> Any:
    import tensorflow as tf

    generator = np.random.default_rng(0)
    x = generator.normal(size=(4096, size.features)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    rows: Any = ({"x": x}, y)
    return tf.data.Dataset.from_tensor_slices(rows).repeat().batch(size.batch).prefetch(2)


def clock(warm_up: int) -> Any:
    """Returns a hook that notes when each step after the warm-up ended."""
    import tensorflow as tf

    class Clock(tf.compat.v1.train.SessionRunHook):
        steps = 0
        times: tuple[float, float] = (0.0, 0.0)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.steps += 1
            now = time.perf_counter()
            self.times = (now if self.steps <= warm_up else self.times[0], now)

        @property
        def rate(self) -> float:
            return (self.steps - warm_up) / (self.times[1] - self.times[0])

    return Clock()


def steps_per_second(size: Size, run: Callable[..., None]) -> float:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        config = tf.estimator.RunConfig(
            model_dir=folder,
            tf_random_seed=1,
            save_checkpoints_secs=None,
            save_checkpoints_steps=None,
            save_summary_steps=None,
            log_step_count_steps=None,
        )
        warm_up = max(20, size.steps // 10)
        hook = clock(warm_up)
        run(config, dataclasses.asdict(size), functools.partial(input_fn, size), hook, warm_up)
        return hook.rate


def variants(size: Size) -> dict[str, Callable[[], float]]:
    """Returns what is timed, by name; the first one is what the others are divided by."""
    import tensorflow as tf

    import migration

    def estimator(config: Any, params: Any, data: Any, hook: Any, warm_up: int) -> None:
        estimator = tf.estimator.Estimator(model_fn, config=config, params=params)
        estimator.train(data, steps=size.steps + warm_up, hooks=[hook])

    def fit(config: Any, params: Any, data: Any, hook: Any, warm_up: int) -> None:
        model = migration.ModelFnModel(model_fn, params, config, hooks=[hook])
        model.fit(data, steps_per_epoch=size.steps + warm_up, verbose=0)

    def fed(config: Any, params: Any, data: Any, hook: Any, warm_up: int) -> None:
        fit(config, params, data(), hook, warm_up)

    runs = {"Estimator.train": estimator, "fit(input_fn)": fit, "fit(dataset)": fed}
    return {name: functools.partial(steps_per_second, size, run) for name, run in runs.items()}


def measure(size: Size, pairs: int) -> dict[str, list[float]]:
    """Returns the steps/s of each variant, one value a pair, after a round that does not count."""
    runs = variants(dataclasses.replace(size, steps=max(30, size.steps // 5)))
    run_pairs(runs, 1)
    return run_pairs(variants(size), pairs)


def ratios(rates: dict[str, list[float]]) -> dict[str, Interval]:
    """Returns what each variant reaches of the first one."""
    (_, base), *others = rates.items()
    return {name: median_of_ratios(values, base) for name, values in others}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--share", type=float, default=1.0, help="of the steps of each run")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    from estimator_io import compat

    compat.install()
    facts, results, rows = machine(), {}, []
    for name in arguments.sizes:
        size = SIZES[name]
        size = dataclasses.replace(size, steps=max(20, int(size.steps * arguments.share)))
        results[name] = measure(size, arguments.pairs)
        step = 1000 / statistics.median(results[name]["Estimator.train"])
        found = ratios(results[name])
        reached = "yes" if found["fit(input_fn)"].median >= REQUIRED else "no"
        rows.append([name, f"{step:.2f}", *map(str, found.values()), reached])
        if arguments.json:
            write_json(arguments.json, {"machine": facts, "steps_per_second": results})
    header = ("model", "Estimator, ms/step", "fit(input_fn)", "fit(dataset)", f"≥ {REQUIRED}")
    print(f"{spell_machine(facts)}\nSteps/s of ModelFnModel over those of the Estimator,"
          f" {arguments.pairs} pairs\n\n{markdown_table(header, rows)}")  # fmt: skip


if __name__ == "__main__":
    main()
