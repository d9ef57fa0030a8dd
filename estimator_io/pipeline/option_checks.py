"""What the options of a pipeline may be, and which of them contradict each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError
from estimator_io.pipeline.memory_limit import parse_bytes
from estimator_io.store.store import Store
from estimator_io.workers.processes import Processes

if TYPE_CHECKING:
    from estimator_io.pipeline.options import Options

PARALLEL_STAGES = ("read", "parse", "augment", "batch_augment", "batch_map")
PYTHON_STAGES = ("parse", "augment", "batch_augment", "batch_map")
FUNCTIONS = (
    "parse",
    "filter",
    "flat_map",
    "augment",
    "element_length",
    "batch_augment",
    "batch_map",
)
# Options that may be whole numbers, alone or by stage.
NUMBERS = ("shuffle", "num_parallel_calls", "memory_limit")
LEAST = {
    "batch_size": 1,
    "epochs": 1,
    "interleave": 1,
    "prefetch": 0,
    "threads": 1,
    "seed": 0,
    "max_skipped": 0,
}
# Beyond these only a slip of the keyboard lies: a thread takes memory and a place in the system's
# table, and a pipeline with a million of them never comes to its first row.
MOST = {"interleave": 10_000, "prefetch": 10_000, "threads": 4096}
MOST_CALLS = 4096
MOST_PROCESSES = 1024


def checked_numbers(name: str, value: Any) -> tuple[int, ...]:
    """Returns a list of whole numbers as a tuple."""
    numbers = tuple(value) if isinstance(value, Iterable) else (value,)
    if isinstance(value, Iterable) and all(map(_is_whole_number, numbers)):
        return tuple(map(int, numbers))
    raise OptionError(f"{name} must be a list of whole numbers. Received: {value!r}.")


def checked_cache(value: Any) -> str | Store:
    """Returns the place of a cache: "memory", a folder or a Store."""
    if isinstance(value, Store):
        return value
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise OptionError(
            f"cache is no place. Received: {value!r}. Expected: None, 'memory', a folder or a"
            " Store. To"
            " cache nothing, leave cache out."
        )
    path = os.fspath(value)
    if path != "memory" and str(path).lower() == "memory":
        raise OptionError(
            f"cache={value!r} would be a folder of that name. Expected: 'memory' to keep rows in"
            f" memory, or './{path}' for the folder."
        )
    if path != "memory":
        Store(path)  # refuses what cannot be one
    return path


def check_cache_fill(value: Any) -> None:
    """Checks what happens where rows cannot be written in time."""
    if value not in ("background", "complete"):
        raise OptionError(
            f"cache_fill is unknown. Received: {value!r}. Expected: 'background' (rows that cannot"
            " be written in time are made again in a later pass) or 'complete' (the pipeline waits"
            " for the disk)."
        )


def check_function(name: str, value: Any) -> None:
    """Checks that an option is a function, or None."""
    if value is not None and not callable(value):
        raise OptionError(
            f"{name} is no function. Received: {value!r}. Expected: a function, or None."
        )


def _is_whole_number(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Returns a whole number, or those of a dict, as Python's own: JSON takes none of NumPy's."""
    if isinstance(value, Mapping):
        return {name: plain(number) for name, number in value.items()}
    return int(value) if _is_whole_number(value) else value


