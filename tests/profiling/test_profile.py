"""What a profile says of pipelines that wait, so that a busy machine changes little."""

import itertools
import json
import os
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from benchmarks.profile_cases.work import dataset, locked, slow_file, waits
from estimator_io.errors import NoDataError, OptionError, ProfileError

ROWS = np.zeros((64, 4), np.float32)


def profile(target, **options):
    return estimator_io.profile(target, **{"seconds": 2, **options})


@pytest.fixture(scope="module", autouse=True)
def quiet_cores():
    """What the cores are worth is measured, and would be the busy machine's own result."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("estimator_io.profiling.profiler.worth_of_cores", float)
        yield


@pytest.fixture(scope="module")
def slow_map(quiet_cores):
    """The report of a serial map that waits, with its first suggestions tried."""
    return profile(dataset().map(waits(0.02)).batch(4), step_seconds=0.002, apply=True)


def test_a_serial_map_that_waits_is_found_and_gets_more_calls(slow_map):
    assert (slow_map.verdict.kind, slow_map.verdict.stage) == ("input-bound", "map")
    assert slow_map.applied[0].suggestion == slow_map.suggestions[0]
    # On a busy machine another change may look better, so its rank is not held.
    calls = next(one for one in slow_map.suggestions if one.name == "parallel calls")
    assert re.match(r"map\(…, num_parallel_calls=\d+\)", calls.edit)
    assert calls.gain > 2


def test_its_stages_wait_and_do_not_compute(slow_map):
    stage = next(stage for stage in slow_map.stages if stage.name == "map")
    assert stage.limits
    assert stage.python
    assert stage.asked == "1"
    assert stage.waiting_seconds > 2 * stage.cpu_seconds
    assert stage.bytes == 64 * 4
    assert slow_map.batch_rows == 4


def test_its_timeline_has_workers_that_do_not_overlap_and_a_step_that_waits(slow_map):
    timeline = slow_map.timeline
    spans = sorted((span.begin, span.end) for span in timeline.spans)
    assert len(spans) > 4
    assert all(end - begin >= 0.018 for begin, end in spans)
    assert all(one[1] <= other[0] + 1e-3 for one, other in itertools.pairwise(spans))
    assert all(end >= begin for begin, end in timeline.waits)


def test_an_input_fn_is_told_the_option_and_tried_with_it():
    fn = estimator_io.input_fn(
        ROWS, parse=waits(0.02), batch_size=4, num_parallel_calls={"parse": 1}
    )
    report = profile(fn, step_seconds=0.002)
    assert (report.verdict.kind, report.verdict.stage) == ("input-bound", "parse")
    told = [one.options for one in report.suggestions if one.options]
    options = next(one for one in told if "num_parallel_calls" in one)
    assert options["num_parallel_calls"]["parse"] > 1
    fn.replace(**options)


def test_threads_are_asked_for_where_autotune_has_too_few():
    fn = estimator_io.input_fn(ROWS, parse=waits(0.05), batch_size=8, threads=2)
    report = profile(fn, step_seconds=0.002)
    assert report.verdict.stage == "parse"
    told = [one.options for one in report.suggestions if one.options]
    assert next(one for one in told if "threads" in one)["threads"] > 2


def test_files_that_are_read_one_after_the_other_are_interleaved():
    files = tf.data.Dataset.range(8).flat_map(slow_file(0.02, 32)).batch(4)
    report = profile(files, step_seconds=0.002)
    assert (report.verdict.kind, report.verdict.stage) == ("input-bound", "flat_map")
    assert "interleave" in [one.name for one in report.suggestions]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has nothing to share out")
def test_python_code_that_holds_the_lock_is_told_of_processes(monkeypatch):
    monkeypatch.setattr("estimator_io.profiling.concurrency._locked", lambda *_: 1.0)
    report = profile(dataset().map(locked(0.02), num_parallel_calls=4).batch(4), step_seconds=0.002)
    assert (report.verdict.stage, report.verdict.limit) == ("map", "lock")
    assert "processes" in [one.name for one in report.suggestions]


def test_nothing_is_to_be_changed_where_the_step_is_the_limit():
    report = profile(estimator_io.input_fn(ROWS, batch_size=4), step_seconds=30.0)
    assert report.verdict.kind == "step-bound"
    assert report.suggestions[0].name == "nothing"


def test_without_a_step_the_report_says_below_which_one_training_waits():
    report = profile(dataset().batch(4).map(waits(0.05)))
    assert report.verdict.kind == "no step given"
    assert report.verdict.ratio is None
    assert "A step shorter than that waits" in report.verdict.text


def test_a_cache_is_not_filled_and_no_file_is_left(tmp_path):
    parsed = []

    def parse(x):
        def note(value):
            parsed.append(1)
            return value

        y = tf.numpy_function(note, [x], tf.float32)
        y.set_shape([4])
        return y

    fn = estimator_io.input_fn(ROWS, parse=parse, batch_size=4, cache=str(tmp_path / "kept"))
    report = profile(fn)
    assert list(tmp_path.iterdir()) == []
    assert any("has a cache" in note for note in report.notes)
    parsed.clear()
    list(fn.dataset("eval"))
    assert len(parsed) >= len(ROWS)  # nothing was kept, so all are parsed now


def test_a_large_shuffle_is_told_of_and_not_waited_for():
    pipeline = dataset().map(waits(0.02)).shuffle(512).batch(4)
    report = profile(pipeline, step_seconds=0.002)
    assert report.seconds < 60  # filling the buffer once takes 10 s, each stage by itself longer
    assert report.first_batch_seconds > 512 * 0.02 * 0.8
    early = next(one for one in report.suggestions if one.name == "shuffle earlier")
    assert early.edit == "move this shuffle in front of map"


def test_an_endless_pipeline_and_one_without_elements(monkeypatch):
    assert profile(dataset().repeat().batch(4)).batches_per_second > 0
    with pytest.raises(NoDataError, match="No element leaves the step 'filter'"):
        profile(dataset().filter(lambda x: x[0] < 0).batch(4))
    with pytest.raises(NoDataError, match="No element leaves the step 'Range'"):
        profile(tf.data.Dataset.range(0).batch(2))
    monkeypatch.setattr("estimator_io.profiling.probing.PATIENCE_SECONDS", 3.0)
    with pytest.raises(ProfileError, match=r"'filter'.*(let none|gave nothing)"):
        profile(tf.data.Dataset.range(1 << 62).filter(lambda x: x < 0).batch(4))


@pytest.mark.parametrize("options", [{"seconds": 0.1}, {"step_seconds": 0}, {"step_seconds": -1}])
def test_impossible_figures_are_refused(options):
    with pytest.raises(OptionError, match="Expected"):
        profile(dataset(), **options)


def test_json_holds_plain_values(slow_map):
    found = json.loads(slow_map.to_json())
    assert found["verdict"]["kind"] == "input-bound"
    assert found["suggestions"][0]["gain"] == slow_map.suggestions[0].gain
    assert "trial" not in found["suggestions"][0]
    assert found["rows_per_second"] == pytest.approx(4 * found["batches_per_second"])


def test_the_page_fetches_nothing_and_shows_stages_timeline_and_trials(slow_map):
    text = slow_map.to_html()
    assert not re.search(r"https?://|src=|href=|<script|<link|@import|url\(", text)
    for piece in ("<svg", "What ran when", "Before and after", "Memory of the process", "map"):
        assert piece in text


def test_the_text_names_stage_edit_and_prediction(slow_map):
    text = str(slow_map)
    for piece in ("input-bound", "map <-", "num_parallel_calls=", "predicted", "tried"):
        assert piece in text


def test_files_are_written_by_their_ending(slow_map, tmp_path):
    pytest.importorskip("matplotlib")
    for ending, beginning in ((".html", b"<!DOCTYPE"), (".png", b"\x89PNG"), (".json", b"{")):
        slow_map.save(tmp_path / f"report{ending}")
        assert (tmp_path / f"report{ending}").read_bytes().startswith(beginning)
    with pytest.raises(OptionError, match=r"\.pdf.*Expected: one of"):
        slow_map.save(tmp_path / "report.pdf")
    with pytest.raises(OptionError, match="cannot be written"):
        slow_map.save(tmp_path / "nowhere" / "report.html")


def test_a_missing_matplotlib_is_named_with_its_extra(slow_map, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install\s+'estimator-io\[profile\]'"):
        slow_map.save(tmp_path / "report.png")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(slow_map, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OptionError, match="cannot be written"):
        slow_map.save(tmp_path / "report.html")
