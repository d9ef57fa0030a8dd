"""The Keras loop does what the Estimator's loop does: a table of scenarios, both by one clock."""

import functools
import os
import tempfile

import pytest

from estimator_io import compat
from tests.migration.loop.loops import (
    Eval,
    Run,
    estimator_loop,
    keras_loop,
    model_fn_loop,
)


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def steps(number, **more):
    return {"save_checkpoints_steps": number, "save_checkpoints_secs": None, **more}


def secs(number, **more):
    return {"save_checkpoints_secs": number, "save_checkpoints_steps": None, **more}


SCENARIOS = {
    # evaluation at checkpoints
    "every checkpoint is evaluated": [Run()],
    "the last step is evaluated between two checkpoints": [Run(max_steps=5)],
    "one checkpoint for each step": [Run(max_steps=3, config=steps(1))],
    "checkpoints farther apart than training is long": [Run(max_steps=3, config=steps(10))],
    "a single step": [Run(max_steps=1)],
    "checkpoints by seconds": [Run(config=secs(2.5))],
    "checkpoints by seconds, one for each slow step": [
        Run(config=secs(5), step_secs=7, max_steps=3)
    ],
    "an evaluation that takes longer than the time between checkpoints": [
        Run(config=secs(3), evals=(Eval(secs=10),))
    ],
    # throttle_secs and start_delay_secs
    "throttled": [Run(max_steps=8, evals=(Eval(throttle=4),))],
    "throttled to the first and the last": [Run(max_steps=8, evals=(Eval(throttle=100),))],
    "throttled, and the last step has just been evaluated": [
        Run(max_steps=8, evals=(Eval(throttle=6),))
    ],
    "throttled from the start of an evaluation, not from its end": [
        Run(max_steps=8, evals=(Eval(throttle=5, secs=4),))
    ],
    "a throttle that ends exactly with a checkpoint": [Run(max_steps=6, evals=(Eval(throttle=2),))],
    "start_delay_secs does not count in one process": [Run(evals=(Eval(start_delay=1000),))],
    # the data of an evaluation
    "fewer steps than the data has": [Run(evals=(Eval(steps=1),), max_steps=4)],
    "more steps than the data has": [Run(evals=(Eval(steps=100),), max_steps=4)],
    # restarts
    "max_steps reached already": [Run(max_steps=4), Run(max_steps=4)],
    "max_steps below the checkpoint": [Run(max_steps=4), Run(max_steps=3)],
    "a restart with more steps": [Run(max_steps=3), Run(max_steps=6)],
    "a crash in the middle": [Run(crash_after=3), Run()],
    "a crash right after a checkpoint": [Run(crash_after=4), Run()],
    "a crash before the first checkpoint": [Run(crash_after=1), Run()],
    "two crashes": [Run(crash_after=3), Run(crash_after=3), Run()],
    "a restart with other checkpoints": [Run(max_steps=3), Run(max_steps=8, config=steps(3))],
    "a restart forgets the throttle": [
        Run(max_steps=4, evals=(Eval(throttle=100),)),
        Run(max_steps=8, evals=(Eval(throttle=100),)),
    ],
    "max_steps reached, then raised": [Run(max_steps=2), Run(max_steps=2), Run(max_steps=4)],
    # several EvalSpecs
    "two EvalSpecs": [Run(max_steps=4, evals=(Eval("a"), Eval("b", steps=1)))],
    "two EvalSpecs with throttles of their own": [
        Run(max_steps=8, evals=(Eval("a", throttle=3), Eval("b", throttle=5)))
    ],
    "two EvalSpecs, a slow one before a throttled one": [
        Run(max_steps=8, evals=(Eval("a", secs=3), Eval("b", throttle=6)))
    ],
    "two EvalSpecs over a crash": [
        Run(crash_after=3, evals=(Eval("a"), Eval("b"))),
        Run(evals=(Eval("a"), Eval("b"))),
    ],
    "two EvalSpecs with nothing to do": [
        Run(max_steps=2, evals=(Eval("a"), Eval("b"))),
        Run(max_steps=2, evals=(Eval("a"), Eval("b"))),
    ],
    # what ends training
    "a hook that stops at a checkpoint": [Run(stop_after=4)],
    "a hook that stops between checkpoints": [Run(stop_after=3)],
    "a hook that stops after the first step": [Run(stop_after=1)],
    "a hook that stops, then a restart": [Run(stop_after=3), Run()],
    "a hook that stops with the last step": [Run(max_steps=4, stop_after=4)],
    "a listener that stops": [Run(listener_stops_at=4)],
    "a listener that stops at the checkpoint of the start": [Run(listener_stops_at=0)],
    "data that ends between checkpoints": [Run(batches=3)],
    "data that ends at a checkpoint": [Run(batches=4)],
    "data that ends, again after a restart": [Run(batches=3), Run(batches=2)],
    "no max_steps: data that ends": [Run(max_steps=None, batches=3)],
    "no max_steps: a hook that stops": [Run(max_steps=None, stop_after=3)],
    # exporters
    "an exporter that refuses": [Run(evals=(Eval(exporters=("none",)),))],
    "an exporter that refuses now and then": [Run(evals=(Eval(exporters=("odd",)),))],
    "an exporter for the end": [Run(max_steps=5, evals=(Eval(exporters=("final",)),))],
    "no final export without max_steps": [
        Run(max_steps=None, batches=4, evals=(Eval(exporters=("final",)),))
    ],
    "no final export where a hook stops": [
        Run(stop_after=4, evals=(Eval(exporters=("final", "all")),))
    ],
    "several exporters": [Run(evals=(Eval(exporters=("all", "odd", "bad", "final")),))],
    "no exporter is called where there is nothing to do": [
        Run(max_steps=2, evals=(Eval(exporters=("all", "final")),)),
        Run(max_steps=2, evals=(Eval(exporters=("all", "final")),)),
    ],
    # what is kept
    "three checkpoints are kept": [Run(max_steps=6, config=steps(1, keep_checkpoint_max=3))],
    "one checkpoint is kept": [Run(max_steps=4, config=steps(1, keep_checkpoint_max=1))],
    "all checkpoints are kept": [Run(max_steps=4, config=steps(1, keep_checkpoint_max=None))],
    "checkpoints are kept over a restart": [
        Run(max_steps=3, config=steps(1, keep_checkpoint_max=3)),
        Run(max_steps=5, config=steps(1, keep_checkpoint_max=3)),
    ],
    "one checkpoint an hour is kept for good": [
        Run(
            max_steps=7,
            step_secs=1500,
            config=steps(1, keep_checkpoint_max=2, keep_checkpoint_every_n_hours=1),
            evals=(Eval(throttle=1e6),),
        )
    ],
}


# The loop is the same for every kind of model. A ModelFnModel saves, restores, evaluates and stops
# in its own way, so each of these has another reason to do so.
OF_A_MODEL_FN = [
    "an evaluation that takes longer than the time between checkpoints",
    "a crash before the first checkpoint",
    "two EvalSpecs, a slow one before a throttled one",
    "a hook that stops with the last step",
    "no exporter is called where there is nothing to do",
]


@functools.cache
def expected(name):
    with tempfile.TemporaryDirectory() as folder:
        return estimator_loop(SCENARIOS[name], os.path.join(folder, "estimator"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_loops_do_the_same(name, tmp_path):
    assert keras_loop(SCENARIOS[name], tmp_path / "keras") == expected(name)


@pytest.mark.parametrize("name", OF_A_MODEL_FN)
def test_the_loop_of_a_model_fn_does_the_same(name, tmp_path):
    assert model_fn_loop(SCENARIOS[name], tmp_path / "model_fn") == expected(name)
