"""Batches on a device before the step starts, on logical devices of the processor."""

import numpy as np
import pytest

import estimator_io
from estimator_io import OptionError
from tests import forks

PREPARED = """
import logging, sys
import numpy as np, tensorflow as tf, estimator_io
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
text = np.array(["a", "b", "c", "d"])
fn = estimator_io.input_fn(
    ({"x": np.arange(4.0), "text": text}, np.arange(4)), batch_size=2, shuffle=False, epochs=1,
    device="/cpu:1",
)
"""
EAGER = """
for features, labels in fn.dataset("train"):
    print(features["x"].backing_device[-5:], labels.backing_device[-5:],
          features["text"].backing_device[-5:], features["x"].numpy().tolist(),
          features["text"].numpy().tolist())
"""
FIT = """
seen = []
class Model(tf.keras.Model):
    def call(self, x): return tf.reshape(x["x"], [-1, 1])
    def train_step(self, data):
        seen.append(data[0]["x"].backing_device[-5:])
        return {"n": tf.reduce_sum(data[1])}
model = Model()
model.compile(run_eagerly=True)
fn = fn.replace(epochs=None)
model.fit(fn.dataset("train"), steps_per_epoch=3, verbose=0)
print(seen)
"""
GRAPH = """
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    iterator = tf.compat.v1.data.make_initializable_iterator(fn("train"))
    features, labels = iterator.get_next()
    session.run(iterator.initializer)
    print(iterator._iterator_resource.device[-5:])
    print(features["x"].op.device[-5:])
    print([session.run((features["x"], features["text"], labels)) for _ in range(2)])
    try: session.run(labels)
    except tf.errors.OutOfRangeError: print("end")
"""


def run(*parts):
    done = forks.run(["-c", "\n".join(parts)])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_eager_batches_are_on_the_device_and_texts_on_the_host():
    assert run(PREPARED, EAGER).splitlines() == [
        "CPU:1 CPU:1 CPU:0 [0.0, 1.0] [b'a', b'b']",
        "CPU:1 CPU:1 CPU:0 [2.0, 3.0] [b'c', b'd']",
    ]


def test_the_step_of_fit_gets_batches_on_the_device():
    assert "['CPU:1', 'CPU:1', 'CPU:1']" in run(PREPARED, FIT)


@pytest.mark.parametrize("tf1", [False, True])
def test_in_a_graph_the_iterator_stands_on_the_device(tf1):
    mode = "tf.compat.v1.disable_v2_behavior()" if tf1 else ""
    lines = run("import tensorflow as tf", mode, PREPARED, GRAPH).splitlines()
    assert lines[0] == lines[1] == "CPU:1"
    assert "array([2., 3.]" in lines[2]
    assert lines[-1] == "end"


def test_a_strategy_copies_to_its_own_devices():
    out = run(
        PREPARED,
        "with tf.distribute.OneDeviceStrategy('/cpu:0').scope():",
        "    print(next(iter(fn.dataset('train')))[1].backing_device[-5:])",
    )
    assert out.split() == ["CPU:0"]


@pytest.mark.parametrize("device", ["auto", "/gpu:0", "/cpu:7"])
def test_without_such_a_device_nothing_is_done_and_it_is_said_once(caplog, device):
    from estimator_io.pipeline import device as stage

    stage._say_once.cache_clear()
    fn = estimator_io.input_fn({"x": np.arange(4)}, batch_size=2, device=device)
    for _ in range(2):
        assert next(iter(fn.dataset("eval")))["x"].numpy().tolist() == [0, 1]
    said = [record for record in caplog.records if "no such accelerator" in record.getMessage()]
    assert len(said) == 1
    assert "there is none here" in repr(fn)
    assert "on_device" not in fn.source_code()


def test_the_printed_program_ends_on_the_device():
    fn = estimator_io.input_fn({"x": np.arange(4)}, batch_size=2, device="/cpu:0")
    text = fn.source_code()
    assert text.rstrip().splitlines()[-2].strip() == (
        "dataset = dataset.apply(functools.partial(on_device, device='/cpu:0'))"
    )
    assert "device    /cpu:0" in repr(fn)


@pytest.mark.parametrize("device", ["gpu", 0, "/gpu", ""])
def test_what_names_no_device_is_refused(device):
    with pytest.raises(OptionError, match="device is unknown"):
        estimator_io.input_fn({"x": np.arange(4)}, batch_size=2, device=device)
