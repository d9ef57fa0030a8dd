"""csv_input_fn against the csv module: values, types, layouts, orders, and what a bad line says."""

import csv
import gzip
import io
import json
import random
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError
from estimator_io.ops.lines import line_ends
from tests.conftest import ROOT

WAYS = [(how, stream) for how in ("eager", "graph") for stream in (False, True)]
every_way = pytest.mark.parametrize(("how", "stream"), WAYS)
ROWS = [["x", "y", "word"], *([str(i), str(i / 4), f"w{i % 3}"] for i in range(23))]


def text_of(rows, **options):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", **options).writerows(rows)
    return text.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(text, name="rows.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return write


def joined(batches):
    """Returns the columns of all batches of features."""
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def read(path, draw, how="eager", mode="eval", **options):
    fn = estimator_io.csv_input_fn(path, **{"batch_size": 4, **options})
    return joined(draw(lambda: fn(mode), how))


@every_way
def test_values_and_inferred_types_are_those_of_the_csv_module(write, draw, how, stream):
    path = write(text_of(ROWS))
    found = read(path, draw, how, stream=stream)
    with open(path, newline="") as file:
        expected = list(csv.DictReader(file))
    assert found["x"].dtype == np.int64
    assert found["x"].tolist() == [int(row["x"]) for row in expected]
    assert found["y"].dtype == np.float32
    assert found["y"].tolist() == [float(row["y"]) for row in expected]
    assert [word.decode() for word in found["word"]] == [row["word"] for row in expected]


@every_way
def test_row_by_row_stages_get_the_same_rows(write, draw, how, stream):
    path = write(text_of(ROWS))
    options = {"batch_size": 4, "stream": stream, "label": "word"}
    fn = estimator_io.csv_input_fn(path, **options, filter=lambda f, label: tf.equal(f["x"] % 2, 0))
    batches = draw(lambda: fn("eval"), how)
    assert [x for f, _ in batches for x in f["x"].tolist()] == list(range(0, 23, 2))
    assert [w for _, label in batches for w in label.tolist()] == [
        f"w{i % 3}".encode() for i in range(0, 23, 2)
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_training_reads_each_row_once_an_epoch_in_an_order_that_the_seed_decides(
    write, draw, stream
):
    paths = [write(text_of([ROWS[0], *ROWS[at::3]]), f"{at}.csv") for at in (1, 2, 3)]
    options = {"mode": "train", "epochs": 2, "stream": stream, "batch_size": 23, "seed": 7}
    one = read(paths, draw, **options)["x"]
    assert sorted(one[:23]) == sorted(one[23:]) == list(range(23))
    assert one[:23].tolist() != one[23:].tolist()
    assert read(paths, draw, "graph", **options)["x"].tolist() == one.tolist()
    assert read(paths, draw, **{**options, "seed": 8})["x"].tolist() != one.tolist()


def test_indexed_rows_are_counted_and_streams_say_that_they_are_not(write):
    path = write(text_of(ROWS))
    table = estimator_io.csv_input_fn(path, batch_size=4, epochs=1)
    assert (table.num_rows, table.num_batches()) == (23, 6)
    assert "23 lines of 1 text files, indexed" in repr(table)
    assert "by index, no buffer" in repr(table)
    stream = estimator_io.csv_input_fn(path, batch_size=4, stream=True)
    assert stream.num_rows is None
    assert "a buffer of 10,000 rows" in repr(stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("files", [1, 3])
def test_workers_share_out_all_rows(write, stream, files):
    paths = [write(text_of([ROWS[0], *ROWS[1 + at :: files]]), f"{at}.csv") for at in range(files)]
    fn = estimator_io.csv_input_fn(paths, batch_size=4, stream=stream, seed=1, epochs=1)
    seen = []
    for worker in range(2):
        context = tf.distribute.InputContext(2, worker, 1)
        for mode in ("train", "eval"):
            rows = fn(mode, None, None, context).as_numpy_iterator()
            seen += [x for batch in rows for x in batch["x"].tolist()]
    assert sorted(seen) == sorted([*range(23)] * 2)


@pytest.mark.parametrize("stream", [False, True])
def test_a_split_keeps_every_row_on_one_side(write, draw, stream):
    paths = [write(text_of([ROWS[0], *ROWS[1 + at :: 8]]), f"{at}.csv") for at in range(8)]
    sides = [
        read(paths, draw, stream=stream, split=(side, 0.5))["x"].tolist()
        for side in ("train", "validation")
    ]
    assert sorted(sides[0] + sides[1]) == list(range(23))
    assert min(map(len, sides)) > 0


@every_way
def test_the_adult_files_are_read_as_they_are(write, draw, how, stream):
    names = ["age", "work", "id", "country", "income"]
    train = "39, State-gov, 77516, United-States, <=50K\n50, ?, 83311, ?, >50K\n\n"
    test = "|1x3 Cross validator\n25, Private, 226802, United-States, <=50K.\n\n"
    classes = {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1}
    options = {
        "columns": names,
        "label": "income",
        "classes": classes,
        "na_values": ["?"],
        "comment": "|",
        "batch_size": 8,
        "stream": stream,
    }
    fn = estimator_io.csv_input_fn([write(train), write(test, "adult.test")], **options)
    [(features, labels)] = draw(lambda: fn("eval"), how)
    assert features["age"].tolist() == [39, 50, 25] or features["age"].tolist() == [39, 25, 50]
    found = dict(
        zip(
            features["age"].tolist(),
            zip(
                *[features[name].tolist() for name in ("work", "id", "country")],
                labels.tolist(),
                strict=True,
            ),
            strict=True,
        )
    )
    assert found == {
        39: (b"State-gov", 77516, b"United-States", 0),
        50: (b"", 83311, b"", 1),
        25: (b"Private", 226802, b"United-States", 0),
    }
    assert fn.class_names == ("<=50K", ">50K")


@every_way
def test_gzip_gives_the_same_rows(write, draw, how, stream):
    plain = read(write(text_of(ROWS)), draw, how)
    zipped = read(write(text_of(ROWS), "rows.csv.gz"), draw, how, stream=stream)
    for name, values in plain.items():
        np.testing.assert_array_equal(zipped[name], values)


@pytest.mark.parametrize("stream", [None, False])
def test_remote_paths_are_read_through_gfile(draw, stream):
    path = f"ram://sources/{stream}/rows.csv"
    with tf.io.gfile.GFile(path, "w") as file:
        file.write(text_of(ROWS))
    assert read(f"ram://sources/{stream}/r*.csv", draw, stream=stream)["x"].tolist() == list(
        range(23)
    )


def test_quoted_fields_may_hold_delimiters_quotes_and_line_breaks(write, draw):
    rows = [["a", "b"], ['say "hi", you', "1"], ["two\nlines, \r\n three", "2"], ["", "3"]]
    path = write(text_of(rows, quoting=csv.QUOTE_ALL))
    found = read(path, draw, strip=False)
    assert [text.decode() for text in found["a"]] == [row[0] for row in rows[1:]]
    assert found["b"].tolist() == [1, 2, 3]
    assert estimator_io.csv_input_fn(path, batch_size=1).num_rows == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("bad", ['2,"y', '2,"y"z', '2,y"z', '2,5"'])
def test_a_stray_quote_loses_no_more_than_its_line(write, tmp_path, stream, bad):
    path = write("a,b\n1,x\n" + bad + "\n" + "".join(f'{i},"z"\n' for i in range(3, 300)))
    log = tmp_path / "skipped.jsonl"
    options = {"on_error": "skip", "skipped_log": str(log), "batch_size": 50, "stream": stream}
    fn = estimator_io.csv_input_fn(path, **options)
    batches = list(fn.dataset("eval").as_numpy_iterator())
    assert np.concatenate([batch["a"] for batch in batches]).tolist() == [1, *range(3, 300)]
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert {entry["line"] for entry in entries} == {3}
    with pytest.raises(tf.errors.InvalidArgumentError, match="line 3"):
        list(estimator_io.csv_input_fn(path, batch_size=50, stream=stream).dataset("eval"))


def test_a_stray_quote_does_not_decide_the_types_of_later_rows(write):
    path = write('a,b\n1,"2\n' + "".join(f"{i},{i}\n" for i in range(2, 30)))
    spec = estimator_io.csv_input_fn(path, on_error="skip", batch_size=4).element_spec
    assert spec["b"].dtype == tf.int64


def breaks_outside_fields(text, delimiter):
    """Returns where lines end, by a regular expression of one field at a time."""
    mark = re.escape(delimiter)
    quoted = re.compile(f'"(?:[^"]|"")*"(?={mark}|\r?\n|\r?\\Z)')
    plain, at, ends = re.compile(f"[^{mark}\n]*"), 0, []
    while at < len(text):
        at = (quoted.match(text, at) or plain.match(text, at)).end()
        at += at < len(text) and text[at] == "\r"
        if text[at : at + 1] == "\n" or at == len(text):
            ends.append(at)
        at += 1
    if text.endswith(delimiter):
        ends.append(len(text))
    return ends


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_lines_end_where_quoted_fields_do(delimiter):
    draws = random.Random(7)
    for _ in range(3000):
        text = "".join(draws.choices(f'"""x{delimiter}{delimiter}\n\n\r', k=draws.randrange(1, 30)))
        found = line_ends(text.encode(), quoted=True, delimiter=delimiter)
        assert found.tolist() == breaks_outside_fields(text, delimiter), repr(text)


def test_a_line_break_in_quotes_is_refused_in_a_stream(write, draw):
    path = write('a,b\n"x\ny",1\n')
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"line 2: has a quote.*stream=False"):
        read(path, draw, stream=True, dtypes={"b": "int64"})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_endings_do_not_matter(write, draw, stream, ending, last):
    text = ending.join(["a,b", "1,x", "", "2,y"]) + (ending if last else "")
    found = read(write(text), draw, stream=stream)
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == [b"x", b"y"]


@pytest.mark.parametrize("stream", [False, True])
def test_skipped_lines_remarks_and_headers_are_no_rows_in_any_file(write, draw, stream):
    text = "made by hand\n# remark\na;b\n1;x\n# remark\n2;y\n"
    paths = [write(text, "1.csv"), write(text, "2.csv")]
    found = read(paths, draw, stream=stream, skip_lines=1, comment="#", delimiter=";")
    assert sorted(found["a"].tolist()) == [1, 1, 2, 2]


@pytest.mark.parametrize("stream", [False, True])
def test_missing_cells_become_the_default_of_their_column(write, draw, stream):
    path = write("i,f,s,t\n1,0.5,x,x\n?,,?,\n,?,,NA\n")
    defaults = {"i": -1, "f": float("nan"), "s": "none"}
    found = read(path, draw, defaults=defaults, na_values=["?", "NA"], stream=stream)
    assert found["i"].tolist() == [1, -1, -1]
    np.testing.assert_array_equal(found["f"], [0.5, np.nan, np.nan])
    assert found["s"].tolist() == [b"x", b"none", b"none"]
    assert found["t"].tolist() == [b"x", b"", b""]


def test_types_label_weight_and_selection_are_as_asked(write, draw):
    path = write(text_of([["a", "b", "c", "w"], ["1", "2", "3", "0.5"], ["4", "5", "6", "1"]]))
    fn = estimator_io.csv_input_fn(
        path,
        label="b",
        weight="w",
        select=["c"],
        dtypes={"c": tf.float64, "b": "int32"},
        batch_size=2,
    )
    [(features, labels, weights)] = list(fn.dataset("eval").as_numpy_iterator())
    assert list(features) == ["c"]
    assert (features["c"].dtype, labels.dtype, weights.dtype) == (np.float64, np.int32, np.float32)
    assert (labels.tolist(), weights.tolist()) == ([2, 5], [0.5, 1.0])


def test_text_that_is_no_utf8_passes_as_bytes(write, draw):
    assert read(write(b"a,b\n\xe9t\xe9,1\n"), draw)["a"].tolist() == [b"\xe9t\xe9"]


@pytest.mark.parametrize("number", ["+5", "-7", "1e3", ".5", "5.", "nan", "-inf", " 7 ", '"8"'])
def test_numbers_are_read_as_python_reads_them(write, draw, number):
    found = read(write(f"a,b\n1,x\n{number},y\n"), draw, dtypes={"a": "float32"})["a"]
    np.testing.assert_array_equal(found, np.float32([1, float(number.strip('"'))]))


def test_a_whole_number_of_nineteen_digits_is_kept(write, draw):
    most = 2**63 - 1
    assert read(write(f"a\n1\n{most}\n"), draw, dtypes={"a": "int64"})["a"].tolist() == [1, most]


@pytest.mark.parametrize("stream", [False, True])
def test_ids_of_nineteen_digits_are_not_run_together(write, draw, stream):
    ids = [1234567890123456789, 1234567890123456790, -(2**63), 2**63 - 1]
    found = read(write("a\n" + "".join(f"{i}\n" for i in ids)), draw, stream=stream)["a"]
    assert found.dtype == np.int64
    assert found.tolist() == ids


@pytest.mark.parametrize("large", [str(2**63), str(-(2**63) - 1), "7" * 30, "7" * 5000])
def test_whole_numbers_that_int64_cannot_hold_are_texts(write, draw, large):
    found = read(write(f"a\n1\n{large}\n"), draw)["a"]
    assert found.tolist() == [b"1", large.encode()]


BAD_LINES = {
    "1,x,9": r"line 4: has 3 fields\. Expected: 2",
    "1": r"line 4: has 1 fields\. Expected: 2",
    "one,x": r"line 4: holds 'one' in column 'a'\. Expected: int64",
    "1.5,x": r"line 4: holds '1\.5' in column 'a'",
    "99999999999999999999,x": r"line 4: holds '99999999999999999999' in column 'a'",
    "1_000,x": r"line 4: holds '1_000' in column 'a'",
    "٣,x": r"line 4: holds '٣' in column 'a'",
    ",x": r"line 4: misses a value in column 'a'.*defaults=\{'a': …\}",
    "?,x": r"line 4: misses a value in column 'a'\. Received: '\?'",
    '1,x "y" z': r"line 4: has a quote inside a field.*quoted=False",
}


@pytest.mark.parametrize(("how", "stream"), [("eager", True), ("graph", False)])
@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_an_error_that_names_file_line_and_column(write, draw, how, stream, line):
    good = "a,b\n1,x\n\n"
    path = write(good + line + "\n2,y\n", "bad.csv")
    options = {"dtypes": {"a": "int64"}, "na_values": ["?"], "stream": stream}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"bad\.csv', " + BAD_LINES[line]):
        read([write(good), path], draw, how, **options)


@pytest.mark.parametrize("quoted", [True, False])
def test_a_carriage_return_in_an_indexed_line_names_its_place_unless_quoted(write, draw, quoted):
    path = write(b"k,v\r\n1,a\rb\r\n2,c\r\n", "bad.csv")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"bad\.csv', line 2: has a carriage return"
    ):
        read(path, draw, quoted=quoted)
    found = read(write(b'k,v\r\n1,"a\rb"\r\n2,c\r\n'), draw)
    assert found["v"].tolist() == [b"a\rb", b"c"]


