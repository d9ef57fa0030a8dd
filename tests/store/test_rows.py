"""A store of rows against a dict, over random layouts and random interleavings."""

import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from estimator_io.store import generation as generations
from estimator_io.store.checksum import entries_of, slot_sums
from estimator_io.store.claims import Claims, new_token
from estimator_io.store.generation import open_generation
from estimator_io.store.layout import Layout, Slot
from estimator_io.store.memory import MemoryRows
from estimator_io.store.rows import Block, pack_record, unpack_record
from estimator_io.store.writer import Policy, Writer

ROWS = 12
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"]
slots = st.builds(Slot, st.sampled_from(DTYPES), st.lists(st.integers(0, 5), max_size=3).map(tuple))


@st.composite
def layouts(draw):
    kinds = draw(st.lists(st.one_of(slots, st.none()), min_size=1, max_size=4))
    return Layout(
        tuple(f"c{at}" for at in range(len(kinds))),
        {at: slot for at, slot in enumerate(kinds) if slot is not None},
        tuple(at for at, slot in enumerate(kinds) if slot is None),
    )


def values_of(layout, rows, salt):
    generator = np.random.default_rng([salt, *rows])
    payloads = np.empty((len(rows), len(layout.payloads)), object)
    for place in np.ndindex(payloads.shape):
        payloads[place] = generator.bytes(int(generator.integers(0, 20)))
    data = [
        generator.integers(0, 256, (len(rows), slot.row_bytes), np.uint8)
        for slot in layout.slots.values()
    ]
    return Block(np.array(rows, np.int64), data, payloads, np.zeros(len(rows), bool))


def row_of(block, at):
    return ([slot[at].tobytes() for slot in block.slots], list(block.payloads[at]))


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"),
            st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=5, unique=True),
        ),
        st.tuples(st.just("read"), st.lists(st.integers(0, 2 * ROWS), max_size=6)),
        st.tuples(st.just("reopen"), st.just([])),
        st.tuples(st.just("damage"), st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=1)),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(layout=layouts(), steps=steps, kind=st.sampled_from(["memory", "known", "stream"]))
def test_a_store_gives_back_what_it_was_given_or_nothing(layout, steps, kind):
    with tempfile.TemporaryDirectory() as folder:
        memory = MemoryRows(layout, ROWS)

        def opened():
            if kind == "memory":
                return memory
            total = ROWS if kind == "known" else None
            policy = Policy("complete")
            return open_generation(
                folder, "k", layout, rows=total, facts={}, size_limit=None, policy=policy
            ).rows

        rows, expected = opened(), {}
        for at, (action, numbers) in enumerate(steps):
            if action == "write":
                block = values_of(layout, numbers, at)
                new = [place for place, row in enumerate(numbers) if row not in expected]
                rows.accept(block)
                for place in new:  # a row that is there is not written again
                    expected[numbers[place]] = row_of(block, place)
            elif action == "reopen" and kind != "memory":
                rows.flush()
                generations._OPEN.clear()
                rows = opened()
            elif action == "damage" and kind != "memory":
                rows.flush()
                rows.forget(np.array(numbers))
                expected.pop(numbers[0], None)
            elif action == "read":
                found = rows.read(np.array(numbers, np.int64))
                assert found.missing.tolist() == [row not in expected for row in numbers]
                for place, row in enumerate(numbers):
                    assert found.missing[place] or row_of(found, place) == expected[row]
        if kind != "memory":
            rows.flush()


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_records_hold_their_payloads(payloads):
    record = pack_record(payloads)
    assert unpack_record(record, len(payloads)) == payloads
    if payloads:
        with pytest.raises(ValueError):
            unpack_record(record + b"x", len(payloads))


