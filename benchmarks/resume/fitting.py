"""One process of training under fit, that notes the rows of its steps and may die."""

from __future__ import annotations

import os
import signal
from typing import Any

import tensorflow as tf

from benchmarks.resume.cases import input_fn
from benchmarks.resume.training import STEPS_BETWEEN_CHECKPOINTS, Life, append

__all__ = ["fit"]

STEPS_PER_EPOCH = 4
keras: Any = tf.keras


def fit(life: Life) -> None:
    """Trains under model.fit until the life ends."""
    import estimator_io

    folder = os.path.join(life.folder, life.model)
    model = _model(life)
    saved = tf.train.CheckpointManager(
        tf.train.Checkpoint(model=model, optimizer=model.optimizer), folder, max_to_keep=2
    )
    saved.restore_or_initialize()
    fn = input_fn(life.case, life.folder, life.batch_size)
    position = estimator_io.PositionCallback(fn, folder)
    left = life.last_step - int(model.optimizer.iterations.numpy())
    if left:
        model.fit(
            position.dataset(),
            steps_per_epoch=STEPS_PER_EPOCH,
            epochs=-(-left // STEPS_PER_EPOCH),
            callbacks=[position, _Fate(life, saved)],
            verbose=0,
        )


def _model(life: Life) -> Any:
    def note(step: Any, rows: Any) -> Any:
        append(life.log, [int(step), rows.tolist()])
        if life.dies(int(step), within=True):
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    class Noting(keras.Model):
        def train_step(self, data: Any) -> dict[str, Any]:
            step = tf.cast(tf.convert_to_tensor(self.optimizer.iterations), tf.int64)
            tf.numpy_function(note, [step, data], tf.int64)
            variables = self.trainable_variables
            gradients = [tf.zeros(variable.shape) for variable in variables]
            self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return {"loss": tf.constant(0.0)}

    inputs = keras.Input((1,))
    model = Noting(inputs, keras.layers.Dense(1)(inputs))
    model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
    return model


class _Fate(keras.callbacks.Callback):
    """Saves every few steps, stops at the last one, and kills the process where it is to die."""

    def __init__(self, life: Life, saved: tf.train.CheckpointManager) -> None:
        super().__init__()
        self._life = life
        self._saved = saved

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        del batch, logs
        done = int(self.model.optimizer.iterations.numpy())
        if done % STEPS_BETWEEN_CHECKPOINTS == 0:
            self._saved.save()
        if self._life.dies(done - 1, within=False):
            os.kill(os.getpid(), signal.SIGKILL)
        if done == self._life.last_step:
            self._saved.save()
            self.model.stop_training = True