def test_a_stream_drops_carriage_returns_as_documented(write, draw):
    path = write(b"k,v\r\n1,a\rb\r\n")
    assert read(path, draw, stream=True)["v"].tolist() == [b"ab"]


@pytest.mark.parametrize("value", ["1_0.5", "٣", "0x1p3", "1,5"])
def test_what_only_python_reads_as_a_float_is_named(write, draw, value):
    path = write(f'a,b\n0.5,1\n"{value}",2\n', "bad.csv")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"bad\.csv', line 3: holds '{value}' in column 'a'"
    ):
        read(path, draw, dtypes={"a": "float32"})


def test_a_gzip_file_that_was_cut_short_is_named_by_an_index_too(tmp_path):
    path = tmp_path / "cut.csv.gz"
    whole = gzip.compress("".join(f"{i},{i * 7919}\n" for i in range(300_000)).encode())
    path.write_bytes(whole[: len(whole) - 1000])
    assert len(whole) > 1 << 20  # what is read to find the columns is whole
    with pytest.raises(SourceError, match=r"cut\.csv\.gz' cannot be unpacked"):
        estimator_io.csv_input_fn(path, columns=["a", "b"], batch_size=1, stream=False)


def test_an_unknown_class_is_an_error_that_names_the_line(write, draw):
    path = write("a,b\n1,yes\n2,maybe\n")
    fn = estimator_io.csv_input_fn(path, label="b", classes=["no", "yes"], batch_size=2)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"line 3: holds 'maybe' in column 'b'.*'no', 'yes'"
    ):
        draw(lambda: fn("eval"))


