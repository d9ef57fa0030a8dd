"""The kernel's count of opened files."""

from __future__ import annotations

import sys

import pytest

from estimator_io.demo.open_counter import OpenCounter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def make_files(folder, number):
    folder.mkdir()
    files = [folder / f"{n:03}.txt" for n in range(number)]
    for file in files:
        file.write_text("x")
    return files


def test_each_opening_counts_and_a_listing_does_not(tmp_path):
    files = make_files(tmp_path / "a", 5) + make_files(tmp_path / "b", 3)
    with OpenCounter([str(tmp_path / "a"), str(tmp_path / "b")]) as counter:
        for file in files + files:
            file.read_text()
        list((tmp_path / "a").iterdir())
        files[0].stat()
    assert counter.count == 16


def test_reads_by_tensorflow_count(tmp_path):
    import tensorflow as tf

    files = make_files(tmp_path / "a", 7)
    with OpenCounter([str(tmp_path / "a")]) as counter:
        for file in files:
            tf.io.read_file(str(file))
    assert counter.count == 7


def test_what_happens_outside_of_the_block_does_not_count(tmp_path):
    (file,) = make_files(tmp_path / "a", 1)
    file.read_text()
    with OpenCounter([str(tmp_path / "a")]) as counter:
        pass
    file.read_text()
    counter.collect()
    assert counter.count == 0


def test_a_count_that_the_kernel_could_not_keep_is_none(tmp_path):
    files = make_files(tmp_path / "a", 2)
    with open("/proc/sys/fs/inotify/max_queued_events") as limit:
        openings = int(limit.read()) + 10
    with OpenCounter([str(tmp_path / "a")]) as counter:
        for n in range(openings):
            files[n % 2].read_text()
    assert counter.count is None


def test_a_folder_that_is_not_there_leaves_the_count_unknown(tmp_path):
    with OpenCounter([str(tmp_path / "nowhere")]) as counter:
        pass
    assert counter.count is None
