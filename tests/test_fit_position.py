"""Under fit training goes on at the row where the restored optimizer stood."""

import contextlib
import json
import time

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError, PositionError


def stream():
    return tf.data.Dataset.range(10).map(lambda row: tf.cast(row, tf.float32)[None])


def make(source=None, **options):
    options = {"batch_size": 3, "seed": 5, "parse": lambda x: (x, x), **options}
    rows = np.arange(10, dtype=np.float32)[:, None]
    return estimator_io.input_fn(rows if source is None else source, **options)


def whole(fn, batches):
    return [x[:, 0].tolist() for x, _ in fn.dataset("train").take(batches).as_numpy_iterator()]


class KilledError(Exception):
    pass


class Program:
    """A program that is started: it builds its model anew, and notes the rows of its steps."""

    def __init__(self, folder, fn=None):
        self.seen = seen = []

        class Noting(tf.keras.Model):
            def train_step(self, data):
                seen.append(data[0].numpy()[:, 0].tolist())
                return super().train_step(data)

        inputs = tf.keras.Input((1,))
        self.model = Noting(inputs, tf.keras.layers.Dense(1)(inputs))
        self.model.compile(tf.keras.optimizers.SGD(1e-4), "mse", run_eagerly=True)
        self.folder = folder
        self.position = estimator_io.PositionCallback(fn or make(), str(folder / "position"))
        self.saved = tf.train.Checkpoint(model=self.model, optimizer=self.model.optimizer)

    def restore(self):
        self.saved.restore(tf.train.latest_checkpoint(str(self.folder))).expect_partial()
        return self

    def fit(self, steps_per_epoch=None, epochs=1, save_at=None, die_at=None, callbacks=()):
        def after_step(batch, logs=None):
            if len(self.seen) == save_at:
                self.saved.save(str(self.folder / "model"))
            if len(self.seen) == die_at:
                raise KilledError

        fate = tf.keras.callbacks.LambdaCallback(on_train_batch_end=after_step)
        with contextlib.suppress(KilledError):
            self.model.fit(
                self.position.dataset(),
                steps_per_epoch=steps_per_epoch,
                epochs=epochs,
                callbacks=[self.position, *callbacks, fate],
                verbose=0,
            )
        return self.seen


@pytest.mark.parametrize("source", [None, stream], ids=["known length", "stream"])
def test_training_goes_on_in_the_middle_of_an_epoch(tmp_path, source):
    fn = make(source)
    first = Program(tmp_path, fn).fit(6, 2, save_at=5, die_at=8)
    assert first == whole(fn, 8)
    second = Program(tmp_path, fn).restore().fit(6, 1, save_at=4, die_at=5)
    assert second == whole(fn, 10)[5:]
    third = Program(tmp_path, fn).restore().fit(3)
    assert third == whole(fn, 12)[9:]


@pytest.mark.parametrize("source", [None, stream], ids=["known length", "stream"])
def test_a_finite_dataset_that_was_interrupted_is_finished_before_another_pass(tmp_path, source):
    fn = make(source, epochs=1)
    orders = whole(make(source, batch_size=10), 3)
    first = Program(tmp_path, fn).fit(epochs=2, save_at=6, die_at=7)
    assert [row for batch in first for row in batch][:16] == [*orders[0], *orders[1][:6]]
    second = Program(tmp_path, fn).restore().fit(epochs=2)
    rows = [row for batch in second for row in batch]
    # Keras takes the batches of its first epoch, here of the rest, for those of all: it cuts the
    # next one short, but leaves out no row.
    assert rows == [*orders[1][6:], *orders[2]][: len(rows)]
    assert len(rows) > 4


def test_training_that_begins_anew_begins_with_the_first_row(tmp_path, caplog):
    Program(tmp_path).fit(4, save_at=4)
    Program(tmp_path).restore().fit(2)
    assert Program(tmp_path).fit(4) == whole(make(), 4)
    assert "the optimizer stands at step 0" in caplog.text


def test_an_optimizer_that_counts_before_its_batch_is_there_moves_nothing(tmp_path):
    fn = make(batch_map=lambda x, y: tf.numpy_function(slowly, [x, y], [tf.float32] * 2))
    program = Program(tmp_path, fn)
    program.model.compile(tf.keras.optimizers.SGD(0.0), "mse", run_eagerly=False)

    def train_step(data):
        del data
        program.model.optimizer.iterations.assign_add(1)
        return {"loss": tf.constant(0.0)}

    program.model.train_step = train_step
    program.fit(2)
    with open(tmp_path / "position" / "estimator_io_ledger.jsonl") as file:
        assert [json.loads(line)["from_step"] for line in file] == [0]


def slowly(x, y):
    time.sleep(0.2)
    return x, y


def test_backup_and_restore_of_keras_carries_the_position(tmp_path):
    def backup():
        return tf.keras.callbacks.BackupAndRestore(str(tmp_path / "backup"))

    first = Program(tmp_path).fit(4, epochs=3, die_at=6, callbacks=[backup()])
    assert first == whole(make(), 6)
    again = Program(tmp_path).fit(4, epochs=3, callbacks=[backup()])
    assert again == whole(make(), 12)[4:]


def test_each_worker_keeps_a_position_of_its_own_in_its_part_of_the_rows(tmp_path):
    fn = make(batch_size=4)  # of both workers together

    def rows(index, step):
        context = tf.distribute.InputContext(2, index, 2)
        program = Program(tmp_path, fn)
        program.model.optimizer.iterations.assign(step)
        position = program.position
        position.set_model(program.model)
        dataset = position.dataset(context)
        position.on_epoch_begin(0)
        return [x[:, 0].tolist() for x, _ in dataset.take(5).as_numpy_iterator()]

    parts = [rows(index, 0) for index in range(2)]
    assert [len(batch) for batch in parts[0]] == [2] * 5
    flat = [{row for batch in part for row in batch} for part in parts]
    assert flat == [{0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}]  # 5 batches are two epochs of 5 rows
    for index in range(2):
        assert rows(index, 3)[:2] == parts[index][3:]


def test_a_drawn_seed_is_adopted_and_a_changed_order_is_an_error(tmp_path):
    first = Program(tmp_path, make(seed=None)).fit(2, save_at=2)
    second = Program(tmp_path, make(seed=None)).restore().fit(2)
    rows = [row for batch in first + second for row in batch]
    assert sorted(rows[:10]) == list(range(10))
    with pytest.raises(PositionError, match="seed was"):
        Program(tmp_path, make(seed=1)).fit(2)


def test_restart_and_the_callback_contradict_each_other(tmp_path):
    with pytest.raises(OptionError, match="contradicts a PositionCallback"):
        estimator_io.PositionCallback(make(position="restart"), str(tmp_path))


def test_fit_is_given_the_dataset_of_the_callback(tmp_path):
    fn = make()
    position = estimator_io.PositionCallback(fn, str(tmp_path))
    inputs = tf.keras.Input((1,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    with pytest.raises(OptionError, match=r"not its Dataset.*position\.dataset\(\)"):
        model.fit(fn.dataset("train"), steps_per_epoch=1, callbacks=[position], verbose=0)


def test_the_callback_takes_an_input_fn(tmp_path):
    with pytest.raises(OptionError, match=r"takes an InputFn. Received: .*Dataset"):
        estimator_io.PositionCallback(make().dataset("train"), str(tmp_path))
