"""Every rule: what must not be flagged first, then what must, then its own example."""

import re

import pytest

from estimator_io.lint.linter import lint_text
from estimator_io.lint.rule import all_rules
from tests.lint.tables import estimator, rows, speed

CLEAN = {**speed.CLEAN, **rows.CLEAN, **estimator.CLEAN}
FLAGGED = {**speed.FLAGGED, **rows.FLAGGED, **estimator.FLAGGED}
PREAMBLE = """
import numpy as np
import tensorflow as tf
import estimator_io
dataset = tf.data.TFRecordDataset(path)
images, labels = tf.data.Dataset.range(9), tf.data.Dataset.range(9)
files = tf.data.Dataset.list_files(path, shuffle=False)
estimator = tf.estimator.Estimator(model_fn)

def decode(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))

def input_fn(path):
    return tf.data.TFRecordDataset(path)

"""


def cases(table):
    return [
        pytest.param(code, source, id=f"{code}-{number}")
        for code, sources in table.items()
        for number, source in enumerate(sources)
    ]


def lines_of(code, source):
    text = source if "import tensorflow" in source else f"import tensorflow as tf\n{source}"
    report = lint_text(text)
    assert report.error == ""
    return text, sorted({f.line for f in report.findings if f.code == code})


@pytest.mark.parametrize(("code", "source"), cases(CLEAN))
def test_it_leaves_alone(code, source):
    _, found = lines_of(code, source)
    assert found == []


@pytest.mark.parametrize(("code", "source"), cases(FLAGGED))
def test_it_finds(code, source):
    text, found = lines_of(code, source)
    marked = [n for n, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("# <-")]
    assert marked, "the case marks no line"
    assert found == marked


def test_every_rule_has_both_tables_and_no_table_is_without_a_rule():
    assert set(CLEAN) == set(FLAGGED) == set(all_rules())
    assert all(CLEAN.values())
    assert all(FLAGGED.values())


@pytest.mark.parametrize("code", all_rules())
def test_the_example_of_a_rule_is_what_it_finds_and_its_remedy_is_not(code):
    rule = all_rules()[code]
    before = lint_text(PREAMBLE + in_function(rule.before))
    after = lint_text(PREAMBLE + in_function(rule.after))
    assert code in {f.code for f in before.findings}, before
    assert code not in {f.code for f in after.findings}, after


def in_function(example):
    if not re.search(r"^return", example, re.MULTILINE):
        return example
    return "def input_fn(dataset):\n" + re.sub(r"^", "    ", example, flags=re.MULTILINE)


def grade_of(code, source):
    found = lint_text(f"import tensorflow as tf\n{source}").findings
    return next(f.grade.value for f in found if f.code == code)


@pytest.mark.parametrize(
    ("function", "grade"),
    [
        ("lambda r: tf.io.decode_raw(r, tf.uint8)", "style"),
        ("lambda r: tf.random.stateless_uniform([], (1, 2))", "style"),
        ("unknown", "style"),
        ("lambda r: tf.image.random_flip_left_right(r)", "slow"),
        ("lambda r: tf.random.uniform([])", "slow"),
        ("lambda r: tf.nn.dropout(r, 0.5)", "slow"),
        ("lambda r: tf.Variable(0).assign_add(r)", "slow"),
        ("lambda r: tf.debugging.check_numerics(r, 'x')", "slow"),
        ("tf.keras.layers.RandomFlip()", "slow"),
        ("tf.keras.layers.Rescaling(0.5)", "style"),
        ("lambda r: tf.py_function(read, [r], tf.float32)", "slow"),
    ],
)
def test_the_grade_of_a_serial_map_depends_on_what_it_does(function, grade):
    source = f"ds = tf.data.TFRecordDataset(p).map({function})"
    assert grade_of("EIO102", source) == grade


def test_the_grade_of_repeat_before_shuffle_depends_on_the_count():
    source = "ds = tf.data.TFRecordDataset(p).repeat({}).shuffle(99)"
    assert grade_of("EIO202", source.format("")) == "style"
    assert grade_of("EIO202", source.format("3")) == "wrong"


def test_the_grade_of_an_initializable_iterator_depends_on_its_initializer():
    source = (
        "def input_fn():\n    it = tf.data.TFRecordDataset(p).make_initializable_iterator()\n"
        "    {}\n    return it.get_next()"
    )
    assert grade_of("EIO306", source.format("pass")) == "wrong"
    assert grade_of("EIO306", source.format("run(it.initializer)")) == "style"