@pytest.mark.parametrize("stream", [False, True])
def test_wide_files_are_read_and_refuse_unknown_classes_too(write, draw, stream):
    names = [f"c{at}" for at in range(300)]
    rows = [names, *([str(at * i) for at in range(299)] + ["yes"] for i in range(5))]
    options = {"label": "c299", "classes": ["no", "yes"], "batch_size": 5, "stream": stream}
    fn = estimator_io.csv_input_fn(write(text_of(rows)), **options)
    [(features, labels)] = draw(lambda: fn("eval"))
    assert [features[f"c{at}"].tolist() for at in range(299)] == [
        [at * i for i in range(5)] for at in range(299)
    ]
    assert labels.tolist() == [1] * 5
    rows[3][299] = "maybe"
    fn = estimator_io.csv_input_fn(write(text_of(rows)), **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Unknown class:.*maybe"):
        draw(lambda: fn("eval"))


@pytest.mark.parametrize("name", ["long.csv", "long.csv.gz"])
def test_types_are_inferred_from_a_thousand_rows_however_long(write, draw, name):
    rows = [["a" * 70_000, "b"], *(["x" * 500, str(i)] for i in range(999)), ["y", "0.5"]]
    found = read(write(text_of(rows), name), draw, select=["b"], batch_size=1000)
    assert found["b"].dtype == np.float32
    assert found["b"].tolist() == [*range(999), 0.5]


def test_a_quote_that_is_never_closed_names_the_line_it_stands_in(write, draw):
    path = write('a,b\n1,x\n2,5" pipe\n3,z\n')
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"line 3: has a quote that is not"):
        read(path, draw)
    assert read(path, draw, quoted=False)["b"].tolist() == [b"x", b'5" pipe', b"z"]


