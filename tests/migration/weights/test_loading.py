"""A Keras model that goes on from an Estimator's checkpoint: the same losses, step by step."""

import logging

import numpy as np
import pytest
import tensorflow as tf

import migration
from estimator_io import compat
from estimator_io.errors import OptionError, SourceError

v1 = tf.compat.v1
BEFORE, AFTER = 10, 50
BETAS = [float(np.float32(beta)) for beta in (0.9, 0.999)]  # as TensorFlow's kernel has them
# Made when the graph is there; the Keras twin has the settings that differ in their defaults.
OPTIMIZERS = {
    "adam": (
        lambda: v1.train.AdamOptimizer(0.01),
        lambda: tf.keras.optimizers.Adam(0.01, *BETAS, epsilon=1e-8),
    ),
    "adagrad": (
        lambda: v1.train.AdagradOptimizer(0.1),
        lambda: tf.keras.optimizers.Adagrad(0.1, epsilon=0.0),
    ),
    "momentum": (
        lambda: v1.train.MomentumOptimizer(0.02, 0.9),
        lambda: tf.keras.optimizers.SGD(0.02, momentum=0.9),
    ),
    "nesterov": (
        lambda: v1.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
        lambda: tf.keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True),
    ),
    "ftrl": (
        lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        lambda: tf.keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01),
    ),
    "rmsprop": (
        lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
        lambda: tf.keras.optimizers.RMSprop(0.01, momentum=0.5, epsilon=1e-10),
    ),
    "adadelta": (
        lambda: v1.train.AdadeltaOptimizer(1.0),
        lambda: tf.keras.optimizers.Adadelta(1.0, epsilon=1e-8),
    ),
}


def batches():
    random = np.random.default_rng(3)
    x = random.normal(size=(BEFORE + AFTER, 8, 4)).astype("f")
    return x, np.sin(x.sum(-1, keepdims=True)).astype("f")


def input_fn(start):
    x, y = batches()
    return lambda: tf.data.Dataset.from_tensor_slices((x[start:], y[start:]))


def model_fn(features, labels, mode):
    """A small network for each optimizer, all in one graph, with one global step."""
    losses, steps = {}, []
    for name, (make, _) in OPTIMIZERS.items():
        with v1.variable_scope(name):
            net = v1.layers.dense(features, 6, tf.nn.relu, name="hidden")
            losses[name] = v1.losses.mean_squared_error(labels, v1.layers.dense(net, 1, name="out"))
        own = v1.trainable_variables(name + "/")
        steps.append(make().minimize(losses[name], var_list=own))
    with tf.control_dependencies(steps):
        step = v1.assign_add(v1.train.get_global_step(), 1)
    average = tf.train.ExponentialMovingAverage(0.9).apply(v1.trainable_variables("adam/out"))
    names = [tf.identity(loss, name=f"loss_{name}") for name, loss in losses.items()]
    return tf.estimator.EstimatorSpec(mode, loss=tf.add_n(names), train_op=tf.group(step, average))