def check_whole_number(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Checks that an option is None or a whole number that is large enough, and not too large."""
    if value is None:
        return
    if not _is_whole_number(value) or value < least:
        hint = " For endless training leave epochs=None." if name == "epochs" else ""
        raise OptionError(
            f"{name} must be a whole number of at least {least}. Received: {value!r}.{hint}"
        )
    if most is not None and value > most:
        raise OptionError(
            f"{name} is more than any machine can use. Received: {value!r}. Expected: at most"
            f" {most:,}. Leave it out, and the pipeline chooses."
        )


def check_shuffle(value: Any) -> None:
    """Checks how rows shall be shuffled."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        parse_bytes("shuffle", value)
        return
    if not _is_whole_number(value) or value < 1:
        raise OptionError(
            f"shuffle must be True, False, None, a buffer size of at least 1 row, or one in bytes"
            " such as '256MB'."
            f" Received: {value!r}."
        )


def check_position(value: Any) -> None:
    """Checks where training shall go on."""
    if value not in ("continue", "restart"):
        raise OptionError(
            f"position is unknown. Received: {value!r}. Expected: 'continue' (training goes on at"
            " the row where it stood) or 'restart' (each call begins with the first row)."
        )


def check_device(value: Any) -> None:
    """Checks the name of a device."""
    named = isinstance(value, str) and re.search(r"(^|[/:])[a-z]+:\d+$", value.lower())
    known = named or value == "auto"
    if value is not None and not known:
        raise OptionError(
            f"device is unknown. Received: {value!r}. Expected: None, 'auto' (the first GPU,"
            " if there is one) or the name of a device, such as '/gpu:0'."
        )


def check_errors(options: Options) -> None:
    """Checks what becomes of rows that cannot be read, and the key of a row; spells the key out."""
    if isinstance(options.key, bool):
        object.__setattr__(options, "key", "key" if options.key else None)
    if options.key is not None and (not isinstance(options.key, str) or not options.key):
        raise OptionError(
            f"key must be the name of a feature, or True for 'key'. Received: {options.key!r}."
        )
    if options.on_error not in ("raise", "skip"):
        raise OptionError(
            f"on_error is unknown. Received: {options.on_error!r}. Expected: 'raise' (a row that"
            " cannot be read stops the program) or 'skip' (it is left out and listed)."
        )
    if options.skipped_log is not None:
        object.__setattr__(options, "skipped_log", os.fspath(options.skipped_log))
    if not options.skips and (options.skipped_log is not None or options.max_skipped != 1000):
        raise OptionError(
            "max_skipped and skipped_log were given, but nothing is skipped. Give on_error='skip',"
            " or leave them out."
        )
    if options.skips:
        _refuse_both("on_error='skip'", "service", options.service)
    if options.key is not None:
        _refuse_both(f"key={options.key!r}", "service", options.service)


def _refuse_both(given: str, name: str, value: Any) -> None:
    if value is not None:
        raise OptionError(
            f"{given} and {name}={value!r} do not go together yet: rows that have travelled no"
            " longer know where they stood. Leave one of them out."
        )


def check_parallel(value: Any) -> None:
    """Checks how many calls a stage may make at once."""
    numbers = value if isinstance(value, Mapping) else {"num_parallel_calls": value}
    for name, number in numbers.items():
        if isinstance(value, Mapping) and name not in PARALLEL_STAGES:
            raise OptionError(
                f"num_parallel_calls names no stage that runs in parallel. Received: {name!r}."
                f" Expected: one of {', '.join(PARALLEL_STAGES)}."
            )
        label = f"num_parallel_calls of {name}" if isinstance(value, Mapping) else name
        check_whole_number(label, number, 1, MOST_CALLS)


def checked_processes(options: Options) -> Processes | None:
    """Returns the worker processes asked for: those of the options that were copied, if any."""
    given = options.processes
    value = given.given if isinstance(given, Processes) else given
    if value is None:
        return None
    known = ", ".join(PYTHON_STAGES)
    if isinstance(value, Mapping):
        for name in value:
            if name not in PYTHON_STAGES:
                raise OptionError(
                    f"processes names no stage that can run in worker processes. Received:"
                    f" {name!r}. Expected: one of {known}."
                )
    stages = tuple(value) if isinstance(value, Mapping) else PYTHON_STAGES
    used = tuple(stage for stage in stages if getattr(options, stage) is not None)
    if not used or (isinstance(value, Mapping) and len(used) < len(stages)):
        missing = next((stage for stage in stages if stage not in used), None)
        what = f"no {missing}" if isinstance(value, Mapping) and missing else f"none of {known}"
        raise OptionError(
            f"processes={value!r} was given, but {what}, so there is nothing for worker processes"
            " to do. Give the function, or leave processes out."
        )
    numbers = value if isinstance(value, Mapping) else {"": value}
    for name, number in numbers.items():
        label = f"processes of {name}" if name else "processes"
        if number is None:
            raise OptionError(f"{label} must be a whole number of at least 1. Received: None.")
        check_whole_number(label, number, 1, MOST_PROCESSES)
    if isinstance(given, Processes) and given.stages == used:
        return given
    return Processes(plain(value), used)


def check_signatures(options: Options) -> None:
    """Checks that what functions return is told for stages in worker processes alone."""
    if options.signatures is None:
        return
    if not isinstance(options.signatures, Mapping):
        raise OptionError(
            "signatures must be a dict by stage, such as {'parse': {'x': tf.TensorSpec([None],"
            f" tf.float32)}}. Received: {options.signatures!r}."
        )
    for stage in options.signatures:
        if options.processes_of(stage) is None:
            raise OptionError(
                f"signatures names {stage!r}, whose function does not run in worker processes."
                " Expected: a stage of processes=…; what functions of TensorFlow return is known."
            )


def check_padding(options: Options) -> None:
    """Checks the shapes to pad to, and the values to pad with."""
    if options.padding is not None and not isinstance(options.padding, (bool, tuple, Mapping)):
        raise OptionError(
            f"padding must be True, False, None, or shapes in the structure of a row: a tuple such"
            f" as (8,) for one tensor, or a dict. Received: {options.padding!r}."
        )
    if options.padding_values is not None and not _padded(options):
        raise OptionError(
            "padding_values was given, but nothing is padded. Give padding=True (or"
            " bucket_boundaries=…), or leave padding_values out."
        )


def _padded(options: Options) -> bool:
    return bool(options.padding) or options.bucket_boundaries is not None


def check_buckets(options: Options) -> None:
    """Checks the options of batches by length against each other."""
    bounds, sizes = options.bucket_boundaries, options.bucket_batch_sizes
    if bounds is None:
        for name in ("bucket_batch_sizes", "element_length"):
            if getattr(options, name) is not None:
                raise OptionError(
                    f"{name} was given without bucket_boundaries. Give bucket_boundaries=[…] to"
                    f" batch by length, or leave {name} out."
                )
        return
    if not bounds or list(bounds) != sorted(set(bounds)) or bounds[0] < 1:
        raise OptionError(
            f"bucket_boundaries must be lengths of at least 1 in rising order."
            f" Received: {list(bounds)!r}."
        )
    if options.padding and options.padding is not True:
        raise OptionError(
            "bucket_boundaries and padding with shapes contradict each other: a batch by length is"
            " padded to its longest. Leave padding out, or give padding=True."
        )
    if sizes is not None and options.batch_size is not None:
        raise OptionError(
            "batch_size and bucket_batch_sizes contradict each other: both say how many rows a"
            " batch holds. Give one of them."
        )
    if sizes is not None and (len(sizes) != len(bounds) + 1 or min(sizes) < 1):
        raise OptionError(
            f"bucket_batch_sizes needs a size of at least 1 for each of the {len(bounds) + 1}"
            f" buckets that {len(bounds)} boundaries make. Received: {list(sizes)!r}."
        )
