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

__all__ = ["located_batches", "located_rows"]

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
    parse: Callable[..., Any] | None,
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
    note = _note(source, options) if note is None else note
    calls = source.located_calls(order, note)
    key = {"key": options.key, "key_of": source.key_of if options.key else None}
    functions = [source.decode, parse]
    if source.decode_located is not None:
        functions = [parse]
        calls.append(_decode_blocks(source.decode_located, options, note))
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    work = functools.partial(attempt.run_row, functions=[f for f in functions if f], **key)
    return [*calls, *passing, _rows(work, options, note)]


def located_batches(source: Source, options: Options, order: Order, request: Any) -> list[Call]:
    """Returns the calls that yield batches, where no stage works row by row."""
    note = _note(source, options)
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


def _note(source: Source, options: Options) -> Deferred | None:
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
