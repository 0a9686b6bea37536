"""The schedules on GPUs: streams, events and groups of NCCL, on a machine that runs them in any
order that they allow, and on real ones where there are some."""

from __future__ import annotations

import gc
import weakref

import fake_gpus
import numpy as np
import pytest
from fake_gpus import queued

from anywarp import gpu
from anywarp.gpu.queues import copy_matrix, current
from kernels import parallel, reference
from kernels.parallel import gpus, processes

SHAPE = 24, 20, 28
PLANS = [
    parallel.ring(*SHAPE, 2),
    parallel.ring(*SHAPE, 4),
    parallel.ring(*SHAPE, 5),
    parallel.gather(*SHAPE, 3),
    parallel.summa(*SHAPE, (2, 2), 3),
    parallel.summa(*SHAPE, (1, 4), 2),
    parallel.summa(*SHAPE, (3, 3)),
]


def copied(x):
    """A copy that is queued on the current stream."""
    made = gpu.empty(x.shape)
    copy_matrix(made, x, current())
    return made


def on_gpus(plan, made, beta=0.0, step=queued):
    """C, of ranks that have all queued their work before any of it is waited for: what makes the
    parts before the product, and what uses C after it."""
    matrices = dict(zip("ABC", reference.inputs(*plan.shape)))

    def program(comm):
        given = [
            fake_gpus.array(matrices[block.matrix][slice(*block.rows), slice(*block.columns)])
            for block in plan.homes[comm.rank]
        ]
        parts = [copied(part) for part in given]
        C = processes.multiply(*parts[:2], plan, parts[2] if beta else None, 0.5, beta, step)
        found = copied(C)
        comm.allgather(None)
        return gpu.to_host(found)

    return parallel.collect(plan, made.ranks(program))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.name} {plan.ranks}")
@pytest.mark.parametrize("beta", [0.0, -2.0])
def test_any_order_gives_the_product(plan, beta, machine):
    A, B, C = reference.inputs(*plan.shape)
    for seed in range(8):
        found = on_gpus(plan, machine(plan.ranks, seed), beta)
        reference.assert_close(found, A, B, C if beta else None, 0.5, beta)


def test_a_wait_that_is_left_out_is_seen(machine, monkeypatch):
    """The machine finds what the tests above look for."""
    monkeypatch.setattr(fake_gpus.Stream, "wait_event", lambda *_: None)
    A, B, _ = reference.inputs(*SHAPE)
    wrong = 0
    for seed in range(20):
        found = on_gpus(PLANS[1], machine(4, seed))
        wrong += reference.compare(found, A, B, None, 0.5).wrong > 0
    assert wrong


def test_one_target_is_no_broadcast(machine, monkeypatch):
    def broadcast(*_):
        raise AssertionError("a broadcast")

    monkeypatch.setattr(fake_gpus.NcclCommunicator, "broadcast", broadcast)
    on_gpus(PLANS[1], machine(4))
    with pytest.raises(AssertionError, match="a broadcast"):
        on_gpus(PLANS[5], machine(4))


def parts_of(comm, device=None):
    """A and B of the ring of 4 x 4, whose ranks are those of `comm`."""
    plan = parallel.ring(4, 4, 4, comm.size)
    both = (parts[comm.rank] for parts in parallel.spread(plan, *reference.inputs(4, 4, 4)[:2]))
    return (*(fake_gpus.array(x, device) for x in both), plan)


def test_one_gpu_needs_no_nccl(machine):
    made = machine(1, nccl=False)
    A, B, _ = reference.inputs(4, 4, 4)
    (found,) = made.ranks(
        lambda comm: gpu.to_host(processes.multiply(*parts_of(comm), step=queued))
    )
    reference.assert_close(np.asarray(found), A, B)


def test_several_gpus_need_nccl(machine):
    program = lambda comm: processes.multiply(*parts_of(comm), step=queued)
    with pytest.raises(ImportError, match=r"several GPUs need NCCL.*pip install nvidia-nccl-cu13"):
        machine(2, nccl=False).ranks(program)


