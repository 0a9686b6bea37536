"""The schedules on GPUs: streams, events and groups of NCCL, on a machine that runs them in any
order that they allow, and on real ones where there are some."""

from __future__ import annotations

import fake_gpus
import numpy as np
import pytest
from fake_gpus import queued

from anywarp import gpu
from anywarp.gpu import queues
from kernels import parallel, reference
from kernels.parallel import nccl

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


def on_gpus(plan, made, beta=0.0, step=queued, timeout=None):
    parts = []
    for name, x in zip("ABC", reference.inputs(*plan.shape)):
        pieces = (x[slice(*block.rows), slice(*block.columns)] for block in plan.parts(name))
        parts.append([fake_gpus.array(piece, number) for number, piece in enumerate(pieces)])
    A_parts, B_parts, C_parts = parts
    C_parts = C_parts if beta else None
    C_parts = parallel.multiply(A_parts, B_parts, plan, C_parts, 0.5, beta, step, timeout)
    made.run()
    return parallel.collect(plan, C_parts)


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


def parts_on(*numbers):
    A, B, _ = reference.inputs(4, 4, 4)
    plan = parallel.ring(4, 4, 4, len(numbers))
    pieces = zip(zip(*parallel.spread(plan, A, B)), numbers)
    both = [[fake_gpus.array(x, number) for x in pair] for pair, number in pieces]
    return [pair[0] for pair in both], [pair[1] for pair in both]


@pytest.mark.parametrize(
    "count, nccl, numbers, error, words",
    [
        (2, True, (0, 0), ValueError, "the parts are on the GPUs 0, 0: each rank needs one"),
        (2, True, (0, 2), gpu.NoGPU, "GPU 2 is asked for, and there are 2; NumPy parts"),
        (2, False, (0, 1), ImportError, "several GPUs need NCCL.*pip install nvidia-nccl-cu13"),
    ],
)
def test_what_gpus_cannot_do_is_refused(machine, count, nccl, numbers, error, words):
    machine(count, nccl=nccl)
    with pytest.raises(error, match=words):
        parallel.multiply(*parts_on(*numbers), step=queued)


def test_one_gpu_needs_no_nccl(machine):
    made = machine(1, nccl=False)
    A, B, _ = reference.inputs(4, 4, 4)
    (found,) = parallel.multiply(*parts_on(0), step=queued)
    made.run()
    reference.assert_close(np.asarray(found), A, B)


def test_parts_of_a_rank_are_on_its_gpu(machine):
    machine(2)
    A_parts, B_parts = parts_on(0, 1)
    with pytest.raises(TypeError, match="some parts are NumPy's and some CuPy's"):
        parallel.multiply(A_parts, [np.array(x) for x in B_parts], step=queued)
    with pytest.raises(ValueError, match=r"B_parts\[0\] is on GPU 1, and A_parts\[0\] on GPU 0"):
        parallel.multiply(A_parts, [fake_gpus.array(x, 1) for x in B_parts], step=queued)


def test_a_product_that_fails_leaves_nothing_unfinished(machine):
    """Buffers go back to CuPy's pool; who gets them next waits for what is under way."""
    made = machine(4)

    def fails(*_):
        raise RuntimeError("cannot be compiled")

    with pytest.raises(RuntimeError, match="cannot be compiled"):
        on_gpus(PLANS[1], made, step=fails)
    before = [len(made.own(number).waiting) for number in range(4)]
    assert all(count >= 1 for count in before)  # the waits on the GPUs' own streams
    made.run()


def test_with_a_timeout_the_call_waits_for_the_gpus(machine):
    made = machine(4)
    on_gpus(PLANS[1], made, timeout=60)
    assert not any(stream.waiting for number in range(4) for stream in [made.own(number)])


@pytest.mark.parametrize("fault, error, words", [
    ("hangs", TimeoutError, "not done within 0.2 s; their transfers were ended"),
    ("reports", fake_gpus.NcclError, "REMOTE"),
    ("fails", fake_gpus.NcclError, "SYSTEM"),
])  # fmt: skip
def test_after_a_fault_communicators_are_new(machine, fault, error, words):
    made = machine(9)
    on_gpus(PLANS[-1], made)
    old = [own for members in nccl._made.values() for own in members]
    product = lambda *operands: (setattr(made, "fault", fault), queued(*operands))
    with pytest.raises(error, match=words):
        on_gpus(PLANS[-1], made, step=product, timeout=0.2 if fault == "hangs" else 60)
    assert len(old) > 9 and all(own.aborted for own in old) and not nccl._made
    made = machine(4)
    A, B, _ = reference.inputs(*SHAPE)
    reference.assert_close(on_gpus(PLANS[1], made), A, B, None, 0.5)


def test_a_fault_between_two_calls_is_seen_by_the_second(machine):
    made = machine(4)
    on_gpus(PLANS[1], made)
    (old,) = nccl._made.values()
    made.fault = "reports"
    A, B, _ = reference.inputs(*SHAPE)
    reference.assert_close(on_gpus(PLANS[1], made), A, B, None, 0.5)
    (new,) = nccl._made.values()
    assert all(own.aborted for own in old) and not any(own.aborted for own in new)


@pytest.mark.gpu
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.name} {plan.ranks}")
def test_on_real_gpus(plan):
    if queues.count() < plan.ranks:
        pytest.skip(f"{plan.ranks} GPUs are needed, there are {queues.count()}")
    A, B, _ = reference.inputs(*plan.shape)
    parts = []
    for operands in parallel.spread(plan, A, B):
        parts.append([])
        for number, part in enumerate(operands):
            with queues.device(number):
                parts[-1].append(gpu.to_device(part))
    found = parallel.collect(plan, parallel.multiply(*parts, plan, step="15"))
    reference.assert_close(found, A, B)
