"""The cache folder: shared by calls and copies, and invalidated by what it depends on."""

import collections
import functools
import importlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.plan.identity import UnhashableError, digest
from estimator_io.store import key


@pytest.fixture
def counted(tmp_path):
    """Returns (files, parse, count): parse adds a factor, and count says how often it ran."""
    log = tmp_path / "log"
    log.touch()
    files = []
    for number in range(6):
        path = tmp_path / f"{number}.txt"
        path.write_text(str(number))
        files.append(str(path))

    def make_parse(factor):
        name = str(log)

        def parse(path):
            def read(value):
                with open(name, "a") as file:
                    file.write("x")
                with open(value.decode()) as file:
                    return np.int64(int(file.read()) * factor)

            return tf.ensure_shape(tf.numpy_function(read, [path], tf.int64), [])

        return parse

    return files, make_parse, lambda: len(log.read_text())


def rows(fn, mode="eval"):
    return sorted(int(row) for batch in fn(mode).as_numpy_iterator() for row in batch)


def test_calls_and_copies_share_what_was_parsed(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    for _ in range(3):
        fn = estimator_io.input_fn(files, parse=make_parse(10), cache=folder, batch_size=4)
        assert rows(fn) == [0, 10, 20, 30, 40, 50]
    assert count() == 6


def test_another_constant_in_parse_gives_new_values(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    for factor in (10, 20, 10):
        fn = estimator_io.input_fn(files, parse=make_parse(factor), cache=folder, batch_size=4)
        assert rows(fn) == [factor * i for i in range(6)]
    assert count() == 12


def test_a_changed_file_gives_new_values(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=folder, batch_size=4)
    assert rows(fn) == [0, 1, 2, 3, 4, 5]
    with open(files[0], "w") as file:
        file.write("77")
    assert rows(fn) == [1, 2, 3, 4, 5, 77]
    assert count() == 12


def test_training_and_evaluation_share_a_folder_and_may_run_at_once(counted, tmp_path):
    files, make_parse, _ = counted
    options = {"parse": make_parse(1), "cache": str(tmp_path / "cache"), "batch_size": 2}
    fn = estimator_io.input_fn(files, seed=1, **options)
    training = iter(fn("train"))
    next(training)
    assert rows(fn) == [0, 1, 2, 3, 4, 5]
    other = iter(fn("train"))  # a second writer beside the first
    seen = [int(row) for _ in range(3) for row in next(other)]
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]


def test_a_drawn_seed_does_not_make_the_cache_unusable_to_the_next_run(counted, tmp_path):
    files, make_parse, count = counted
    for _ in range(2):
        fn = estimator_io.input_fn(
            files, parse=make_parse(1), cache=str(tmp_path / "c"), batch_size=6, epochs=2
        )
        assert rows(fn, "train") == sorted(2 * [0, 1, 2, 3, 4, 5])
    assert count() == 6


class Scale:
    """What `parse` depends on, and no key can hold."""

    def __init__(self):
        self.by = 1

    def parse(self, x):
        return x * self.by


def of_a_closure():
    scale = Scale()
    return lambda x: x * scale.by, lambda: setattr(scale, "by", 100)


def of_a_method():
    scale = Scale()
    return scale.parse, lambda: setattr(scale, "by", 100)


def of_a_variable():
    variable = tf.Variable(1, dtype=tf.int64)
    return lambda x: x * variable, lambda: variable.assign(100)


def of_python_at_run_time():
    scale = Scale()

    def parse(x):
        made = tf.numpy_function(lambda x: np.int64(x * scale.by), [x], tf.int64)
        return tf.ensure_shape(made, [])

    return parse, lambda: setattr(scale, "by", 100)


@pytest.mark.parametrize("place", ["memory", "folder"])
@pytest.mark.parametrize("make", [of_a_closure, of_a_method, of_a_variable, of_python_at_run_time])
def test_rows_of_what_cannot_be_compared_do_not_come_back_after_it_has_changed(
    make, place, tmp_path, caplog
):
    parse, change = make()
    cache = place if place == "memory" else str(tmp_path / "c")
    fn = estimator_io.input_fn(np.arange(1, 4), parse=parse, cache=cache, batch_size=3)
    dataset = fn.dataset("eval")
    assert rows(fn) == np.concatenate(list(dataset.as_numpy_iterator())).tolist() == [1, 2, 3]
    change()
    assert rows(fn) == [100, 200, 300]
    if make in (of_a_variable, of_python_at_run_time):  # whose values are no part of the trace
        assert np.concatenate(list(dataset.as_numpy_iterator())).tolist() == [100, 200, 300]
    assert caplog.text.count("keeps nothing") == 1
    assert "cannot be compared" in caplog.text


def test_a_stream_that_cannot_be_compared_is_read_anew(caplog):
    scale = Scale()
    fn = estimator_io.generator_input_fn(lambda: iter([scale.by]), cache="memory", batch_size=1)
    assert rows(fn) == [1]
    scale.by = 100
    assert rows(fn) == [100]
    assert caplog.text.count("keeps nothing") == 1


def test_a_folder_that_cannot_be_written_caches_nothing_with_one_warning(counted, tmp_path, caplog):
    files, make_parse, count = counted
    file = tmp_path / "file"
    file.write_text("")
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=str(file / "c"), batch_size=4)
    for _ in range(2):
        assert rows(fn) == [0, 1, 2, 3, 4, 5]
    assert count() == 12
    assert caplog.text.count("cannot be written") == 1


