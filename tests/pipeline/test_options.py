"""Options are checked when they are given, and every refusal says what to do."""

import dataclasses
import json
import typing

import numpy as np
import pytest

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.options import Options, StageOptions


def test_the_typed_keywords_and_the_options_are_the_same():
    fields = {field.name for field in dataclasses.fields(Options)}
    assert set(typing.get_type_hints(StageOptions)) == fields | {"flags"}


def test_every_option_is_documented_in_input_fn():
    from estimator_io import input_fn

    for field in dataclasses.fields(Options):
        assert f"\n      {field.name}: " in (input_fn.__doc__ or ""), field.name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1. Received: 0"),
        ({"batch_size": -3}, "batch_size"),
        ({"batch_size": 2.5}, "2.5"),
        ({"batch_size": True}, "True"),
        ({"batch_size": "8"}, "'8'"),
        ({"epochs": 0}, "leave epochs=None"),
        ({"prefetch": -2}, "prefetch"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"interleave": 0}, "interleave"),
        ({"shuffle": 0}, "shuffle must be True, False, None, a buffer size"),
        ({"shuffle": "yes"}, "'yes'"),
        ({"parse": "decode"}, "parse is no function. Received: 'decode'"),
        ({"augment": 3}, "augment is no function"),
        ({"cache": ""}, "leave cache out"),
        ({"num_parallel_calls": 0}, "num_parallel_calls"),
        ({"num_parallel_calls": {"shuffle": 2}}, "no stage that runs in parallel"),
        ({"num_parallel_calls": {"parse": 0}}, "num_parallel_calls of parse"),
        ({"threads": 10**6}, "threads is more than any machine can use. Received: 1000000."),
        ({"prefetch": 10**9}, "prefetch is more than any machine can use. Received: 1000000000."),
        ({"interleave": 10**6}, "interleave is more than"),
        ({"num_parallel_calls": 10**6}, "num_parallel_calls is more than"),
        ({"num_parallel_calls": {"read": 10**6}}, "num_parallel_calls of read is more than"),
        ({"parse": abs, "processes": 10**6}, "processes is more than"),
        ({"parse": abs, "processes": {"parse": 10**6}}, "Expected: at most 1,024"),
        ({"padding_values": 1}, "nothing is padded"),
        ({"bucket_batch_sizes": [1, 2]}, "without bucket_boundaries"),
        ({"element_length": len}, "without bucket_boundaries"),
        ({"bucket_boundaries": []}, "rising order"),
        ({"bucket_boundaries": [5, 3]}, "rising order"),
        ({"bucket_boundaries": [3], "bucket_batch_sizes": [1]}, "each of the 2 buckets"),
        (
            {"bucket_boundaries": [3], "bucket_batch_sizes": [1, 2], "batch_size": 2},
            "contradict each other",
        ),
        ({"bucket_boundaries": [3], "padding": ([5],)}, "padding with shapes contradict"),
        ({"padding": [8]}, "a tuple such as (8,)"),
        ({"bucket_boundaries": 5}, "bucket_boundaries must be a list of whole numbers"),
        (
            {"cache": True},
            "cache is no place. Received: True. Expected: None, 'memory', a folder or a Store",
        ),
        ({"batchsize": 3}, "Unknown option 'batchsize'. Did you mean 'batch_size'?"),
        ({"lenght": 3}, "Did you mean 'length'?"),
    ],
)
def test_an_impossible_option_is_refused_with_its_name_and_value(options, words):
    with pytest.raises(OptionError) as caught:
        make_options(options)
    assert words in str(caught.value)


def test_an_option_error_is_a_value_error():
    with pytest.raises(ValueError, match="batch_size"):
        make_options({"batch_size": 0})


def test_autotune_is_what_is_chosen_where_nothing_is():
    options = make_options({"prefetch": -1, "num_parallel_calls": -1})
    assert (options.prefetch, options.num_parallel_calls) == (None, None)


def test_parallel_calls_are_one_number_for_all_or_one_for_each_stage():
    assert make_options({}).parallel_calls("parse") is None
    assert make_options({"num_parallel_calls": 3}).parallel_calls("augment") == 3
    by_stage = make_options({"num_parallel_calls": {"parse": 4}})
    assert (by_stage.parallel_calls("parse"), by_stage.parallel_calls("augment")) == (4, None)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"epochs": 3},
        {"interleave": 2},
        {"prefetch": 1},
        {"threads": 2},
        {"seed": 5},
        {"shuffle": 100},
        {"num_parallel_calls": 2},
        {"num_parallel_calls": {"read": 2}},
        {"memory_limit": 10**9},
        {"on_error": "skip", "max_skipped": 7},
        {"bucket_boundaries": [3, 5], "bucket_batch_sizes": [4, 2, 1]},
        {"shard": (0, 2)},
    ],
    ids=repr,
)
def test_whole_numbers_of_numpy_become_plain_ones(options):
    def of_numpy(value):
        if isinstance(value, dict):
            return {name: of_numpy(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(of_numpy, value))
        return np.int64(value) if isinstance(value, int) else value

    def stored(options):
        made = Options(**options)
        return json.dumps({name: getattr(made, name) for name in options})

    assert stored(of_numpy(options)) == stored(options)


def test_numbers_of_processes_of_numpy_become_plain_ones():
    by_stage = Options(parse=len, processes={"parse": np.int64(2)}).processes
    assert type(by_stage.number("parse")) is int
    assert type(Options(parse=len, processes=np.int32(2)).processes.number("parse")) is int
