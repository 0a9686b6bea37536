"""Products by ranks in this process, and what is refused before anything is multiplied."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
from kernels import parallel, reference
from kernels.parallel import attempt_schedule
from kernels.parallel.multiply import Ranks, execute, product_of

SHAPES = [(64, 48, 32), (67, 71, 73), (1, 1, 1), (3, 2, 40), (5, 3, 0), (0, 4, 4)]
PLANS = [
    lambda *shape: parallel.ring(*shape, 1),
    lambda *shape: parallel.ring(*shape, 4),
    lambda *shape: parallel.gather(*shape, 3),
    lambda *shape: parallel.summa(*shape, (2, 3), 2),
    lambda *shape: parallel.summa(*shape, (2, 2), 2),
    lambda *shape: parallel.summa(*shape, (4, 1)),
]
each = pytest.mark.parametrize("make", PLANS)


def parts(plan, matrix, X):
    return [X[slice(*b.rows), slice(*b.columns)].copy() for b in plan.parts(matrix)]


@each
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_the_product(make, shape):
    plan = make(*shape)
    A, B, C = reference.inputs(*shape)
    operands = parallel.spread(plan, A, B)
    found = parallel.collect(plan, parallel.multiply(*operands, plan))
    reference.assert_close(found, A, B)
    C_parts = parts(plan, "C", C)
    same = parallel.multiply(*operands, plan, C_parts, alpha=0.5, beta=-2)
    assert all(one is two for one, two in zip(same, C_parts))
    reference.assert_close(parallel.collect(plan, same), A, B, C, 0.5, -2)


class CopiesLast(Ranks):
    def round(self, moves, works):
        super().round([], works)
        super().round(moves, [])


@each
def test_the_order_within_a_round_makes_no_difference(make):
    plan = make(67, 71, 73)
    A, B, C = reference.inputs(67, 71, 73)
    results = []
    for world in Ranks, CopiesLast:
        given = {name: dict(enumerate(parts(plan, name, X))) for name, X in zip("ABC", (A, B, C))}
        execute(plan, world(product_of(None, False)), given, -2)
        results.append(parallel.collect(plan, list(given["C"].values())))
    assert np.array_equal(*results)


@pytest.mark.parametrize("plan, lanes", [
    (parallel.ring(6, 6, 6, 3), [0, 1, 2]),
    (parallel.summa(6, 6, 6, (2, 2)), [0, 0]),
], ids=["ring", "summa"])  # fmt: skip
def test_each_rank_counts_its_own_lanes(plan, lanes):
    seen = {rank: [] for rank in range(plan.ranks)}

    class World(Ranks):
        def round(self, moves, works):
            for work in works:
                seen[work.rank].append(work.lane)

    A, B, C = reference.inputs(*plan.shape)
    given = {name: dict(enumerate(parts(plan, name, X))) for name, X in zip("ABC", (A, B, C))}
    execute(plan, World(product_of(None, False)), given, 0)
    assert seen == dict.fromkeys(range(plan.ranks), lanes)


def in_process(A, B, C=None, alpha=1, beta=0, step=None):
    plan = parallel.summa(*A.shape[:1], *B.shape[1:], A.shape[1], (2, 2), 2)
    C_parts = None if C is None else parts(plan, "C", C)
    operands = parallel.spread(plan, A, B)
    return parallel.collect(plan, parallel.multiply(*operands, plan, C_parts, alpha, beta, step))


def streamed(A, B, C=None, alpha=1, beta=0, step=None):
    C = None if C is None else C.copy()
    return parallel.stream.multiply(A, B, C, alpha, beta, tile=(4, 4), step=step, device="host")


both = pytest.mark.parametrize("product", [in_process, streamed])


@both
@pytest.mark.parametrize("step", [None, pytest.param("15", marks=pytest.mark.slow)])
@pytest.mark.parametrize("none", [0, 1e-60, np.float32(0)])
def test_what_is_scaled_by_zero_is_not_read(product, step, none):
    """1e-60 is 0 in float32."""
    A, B, C = reference.inputs(8, 12, 10)
    unread = [np.full_like(x, np.nan) for x in (A, B, C)]
    assert np.array_equal(product(*unread[:2], C, none, -2, step), -2 * C)
    assert not product(*unread, none, none, step).any()
    reference.assert_close(product(A, B, unread[2], 0.5, none, step), A, B, None, 0.5)


@both
def test_scalars_are_rounded_as_a_kernel_gets_them(product):
    A, B, C = reference.inputs(8, 12, 10)
    seen = set()

    def notes(a, b, c, alpha, beta):
        seen.add((alpha, beta))

    product(A, B, C, 0.1, 0.3, notes)
    rounded = [float(np.float32(x)) for x in (0.1, 0.3)]
    assert seen == {tuple(rounded), (rounded[0], 1)}


@both
@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("value, error", [("2", TypeError), (None, TypeError), (1e39, ValueError)])
def test_scalars_are_numbers_of_float32(product, name, value, error):
    with pytest.raises(error, match=f"{name} (must be a number, not|= 1e.39 is too large)"):
        product(*reference.inputs(8, 8, 8), **{name: value})


def test_a_steps_ring_has_the_bits_of_one_rank():
    A, B, _ = reference.inputs(70, 66, 40)
    step = kernels.step("15")
    plan = parallel.ring(70, 66, 40, 3)
    C_parts = parallel.multiply(*parallel.spread(plan, A, B), plan, step="15")
    whole = step(A, B, device="interpreter")
    assert np.array_equal(parallel.collect(plan, C_parts).view(np.uint32), whole.view(np.uint32))
    reference.assert_close(in_process(A, B, step=step), A, B)


RING = parallel.ring(8, 8, 8, 2)
A, B, _ = reference.inputs(8, 8, 8)
AP, BP = parallel.spread(RING, A, B)


MASKED, FORTRAN = [np.ma.array(x) for x in AP], [np.asfortranarray(x) for x in AP]


@pytest.mark.parametrize("args, error, words", [
    ((AP, BP[:1], RING), ValueError, "2 parts of B are needed, not 1"),
    (([], [], RING), ValueError, "2 parts of A are needed, not 0"),
    (([1, 2], BP, RING), TypeError, r"A_parts\[0\] must be an array of NumPy or CuPy"),
    ((AP[:1], BP[:1], RING), ValueError, "2 parts of A are needed"),
    (([A, A], BP, RING), ValueError, r"A_parts\[0\] is .*; rank 0 has A\[0:4, 0:8\].*spread"),
    (([x.astype(float) for x in AP], BP, RING), TypeError, r"A_parts\[0\] must be float32"),
    ((MASKED, BP, RING), TypeError, r"A_parts\[0\] is a masked array"),
    (([AP[0], AP[0].tolist()], BP, RING), TypeError, r"A_parts\[1\] must be an array"),
    ((FORTRAN, BP, RING), TypeError, "C-contiguous"),
    ((AP, BP, RING, None, 1, 1), ValueError, "C_parts must be given"),
    ((AP, BP, RING, [A[:4], A[4:4]], 1, 1), ValueError, r"C_parts\[1\] is of shape \(0, 8\)"),
])  # fmt: skip
def test_parts_that_do_not_fit_are_refused(args, error, words):
    with pytest.raises(error, match=words):
        parallel.multiply(*args)


@pytest.mark.parametrize("call, args, words", [
    (parallel.spread, (A[:, :4], B), r"A is .*\(8, 4\), and <Schedule ring.*> needs \(8, 8\)"),
    (parallel.spread, (A, B[:, :7]), r"B is of shape \(8, 7\)"),
    (parallel.spread, (A, np.vstack([B, B])), r"B is .* \(16, 8\)"),
    (parallel.collect, ([],), "2 parts of C are needed, not 0"),
    (parallel.collect, ([*AP, A],), "2 parts of C are needed, not 3"),
    (parallel.collect, ([0, 0],), r"C_parts\[0\] is of shape \(\); rank 0 has C\[0:4, 0:8\]"),
    (parallel.collect, ([AP[0], AP[1][:1]],), r"C_parts\[1\] is of shape \(1, 8\);.*multiply"),
])  # fmt: skip
def test_matrices_that_do_not_fit_are_refused(call, args, words):
    with pytest.raises(ValueError, match=words):
        call(RING, *args)


def test_parts_of_c_share_no_memory():
    ring = parallel.ring(8, 8, 8, 2)
    rows = np.zeros((12, 8), np.float32)
    A_parts, B_parts = [rows[:4], rows[4:8]], [x.copy() for x in BP]
    own = [np.zeros((4, 8), np.float32) for _ in range(2)]
    B_parts[1] = own[1].reshape(8, 4)
    for C_parts, words in (
        (A_parts, r"C_parts\[0\] and A_parts\[0\]"),
        (A_parts[::-1], r"C_parts\[0\] and A_parts\[1\]"),  # of another rank
        ([own[0], rows[7:11]], r"C_parts\[1\] and A_parts\[1\]"),  # in part
        (own, r"C_parts\[1\] and B_parts\[1\]"),
        ([own[0]] * 2, r"C_parts\[1\] and C_parts\[0\]"),
    ):
        before = [x.copy() for x in (rows, *own)]
        with pytest.raises(ValueError, match=f"{words} overlap in memory: pass a copy"):
            parallel.multiply(A_parts, B_parts, ring, C_parts)
        assert all(map(np.array_equal, (rows, *own), before))
    whole = np.empty((8, 8), np.float32)
    same = AP[0], AP[0]
    found = parallel.multiply(same, BP, ring, [whole[:4], whole[4:]])  # beside each other
    assert found[0].base is whole
    reference.assert_close(whole, np.vstack(same), B)


def test_a_part_of_c_that_is_read_only_is_refused_at_once():
    C_parts = [np.zeros((4, 8), np.float32) for _ in range(2)]
    C_parts[1].flags.writeable = False
    with pytest.raises(ValueError, match=r"C_parts\[1\] is read-only.*pass C_parts\[1\].copy"):
        parallel.multiply(AP, BP, RING, C_parts)
    assert not C_parts[0].any()


def test_attempt():
    ring, gather = parallel.ring(16, 16, 16, 4), parallel.gather(16, 16, 16, 4)
    assert parallel.attempt(ring, buffers=2 * 64, received=3 * 64, rounds=4)
    missed = parallel.attempt(gather, buffers=2 * 64)
    assert [row.passed for row in missed.rows] == [True, True, False]
    broken = parallel.attempt(parallel.Schedule("none", (4, 4, 4), 1, {}, ()), rounds=1)
    assert not any(row.passed for row in broken.rows) and "nowhere" in broken.rows[0].found
    with pytest.raises(ValueError, match=r"no goal 'speed'; there are\n  rounds: rounds\n"):
        parallel.attempt(ring, speed=1)
    machine = parallel.model.Machine(1e-6, 1e-9, 0, 0, 0, 1e-6, (4, 4), 1)
    seconds = parallel.model.predict(ring, machine).seconds
    assert parallel.attempt(ring, machine, seconds=seconds)
    assert not parallel.attempt(ring, machine, seconds=0.99 * seconds)
    with pytest.raises(ValueError, match="seconds are those of a machine"):
        parallel.attempt(ring, seconds=1)


def test_an_attempt_that_computes_something_else_is_seen(monkeypatch):
    monkeypatch.setattr(attempt_schedule, "multiply", lambda a, b, plan: [0 * x @ b[0] for x in a])
    result = attempt_schedule.attempt(parallel.ring(8, 8, 8, 1))
    assert [row.passed for row in result.rows] == [True, False]