def test_a_foreign_folder_is_refused_and_left_alone(counted, tmp_path):
    files, make_parse, _ = counted
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.txt").write_text("mine")
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=str(tmp_path / "c"), batch_size=4)
    with pytest.raises(estimator_io.StoreError, match=r"is no store: .*'thesis.txt'"):
        fn("eval")
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["thesis.txt"]


def helper(x):
    return x + CONSTANT


CONSTANT = 1


def calls_helper(x):
    return helper(x)


def test_digests_tell_apart_what_a_function_does(monkeypatch):
    def adder(n):
        return lambda x: x + n

    assert digest(adder(1)) == digest(adder(1))
    assert digest(adder(1)) != digest(adder(2))
    assert digest(lambda x: x + 1) != digest(lambda x: x - 1)
    assert digest({"a": np.arange(3)}) != digest({"a": np.arange(4)})
    assert digest(tf.io.FixedLenFeature([2], tf.float32)) != digest(
        tf.io.FixedLenFeature([2], tf.int64)
    )
    before = digest(calls_helper)
    monkeypatch.setitem(globals(), "CONSTANT", 2)
    assert digest(calls_helper) != before


@pytest.mark.parametrize("run", [tf.numpy_function, tf.py_function])
def test_running_a_function_does_not_change_its_digest(run):
    def twice(x):
        return x * 2

    def parse(x):
        return run(twice, [x], tf.int64)

    before = digest(parse)
    assert len(list(tf.data.Dataset.range(3).map(parse))) == 3
    assert digest(parse) == before


def test_a_parse_that_calls_numpy_is_found_again(tmp_path):
    log = str(tmp_path / "log")

    def twice(x):
        with open(log, "a") as file:
            file.write("x")
        return x * 2

    def parse(x):
        return tf.ensure_shape(tf.numpy_function(twice, [x], tf.int64), [])

    fn = estimator_io.input_fn(
        np.arange(10), parse=parse, batch_size=5, cache=str(tmp_path / "store"), check=False
    )
    for _ in range(3):
        assert rows(fn) == list(range(0, 20, 2))
    assert os.path.getsize(log) == 10


def test_what_has_no_content_to_compare_has_no_digest():
    with pytest.raises(UnhashableError, match="object of type object"):
        digest(object())


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Returns a function that writes a module `name`, imports it anew and returns it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = set()

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        made.add(name)
        for known in made:
            sys.modules.pop(known, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in made:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "text",
    [
        "import hlp\nparse = lambda x: hlp.s(x)",
        "import hlp as h\nparse = lambda x: (lambda y: h.s(y))(x)",
        "def parse(x):\n    import hlp\n    return hlp.s(x)",
        "def parse(x):\n    import hlp as h\n    y = x\n    return h.s(y)",
        "def parse(x):\n    from hlp import s as t\n    return t(x)",
        "def parse(x):\n    import hlp\n    return [hlp.s(y) for y in x]",
        "def parse(x):\n    from hlp import t, s as r\n    return r(x)",
        "def make():\n    import hlp\n    return lambda x: hlp.s(x)\nparse = make()",
    ],
)
def test_a_helper_in_a_module_counts_and_its_neighbours_do_not(written, text):
    found = []
    for factor, other in ((1, 1), (2, 1), (2, 2), (1, 1)):
        written("hlp", f"def s(x): return x * {factor}\nt = 1\ndef other(x): return {other}")
        found.append(digest(written("user", text).parse))
    assert found[0] == found[3] != found[1] == found[2]