def test_what_cannot_be_is_refused_before_a_row_is_parsed(write):
    path = write(text_of(ROWS))
    make = estimator_io.csv_input_fn
    for options, words in [
        ({"label": "z"}, r"label names no column\. Received: 'z'"),
        ({"select": ["z"]}, "select names no column"),
        ({"select": ["x"], "label": "x"}, "No column is left as a feature"),
        ({"weight": "x"}, "weight was given without label"),
        ({"dtypes": {"z": "int32"}}, "dtypes names no column"),
        ({"dtypes": {"x": "complex64"}}, r"'complex64'\. Expected: one of int32"),
        ({"defaults": {"z": 1}}, "defaults names no column"),
        ({"defaults": {"x": "one"}}, r"'x' the value 'one'.*type int64"),
        ({"na_values": "?"}, r"na_values must be a list"),
        ({"classes": ["a"]}, "classes was given without label"),
        ({"classes": ["a", "a"], "label": "word"}, "different texts"),
        ({"classes": list(map(str, range(1001))), "label": "word"}, "1,001 texts.*at most 1,000"),
        ({"delimiter": ";;"}, "delimiter must be one"),
        ({"comment": "//"}, "comment must be one"),
        ({"skip_lines": -1}, "skip_lines must be"),
        ({"compression": "ZIP"}, "compression is unknown"),
        ({"stream": "yes"}, "stream must be True, False or None"),
        ({"header": False}, "header=False leaves the columns without names"),
    ]:
        with pytest.raises(OptionError, match=words):
            make(path, batch_size=2, **options)


