"""The folder of a store: refused, kept within its limit, read by older hands, and tended."""

import errno
import gc
import json
import os

import numpy as np
import pytest

from estimator_io.cli.main import main
from estimator_io.errors import OptionError, StoreError
from estimator_io.store import folder as folders
from estimator_io.store import leases
from estimator_io.store.generation import open_generation
from estimator_io.store.report import facts_of, report
from estimator_io.store.segments import Segments
from estimator_io.store.store import Store
from estimator_io.store.writer import Policy
from tests.store import crashes


def fill(folder, key="k", rows=40, size_limit=None, only=None):
    opened = open_generation(
        str(folder), key, crashes.LAYOUT, rows=rows, facts={"source": "numbers", "parse": "times"},
        size_limit=size_limit, policy=Policy("complete"),
    )  # fmt: skip
    for at in range(0, only or rows, 10):
        opened.rows.accept(crashes.block_of(list(range(at, min(at + 10, rows)))))
    opened.rows.flush()
    return opened


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "estimator_io.Store", "format": 99}'])
def test_a_damaged_or_newer_folder_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / folders.MARKER).write_text(content)
    with pytest.raises(StoreError, match=r"damaged store or none|another format"):
        fill(tmp_path)
    assert (tmp_path / folders.MARKER).read_text() == content