@pytest.mark.parametrize(
    "text",
    [
        "import pkg.sub.hlp\ndef parse(x): return pkg.sub.hlp.s(x)",
        "def parse(x):\n    import pkg.sub.hlp\n    return pkg.sub.hlp.s(x)",
        "def parse(x):\n    import pkg.sub.hlp as h\n    return h.s(x)",
        "def parse(x):\n    from pkg import sub as one, two\n    return one.hlp.s(two.t)",
        "def parse(x):\n    from pkg.sub.hlp import s\n    return s(x)",
    ],
)
def test_a_helper_in_a_package_counts(written, tmp_path, text):
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("from pkg.sub import hlp")
    (tmp_path / "pkg" / "two.py").write_text("t = 1")
    found = []
    for factor in (1, 2, 1):
        for name in ("pkg", "pkg.sub", "pkg.two", "pkg.sub.hlp"):
            sys.modules.pop(name, None)
        (tmp_path / "pkg" / "sub" / "hlp.py").write_text(f"def s(x): return x * {factor}")
        found.append(digest(written("user", text).parse))
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize(
    "body", ["getattr(hlp, 's')(x)", "(lambda m: m)(hlp)", "eval('hlp.s(x)')", "hlp"]
)
def test_a_module_used_as_a_value_has_no_digest(written, body):
    written("hlp", "def s(x): return x")
    with pytest.raises(UnhashableError, match=r"used as a value|eval"):
        digest(written("user", f"import hlp\nparse = lambda x: {body}").parse)


def test_values_that_differ_have_digests_that_differ():
    def plus(x):
        return x + 1

    def dbl(x):
        return x * 2

    def chain(x, steps):
        return functools.reduce(lambda value, step: step(value), steps, x)

    def noted(note):
        def function(x):
            return x

        function.note = note
        return function

    def parser(number):
        class Parser:
            @staticmethod
            def read(x):
                return x + number

        return Parser

    long = np.arange(3000)
    changed = np.where(long == 1500, 0, long)
    pairs = [
        [functools.partial(chain, steps=(plus, dbl, last)) for last in (plus, dbl)],
        [{"b": {"j": 0}, "k": 7}, {"b": {"j": 0, "k": 7}}],
        [tf.constant(long), tf.constant(changed)],
        [{b"a": 1}.get, {b"a": 2}.get],
        [np.ma.array([1, 2], mask=mask) for mask in ([0, 1], [1, 0])],
        [np.zeros(2, [("a", "i4"), ("b", "i4")]), np.zeros(2, [("a", "i4"), ("c", "i4")])],
        [noted(1), noted(2)],
        [parser(1), parser(2)],
        [collections.defaultdict(int), collections.defaultdict(float)],
        [re.compile("a").match, re.compile("b").match],
        [tf.function(plus), tf.function(dbl)],
    ]
    for one, other in pairs:
        assert digest(one) == digest(one)
        assert digest(one) != digest(other), one


class Plain:
    """An object that says of itself what every one of its kind says."""

    def __repr__(self):
        return "Plain()"


