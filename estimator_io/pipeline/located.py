"""The stages up to parse for rows that know where they stand: keyed, or skipped where bad."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from estimator_io.ops import attempt
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Deferred
from estimator_io.plan.parallel import parallel
from estimator_io.sources.base import Order, Source

__all__ = ["located_batches", "located_rows", "noting", "raw_rows"]

# Rows that one call works on where one may fail: a block is set up once, and worked on in sequence.
ATTEMPTED_ROWS = 16
# Rows that are decoded at once where later stages take them one by one.
DECODED_ROWS = 256


def located_rows(
    source: Source,
    options: Options,
    order: Order,
    passing: list[Call],
    *,
    parse: Callable[..., Any] | Deferred | None,
    note: Any = None,
) -> list[Call]:
    """Returns the calls that yield rows: read, decoded, parsed, with keys.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      order: the order to read them in.
      passing: the calls that pass over rows which are not to be parsed.
      parse: the function of a row that stands for options.parse.
      note: what is called with each bad row; None takes what the options ask for.
    """
    note = noting(source, options) if note is None else note
    calls = raw_rows(source, options, order, note)
    key = {"key": options.key, "key_of": source.key_of if options.key else None}
    functions = [None if source.decode_located else source.decode, parse]
    work = functools.partial(attempt.run_row, functions=[f for f in functions if f], **key)
    return [*calls, *passing, _rows(work, options, note)]


def raw_rows(source: Source, options: Options, order: Order, note: Any) -> list[Call]:
    """Returns the calls that yield (where, row): as the source has rows, those of text decoded."""
    calls = source.located_calls(order, note)
    if source.decode_located is not None:
        calls.append(_decode_blocks(source.decode_located, options, note))
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    return calls


def located_batches(source: Source, options: Options, order: Order, request: Any) -> list[Call]:
    """Returns the calls that yield batches, where no stage works row by row."""
    note = noting(source, options)
    calls = source.located_calls(order, note)
    decode = source.decode_located or source.decode_batch
    if not source.takes_blocks:
        calls.append(Call("read", "batch", (DECODED_ROWS,)))
    if decode is not None:
        calls.append(_decode_blocks(decode, options, note))
    key = {"key": options.key, "key_of": source.key_of if options.key else None}
    finish = functools.partial(attempt.run_row, functions=[], **key)
    calls.append(Call("parse", "map", (finish,), _parallel(options)))
    drop = options.drop_remainder and request.ordered
    return [
        *calls,
        Call("batch", "unbatch"),
        Call("batch", "batch", (request.batch_size,), {"drop_remainder": drop}),
    ]


def noting(source: Source, options: Options) -> Deferred | None:
    """Returns what makes the function that is told of bad rows; None where they are errors."""
    if not options.skips:
        return None

    def make() -> Callable[..., None]:
        path = source.skipped.list_path(options.skipped_log)
        return source.skipped.noting(limit=options.max_skipped, path=path)

    return Deferred(make=make, printed=attempt.log_skipped, unread=attempt.log_skipped)


def _decode_blocks(decode: Any, options: Options, note: Any) -> Call:
    work = functools.partial(attempt.run_block, functions=[decode])
    if note is None:
        return Call("parse", "map", (work,), _parallel(options))
    kwargs = {"function": work, **_parallel(options), "note": note}
    return Call("decode", "apply", (functools.partial(attempt.attempted_blocks, **kwargs),))


def _rows(work: Any, options: Options, note: Any) -> Call:
    if note is None or not work.keywords["functions"]:
        return Call("parse", "map", (work,), _parallel(options))
    kwargs = {"function": work, "size": ATTEMPTED_ROWS, **_parallel(options), "note": note}
    return Call("parse", "apply", (functools.partial(attempt.attempted_rows, **kwargs),))


def _parallel(options: Options) -> dict[str, Any]:
    return parallel(options.parallel_calls("parse"), deterministic=options.deterministic)
