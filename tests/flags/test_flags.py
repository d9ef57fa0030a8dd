"""The options of input functions as flags: defined once, checked, and applied."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys

import numpy as np
import pytest
from absl import flags as absl_flags

import estimator_io
from estimator_io.errors import OptionError
from estimator_io.flags import define, from_flags
from estimator_io.flags.table import SERVICE, STORE, WITHOUT_FLAG, option_flags
from estimator_io.pipeline.options import Options
from tests.conftest import ROOT


@pytest.fixture
def values():
    return absl_flags.FlagValues()


def parsed(values, *words, **options):
    define(flag_values=values, **options)
    values(["train.py", *words])
    return from_flags(values, options.get("prefix", ""))


def test_every_option_is_a_flag_or_a_thing_of_code():
    options = {field.name for field in dataclasses.fields(Options)}
    service = {field.name for field in dataclasses.fields(estimator_io.Service)} - {"address"}
    store = {*inspect.signature(estimator_io.Store).parameters} - {"folder"}
    assert {*option_flags()} == options - {*WITHOUT_FLAG} | {*SERVICE} | {*STORE}
    assert {*WITHOUT_FLAG} <= options
    assert {*SERVICE.values()} == service
    assert {*STORE.values()} == store
    assert all(option.help.endswith(".") for option in option_flags().values())


# A value other than the default for each flag, and what it stands for.
SAMPLES = {
    "interleave": ("8", 8),
    "shard": ("1/4", (1, 4)),
    "key": ("row", "row"),
    "on_error": ("skip", "skip"),
    "max_skipped": ("5", 5),
    "skipped_log": ("bad.jsonl", "bad.jsonl"),
    "check": ("false", False),
    "batch_size": ("64", 64),
    "drop_remainder": ("true", True),
    "padding": ("true", True),
    "bucket_boundaries": ("10,20", (10, 20)),
    "bucket_batch_sizes": ("8,4,2", (8, 4, 2)),
    "weight_key": ("w", "w"),
    "shuffle": ("256MB", "256MB"),
    "epochs": ("3", 3),
    "seed": ("7", 7),
    "position": ("restart", "restart"),
    "deterministic": ("false", False),
    "cache": ("memory", "memory"),
    "cache_fill": ("complete", "complete"),
    "cache_size_limit": ("10GB", 10**10),
    "cache_verify_contents": ("true", True),
    "cache_writer_share": ("0.5", 0.5),
    "service": ("grpc://localhost:5050", "grpc://localhost:5050"),
    "service_sharding": ("static", "static"),
    "service_job_name": ("job", "job"),
    "service_consumer_index": ("0", 0),
    "service_num_consumers": ("2", 2),
    "service_compression": ("snappy", "snappy"),
    "service_max_outstanding_requests": ("4", 4),
    "service_timeout": ("90s", 90.0),
    "num_parallel_calls": ("parse=4,augment=2", {"parse": 4, "augment": 2}),
    "processes": ("4", 4),
    "prefetch": ("2", 2),
    "threads": ("16", 16),
    "device": ("/gpu:0", "/gpu:0"),
    "memory_limit": ("512MB", 512 * 10**6),
}


def test_every_flag_takes_its_text_and_writes_it_down_for_a_flagfile(values, tmp_path):
    assert {*SAMPLES} == {*option_flags()}
    define(flag_values=values)
    values(["train.py", *(f"--{name}={word}" for name, (word, _) in SAMPLES.items())])
    assert {name: values[name].value for name in SAMPLES} == {
        name: value for name, (_, value) in SAMPLES.items()
    }
    (tmp_path / "flags").write_text(values.flags_into_string())
    again = absl_flags.FlagValues()
    define(flag_values=again)
    again(["train.py", f"--flagfile={tmp_path / 'flags'}"])
    assert {name: again[name].value for name in SAMPLES} == {
        name: values[name].value for name in SAMPLES
    }


def test_every_plain_option_reaches_the_pipeline():
    plain = {*SAMPLES} & {field.name for field in dataclasses.fields(Options)}
    together = {"on_error", "key", "max_skipped", "skipped_log", "cache", "service", "processes"}
    together |= {"bucket_batch_sizes", "bucket_boundaries"}
    for name in plain - together:
        values = absl_flags.FlagValues()
        found = parsed(values, f"--{name}={SAMPLES[name][0]}")
        assert found == {name: SAMPLES[name][1]}
        fn = estimator_io.input_fn([np.zeros(3)], flags=values)
        assert getattr(fn.options, name) == SAMPLES[name][1]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--batch_size=0", "batch_size must be a whole number of at least 1. Received: 0"),
        ("--batch_size=many", "Received: 'many'"),
        ("--batch_size=1.5", "Received: '1.5'"),
        ("--epochs=0", "leave epochs=None"),
        ("--memory_limit=12 parsecs", "Expected: a number of bytes, or text such as '256MB'"),
        ("--shuffle=some", "shuffle is no amount of memory"),
        ("--shuffle=0", "shuffle must be"),
        ("--service_timeout=soon", "such as 30s, 500ms, 2m or 1h"),
        ("--service_timeout=0s", "above 0"),
        ("--service=nowhere", "The service's address is unknown"),
        ("--position=somewhere", "Expected: continue or restart"),
        ("--num_parallel_calls=pars=4", "of read, parse, augment"),
        ("--num_parallel_calls=parse=x", "Received: 'parse=x'"),
        ("--num_parallel_calls=parse=0", "num_parallel_calls of parse must be"),
        ("--processes=read=2", "of parse, augment"),
        ("--shard=4/4", "shard is no part of the rows"),
        ("--device=gpu", "device is unknown"),
        ("--bucket_boundaries=10;20", "whole numbers by commas"),
        ("--interleave=none", "Received: 'none'"),
        ("--cache_writer_share=2", "at most 1"),
        ("--drop_remainder=perhaps", "must be true or false"),
    ],
)
def test_an_impossible_value_is_refused_when_it_is_parsed(values, word, message):
    define(flag_values=values)
    with pytest.raises(absl_flags.IllegalFlagValueError) as caught:
        values(["train.py", word])
    assert word.partition("=")[0] in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_flags_that_were_not_parsed_have_their_defaults(values):
    define(defaults={"batch_size": 32}, flag_values=values)
    assert from_flags(values) == {"batch_size": 32}


def test_the_command_line_counts_more_than_code_and_code_more_than_a_default(values):
    parsed(values, "--epochs=2", defaults={"batch_size": 32, "threads": 4})
    fn = estimator_io.input_fn([np.zeros(3)], batch_size=8, epochs=5, flags=values)
    assert (fn.options.batch_size, fn.options.epochs, fn.options.threads) == (8, 2, 4)
    copy = estimator_io.input_fn([np.zeros(3)], batch_size=8, epochs=5).from_flags(values)
    assert copy.options == fn.options


def test_none_takes_back_what_code_gives(values):
    parsed(values, "--cache=none", "--epochs=none", "--prefetch=auto")
    fn = estimator_io.input_fn([np.zeros(3)], cache="memory", epochs=5, prefetch=3, flags=values)
    assert (fn.options.cache, fn.options.epochs, fn.options.prefetch) == (None, None, None)


def test_a_flag_alone_and_its_no_form_are_understood(values):
    found = parsed(values, "--shuffle", "--nodrop_remainder")
    assert found == {"shuffle": True, "drop_remainder": False}


def test_prefixes_keep_two_pipelines_apart(values):
    define("train_", {"batch_size": 64}, flag_values=values)
    define("eval_", {"batch_size": 8}, flag_values=values)
    values(["train.py", "--train_epochs=2"])
    assert from_flags(values, "train_") == {"batch_size": 64, "epochs": 2}
    assert from_flags(values, "eval_") == {"batch_size": 8}


def test_names_limit_what_is_defined(values):
    define(names=["cache"], defaults={"seed": 1}, flag_values=values)
    assert {"cache", "seed"} == {*option_flags()} & {*values}


def test_it_can_be_defined_again(values):
    define(defaults={"seed": 1}, flag_values=values)
    before = values["seed"]
    define(flag_values=values)
    define(defaults={"seed": 1, "threads": 2}, flag_values=values)
    assert values["seed"] is before
    assert from_flags(values) == {"seed": 1, "threads": 2}


def test_two_defaults_that_differ_name_both_places(values):
    define(defaults={"seed": 1}, flag_values=values)
    with pytest.raises(OptionError, match=r"1 at .*test_flags.py:\d+, and 2 at .*test_flags.py:"):
        define(defaults={"seed": 2}, flag_values=values)


@pytest.mark.parametrize("first", ["program", "estimator_io"])
def test_the_same_flag_of_the_program_is_adopted(values, first):
    if first == "estimator_io":
        define(flag_values=values)
    absl_flags.DEFINE_integer("batch_size", 100, "Rows.", flag_values=values)
    absl_flags.DEFINE_string("cache", None, "Folder.", flag_values=values)
    absl_flags.DEFINE_boolean("shuffle", True, "Shuffle?", flag_values=values)
    define(flag_values=values)
    assert from_flags(values) == {"batch_size": 100, "shuffle": True}
    values(["train.py", "--batch_size=5", "--cache=memory"])
    assert from_flags(values) == {"batch_size": 5, "cache": "memory", "shuffle": True}


def test_a_flag_of_another_type_that_was_there_is_an_error_with_both_places(values):
    absl_flags.DEFINE_float("skipped_log", 8.0, "Rows.", flag_values=values)
    here = inspect.currentframe().f_lineno - 1
    with pytest.raises(OptionError) as caught:
        define(flag_values=values)
    assert f"test_flags.py:{here} defines it as float" in str(caught.value)
    assert f"test_flags.py:{here + 3} needs a text" in str(caught.value)
    assert "define(prefix='input_')" in str(caught.value)


def test_a_flag_of_another_type_that_comes_later_is_an_error_with_both_places(values):
    define(flag_values=values)
    absl_flags.DEFINE_list("threads", None, "Names.", flag_values=values)
    with pytest.raises(OptionError, match=r"test_flags.py:\d+ defines it as comma separated list"):
        from_flags(values)


def test_a_flag_that_was_not_asked_for_is_left_alone(values):
    absl_flags.DEFINE_string("device", "anything", "", flag_values=values)
    define(names=["batch_size"], flag_values=values)
    assert from_flags(values) == {}


def test_an_adopted_value_that_cannot_be_names_the_flag(values):
    absl_flags.DEFINE_integer("batch_size", 0, "Rows.", flag_values=values)
    define(flag_values=values)
    with pytest.raises(OptionError, match="--batch_size=0: batch_size must be"):
        from_flags(values)


def test_flags_that_were_never_defined_are_an_error(values):
    with pytest.raises(OptionError, match=r"Call estimator_io.flags.define\(\)"):
        estimator_io.input_fn([np.zeros(3)], flags=values)


def test_an_option_that_is_code_is_no_flag(values):
    with pytest.raises(OptionError, match="No flag stands for 'parse'"):
        define(defaults={"parse": None}, flag_values=values)


def test_an_impossible_default_is_refused(values):
    with pytest.raises(OptionError, match="The default of flag --batch_size=0"):
        define(defaults={"batch_size": 0}, flag_values=values)


def test_a_service_is_made_of_its_flags(values):
    found = parsed(values, "--service=localhost:5050", "--service_timeout=2m")
    assert found == {"service": estimator_io.Service("localhost:5050", timeout=120.0)}


def test_a_store_is_made_of_its_flags(values, tmp_path):
    store = parsed(values, f"--cache={tmp_path}", "--cache_size_limit=1GB")["cache"]
    assert (store.folder, store.size_limit) == (str(tmp_path), 10**9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--service_timeout=3s"], "--service_timeout was given, but no service. Give --service="),
        (["--cache_size_limit=1GB"], "--cache_size_limit was given, but no cache"),
        (["--cache=memory", "--cache_writer_share=1"], "but a memory cache"),
        (["--service=localhost:5050"], "Flags given: --service=localhost:5050."),
    ],
)
def test_flags_that_do_not_go_together_are_named(values, words, message):
    define(flag_values=values)
    values(["train.py", *words])
    with pytest.raises(OptionError) as caught:
        estimator_io.input_fn([np.zeros(3)], flags=values)
    assert message in str(caught.value)


def test_the_flags_of_tensorflow_are_the_same_flags():
    import tensorflow as tf

    flags = tf.compat.v1.flags.FLAGS
    define("tf1_", {"batch_size": 3})
    # pytest's own arguments are no flags: asking for a value must not parse them.
    assert from_flags(flags, "tf1_") == {"batch_size": 3}
    assert not absl_flags.FLAGS.is_parsed()


PROGRAM = """
import sys
from absl import app
import estimator_io.flags
from absl import flags
assert "tensorflow" not in sys.modules
estimator_io.flags.define(defaults={"batch_size": 32})
flags.DEFINE_integer("batch_size", 100, "Rows of the program's own.")
def main(argv):
    print(sorted(estimator_io.flags.from_flags().items()), argv[1:])
