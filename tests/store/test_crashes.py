"""Whatever kills a writer, a reader finds whole rows and missing ones, and no other."""

import gc

import numpy as np
import pytest

from estimator_io.store import folder as folders
from tests.store import crashes


@pytest.mark.parametrize(("writers", "kills"), [(1, 12), (2, 8)])
def test_a_writer_killed_at_any_moment_leaves_no_wrong_row(tmp_path, writers, kills):
    total = 3000
    wrong, there = crashes.kill_writers(tmp_path / "s", total, kills=kills, writers=writers)
    assert wrong == []
    assert there == total


def test_two_writers_of_the_same_rows_do_no_harm(tmp_path):
    running = [crashes.start_writer(tmp_path / "s", 2000, seed=7) for _ in range(2)]
    assert [process.wait(120) for process in running] == [0, 0]
    assert crashes.wrong_rows(tmp_path / "s", 2000) == (2000, [])


@pytest.mark.parametrize("file", ["slot-000.bin", "slot-001.bin", "segment-000000.bin"])
def test_a_damaged_row_counts_as_missing_and_its_neighbours_do_not(tmp_path, file):
    crashes.write_all(tmp_path / "s", 50, seed=1)
    path = tmp_path / "s" / "generations" / crashes.KEY / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    there, wrong = crashes.wrong_rows(tmp_path / "s", 50)
    assert (there, wrong) == (49, [])
    crashes.write_all(tmp_path / "s", 50, seed=2)
    assert crashes.wrong_rows(tmp_path / "s", 50) == (50, [])


def test_rows_in_the_place_of_others_are_not_taken_for_them(tmp_path):
    crashes.write_all(tmp_path / "s", 2, seed=1)
    generation = tmp_path / "s" / "generations" / crashes.KEY
    entries = np.fromfile(generation / "entries", np.uint64)
    for name in ("slot-000.bin", "slot-001.bin", "places", "entries"):
        data = (generation / name).read_bytes()
        half = len(data) // 2
        (generation / name).write_bytes(data[half:] + data[:half])
    assert entries[0] != entries[1]
    assert crashes.wrong_rows(tmp_path / "s", 2) == (0, [])


def test_a_segment_that_is_gone_makes_its_rows_missing(tmp_path):
    crashes.write_all(tmp_path / "s", 20, seed=1)
    (tmp_path / "s" / "generations" / crashes.KEY / "segment-000000.bin").unlink()
    assert crashes.wrong_rows(tmp_path / "s", 20) == (0, [])


def test_a_generation_that_a_living_process_has_open_is_not_removed(tmp_path):
    generation = crashes.opened(tmp_path / "s", 5)
    assert not folders.remove(str(tmp_path / "s"), crashes.KEY)
    del generation
    gc.collect()
    assert folders.remove(str(tmp_path / "s"), crashes.KEY)
    assert folders.generations(str(tmp_path / "s")) == []
