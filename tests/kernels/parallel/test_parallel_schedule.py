"""Schedules as data: what they say, and every fault that their proof must find."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from kernels import parallel
from kernels.parallel import HOST, Block, LocalProduct, Round, ScheduleError, Transfer, verify
from kernels.parallel.attempt_schedule import buffers, received
from kernels.parallel.slots import at_home, slots, stays

SHAPES = [(64, 48, 32), (67, 71, 73), (1, 1, 1), (3, 2, 40), (5, 3, 0), (0, 4, 4), (4, 0, 4)]
GRIDS = [(1, 1), (2, 2), (1, 3), (2, 3), (3, 1), (4, 4)]


def every(M, N, K):
    for ranks in 1, 2, 3, 4, 7:
        yield parallel.ring(M, N, K, ranks)
        yield parallel.gather(M, N, K, ranks)
    for grid in GRIDS:
        for pieces in 1, 2, 3:
            yield parallel.summa(M, N, K, grid, pieces)
    for tile, depth in (16, 8), (100, 100), (7, 5), (1, 3):
        if tile > 1 or M * N < 50:
            yield parallel.stream.plan(M, N, K, tile, depth)
            yield parallel.stream.plan(M, N, K, tile, depth, reads_c=True)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_every_schedule_computes_the_product(shape):
    for plan in every(*shape):
        verify(plan)


def test_cut():
    assert parallel.cut(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert parallel.cut(2, 4) == [(0, 0), (0, 1), (1, 1), (1, 2)]


def test_the_grid_nearest_to_a_square():
    assert [parallel.square(n) for n in (1, 2, 4, 6, 7, 12, 4096)] == [
        *((1, 1), (1, 2), (2, 2), (2, 3), (1, 7), (3, 4), (64, 64)),
    ]


def test_the_ring_goes_round():
    plan = parallel.ring(8, 8, 8, 4)
    assert len(plan.rounds) == 4
    for number, one in enumerate(plan.rounds):
        columns = [product.b.columns[0] // 2 for product in one.products]
        assert columns == [(rank + number) % 4 for rank in range(4)]
        assert [(t.source, t.targets) for t in one.transfers] == [
            (rank, ((rank - 1) % 4,)) for rank in range(4) if number < 3
        ]


def test_what_schedules_cost():
    n, ranks = 64, 4
    part = n * n // ranks
    ring, gather = (make(n, n, n, ranks) for make in (parallel.ring, parallel.gather))
    summa = parallel.summa(n, n, n, (2, 2), 4)
    assert received(ring) == received(gather) == [3 * part] * ranks
    assert received(summa) == [2 * part] * ranks
    assert buffers(ring) == [2 * part] * ranks
    assert buffers(gather) == [3 * part] * ranks
    assert max(buffers(summa)) == 4 * (n // 2) * (n // 8)  # two panels of A, two of B


def test_panels_end_where_somebody_elses_begin():
    plan = parallel.summa(12, 12, 12, (2, 3))
    depths = [one.products[0].a.columns for one in plan.rounds[1:]]
    assert depths == [(0, 4), (4, 6), (6, 8), (8, 12)]


def test_a_streamed_product_needs_the_buffers_that_fit_counts():
    for memory in 12 * 64**2, 10**6, 2**32:
        tile, depth = parallel.stream.fit(10**6, 10**6, 10**6, memory)
        assert depth < 10**6
        assert 4 * (2 * tile**2 + 4 * tile * depth) <= memory
        if memory > 10**7:
            assert 4 * (2 * tile**2 + 4 * tile * depth) > 0.9 * memory
    plan = parallel.stream.plan(256, 256, 256, 64, 16)
    assert buffers(plan) == [2 * 64**2 + 4 * 64 * 16]
    assert parallel.stream.fit(100, 100, 10, 2**32) == (100, 10)


def test_panels_as_deep_as_k_travel_less_if_they_fit():
    memory, K = 2**32, 8192
    tile, depth = parallel.stream.fit(10**6, 10**6, K, memory)
    assert depth == K and 0.9 * memory < 4 * (2 * tile**2 + 4 * tile * K) <= memory
    up = {}
    for name, one in (("deep", (64, 256)), ("flat", (64, 16))):
        plan = parallel.stream.plan(256, 256, 256, *one)
        sent = (t for r in plan.rounds for t in r.transfers if t.source == HOST)
        up[name] = sum(t.block.size for t in sent)
    of_b, rows_of_a = 64 * 256, 64 * 256
    assert up["deep"] == 4 * rows_of_a + (4 * 4 - 3) * of_b  # a snake keeps what it turns on
    assert up["flat"] == (2 * 16 * 16 - 15) * 64 * 16


def test_what_is_still_there_is_not_sent_again():
    plan = parallel.stream.plan(64, 64, 64, 32, 64)
    up = [t.block for one in plan.rounds for t in one.transfers if t.source == HOST]
    assert [block.matrix for block in up] == ["A", "B", "B", "A", "B"]


def test_no_buffer_is_written_while_it_is_used():
    for plan in every(67, 71, 73):
        room = slots(plan)
        users: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for stay in stays(plan):
            number = room.of[stay.rank, stay.block, stay.first]
            users.setdefault((stay.rank, number), []).append((stay.first, stay.last))
            assert room.sizes[stay.rank][number] >= stay.block.size
            assert not at_home(plan, stay.rank, stay.block)
        for times in users.values():
            for (_, last), (first, _) in pairwise(times):
                assert last < first


# ---------------------------------------------------------------------- faults

RING = parallel.ring(8, 8, 8, 4)
SUMMA = parallel.summa(8, 8, 8, (2, 2))
STREAM = parallel.stream.plan(8, 8, 8, 4, 4)


def changed(plan, number, **parts):
    """The plan with other transfers or products in one round."""
    rounds = list(plan.rounds)
    rounds[number] = rounds[number]._replace(**{k: tuple(v) for k, v in parts.items()})
    return replace(plan, rounds=tuple(rounds))


def without(plan, number, what, index=0):
    there = list(getattr(plan.rounds[number], what))
    del there[index]
    return changed(plan, number, **{what: there})


def with_first(plan, number, **fields):
    """The first product of a round, otherwise."""
    first, *others = plan.rounds[number].products
    return changed(plan, number, products=[first._replace(**fields), *others])


A, B, C = Block("A", (0, 8), (0, 8)), Block("B", (0, 8), (0, 8)), Block("C", (0, 8), (0, 8))
HALF = A._replace(columns=(0, 4)), B._replace(rows=(0, 4))
REST = A._replace(columns=(4, 8)), B._replace(rows=(4, 8))
TWO = {0: (*HALF, C), 1: (*REST, C._replace(rows=(8, 8)))}


def in_turn(*products, homes=None):
    """A schedule of a round for each of the products."""
    homes = homes or {0: (A, B, C)}
    rounds = tuple(Round((), (LocalProduct(*product),)) for product in products)
    return parallel.Schedule("in turn", (8, 8, 8), len(homes), homes, rounds)


def sending(plan, number, block, source, *targets):
    """The plan with a transfer more in a round."""
    more = Transfer(block, source, targets)
    return changed(plan, number, transfers=[*plan.rounds[number].transfers, more])


ALONE = in_turn((0, A, B, C, True))
OF_B = [RING.homes[rank][1] for rank in range(4)]


@pytest.mark.parametrize("plan, words", [
    (in_turn((0, *HALF, C, True), (1, *REST, C, True), homes=TWO), "and rank 1, and nobody adds"),
    (without(RING, 0, "transfers"), r"rank 3 .*multiplies with B\[0:8, 0:2\]|sends B"),
    (without(RING, 2, "products"), r"C\[.*\] is computed nowhere"),
    (without(SUMMA, 2, "products"), r"C\[0:4, 0:4\] gets the products of k from 4 to 8 never"),
    (with_first(SUMMA, 2, first=True), "`first` is True"),
    (with_first(SUMMA, 1, first=False), "`first` is False"),
    (with_first(RING, 1, rank=9), "there is no rank 9"),
    (with_first(RING, 1, rank=2), "rank 2 multiplies with A"),
    (with_first(RING, 1, b=OF_B[0]), "which do not give"),
    (with_first(RING, 1, b=OF_B[3]), "rank 0 multiplies with B"),
    (with_first(STREAM, 1, rank=HOST), "the host multiplies, which it cannot"),
    (without(STREAM, 3, "transfers", -1), "never sent home"),
    (replace(RING, rounds=RING.rounds[1:]), "which it does not have"),
    (replace(RING, rounds=(*RING.rounds, RING.rounds[0])), "`first` is True"),
    (sending(RING, 0, *RING.rounds[0].transfers[0][:2], 3), "twice, or from itself"),
    (sending(RING, 0, OF_B[0], 0, 0), "or from itself"),
    (sending(RING, 0, OF_B[0], 0, 9), "there is no rank 9"),
    (sending(RING, 0, OF_B[1], 0, 2), "rank 0 sends"),
    (sending(ALONE, 0, C, 0, 0), "sends C.*, which it does not have"),
    (in_turn((0, *HALF, C, True)), "k from 4 to 8 never"),
    (in_turn((0, *HALF, C, True), *2 * [(0, *REST, C, False)]), "k from 4 to 8 twice"),
    (replace(ALONE, homes={0: (A, B, HALF[0]._replace(matrix="C"))}), "at home nowhere"),
    (replace(ALONE, ranks=2, homes={0: (A, B, C), 1: (A, B, C)}), "at home twice"),
    (replace(ALONE, shape=(8, 8, 4)), "at home, and the matrix is"),
    (in_turn((0, B, A, C, True)), "multiplies B.* into C"),
])  # fmt: skip
def test_a_fault_is_found(plan, words):
    with pytest.raises(ScheduleError, match=words):
        verify(plan)


def test_a_beta_needs_the_c_that_was_given():
    verify(STREAM)
    with pytest.raises(ScheduleError, match=r"rank 0 scales C\[0:4, 0:4\], which it has not been"):
        verify(STREAM, scales=True)
    verify(parallel.stream.plan(8, 8, 8, 4, 4, reads_c=True), scales=True)
    verify(RING, scales=True)


def test_a_block_is_not_sent_while_it_is_computed():
    plan = parallel.stream.plan(8, 8, 8, 8, 8)
    early = changed(plan, 1, transfers=plan.rounds[2].transfers)
    with pytest.raises(ScheduleError, match=r"sends C\[0:8, 0:8\], which it does not have"):
        verify(early)
    both = sending(STREAM, 2, STREAM.rounds[2].products[0].c, 0, HOST)
    with pytest.raises(ScheduleError, match="while it computes it"):
        verify(both)


@pytest.mark.parametrize("make, args", [
    (parallel.ring, (8, 8, 8, 0)), (parallel.gather, (8, 8, 8, 0)), (parallel.square, (0,)),
    (parallel.summa, (8, 8, 8, (2, 0))), (parallel.summa, (8, 8, 8, (2, 2), 0)),
    (parallel.stream.plan, (8, 8, 8, 0, 4)),
])  # fmt: skip
def test_nothing_is_done_by_nobody(make, args):
    with pytest.raises(ValueError, match="1 at least"):
        make(*args)


@pytest.mark.parametrize("shape", [(-8, 8, 8), (8, -8, 8), (8, 8, -8)])
@pytest.mark.parametrize("make, args", [
    (parallel.ring, (2,)), (parallel.gather, (2,)), (parallel.summa, ((2, 2),)),
    (parallel.stream.plan, (4, 4)),
])  # fmt: skip
def test_a_matrix_has_no_negative_side(make, args, shape):
    with pytest.raises(ValueError, match="no -8 rows or columns"):
        make(*shape, *args)


def test_a_proof_looks_at_each_entry_a_few_times(monkeypatch):
    """Not at each once for every rank."""
    counts = []
    holds = Block.holds
    monkeypatch.setattr(Block, "holds", lambda *both: counts.append(both) or holds(*both))
    for plan in (parallel.summa(64, 64, 64, (8, 8)), parallel.ring(64, 64, 64, 32)):
        counts.clear()
        verify(plan)
        entries = sum(len(now.products) + len(now.transfers) for now in plan.rounds)
        assert len(counts) < 12 * entries


def test_a_rank_without_a_block_is_named():
    with pytest.raises(ValueError, match="rank 1 needs a part of A, B and C each"):
        replace(parallel.ring(4, 4, 4, 2), homes={1: ()})
