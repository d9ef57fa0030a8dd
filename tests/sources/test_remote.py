"""Every source of files reads paths that only tf.io.gfile can: here TensorFlow's ram:// files."""

import uuid

import numpy as np
import pytest
import tensorflow as tf

import estimator_io


@pytest.fixture
def remote():
    """Returns a function that puts bytes at a path of tf.io.gfile, and the folder of it."""
    folder = f"ram://{uuid.uuid4().hex}"
    written = []

    def write(name, data):
        written.append(f"{folder}/{name}")
        with tf.io.gfile.GFile(f"{folder}/{name}", "wb") as file:
            file.write(data)
        return f"{folder}/{name}"

    yield write, folder
    for path in written:
        tf.io.gfile.remove(path)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def values(fn, *path):
    rows = []
    for batch in fn.dataset("eval").as_numpy_iterator():
        for step in path:
            batch = batch[step]
        rows += batch.tolist()
    return rows


@pytest.mark.parametrize("stream", [None, False])
def test_csv(remote, stream):
    write, folder = remote
    for at in range(2):
        write(f"{at}.csv", f"a,b\n{at},x\n{at + 10},y\n".encode())
    fn = estimator_io.csv_input_fn(
        f"{folder}/*.csv", label="b", batch_size=3, stream=stream, interleave=1
    )
    assert values(fn, 0, "a") == [0, 10, 1, 11]


@pytest.mark.parametrize("stream", [None, False])
def test_text(remote, stream):
    write, folder = remote
    write("a.txt", b"one\ntwo\n")
    fn = estimator_io.text_input_fn(f"{folder}/*.txt", batch_size=3, stream=stream)
    assert values(fn, "text") == [b"one", b"two"]


@pytest.mark.parametrize("index", [None, True])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records(remote, write_records, index, compression):
    write, folder = remote
    if compression and index:
        return
    for at in range(2):
        local = write_records(f"{at}.tfrecord", range(at * 5, at * 5 + 5), compression)
        write(f"{at}.tfrecord", read_bytes(local))
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    fn = estimator_io.tfrecord_input_fn(
        f"{folder}/*.tfrecord",
        spec,
        batch_size=3,
        index=index,
        compression=compression,
        interleave=1,
    )
    assert [row[0] for row in values(fn, "x")] == list(range(10))
    assert fn.num_rows == (10 if index else None)


def test_an_index_of_remote_files_is_not_kept(remote, write_records):
    write, _ = remote
    path = write("a.tfrecord", read_bytes(write_records("a.tfrecord", range(3))))
    with pytest.raises(estimator_io.OptionError, match="would keep an index of remote files"):
        estimator_io.tfrecord_input_fn(path, None, batch_size=1, index="beside")


def test_images_with_the_labels_of_their_folders(remote):
    write, folder = remote
    for at, name in enumerate(["no", "yes"]):
        picture = tf.io.encode_png(np.full([4, 4, 3], at * 200, np.uint8))
        write(f"{name}/a.png", picture.numpy())
    fn = estimator_io.image_input_fn(f"{folder}/*/*.png", size=(2, 2), batch_size=2)
    ((features, labels),) = fn.dataset("eval").as_numpy_iterator()
    assert fn.class_names == ("no", "yes")
    assert labels.tolist() == [0, 1]
    assert features["image"][:, 0, 0, 0].tolist() == [0, 200]


def test_recordings(remote, write_wav):
    write, folder = remote
    path = write_wav("a.wav", [0, 16384, -32768])
    write("yes/a.wav", read_bytes(path))
    fn = estimator_io.audio_input_fn(f"{folder}/*/*.wav", length=3, batch_size=1)
    assert values(fn, 0, "audio") == [[0.0, 0.5, -1.0]]


@pytest.mark.parametrize("arrow", [False, True])
def test_parquet_and_arrow(remote, tmp_path, arrow):
    pa = pytest.importorskip("pyarrow")
    write, folder = remote
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    local = str(tmp_path / "a.table")
    if arrow:
        with pa.OSFile(local, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        from pyarrow import parquet

        parquet.write_table(table, local, row_group_size=2)
    write("a.table", read_bytes(local))
    fn = estimator_io.parquet_input_fn(f"{folder}/*.table", label="b", batch_size=2)
    assert values(fn, 0, "a") == [1, 2, 3]
    seen = [x for f, _ in fn.replace(epochs=1).dataset("train").as_numpy_iterator() for x in f["a"]]
    assert sorted(seen) == [1, 2, 3]


def test_plain_files_for_parse(remote):
    write, folder = remote
    for at in range(3):
        write(f"{at}.bin", bytes([65 + at]))
    fn = estimator_io.input_fn(f"{folder}/*.bin", parse=tf.io.read_file, batch_size=2)
    assert values(fn) == [b"A", b"B", b"C"]
    assert fn.num_rows == 3


def test_a_remote_file_that_is_not_there_is_named(remote):
    _, folder = remote
    with pytest.raises(estimator_io.NoDataError, match=r"No file matches 'ram://"):
        estimator_io.csv_input_fn(f"{folder}/*.csv", batch_size=1)
    for factory in (estimator_io.csv_input_fn, estimator_io.text_input_fn):
        with pytest.raises(estimator_io.SourceError, match=r"none\.csv' cannot be read"):
            factory(f"{folder}/none.csv", batch_size=1)