def test_a_digest_is_the_same_in_every_process():
    code = (
        "import numpy as np, re, tensorflow as tf\n"
        "from estimator_io.plan.identity import digest\n"
        "class Own:\n    def f(self, x): return x in {'a', 'b', 'c'}\n"
        "print(digest({'a', 'b', 'c'}, Own, Own.f, lambda x: Own().f(re.sub('a', 'b', x)),"
        " len, np.mean, np.add, tf.constant(1), tf.function(lambda x: tf.add(x, max(x, 1)))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.Variable(np.arange(3000)),
        Plain,
        lambda: functools.partial(Plain().__repr__),
        lambda: np.array([(1, "a")], [("a", "i4"), ("b", object)]),
        lambda: np.frompyfunc(lambda x: x + 1, 1, 1),
        lambda: np.vectorize(lambda x: x + 1),
        lambda: tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2),
        lambda: (lambda numbers: [numbers.append(numbers), numbers][1])([]),
    ],
)
def test_what_could_only_be_guessed_has_no_digest(make):
    with pytest.raises(UnhashableError):
        digest(make())


def test_what_parse_functions_are_usually_made_of_has_a_digest():
    pair = collections.namedtuple("pair", ["a", "b"])

    def parse(path, sizes=(2, 3)):
        from os import path as paths

        image = tf.image.resize(tf.io.decode_image(tf.io.read_file(path)), sizes)[..., 0]
        return pair(image, np.float32(len(paths.sep)))

    for value in (parse, tf.function(parse), functools.partial(parse, sizes=[1, 2]), pair(1, 2)):
        assert digest(value) == digest(value)


def test_two_datasets_of_one_pipeline_may_be_read_at_once(counted, tmp_path):
    files, make_parse, count = counted
    fn = estimator_io.input_fn(
        files, parse=make_parse(1), cache=str(tmp_path / "c"), batch_size=1, shuffle=False, epochs=1
    )
    both = zip(fn("train"), fn("eval"), strict=True)
    assert [(int(one[0]), int(other[0])) for one, other in both] == [(i, i) for i in range(6)]
    read = count()
    assert rows(fn) == rows(fn, "train") == [0, 1, 2, 3, 4, 5]
    assert count() == read


def test_a_dataset_read_again_reads_its_own_cache(counted, tmp_path):
    files, make_parse, count = counted
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=str(tmp_path / "c"), batch_size=2)
    dataset = fn("eval")
    for _ in range(2):
        assert np.concatenate(list(dataset.as_numpy_iterator())).tolist() == [0, 1, 2, 3, 4, 5]
    assert count() == 6


def test_the_file_of_a_lookup_table_counts_and_a_log_does_not(tmp_path):
    words, log = tmp_path / "words.txt", tmp_path / "log.txt"
    words.write_text("a\nb\n")
    log.write_text("")
    path, log_path = str(words), str(log)

    def made_inside(x):
        def note(value):
            with open(log_path, "a") as file:
                file.write("x")
            return value

        ids = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, -1)
        return tf.lookup.StaticHashTable(ids, -1).lookup(tf.numpy_function(note, [x], tf.string))

    closed = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, -1)

    def closed_over(x):
        return tf.lookup.StaticHashTable(closed, -1).lookup(x)

    for parse in (made_inside, closed_over):
        words.write_text("a\nb\n")
        os.utime(words, (1, 1))
        before = digest(parse)
        log.write_text("xxx")
        assert digest(parse) == before
        words.write_text("a\nb\nc\n")
        assert digest(parse) != before


def test_contents_count_on_request_where_size_and_time_are_the_same(counted, tmp_path):
    files, make_parse, count = counted
    store = estimator_io.Store(tmp_path / "c", verify_contents=True)
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=store, batch_size=6)
    before = os.stat(files[0])
    assert rows(fn) == rows(fn) == [0, 1, 2, 3, 4, 5]
    with open(files[0], "w") as file:
        file.write("7")
    os.utime(files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    key._content.cache_clear()  # another process reads them anew
    assert rows(fn) == [1, 2, 3, 4, 5, 7]
    assert count() == 12


def test_planning_neither_touches_the_disk_nor_warns(tmp_path, caplog):
    folder = tmp_path / "c"
    fn = estimator_io.input_fn(np.arange(3), parse=Adder().parse, cache=str(folder), batch_size=1)
    program = fn.source_code("eval")
    assert "without_store" in program
    assert fn.element_spec.dtype == fn.spec("eval").dtype == tf.int64
    repr(fn)
    assert not folder.exists()
    assert "cannot be compared" not in caplog.text


class Adder:
    def parse(self, x):
        return x + 1
