"""Exporters in the Keras loop: TensorFlow's and ours."""

import glob
import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
from estimator_io import compat
from estimator_io.errors import OptionError, StructureError
from migration.serving.export import export_saved_model

keras = tf.keras
v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


class Estimator:
    """Writes an empty export, named by how many there were."""

    def __init__(self, folder):
        self.model_dir = str(folder)
        self.written = []

    def export_saved_model(self, export_path, serving_input_receiver_fn, checkpoint_path, **kwargs):
        folder = os.path.join(export_path, str(1_800_000_000 + len(self.written)))
        os.makedirs(folder)
        self.written.append(checkpoint_path)
        return folder


def receive():
    x = v1.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def export(exporter, estimator, losses, final_at=None):
    """Returns the losses whose evaluation was exported."""
    taken = []
    for at, loss in enumerate(losses):
        path = os.path.join(estimator.model_dir, "export", exporter.name)
        result = {"loss": np.float32(loss), "global_step": at}
        if exporter.export(estimator, path, f"ckpt-{at}", result, at == final_at) is not None:
            taken.append(loss)
    return taken


def test_the_best_value_outlives_the_process(tmp_path):
    """tensorflow#47396: a restart exported whatever came first."""
    estimator = Estimator(tmp_path)
    best = migration.BestExporter("best", receive)
    assert export(best, estimator, [3.0, 1.0, 2.0]) == [3.0, 1.0]
    restarted = migration.BestExporter("best", receive)
    assert export(restarted, estimator, [5.0, 0.5, 0.5]) == [0.5]


def test_the_best_is_what_compare_fn_says(tmp_path):
    def larger(best_eval_result, current_eval_result):
        return current_eval_result["loss"] > best_eval_result["loss"]

    best = migration.BestExporter("best", receive, compare_fn=larger)
    assert export(best, Estimator(tmp_path), [1.0, 3.0, 2.0, 4.0]) == [1.0, 3.0, 4.0]
    with pytest.raises(OptionError, match="no 'loss' to compare"):
        migration.exporters.loss_smaller({"auc": 1.0}, {"loss": 1.0})


def test_old_exports_are_deleted(tmp_path):
    latest = migration.LatestExporter("latest", receive, exports_to_keep=2)
    assert export(latest, Estimator(tmp_path), [1.0] * 4) == [1.0] * 4
    assert sorted(os.listdir(tmp_path / "export" / "latest")) == ["1800000002", "1800000003"]
    with pytest.raises(OptionError, match="exports_to_keep must be at least 1"):
        migration.LatestExporter("latest", receive, exports_to_keep=0)


def test_the_final_exporter_waits_for_the_last_step(tmp_path):
    final = migration.FinalExporter("final", receive)
    assert export(final, Estimator(tmp_path), [3.0, 2.0, 1.0], final_at=2) == [1.0]


def model():
    """The sum of a feature and twice another one."""
    a, b = keras.Input((1,), name="a"), keras.Input((1,), name="b")
    twice = keras.layers.Rescaling(2.0)(b)
    total = keras.layers.Add()([a, twice])
    scaled = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", name="total")(total)
    made = keras.Model({"b": b, "a": a}, scaled)
    made.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=False)
    return made


def rows():
    features = {"a": np.float32([1, 2, 3, 4]), "b": np.float32([5, 6, 7, 8])}
    return features, np.float32([11, 14, 17, 20])


def examples_receiver():
    spec = {name: tf.io.FixedLenFeature([1], tf.float32) for name in ("a", "b", "unused")}
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)


