"""Fixes: layout kept, done once, and the fixed input function yields what it yielded before."""

import ast

import pytest

pytest.importorskip("libcst")

from estimator_io.lint.fixes import fix_text
from estimator_io.lint.settings import Settings

HEAD = "import tensorflow as tf\n\n\n"


def fixed(text, unsafe=False):
    return fix_text(text, "a.py", Settings(), unsafe)


# Each pair: before, after. `--fix` alone.
SAFE = [
    ("ds = tf.data.Dataset.range(9).batch(2)",
     "ds = tf.data.Dataset.range(9).batch(2).prefetch(AUTO)"),
    (
        "ds = tf.data.Dataset.range(9).map(lambda v: v + 1).prefetch(1)",
        "ds = tf.data.Dataset.range(9).map(lambda v: v + 1, num_parallel_calls=AUTO).prefetch(1)",
    ),
    (
        "ds = tf.data.Dataset.range(9).batch(n).prefetch(n)  # ahead",
        "ds = tf.data.Dataset.range(9).batch(n).prefetch(AUTO)  # ahead",
    ),
    (
        "ds = tf.data.Dataset.range(9).batch(n).prefetch(buffer_size=4 * n)",
        "ds = tf.data.Dataset.range(9).batch(n).prefetch(buffer_size=AUTO)",
    ),
    (
        "ds = tf.data.Dataset.range(9)\nds.prefetch(3)",
        "ds = tf.data.Dataset.range(9)\nds = ds.prefetch(3)",
    ),
    (
        "ds = tf.data.Dataset.range(9).map(lambda v: v, 2)\nds.cache()",
        "ds = tf.data.Dataset.range(9).map(lambda v: v, 2)\nds = ds.cache()",
    ),
    (
        "ds = tf.data.Dataset.range(9).ignore_errors()",
        "ds = tf.data.Dataset.range(9).ignore_errors(log_warning=True)",
    ),
    (
        "ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4)".replace("files", "FILES"),
        "ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=AUTO)"
        .replace("files", "FILES"),
    ),
    # comments and layout
    (
        "ds = (\n    tf.data.Dataset.range(9)  # rows\n    .map(\n        tf.abs,  # parse\n    )\n"
        "    .batch(2)  # small\n)",
        "ds = (\n    tf.data.Dataset.range(9)  # rows\n    .map(\n        tf.abs,  # parse\n"
        "        num_parallel_calls=AUTO,\n    )\n    .batch(2).prefetch(AUTO)  # small\n)",
    ),
    (
        "ds = tf.data.Dataset.range(9) \\\n    .shuffle(9) \\\n    .batch(2)",
        "ds = tf.data.Dataset.range(9) \\\n    .shuffle(9) \\\n    .batch(2).prefetch(AUTO)",
    ),
]  # fmt: skip

# What --fix leaves alone, and what --unsafe-fixes makes of it.
UNSAFE = [
    (
        "ds = tf.data.Dataset.range(9)\nds.shuffle(3)",
        "ds = tf.data.Dataset.range(9)\nds = ds.shuffle(3)",
    ),
    (
        "ds = tf.data.Dataset.range(9).map(lambda v: tf.random.uniform([]))",
        "ds = tf.data.Dataset.range(9)"
        ".map(lambda v: tf.random.uniform([]), num_parallel_calls=AUTO)",
    ),
    (
        "from lib import f\nds = tf.data.Dataset.range(9).map(f)",
        "from lib import f\nds = tf.data.Dataset.range(9).map(f, num_parallel_calls=AUTO)",
    ),
    (
        "ds = tf.data.Dataset.list_files(p).shard(2, 0)",
        "ds = tf.data.Dataset.list_files(p, shuffle=False).shard(2, 0)",
    ),
]


# Statements that no fix may touch, asked for or not: they would break or change the program.
NEVER = [
    # a name of the module, of another function, of a class
    "ds = tf.data.Dataset.range(9)\n\ndef f():\n    ds.cache()\n    ds.prefetch(1)\n    return ds",
    "def f():\n    ds = tf.data.Dataset.range(9)\n\n    def g():\n        ds.prefetch(1)\n"
    "        return ds\n    return g()",
    "ds = tf.data.Dataset.range(9)\n\nclass A:\n    ds.prefetch(1)",
    # a cache that would keep an order, random numbers, or rows without end
    "ds = tf.data.Dataset.range(9).shuffle(9)\nds.cache()\nds = ds.repeat(3)",
    "ds = tf.data.Dataset.range(9).map(lambda v: tf.nn.dropout(v, 0.5), 2)\nds.cache()",
    "ds = tf.data.Dataset.range(9).repeat()\nds.cache()\nds = ds.take(3)",
    # what writes or counts
    "V = tf.Variable(0)\nds = tf.data.Dataset.range(9).map(lambda v: v + V.assign_add(1))",
    "def f(v):\n    tf.print(v)\n    return v\n\nds = tf.data.Dataset.range(9).map(f)",
    "it = iter(tf.data.Dataset.range(9))\nds = tf.data.Dataset.range(9).map(lambda v: next(it))",
]