if __name__ == "__main__":
    app.run(main)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM)

    def run(*words):
        return subprocess.run(
            [sys.executable, path, *words],
            capture_output=True,
            text=True,
            timeout=240,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
        )

    return run


def test_a_program_gets_them_by_app_run_without_tensorflow(program, tmp_path):
    (tmp_path / "flags").write_text("--cache=memory\n--threads=3\n")
    done = program(f"--flagfile={tmp_path / 'flags'}", "--seed=4", "rest")
    expected = "[('batch_size', 100), ('cache', 'memory'), ('seed', 4), ('threads', 3)] ['rest']\n"
    assert done.stdout == expected, done.stderr


def test_an_impossible_value_ends_the_program_with_one_line(program):
    done = program("--memory_limit=nothing")
    assert done.returncode == 1
    assert "flag --memory_limit=nothing: memory_limit is no amount of memory" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_them(program):
    short, full = program("--help").stdout, program("--helpfull").stdout
    assert "--memory_limit" in short
    assert "(bytes, such as 512MB or 2GiB)" in short
    group = full.partition("\nestimator_io.flags:\n")[2].partition("\n\n")[0]
    for name in {*option_flags()} - {"batch_size"}:  # the program's own stands in its own group
        assert f"--{name}:" in group or f"--[no]{name}:" in group
