"""The benchmark of growth measures what it says, on sizes that take no time."""

from benchmarks import growth


def test_an_array_gives_seconds_and_bytes():
    found = growth.child({"kind": "array", "rows": 1000, "shuffle": True})
    assert found["seconds"] > 0
    assert found["peak"] >= 0


def test_files_are_made_listed_and_read(tmp_path):
    growth.make_files(str(tmp_path), 40)
    assert len(list(tmp_path.glob("*/*.jpg"))) == 40
    found = growth.child({"kind": "files", "folder": str(tmp_path)})
    assert set(found) == {"scandir", "glob", "listing", "seconds"}
    assert all(value > 0 for value in found.values())