@pytest.mark.parametrize("source", NEVER)
def test_no_fix_breaks_a_scope_or_changes_what_is_counted(source):
    assert fixed(spelled(source), unsafe=True).text == spelled(source)


# Functions whose result may depend on the order of the calls: not for --fix alone.
ORDERED = [
    "lambda v: tf.nn.dropout(v, 0.5)",
    "lambda v: tf.nn.experimental.general_dropout(v, 0.5, tf.random.uniform)",
    "lambda v: tf.raw_ops.RandomUniform(shape=[1], dtype=tf.float32)",
    "lambda v: GENERATOR.uniform([])",
    "lambda v: tf.random.Generator.from_seed(1).uniform([])",
    "lambda v: tf.random.get_global_generator().normal([])",
    "lambda v: FLIP(v, training=True)",
    "FLIP",
    "lambda v: tf.keras.layers.Dropout(0.5)(v, training=True)",
    "lambda v: MODEL(v)",
    "lambda v: tf.experimental.numpy.random.rand(3)",
    "lambda v: tf.random.shuffle([1, 2])",
    "lambda v: tf.map_fn(tf.image.random_flip_left_right, v)",
    "lambda v: tf.cond(v > 1, true_fn=draw, false_fn=lambda: v)",
    "lambda v: [augment(v) for augment in AUGMENTATIONS]",
    "aliased",
    "decorated",
    "defaulted",
]
ORDERED_HEAD = """import tensorflow as tf
from lib import decorator

GENERATOR = tf.random.Generator.from_seed(1)
FLIP = tf.keras.layers.RandomFlip()
MODEL = tf.keras.Sequential([tf.keras.layers.Rescaling(2.0), tf.keras.layers.RandomCrop(3, 3)])
AUGMENTATIONS = [tf.image.random_flip_left_right]

def draw():
    return tf.random.normal([])

def aliased(v):
    generator = GENERATOR
    return generator.uniform([])

@decorator
def decorated(v):
    return v

def defaulted(v, generator=GENERATOR):
    return generator.uniform([])

"""


@pytest.mark.parametrize("function", ORDERED)
def test_a_map_whose_order_may_matter_is_not_made_parallel_unasked(function):
    text = ORDERED_HEAD + f"ds = tf.data.Dataset.range(9).map({function})\n"
    result = fixed(text)
    assert "EIO102" in {f.code for f in result.report.findings}
    assert result.text == text


def test_an_interleave_over_generators_of_another_file_is_not_made_parallel_unasked():
    text = HEAD + (
        "from lib import rows\n"
        "ds = tf.data.Dataset.range(3).interleave(\n"
        "    lambda v: tf.data.Dataset.from_generator(rows, tf.int64), cycle_length=2)\n"
    )
    assert fixed(text).text == text


def test_each_finding_is_mended_though_another_of_its_code_cannot_be():
    plain = "a = tf.data.Dataset.range(3).map(lambda v: v + 1).prefetch(1)\n"
    kept = "b = tf.data.Dataset.range(3).map(lambda v: model(v)).prefetch(1)\n"
    result = fixed(HEAD + plain * 2 + kept)
    mended = plain.replace("v + 1", "v + 1, num_parallel_calls=tf.data.AUTOTUNE")
    assert (result.text, result.count) == (HEAD + mended * 2 + kept, 2)
    assert [f.code for f in result.report.findings] == ["EIO102"]


@pytest.mark.parametrize("given", ["", "False", "log_warning=False", "None"])
def test_an_argument_is_written_once_wherever_it_stood(given):
    text = HEAD + f"ds = tf.data.Dataset.range(9).ignore_errors({given})\n"
    after = fixed(text).text
    assert after in (
        text.replace(f"({given})", "(True)"),
        text.replace(f"({given})", "(log_warning=True)"),
    )
    listed = HEAD + "ds = tf.data.Dataset.list_files(p, True).shard(2, 0)\n"
    assert fixed(listed, unsafe=True).text == listed.replace("True", "False")


@pytest.mark.parametrize(
    ("before", "spelling"),
    [
        # only for type checkers, in one branch, not yet imported, hidden by a parameter
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tensorflow as tf\n"
         "def f():\n    import tensorflow.compat.v1 as tf1\n    return tf1.DS",
         "tf1.data.AUTOTUNE"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tensorflow as tf\n"
         "def f(tf1):\n    from tensorflow.data import Dataset as D\n"
         "    return D.range(9).batch(2)",
         None),
        ("def f(tf):\n    import tensorflow as other\n    return other.DS", "other.data.AUTOTUNE"),
        ("import tensorflow as tf\nD = tf.data.Dataset\ndef f(tf=None):\n"
         "    return D.range(9).batch(2)", None),
        ("import tensorflow as tf\nds = tf.DS\nAUTOTUNE = tf.data.AUTOTUNE", "tf.data.AUTOTUNE"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n"
         "def f():\n    return tf.DS", "tf.data.AUTOTUNE"),
    ],
)  # fmt: skip
def test_autotune_is_spelled_with_names_that_the_place_can_read(before, spelling):
    text = before.replace(".DS", ".data.Dataset.range(9).batch(2)") + "\n"
    after = text.replace("batch(2)", f"batch(2).prefetch({spelling})") if spelling else text
    assert fixed(text).text == after


