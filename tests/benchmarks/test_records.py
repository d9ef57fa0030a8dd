"""The benchmark of records compares pipelines of the same rows."""

from benchmarks import records


def test_the_pipelines_read_the_same_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(records, "BATCH", 8)
    files = records.write_files(str(tmp_path), floats=2, records=64)
    spec = records.spec_of(2)
    batch = next(iter(records.by_hand(files, spec)))
    assert batch[0]["x"].shape == (8, 2)
    records.report(files, 2, 64, pairs=1)
    told = capsys.readouterr().out
    assert "64 records of" in told
    assert all(name in told for name in ("by hand", "index", "stream"))
