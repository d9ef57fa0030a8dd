"""Which options are flags, and what each one's help says. Imports no TensorFlow."""

from __future__ import annotations

import dataclasses
import functools

from estimator_io.flags import values
from estimator_io.pipeline.option_checks import PARALLEL_STAGES, PYTHON_STAGES

__all__ = ["SERVICE", "STORE", "WITHOUT_FLAG", "OptionFlag", "option_flags"]

# Options that a person writes in code: functions, and what is as long as a structure of tensors.
WITHOUT_FLAG = (
    "augment",
    "batch_augment",
    "batch_map",
    "element_length",
    "filter",
    "flat_map",
    "padding_values",
    "parse",
    "signatures",
)
# Flags that fill in a `Service` or a `Store`, and the argument each one stands for.
SERVICE = {
    "service_sharding": "sharding",
    "service_job_name": "job_name",
    "service_consumer_index": "consumer_index",
    "service_num_consumers": "num_consumers",
    "service_compression": "compression",
    "service_max_outstanding_requests": "max_outstanding_requests",
    "service_timeout": "timeout",
}
STORE = {
    "cache_size_limit": "size_limit",
    "cache_verify_contents": "verify_contents",
    "cache_writer_share": "writer_share",
}


@dataclasses.dataclass(frozen=True, slots=True)
class OptionFlag:
    """One option as a flag.

    Attributes:
      name: of the option, and of the flag behind its prefix.
      value: parses and checks its text.
      help: what it does, in a sentence.
      boolean: whether --name alone, and --noname, are understood.
    """

    name: str
    value: values.Value
    help: str
    boolean: bool = False


@functools.cache
def option_flags() -> dict[str, OptionFlag]:
    """Returns every option that is a flag, by its name."""
    found = [*_reading(), *_batches(), *_order(), *_store(), *_service(), *_speed()]
    return {option.name: option for option in found}


def _yes_no(name: str, help: str) -> OptionFlag:
    return OptionFlag(name, values.yes_no(name), help, boolean=True)


def _reading() -> list[OptionFlag]:
    return [
        OptionFlag(
            "interleave",
            values.whole("interleave", 1, none=False),
            "Record files that are read at once; part of the order of the rows.",
        ),
        OptionFlag(
            "shard",
            values.shard("shard"),
            "The part of the rows to read: index/count, or tf_config for that of TF_CONFIG.",
        ),
        OptionFlag("key", values.text("key"), "Name of a feature that tells each row from others."),
        OptionFlag(
            "on_error",
            values.choice("on_error", "raise", "skip"),
            "What becomes of a row that cannot be read or parsed: raise stops, skip lists it.",
        ),
        OptionFlag(
            "max_skipped",
            values.whole("max_skipped", 0, none=False),
            "Rows that may be skipped before that is an error.",
        ),
        OptionFlag(
            "skipped_log", values.text("skipped_log"), "The file to list skipped rows in, as JSON."
        ),
        _yes_no("check", "Look at a few rows at the first call, and warn of what looks wrong."),
    ]


def _batches() -> list[OptionFlag]:
    return [
        OptionFlag("batch_size", values.whole("batch_size", 1), "Rows a batch."),
        _yes_no("drop_remainder", "Drop the last partial batch of training."),
        _yes_no("padding", "Pad the rows of a batch to its longest."),
        OptionFlag(
            "bucket_boundaries",
            values.numbers("bucket_boundaries"),
            "Lengths, rising, that separate groups of rows; each batch is drawn from one group.",
        ),
        OptionFlag(
            "bucket_batch_sizes",
            values.numbers("bucket_batch_sizes"),
            "Rows a batch for each group, one more than there are boundaries.",
        ),
        OptionFlag(
            "weight_key",
            values.text("weight_key", none=False),
            "The feature under which the Estimator gets the weights of the rows.",
        ),
    ]


def _order() -> list[OptionFlag]:
    return [
        OptionFlag("shuffle", values.shuffle("shuffle"), "How training is shuffled.", boolean=True),
        OptionFlag(
            "epochs",
            values.whole("epochs", 1),
            "Passes over the rows in a call to train; none is endless.",
        ),
        OptionFlag("seed", values.whole("seed", 0), "Seed of shuffling and augmentation."),
        OptionFlag(
            "position",
            values.choice("position", "continue", "restart"),
            "Where a call to train begins: at the row where training stood, or at the first.",
        ),
        _yes_no(
            "deterministic", "Keep the order of the rows; false hands them on as they are ready."
        ),
    ]


def _store() -> list[OptionFlag]:
    return [
        OptionFlag(
            "cache",
            values.folder("cache"),
            "Where rows are kept as parse made them: memory or a folder.",
        ),
        OptionFlag(
            "cache_fill",
            values.choice("cache_fill", "background", "complete"),
            "Whether rows that cannot be written in time are left for a later pass, or waited for.",
        ),
        OptionFlag(
            "cache_size_limit",
            values.amount("cache_size_limit"),
            "Bytes that the folder of --cache may take on the disk.",
        ),
        _yes_no(
            "cache_verify_contents", "Compare the contents of source files, not their dates alone."
        ),
        OptionFlag(
            "cache_writer_share",
            values.share("cache_writer_share"),
            "The part of the processors' time that writing to the folder may take.",
        ),
    ]


def _service() -> list[OptionFlag]:
    return [
        OptionFlag(
            "service",
            values.address("service"),
            "Where batches of training are prepared: local, or the dispatcher of a tf.data service"
            " (needs --position=restart).",
        ),
        OptionFlag(
            "service_sharding",
            values.choice("service_sharding", "dynamic", "static", "off"),
            "How the workers share the rows out.",
        ),
        OptionFlag(
            "service_job_name",
            values.text("service_job_name"),
            "Trainers that give the same name share one pass over the rows.",
        ),
        OptionFlag(
            "service_consumer_index",
            values.whole("service_consumer_index", 0),
            "The number of this trainer, from 0, where trainers take batches in turns.",
        ),
        OptionFlag(
            "service_num_consumers",
            values.whole("service_num_consumers", 1),
            "How many trainers take turns.",
        ),
        OptionFlag(
            "service_compression",
            values.choice("service_compression", "auto", "none", "snappy"),
            "Compression of batches on their way.",
        ),
        OptionFlag(
            "service_max_outstanding_requests",
            values.whole("service_max_outstanding_requests", 1),
            "Batches that may be on their way or waiting in this process.",
        ),
        OptionFlag(
            "service_timeout",
            values.seconds("service_timeout"),
            "How long to wait for the dispatcher and a first worker.",
        ),
    ]


def _speed() -> list[OptionFlag]:
    return [
        OptionFlag(
            "num_parallel_calls",
            values.per_stage("num_parallel_calls", PARALLEL_STAGES),
            "Calls of each parallel stage at once; none leaves it to tf.data.",
        ),
        OptionFlag(
            "processes",
            values.per_stage("processes", PYTHON_STAGES),
            "Worker processes for functions of Python or NumPy.",
        ),
        OptionFlag(
            "prefetch",
            values.whole("prefetch", 0),
            "Batches made ahead of the step; none leaves it to tf.data.",
        ),
        OptionFlag("threads", values.whole("threads", 1), "Threads of the pipeline."),
        OptionFlag(
            "device",
            values.device("device"),
            "Where batches are copied before the step asks for them.",
        ),
        OptionFlag(
            "memory_limit", values.amount("memory_limit"), "Bytes that the pipeline may hold."
        ),
    ]