def spelled(text, spelling="tf.data.AUTOTUNE"):
    text = text.replace("AUTO", spelling)
    return HEAD + text.replace("FILES", "tf.data.Dataset.list_files(p)") + "\n"


@pytest.mark.parametrize(("before", "after"), SAFE)
def test_it_mends(before, after):
    result = fixed(spelled(before))
    assert result.text == spelled(after)
    assert result.count >= 1
    ast.parse(result.text)


@pytest.mark.parametrize(("before", "after"), UNSAFE)
def test_what_may_change_the_rows_is_mended_only_when_asked(before, after):
    assert fixed(spelled(before)).text == spelled(before)
    assert fixed(spelled(before), unsafe=True).text == spelled(after)


@pytest.mark.parametrize(("before", "after"), SAFE + UNSAFE)
def test_mending_again_changes_nothing(before, after):
    once = fixed(spelled(before), unsafe=True)
    again = fixed(once.text, unsafe=True)
    assert (again.text, again.count) == (once.text, 0)


@pytest.mark.parametrize(
    ("head", "spelling"),
    [
        ("import tensorflow.compat.v1 as tf1", "tf1.data.AUTOTUNE"),
        ("from tensorflow import data as d", "d.AUTOTUNE"),
        ("import tensorflow as tf\nAUTOTUNE = tf.data.experimental.AUTOTUNE", "AUTOTUNE"),
        ("import tensorflow", "tensorflow.data.AUTOTUNE"),
    ],
)
def test_autotune_is_spelled_as_the_file_can(head, spelling):
    source = {"tf1": "tf1.data.", "d": "d.", "AUTOTUNE": "tf.data."}.get(
        spelling.partition(".")[0], "tensorflow.data."
    )
    text = f"{head}\nds = {source}Dataset.range(9).batch(2)\n"
    assert fixed(text).text == text.replace("batch(2)", f"batch(2).prefetch({spelling})")


def test_a_file_that_cannot_spell_autotune_is_left_alone():
    text = "from tensorflow.data import Dataset\nds = Dataset.range(9).batch(2)\n"
    assert fixed(text).text == text


def test_parallel_calls_are_not_added_where_order_was_given_up():
    text = HEAD + (
        "o = tf.data.Options()\no.deterministic = False\n"
        "ds = tf.data.Dataset.range(9).map(lambda v: v).with_options(o)\n"
    )
    assert fixed(text).text == text


def test_windows_line_ends_and_tabs_stay():
    text = (HEAD + "def f():\n\tds = tf.data.Dataset.range(9)\n\treturn ds.batch(2)\n").replace(
        "\n", "\r\n"
    )
    expected = text.replace("batch(2)", "batch(2).prefetch(tf.data.AUTOTUNE)")
    assert fixed(text).text == expected


INPUT_FNS = [
    # (name, source): input_fn() of each is run before and after
    """
def parse(v):
    return tf.cast(v, tf.float32) * 2.0

def input_fn():
    ds = tf.data.Dataset.range(40)
    ds = ds.shuffle(40, seed=3)
    ds = ds.map(parse)
    return ds.batch(8)
""",
    """
def input_fn(training=True):
    ds = tf.data.Dataset.range(23).map(lambda v: {"x": v, "y": -v})
    ds.prefetch(4)
    if training:
        ds = ds.repeat(2)
    return (
        ds
        .filter(lambda row: row["x"] % 3 > 0)
        .prefetch(100)  # rows
        .batch(5)
    )
""",
    """
def part(n):
    return tf.data.Dataset.range(n, n + 4).map(lambda v: v * 10)

def input_fn():
    size = 4
    ds = tf.data.Dataset.range(5).interleave(part, cycle_length=3)
    return ds.batch(size).prefetch(size)
""",
    """
def fail_on_odd(v):
    value = tf.cast(v, tf.float32)
    return tf.debugging.check_numerics(1.0 / tf.cast(1 - v % 2, tf.float32), "odd") + value

def input_fn():
    ds = tf.data.Dataset.range(10).map(fail_on_odd).ignore_errors()
    return ds.padded_batch(3)
""",
]


@pytest.mark.parametrize("source", INPUT_FNS)
@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("head", ["import tensorflow as tf", "import tensorflow.compat.v1 as tf"])
def test_the_fixed_input_function_yields_the_same_elements(draw, source, how, head):
    import numpy as np

    before = head + "\n" + source
    result = fixed(before)
    assert result.text != before
    assert result.count >= 2

    def run(text):
        names: dict = {}
        exec(compile(text, "input_fn.py", "exec"), names)
        return draw(names["input_fn"], how)

    expected, found = run(before), run(result.text)
    assert len(expected) > 1
    np.testing.assert_equal(found, expected)