def test_a_damaged_generation_is_refused_and_left_alone(tmp_path):
    fill(tmp_path)
    gc.collect()
    generation = tmp_path / "generations" / "k"
    (generation / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        fill(tmp_path)
    assert (generation / "slot-000.bin").exists()


@pytest.mark.parametrize("file", ["entries", "slot-001.bin", "places"])
def test_a_file_that_was_cut_short_is_refused(tmp_path, file):
    fill(tmp_path)
    gc.collect()
    os.truncate(tmp_path / "generations" / "k" / file, 8)
    with pytest.raises(StoreError, match="shorter than the rows"):
        fill(tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    fill(tmp_path / "s")
    gc.collect()
    path = tmp_path / "s" / "generations" / "k" / "slot-000.bin"
    os.rename(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(StoreError, match="it is a link"):
        fill(tmp_path / "s")


@pytest.mark.parametrize("key", ["../k", "/k", "", "a/b", "K"])
def test_a_key_never_leads_out_of_the_folder(tmp_path, key):
    with pytest.raises(StoreError, match="no key"):
        folders.generation_folder(str(tmp_path), key)


def test_the_least_recently_used_generations_go_first(tmp_path):
    for at, key in enumerate("abc"):
        fill(tmp_path, key)
        gc.collect()
        for name in ("", "leases", "manifest.json"):
            os.utime(tmp_path / "generations" / key / name, (at * 1000, at * 1000))
    one = folders.disk_bytes(str(tmp_path / "generations" / "a"))
    fill(tmp_path, "d", size_limit=one * 5 // 2)
    assert folders.generations(str(tmp_path)) == ["c", "d"]


def test_what_is_open_stays_and_then_nothing_more_is_kept(tmp_path, caplog):
    first = fill(tmp_path, "a")
    used = folders.disk_bytes(str(tmp_path))
    second = fill(tmp_path, "b", size_limit=used + 250_000)
    assert first.rows.has_all(np.arange(40))
    assert 0 < second.rows.counts.written < 40
    assert caplog.text.count("size limit is reached") == 1
    assert folders.disk_bytes(str(tmp_path)) <= used + 350_000


def test_a_full_disk_keeps_what_is_there_with_one_warning(tmp_path, caplog, monkeypatch):
    opened = fill(tmp_path, only=20)

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    opened.rows.accept(crashes.block_of(range(20, 40)))
    opened.rows.accept(crashes.block_of(range(20, 40)))
    opened.rows.flush()
    assert opened.rows.present(np.arange(40)).sum() == 20
    assert caplog.text.count("No space left on device") == 1
    assert crashes.content(3)[2] == opened.rows.read(np.array([3])).payloads[0, 0]


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path, monkeypatch):
    fill(tmp_path)
    gc.collect()

    def refused(path):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("estimator_io.store.generation.Lease", refused)
    opened = fill(tmp_path, only=10)
    assert opened.rows.read(np.arange(40)).missing.sum() == 0
    assert opened.rows.present(np.arange(100)).sum() == 40


def test_the_lease_of_a_process_that_is_gone_counts_for_nothing(tmp_path):
    folder = tmp_path / "leases"
    folder.mkdir()
    note = {"host": leases._host(), "boot": leases._boot(), "start": None}
    notes = {
        "alive": {**note, "pid": os.getpid()},
        "gone": {**note, "pid": 2**22 + 1},
        "before the boot": {**note, "pid": os.getpid(), "boot": "another"},
        "number used again": {**note, "pid": os.getpid(), "start": "1"},
        "elsewhere": {**note, "host": "another", "pid": 1},
    }
    for name, content in notes.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    assert leases.live_leases(str(tmp_path), tidy=True) == 2
    os.utime(folder / "elsewhere.json", (0, 0))
    assert leases.live_leases(str(tmp_path), tidy=True) == 1
    assert [path.name for path in folder.iterdir()] == ["alive.json"]


def test_segments_refuse_places_that_were_never_written(tmp_path):
    segments = Segments(str(tmp_path))
    ((place, length),) = segments.append([b"abc"]).tolist()
    assert segments.read(place, length) == b"abc"
    for wrong in ((place + 1, 3), (place, 1 << 50), (7 << 44, 3)):
        with pytest.raises(OSError):
            segments.read(*wrong)


def test_ls_tells_what_is_there(tmp_path, capsys):
    fill(tmp_path, only=30)
    gc.collect()
    assert main(["cache", "ls", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "rows      30 of 40 (75%)" in text
    assert "source    numbers" in text
    assert "30 made" in text
    (facts,) = facts_of(str(tmp_path))
    assert facts.disk_bytes == folders.disk_bytes(str(tmp_path / "generations" / "k"))


def test_verify_names_the_damaged_row(tmp_path, capsys):
    fill(tmp_path)
    gc.collect()
    assert main(["cache", "verify", str(tmp_path)]) == 0
    with open(tmp_path / "generations" / "k" / "slot-000.bin", "r+b") as file:
        file.seek(8000 * 7)
        file.write(b"\0" * 100)
    assert main(["cache", "verify", str(tmp_path)]) == 1
    assert "row 7 is damaged" in capsys.readouterr().out


def test_rm_removes_what_is_named_and_nothing_that_is_open(tmp_path, capsys):
    for key in "ab":
        fill(tmp_path, key)
    gc.collect()
    opened = fill(tmp_path, "c")
    assert main(["cache", "rm", str(tmp_path)]) == 2
    assert main(["cache", "rm", str(tmp_path), "nothing"]) == 2
    assert main(["cache", "rm", str(tmp_path), "--older-than", "1"]) == 0
    assert len(folders.generations(str(tmp_path))) == 3
    assert main(["cache", "rm", str(tmp_path), "a"]) == 0
    assert main(["cache", "rm", str(tmp_path), "--all"]) == 1
    assert folders.generations(str(tmp_path)) == ["c"]
    assert "c is open" in capsys.readouterr().err
    assert opened.rows.has_all(np.arange(40))


def test_a_folder_that_is_no_store_is_told_by_every_command(tmp_path, capsys):
    for action in ("ls", "verify", "rm"):
        assert main(["cache", action, str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("is no store") == 3


def test_the_report_says_which_integer_dtype_would_be_smaller(tmp_path):
    from estimator_io.store.layout import Layout, Slot
    from estimator_io.store.rows import Block

    floats = Slot("float32", (8,))
    slots = {0: floats, 1: floats, 2: Slot("int64", ())}
    layout = Layout(("image", "noise", "label"), slots, ())
    opened = open_generation(
        str(tmp_path), "k", layout, rows=9, facts={}, size_limit=None, policy=Policy("complete")
    )
    generator = np.random.default_rng(0)
    image = (generator.integers(0, 256, (9, 8)) / np.float32(255)).astype(np.float32)
    noise = generator.normal(size=(9, 8)).astype(np.float32)
    slots = [a.reshape(9, -1).view(np.uint8) for a in (image, noise, np.arange(9).reshape(9, 1))]
    opened.rows.accept(Block(np.arange(9), slots, np.empty((9, 0), object), np.zeros(9, bool)))
    opened.rows.flush()
    text = report(str(tmp_path))
    assert "image: value * 255 is a whole number in every row looked at" in text
    assert "uint8 instead of float32 until the batch (convert in batch_map)" in text
    assert f"{9 * 24} B less" in text
    assert "label: the value is a whole number" in text
    assert "noise" not in text


@pytest.mark.parametrize(
    "options", [{"size_limit": 0}, {"size_limit": 1.5}, {"writer_share": 0}, {"writer_share": 2}]
)
def test_impossible_limits_are_refused(tmp_path, options):
    with pytest.raises(OptionError, match="Received: "):
        Store(tmp_path, **options)


def test_a_remote_folder_is_refused():
    with pytest.raises(OptionError, match="local or mounted folder"):
        Store("gs://bucket/cache")