def test_files_must_agree_in_their_columns(write):
    one, make = write("a,b\n1,2\n"), estimator_io.csv_input_fn
    with pytest.raises(SourceError, match=r"2\.csv' starts with \['b', 'a'\].*the same header"):
        make([one, write("b,a\n1,2\n", "2.csv")], batch_size=1)
    with pytest.raises(SourceError, match=r"3 fields in its first row.*Expected: 2"):
        make([one, write("1,2,3\n", "3.csv")], batch_size=1, columns=["a", "c"], header=False)
    with pytest.raises(SourceError, match="a header in all files or in none"):
        make([write("1,2\n", "4.csv"), one], batch_size=1, columns=["a", "b"])
    with pytest.raises(SourceError, match="Two columns are named 'a'"):
        make(write("a,a\n1,2\n", "5.csv"), batch_size=1)
    with pytest.raises(SourceError, match=r"no header: '39' names no column.*columns="):
        make(write("39, x\n", "6.csv"), batch_size=1)


@pytest.mark.parametrize("stream", [False, True])
def test_files_without_a_row_are_an_error(write, stream):
    paths = [write("a,b\n\n"), write("a,b\n", "2.csv"), write("", "3.csv")]
    with pytest.raises(NoDataError, match="None of the 3 files holds a row"):
        estimator_io.csv_input_fn(paths, batch_size=1, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
def test_empty_files_are_told_before_their_columns_are_asked_for(write, stream):
    with pytest.raises(NoDataError, match=r"None of the 1 files holds a row.*empty\?"):
        estimator_io.csv_input_fn(write(""), label="y", batch_size=1, stream=stream)


def test_a_misspelt_type_names_column_and_types(write):
    with pytest.raises(OptionError, match=r"gives 'a' the type 'in64'\. Expected: one of int32"):
        estimator_io.csv_input_fn(write("a,b\n1,2\n"), dtypes={"a": "in64"}, batch_size=1)


def test_a_file_of_another_compression_is_an_error(write):
    path = write(text_of(ROWS))
    with pytest.raises(SourceError, match=r"rows\.csv' cannot be read.*compression 'GZIP'"):
        estimator_io.csv_input_fn(path, batch_size=1, compression="GZIP")


@pytest.mark.parametrize("stream", [False, True])
def test_the_printed_program_gives_the_same_batches(write, draw, stream):
    path = write(text_of(ROWS))
    fn = estimator_io.csv_input_fn(path, label="y", batch_size=4, seed=1, epochs=2, stream=stream)
    program = fn.source_code()
    assert "estimator_io" not in program
    assert "def make_dataset():" in program
    namespace = {}
    exec(compile(program, "printed", "exec"), namespace)
    for one, other in zip(draw(namespace["make_dataset"]), draw(fn.dataset), strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("stream", [False, True])
def test_a_cache_on_disk_follows_what_parsing_is_told(write, draw, tmp_path, stream):
    path, cache = write("a,b\n1,no\n2,yes\n"), str(tmp_path / "cache")
    for classes in (["no", "yes"], ["yes", "no"]):
        fn = estimator_io.csv_input_fn(
            path, label="b", classes=classes, batch_size=2, cache=cache, stream=stream
        )
        for _ in range(2):
            [(_, labels)] = draw(lambda fn=fn: fn("eval"))
            assert labels.tolist() == [classes.index("no"), classes.index("yes")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["adult.data", "adult.test"])
def test_the_adult_census_is_what_the_csv_module_reads(draw, name, stream):
    path = ROOT / "examples" / "data" / "adult" / name
    names = [f"c{at}" for at in range(15)]
    found = read(str(path), draw, columns=names, batch_size=64, comment="|", stream=stream)
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    rows = [row for row in rows if not row[0].startswith("|")]
    assert len(rows) > 100
    assert found["c0"].tolist() == [int(row[0]) for row in rows]
    for at in (1, 13, 14):
        assert [value.decode() for value in found[f"c{at}"]] == [row[at] for row in rows]