class Losses(v1.train.SessionRunHook):
    def __init__(self):
        self.seen = []

    def before_run(self, run_context):
        return v1.train.SessionRunArgs({name: f"loss_{name}:0" for name in OPTIMIZERS})

    def after_run(self, run_context, run_values):
        self.seen.append(run_values.results)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The checkpoint of step 10, and the losses of the 50 steps behind it."""
    compat.install()
    config = tf.estimator.RunConfig(str(tmp_path_factory.mktemp("estimator")), tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    estimator.train(input_fn(0), steps=BEFORE)
    checkpoint, losses = estimator.latest_checkpoint(), Losses()
    estimator.train(input_fn(BEFORE), hooks=[losses])
    assert len(losses.seen) == AFTER
    return checkpoint, losses.seen


def build(units=6, optimizer="sgd"):
    x = tf.keras.Input((4,))
    net = tf.keras.layers.Dense(units, "relu", name="hidden")(x)
    model = tf.keras.Model(x, tf.keras.layers.Dense(1, name="out")(net))
    model.compile(optimizer, "mse", jit_compile=False)
    return model


def of(name):
    """The variables of one of the networks."""
    paths = [f"{layer}/{leaf}" for layer in ("hidden", "out") for leaf in ("kernel", "bias")]
    return {f"{name}/{path}": path for path in paths}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fifty_steps_have_the_losses_that_they_have_under_the_estimator(name, trained):
    checkpoint, expected = trained
    model = build(optimizer=OPTIMIZERS[name][1]())
    loaded = migration.load_estimator_weights(model, checkpoint, of(name))
    assert int(model.optimizer.iterations.numpy()) == loaded.global_step == BEFORE
    x, y = batches()
    losses = [model.train_on_batch(x[at], y[at]) for at in range(BEFORE, BEFORE + AFTER)]
    np.testing.assert_allclose(losses, [step[name] for step in expected], rtol=1e-5)
    assert int(model.optimizer.iterations.numpy()) == BEFORE + AFTER


def test_what_went_where_can_be_read(trained):
    model = build(optimizer=tf.keras.optimizers.Adam())
    text = str(migration.load_estimator_weights(model, trained[0], of("adam")))
    assert "global step 10\nadam/hidden/kernel -> hidden/kernel (by mapping)" in text
    assert "adam/hidden/kernel/Adam_1 -> hidden/kernel: v" in text
    assert "adam/out/kernel/ExponentialMovingAverage -> nothing" in text


def test_the_weights_alone_may_be_moving_averages(trained):
    model = build()
    average = {
        f"adam/out/{leaf}/ExponentialMovingAverage": f"out/{leaf}" for leaf in ("kernel", "bias")
    }
    hidden = {name: path for name, path in of("adam").items() if "hidden" in name}
    migration.load_estimator_weights(model, trained[0], {**hidden, **average}, optimizer=False)
    held = tf.train.load_checkpoint(trained[0])
    for name, path in {**hidden, **average}.items():
        weight = next(w for w in model.weights if path in getattr(w, "path", w.name))
        np.testing.assert_array_equal(weight.numpy(), held.get_tensor(name))
    assert int(model.optimizer.iterations.numpy()) == 0


def test_a_checkpoint_that_does_not_fit_changes_nothing(trained, tmp_path):
    checkpoint = trained[0]
    adagrad = build(optimizer=tf.keras.optimizers.Adagrad())
    wide = build(units=7)
    for model, variables, error in (
        (adagrad, of("adam"), r"no 'accumulator' of Adagrad for 'adam/hidden/kernel'.*Adam_1"),
        (wide, of("adam"), r"'adam/hidden/kernel' has shape \(4, 6\) in the checkpoint"),
        (adagrad, None, r"is known to be 'hidden/kernel' of shape \(4, 6\).*Give variables="),
    ):
        before = model.get_weights()
        with pytest.raises(SourceError, match=error):
            migration.load_estimator_weights(model, checkpoint, variables)
        for ours, kept in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(ours, kept)
    with pytest.raises(OptionError, match="'elsewhere', which is no weight of the model"):
        migration.load_estimator_weights(wide, checkpoint, {"adam/out/bias": "elsewhere"})
    nadam = build(optimizer=tf.keras.optimizers.Nadam())
    with pytest.raises(OptionError, match="Nadam keeps other values than an Estimator's"):
        migration.load_estimator_weights(nadam, checkpoint, of("adam"))
    with pytest.raises(SourceError, match="There is no checkpoint"):
        migration.load_estimator_weights(adagrad, str(tmp_path / "model.ckpt-1"))


def save(folder, step, **values):
    """Writes a checkpoint as v1 code does."""
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in values.items():
            v1.get_variable(name, initializer=tf.constant(value))
        v1.get_variable("global_step", initializer=tf.constant(step, tf.int64))
        session.run(v1.global_variables_initializer())
        return v1.train.Saver().save(session, str(folder / f"model.ckpt-{step}"))


def one_layer(optimizer):
    x = tf.keras.Input((1,))
    model = tf.keras.Model(x, tf.keras.layers.Dense(1, use_bias=False, name="out")(x))
    model.compile(optimizer, "mse")
    return model


@pytest.mark.parametrize(
    "slot",
    [
        "training/Adagrad/m/out/kernel/accumulator",
        "m/out/kernel/t_0/Adagrad",
        "m/m/out/kernel/Adagrad",
    ],
)
def test_slots_are_found_under_the_names_of_canned_heads_and_scopes(slot, tmp_path):
    values = {"m/out/kernel": [[2.0]], slot: [[5.0]]}
    save(tmp_path, 7, **values)
    model = one_layer(tf.keras.optimizers.Adagrad())
    loaded = migration.load_estimator_weights(model, tmp_path)  # by shape: there is one kernel
    assert loaded.weights == {"out/kernel": ("m/out/kernel", "shape")}
    assert loaded.slots == {"out/kernel: accumulator": slot}
    np.testing.assert_array_equal(model.optimizer._accumulators[0].numpy(), [[5.0]])


def test_slots_that_plain_gradient_descent_leaves_behind_are_told(tmp_path, caplog):
    save(tmp_path, 7, **{"out/kernel": [[2.0]], "out/kernel/Momentum": [[0.1]]})
    with caplog.at_level(logging.WARNING, "estimator_io"):
        migration.load_estimator_weights(one_layer(tf.keras.optimizers.SGD()), tmp_path)
    assert "SGD has no momentum, and takes over nothing" in caplog.text


def test_an_adam_that_counted_otherwise_than_the_global_step_is_told(tmp_path, caplog):
    values = {"out/kernel": [[2.0]], "out/kernel/Adam": [[0.1]], "out/kernel/Adam_1": [[0.1]]}
    save(tmp_path, 7, **values, beta1_power=0.9**4)
    with caplog.at_level(logging.WARNING, "estimator_io"):
        migration.load_estimator_weights(one_layer(tf.keras.optimizers.Adam()), tmp_path)
    assert "of global step 7, but its beta1_power of 3 updates" in caplog.text