def test_parts_of_a_rank_are_on_its_gpu(machine):
    def program(comm):
        A, B, plan = parts_of(comm)
        processes.multiply(A, fake_gpus.array(B, 1), plan)

    with pytest.raises(ValueError, match=r"B_parts\[0\] and A_parts\[0\] must be on one"):
        machine(2).ranks(program)


def test_gpus_of_one_process_are_refused(machine):
    plan = parallel.ring(4, 4, 4, 2)
    machine(2)
    parts = [[fake_gpus.array(x, 0)] * 2 for x in (np.ones((2, 4)), np.ones((4, 2)))]
    with pytest.raises(TypeError, match=r"a process for each, which calls .*processes\.multiply"):
        parallel.multiply(*parts, plan)


def test_all_parts_are_on_gpus_or_none(machine):
    def program(comm):
        A, B, plan = parts_of(comm)
        processes.multiply(*((A, B) if comm.rank else map(np.array, (A, B))), plan)

    with pytest.raises(ValueError, match="the ranks differ in .* their parts are on GPUs"):
        machine(2).ranks(program)


def test_a_product_that_fails_leaves_nothing_unfinished(machine):
    """Buffers go back to CuPy's pool; who gets them next waits for what is under way."""
    made = machine(4)
    after = []

    def fails(*_):
        raise RuntimeError("cannot be compiled")

    def program(comm):
        others = lambda: [x for x in made.streams if x.number == comm.rank and x is not own]
        own = made.own(comm.rank)
        try:
            processes.multiply(*parts_of(comm), step=fails)
        finally:
            own.give(lambda: after.append(any(x.waiting for x in others())))
            comm.allgather(None)
            made.run()

    with pytest.raises(RuntimeError, match="cannot be compiled"):
        made.ranks(program)
    assert after == [False] * 4


def test_connections_are_made_once(machine, monkeypatch):
    """One for all nine ranks, and one for each row and column of three, on each rank."""
    made, sizes = machine(9), []
    make = fake_gpus.NcclCommunicator.__init__
    note = lambda self, size, *rest: (sizes.append(size), make(self, size, *rest))[1]
    monkeypatch.setattr(fake_gpus.NcclCommunicator, "__init__", note)
    for _ in range(2):
        on_gpus(PLANS[-1], made)
        assert sorted(sizes) == [3] * 18 + [9] * 9


def test_connections_outlive_python(machine):
    """NCCL would wait for all ranks to destroy them, one that fails too."""
    gc.freeze()  # what other tests have left need not be looked through
    on_gpus(PLANS[0], machine(2))
    kept = [weakref.ref(x) for x in gpus._made.values()]
    fake_gpus.forget()
    gc.collect()
    assert [x() for x in kept].count(None) == 0 < len(kept)


def test_part_of_what_a_rank_has_can_be_sent_and_received(machine):
    """C's right half is computed by rank 1 and sent home to rank 0, whose rows are longer."""
    A, B, C = (parallel.Block(name, (0, 8), (0, 8)) for name in "ABC")
    none = [x._replace(rows=(8, 8)) for x in (A, B, C)]
    right = [x._replace(columns=(4, 8)) for x in (B, C)]
    left = [x._replace(columns=(0, 4)) for x in (B, C)]
    rounds = (
        ([parallel.Transfer(A, 0, (1,)), parallel.Transfer(right[0], 0, (1,))], []),
        ([], [(0, A, *left, True), (1, A, *right, True)]),
        ([parallel.Transfer(right[1], 1, (0,))], []),
    )
    rounds = tuple(
        parallel.Round(tuple(sent), tuple(parallel.LocalProduct(*x) for x in works))
        for sent, works in rounds
    )
    plan = parallel.Schedule("half", (8, 8, 8), 2, {0: (A, B, C), 1: tuple(none)}, rounds)
    A, B, _ = reference.inputs(8, 8, 8)
    for seed in range(8):
        reference.assert_close(on_gpus(plan, machine(2, seed)), A, B, None, 0.5)
