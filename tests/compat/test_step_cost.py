"""What a step of training costs is TensorFlow's: none runs code of the layer, or of Keras."""

from __future__ import annotations

import cProfile
import pstats
from typing import Any

from tests.compat import reference

STEPS = 20


def files_of_steps(tf: Any) -> set[str]:
    """Returns the files of functions that ran at each step; a filtered log line is no step's."""
    profile = cProfile.Profile()

    class FromStepToStep(tf.compat.v1.train.SessionRunHook):
        seen = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.seen += 1
            if self.seen == 1:
                profile.enable()
            elif self.seen == STEPS - 1:
                profile.disable()

    _, dense = reference.columns(tf)
    estimator = tf.estimator.DNNClassifier([4], dense)
    inputs = reference.input_fn(tf, reference.data()[1])
    estimator.train(inputs, steps=STEPS, hooks=[FromStepToStep()])
    stats: Any = pstats.Stats(profile)
    return {key[0] for key, value in stats.stats.items() if value[1] >= STEPS - 3}


def test_no_step_of_training_runs_code_of_the_layer_or_of_keras(tf: Any) -> None:
    files = files_of_steps(tf)
    assert any(file.endswith("monitored_session.py") for file in files)
    assert not [file for file in files if "/estimator_io/" in file or "keras" in file]