def example(**values):
    features = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        for name, value in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def test_tensorflows_own_exporters_export_in_the_loop(tmp_path):
    fn = estimator_io.input_fn(rows(), batch_size=2, seed=1)
    receiver = fn.serving_input_receiver_fn()
    exporters = [
        tf.estimator.LatestExporter("latest", receiver, exports_to_keep=1),
        tf.estimator.FinalExporter("final", examples_receiver(), as_text=True),
        tf.estimator.BestExporter("best", receiver, exports_to_keep=None),
        migration.BestExporter("own", receiver),
    ]
    _, exports = migration.train_and_evaluate(
        model(),
        tf.estimator.TrainSpec(fn, max_steps=4),
        tf.estimator.EvalSpec(fn, steps=None, exporters=exporters, throttle_secs=0),
        tf.estimator.RunConfig(str(tmp_path), save_checkpoints_steps=2),
    )
    # The model learns nothing, so only the first evaluation is the best.
    assert [path is None for path in exports] == [False, False, True, True]
    counts = {
        name: len(glob.glob(f"{tmp_path}/export/{name}/1*")) for name in ("latest", "best", "own")
    }
    assert counts == {"latest": 1, "best": 1, "own": 1}
    served = tf.saved_model.load(exports[0]).signatures["serving_default"]
    found = served(a=tf.constant([1.0]), b=tf.constant([5.0]))
    assert found["total"].numpy().tolist() == [[11]]
    served = tf.saved_model.load(exports[1]).signatures["serving_default"]
    assert os.path.exists(os.path.join(exports[1], "saved_model.pbtxt"))
    found = served(examples=tf.constant([example(a=1.0, b=2.0, unused=9.0)]))
    assert found["total"].numpy().tolist() == [[5]]


def test_a_receiver_may_look_things_up_and_have_alternatives(tmp_path):
    def receiver():
        words = v1.placeholder(tf.string, [None], name="words")
        keys, values = tf.constant(["one", "two"]), tf.constant([1.0, 2.0])
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), 0.0)
        numbers = table.lookup(words)
        return tf.estimator.export.ServingInputReceiver(
            {"a": numbers, "b": numbers}, {"words": words}, {"numbers": {"number": numbers}}
        )

    (tmp_path / "names.txt").write_text("one two")
    folder = export_saved_model(
        model(),
        str(tmp_path / "exports"),
        receiver,
        assets_extra={"words/names.txt": str(tmp_path / "names.txt")},
        now=1_700_000_000.5,
    )
    assert os.path.basename(folder) == "1700000000"
    loaded = tf.saved_model.load(folder)
    found = loaded.signatures["serving_default"](words=tf.constant(["two", "one"]))
    assert found["total"].numpy().tolist() == [[6], [3]]
    found = loaded.signatures["numbers:serving_default"](number=tf.constant([5.0]))
    assert found["total"].numpy().tolist() == [[15]]
    assert os.path.exists(os.path.join(folder, "assets.extra", "words", "names.txt"))


def test_exports_of_one_second_have_names_of_their_own(tmp_path):
    def receiver():
        tensors = {name: v1.placeholder(tf.float32, [None, 1], name=name) for name in "ab"}
        return tf.estimator.export.ServingInputReceiver(tensors, tensors)

    names = [
        os.path.basename(export_saved_model(model(), str(tmp_path), receiver, now=1_700_000_000))
        for _ in range(2)
    ]
    assert names == ["1700000000", "1700000001"]
    assert sorted(os.listdir(tmp_path)) == names


def test_a_receiver_that_does_not_fit_is_refused_by_name(tmp_path):
    with pytest.raises(StructureError, match="no feature is named after: 'b', 'a'"):
        export_saved_model(model(), str(tmp_path), receive, now=1_700_000_000)

    def sparse():
        tensor = v1.sparse_placeholder(tf.float32, [None, 1], name="a")
        dense = tf.sparse.to_dense(tensor)
        features = {"a": dense, "b": dense}
        return tf.estimator.export.ServingInputReceiver(features, {"a": tensor})

    with pytest.raises(StructureError, match="receiver tensor 'a' cannot be fed"):
        export_saved_model(model(), str(tmp_path), sparse, now=1_700_000_000)
    assert os.listdir(tmp_path) == []
