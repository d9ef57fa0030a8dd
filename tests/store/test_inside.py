"""A store that a stranger prepared: no link in it is followed, by any way into it."""

import gc
import json
import os
import shutil

import pytest

from estimator_io.cli.main import main
from estimator_io.errors import StoreError
from estimator_io.store import folder as folders
from tests.store.test_folder import fill


@pytest.fixture
def foreign(tmp_path):
    """A folder of somebody's that looks as far as it can like one of a store."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("thesis.txt", "photo.json"):
        (folder / name).write_text("precious")
        os.utime(folder / name, (1, 1))
    return folder


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def replaced(store, link, foreign):
    """Puts a link to `foreign` in the place of a folder of a store, which moves into it."""
    path = store / link
    if link == "generations" or link.count("/") == 1:
        shutil.copytree(path, foreign, dirs_exist_ok=True)
    shutil.rmtree(path)
    path.symlink_to(foreign)
    return content(foreign)


@pytest.mark.parametrize(
    "link", ["generations", "generations/k", "generations/k/leases", "generations/a/leases"]
)
def test_a_store_with_a_link_for_a_folder_is_refused_and_nothing_behind_it_changes(
    tmp_path, foreign, link
):
    store = tmp_path / "cache"
    fill(store, "a")
    fill(store, "k")
    gc.collect()
    before = replaced(store, link, foreign)
    limit = 1 if link.startswith("generations/a") else None
    with pytest.raises(StoreError, match=r"is a link, which a store never makes"):
        fill(store, "k", size_limit=limit)
    assert content(foreign) == before


@pytest.mark.parametrize("action", [["ls"], ["verify"], ["rm", "--all"]])
@pytest.mark.parametrize("link", ["generations", "generations/k", "generations/k/leases"])
def test_no_command_touches_what_is_behind_a_link(tmp_path, foreign, link, action, capsys):
    store = tmp_path / "cache"
    fill(store, "k")
    gc.collect()
    before = replaced(store, link, foreign)
    code = main(["cache", action[0], str(store), *action[1:]])
    if (action[0], link) != ("verify", "generations/k/leases"):  # verify reads no leases
        assert code == 2
        assert "is a link" in capsys.readouterr().err
    assert content(foreign) == before


def test_what_is_counted_at_the_end_does_not_go_through_a_link(tmp_path, foreign):
    opened = fill(tmp_path / "cache", "k")
    before = replaced(tmp_path / "cache", "generations/k/counts", foreign)
    del opened
    gc.collect()
    assert content(foreign) == before
    assert main(["cache", "ls", str(tmp_path / "cache")]) == 2


@pytest.mark.parametrize("file", ["manifest.json", "total"])
def test_a_note_that_is_a_link_is_not_read(tmp_path, file):
    fill(tmp_path / "cache", "k")
    gc.collect()
    generation = tmp_path / "cache" / "generations" / "k"
    manifest = json.loads((generation / "manifest.json").read_text())
    (generation / "manifest.json").write_text(json.dumps({**manifest, "rows": None}))
    (tmp_path / "elsewhere").write_text("40" if file == "total" else json.dumps(manifest))
    (generation / file).unlink(missing_ok=True)
    (generation / file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=file):
        fill(tmp_path / "cache", "k")


def test_links_in_a_generation_go_with_it_and_what_they_name_stays(tmp_path, foreign):
    store = tmp_path / "cache"
    fill(store, "k")
    gc.collect()
    generation = store / "generations" / "k"
    (generation / "more").symlink_to(foreign)
    (generation / "leases" / "a.json").symlink_to(foreign / "photo.json")
    os.utime(generation / "leases" / "a.json", (1, 1), follow_symlinks=False)
    before = content(foreign)
    assert folders.remove(str(store), "k")
    assert not os.path.lexists(generation)
    assert content(foreign) == before


def test_a_half_removed_generation_that_is_a_link_is_left_alone(tmp_path, foreign):
    store = tmp_path / "cache"
    fill(store, "k")
    path = store / "generations" / ".removed-1"
    path.symlink_to(foreign)
    os.utime(path, (1, 1), follow_symlinks=False)
    before = content(foreign)
    folders.sweep(str(store))
    assert content(foreign) == before


def test_the_folder_of_a_store_may_itself_be_reached_by_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    fill(tmp_path / "cache", "k")
    gc.collect()
    assert folders.generations(str(tmp_path / "disk")) == ["k"]