def test_a_sum_tells_every_single_bit_and_the_row_apart():
    block = np.random.default_rng(0).integers(0, 256, (1, 27), np.uint8)
    row = np.array([3])
    entry = int(entries_of(row, [slot_sums(block)])[0])
    changed = []
    for bit in range(27 * 8):
        flipped = block.copy()
        flipped[0, bit // 8] ^= 1 << bit % 8
        changed.append(int(entries_of(row, [slot_sums(flipped)])[0]))
    changed.append(int(entries_of(row + 1, [slot_sums(block)])[0]))
    assert entry not in changed
    assert 0 not in [entry, *changed]


def test_a_sum_is_what_the_format_says():
    def mixed(value):
        value = value * 0x9E3779B97F4A7C15 % 2**64
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
        return value ^ value >> 31

    data = bytes(range(20))
    words = [int.from_bytes(data[at : at + 8].ljust(8, b"\0"), "little") for at in (0, 8, 16)]
    total = sum(word * (mixed(at) | 1) for at, word in enumerate(words, 1)) % 2**64
    entry = mixed(mixed(5 + 1) ^ (total + 1) % 2**64) | 1
    found = entries_of(np.array([5]), [slot_sums(np.frombuffer(data, np.uint8)[None])])
    assert int(found[0]) == entry


def test_of_two_readers_one_makes_a_row_until_its_claim_is_old():
    claims = Claims(np.zeros(4, np.uint64), 0.0)
    rows = np.arange(4)
    assert claims.take(rows[:3], new_token()).tolist() == [True, True, True]
    assert claims.take(rows, new_token()).tolist() == [False, False, False, True]
    claims.drop(rows[:1])
    assert claims.held(rows).tolist() == [False, True, True, True]
    claims.patience = 0.0
    assert not claims.held(rows).any()


def test_a_reader_that_is_gone_delays_the_others_for_a_moment_alone(tmp_path):
    rows = MemoryRows(Layout(("x",), {0: Slot("int8", ())}, ()), 3)
    assert rows.claim(np.arange(3), new_token()).all()
    assert not rows.claim(np.arange(3), new_token()).any()
    rows.claims.patience = 0.05
    rows.await_others(np.arange(3))
    assert rows.claim(np.arange(3), new_token()).all()


def test_a_reader_of_this_process_is_waited_for_while_it_works(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("estimator_io.store.claims.time.monotonic", lambda: now[0])
    claims = Claims(np.zeros(4, np.uint64), 0.0)
    rows, mine = np.arange(4), new_token()
    claims.take(rows, mine)
    claims.learn(0.01)  # seconds of a block
    now[0] = 0.09
    assert claims.held(rows).all()
    claims.beat(mine)
    now[0] = 0.18
    assert claims.held(rows).all()
    now[0] = 0.2
    assert not claims.held(rows).any()


def test_a_slow_reader_of_this_process_is_given_four_times_a_block(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("estimator_io.store.claims.time.monotonic", lambda: now[0])
    claims = Claims(np.zeros(1, np.uint64), 0.0)
    claims.take(np.arange(1), new_token())
    claims.learn(0.2)
    now[0] = 0.7
    assert claims.held(np.arange(1)).all()
    now[0] = 0.9
    assert not claims.held(np.arange(1)).any()


def test_only_so_many_readers_are_remembered():
    claims = Claims(np.zeros(1, np.uint64), 0.0)
    for token in range(1, 5000):
        claims.beat(token)
    assert len(claims._pulses) <= 1000


def test_memory_keeps_no_more_than_its_limit():
    rows = MemoryRows(Layout(("x",), {0: Slot("int64", (10,))}, ()), 100, limit=800)
    for row in range(20):
        rows.accept(values_of(rows.layout, [row], 1))
    assert rows.present(np.arange(20)).sum() == 10
    assert rows.counts.dropped == 10


def test_a_writer_that_is_too_slow_lets_go_or_waits_as_it_was_told():
    import threading

    for fill in ("background", "complete"):
        go, written = threading.Event(), []

        def write(job, go=go, written=written):
            go.wait(10)
            written.append(job)

        writer = Writer(write, Policy(fill), queue_bytes=100)
        assert writer.offer("a", 60)
        if fill == "background":
            assert not writer.offer("b", 60)
            go.set()
        else:
            threading.Timer(0.2, go.set).start()
            assert writer.offer("b", 60)
        assert writer.flush(10)
        assert written == (["a"] if fill == "background" else ["a", "b"])


def test_a_writer_stays_within_its_share_of_the_processors():
    import time

    def work(job):
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass

    writer = Writer(work, Policy(share=0.01))
    taken = 0
    for _ in range(100):
        taken += writer.offer("x", 1000)
        writer.flush(10)
    # A burst of half a second of work, then next to nothing.
    assert 20 <= taken <= 60
