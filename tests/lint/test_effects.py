"""What the linter says of TensorFlow's operations is what TensorFlow says of them."""

import pytest

from estimator_io.lint.analysis.effects import Effect, draws, effect_of

CALLS = [
    # (the name of what is called, the function that calls it)
    ("tensorflow.io.parse_tensor", lambda tf, v: tf.io.parse_tensor(v, tf.int64)),
    ("tensorflow.random.stateless_uniform", lambda tf, v: tf.random.stateless_uniform([], [1, 2])),
    ("tensorflow.image.per_image_standardization", lambda tf, v: image(tf, v)),
    ("tensorflow.nn.dropout", lambda tf, v: tf.nn.dropout(floats(tf, v), 0.5)),
    ("tensorflow.random.uniform", lambda tf, v: tf.random.uniform([])),
    ("tensorflow.random.shuffle", lambda tf, v: tf.random.shuffle([1, 2])),
    ("tensorflow.image.random_hue", lambda tf, v: tf.image.random_hue(floats(tf, v), 0.1)),
    ("tensorflow.experimental.numpy.random.rand",
     lambda tf, v: tf.experimental.numpy.random.rand(2)),
    ("tensorflow.debugging.check_numerics",
     lambda tf, v: tf.debugging.check_numerics(floats(tf, v), "")),
    ("tensorflow.print", lambda tf, v: tf.print(v)),
    ("tensorflow.io.write_file", lambda tf, v: tf.io.write_file("x", v)),
    ("tensorflow.timestamp", lambda tf, v: tf.timestamp()),
    ("tensorflow.py_function", lambda tf, v: tf.py_function(lambda w: w, [v], tf.string)),
    ("tensorflow.numpy_function", lambda tf, v: tf.numpy_function(lambda w: w, [v], tf.string)),
]  # fmt: skip


def floats(tf, v):
    return tf.ones([4, 4, 3]) + tf.cast(tf.strings.length(v), tf.float32)


def image(tf, v):
    return tf.image.per_image_standardization(floats(tf, v))


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_what_is_called_stateful_makes_a_stateful_operation_and_nothing_else_does(name, call):
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        call(tf, tf.compat.v1.placeholder(tf.string, []))
    stateful = [op.type for op in graph.get_operations() if op.op_def and op.op_def.is_stateful]
    stateful = [kind for kind in stateful if kind != "Assert"]  # tf.data leaves it out of account
    assert bool(stateful) == (effect_of(name) is not Effect.NONE), stateful


def test_no_stateful_operation_of_tensorflow_is_taken_for_a_plain_one():
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    kinds = [kind for kind in dir(tf.raw_ops) if kind[0].isupper()]
    stateful = [kind for kind in kinds if getattr(op_def_registry.get(kind), "is_stateful", False)]
    assert len(stateful) > 300
    taken = {kind: effect_of(f"tensorflow.raw_ops.{kind}") for kind in stateful}
    assert [kind for kind, effect in taken.items() if effect is Effect.NONE] == []
    drawing = {"Uniform", "Normal", "Poisson", "Multinomial"}
    for kind in stateful:
        if any(word in kind for word in drawing) and "Stateless" not in kind:
            assert draws(f"tensorflow.raw_ops.{kind}"), kind


def test_every_method_of_a_generator_and_every_assignment_counts():
    import tensorflow as tf

    for name in ("uniform", "normal", "binomial", "truncated_normal", "make_seeds", "split"):
        assert hasattr(tf.random.Generator, name)
        assert effect_of(f"tensorflow.random.Generator.{name}") is Effect.RANDOM
    for name in dir(tf.Variable):
        if name.startswith(("assign", "scatter_")):
            assert effect_of(f"tensorflow.Variable.{name}") is Effect.STATE
    for name in dir(tf.random):
        if callable(getattr(tf.random, name)) and name[0].islower() and "seed" not in name:
            pure = "stateless" in name or name in ("fold_in", "split", "create_rng_state")
            managed = name in ("get_global_generator", "set_global_generator")
            assert pure or managed or effect_of(f"tensorflow.random.{name}") is Effect.RANDOM, name
    for name in dir(tf.image):
        if name.startswith("random_"):
            assert effect_of(f"tensorflow.image.{name}") is Effect.RANDOM
