"""text_input_fn: lines as Python reads them, labels by file, layouts and refusals."""

import gzip

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError

WAYS = [(how, stream) for how in ("eager", "graph") for stream in (False, True)]
every_way = pytest.mark.parametrize(("how", "stream"), WAYS)


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return write


def texts(batches):
    return [text for batch in batches for text in batch["text"].tolist()]


@every_way
def test_lines_are_those_that_python_reads(write, draw, how, stream):
    path = write("a.txt", 'one "fish\r\n\ntwo, fish \né\n\nlast')
    fn = estimator_io.text_input_fn(path, batch_size=2, stream=stream)
    with open(path, "rb") as file:
        expected = [line.rstrip(b"\r\n") for line in file]
    assert texts(draw(lambda: fn("eval"), how)) == [line for line in expected if line]
    every = estimator_io.text_input_fn(path, batch_size=2, stream=stream, keep_blank=True)
    assert texts(draw(lambda: every("eval"), how)) == expected


def test_a_carriage_return_inside_a_line_is_kept_by_index_and_dropped_by_a_stream(write, draw):
    path = write("a.txt", "a\rb\r\nc\n")
    for stream, expected in ((False, [b"a\rb", b"c"]), (True, [b"ab", b"c"])):
        fn = estimator_io.text_input_fn(path, batch_size=2, stream=stream)
        assert texts(draw(lambda fn=fn: fn("eval"))) == expected


@every_way
def test_each_line_has_the_label_of_its_file(write, draw, how, stream):
    for folder in ("no", "yes"):
        for at in range(3):
            write(f"{folder}/{at}.txt", "".join(f"{folder} {i}\n" for i in range(at + 1)))
    pattern = write("no/0.txt", "no 0\n").replace("no/0.txt", "*/*.txt")
    options = {"labels": "folder", "batch_size": 5, "stream": stream, "seed": 2, "epochs": 1}
    fn = estimator_io.text_input_fn(pattern, **options)
    assert fn.class_names == ("no", "yes")
    for mode in ("train", "eval"):
        batches = draw(lambda mode=mode: fn(mode), how)
        rows = [row for f, y in batches for row in zip(f["text"].tolist(), y.tolist(), strict=True)]
        assert len(rows) == 12
        assert all(label == text.startswith(b"yes") for text, label in rows)


@pytest.mark.parametrize("stream", [False, True])
def test_evaluation_reads_files_one_after_the_other(write, draw, stream):
    sizes = {"a": 150, "b": 1, "c": 70}
    rows = [[f"{name}{i}" for i in range(size)] for name, size in sizes.items()]
    files = [write(f"{part[0][0]}.txt", "\n".join(part)) for part in rows]
    fn = estimator_io.text_input_fn(files, batch_size=32, stream=stream)
    found = [text.decode() for text in texts(draw(lambda: fn("eval")))]
    assert found == [text for part in rows for text in part]


def test_labels_may_come_from_a_function_or_a_list(write, draw):
    paths = [write("a.txt", "x\n"), write("b.txt", "y\n")]
    for labels in ([7, 9], lambda path: 7 if path.endswith("a.txt") else 9):
        fn = estimator_io.text_input_fn(paths, labels=labels, batch_size=2)
        [(features, found)] = draw(lambda fn=fn: fn("eval"))
        assert (features["text"].tolist(), found.tolist()) == ([b"x", b"y"], [7, 9])


@pytest.mark.parametrize("stream", [None, False])
def test_gzip_and_remote_files_give_the_same_lines(write, draw, stream):
    text = "".join(f"line {i}\n" for i in range(50))
    remote = f"ram://text/{stream}.txt"
    with tf.io.gfile.GFile(remote, "w") as file:
        file.write(text)
    expected = text.encode().splitlines()
    for path in (write("a.txt.gz", text), remote):
        fn = estimator_io.text_input_fn(path, batch_size=7, stream=stream)
        assert texts(draw(lambda fn=fn: fn("eval"))) == expected


@pytest.mark.parametrize("stream", [False, True])
def test_skipped_lines_and_remarks_are_no_rows(write, draw, stream):
    path = write("a.txt", "title\n# remark\none\n# remark\ntwo\n")
    fn = estimator_io.text_input_fn(path, batch_size=9, skip_lines=1, comment="#", stream=stream)
    assert texts(draw(lambda: fn("eval"))) == [b"one", b"two"]


def test_many_lines_are_shuffled_over_the_whole_file(write, draw):
    path = write("a.txt", "".join(f"{i}\n" for i in range(20_000)))
    fn = estimator_io.text_input_fn(path, batch_size=20_000, epochs=1, seed=1)
    order = np.array([int(text) for text in texts(draw(lambda: fn("train")))])
    assert sorted(order) == list(range(20_000))
    # Neither end of the file keeps to its end of the epoch: the mean place of a half is the middle.
    assert abs(order[:10_000].mean() - 9999.5) < 300


def test_the_key_names_the_feature_and_stages_run(write, draw):
    path = write("a.txt", "b a\nc\n")
    fn = estimator_io.text_input_fn(
        path, feature="verse", batch_size=2, parse=lambda f: tf.strings.length(f["verse"])
    )
    assert [batch.tolist() for batch in draw(lambda: fn("eval"))] == [[3, 1]]


def test_what_cannot_be_is_refused(write):
    with pytest.raises(NoDataError, match="None of the 1 files holds a row"):
        estimator_io.text_input_fn(write("a.txt", "\n\n"), batch_size=1)
    mixed = [write("b.txt", "x\n"), write("c.txt.gz", "x\n")]
    with pytest.raises(OptionError, match=r"some do not\. Expected: one compression"):
        estimator_io.text_input_fn(mixed, batch_size=1)
