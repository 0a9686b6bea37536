"""The schedules on GPUs: streams, events and groups of NCCL, on a machine that runs them in any
order that they allow, and on real ones where there are some."""

from __future__ import annotations

import fake_gpus
import pytest
from fake_gpus import queued

from kernels import parallel, reference

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


def on_gpus(plan, made, beta=0.0):
    A, B, C = reference.inputs(*plan.shape)
    parts = [
        [
            fake_gpus.array(x[slice(*b.rows), slice(*b.columns)], n)
            for n, b in enumerate(plan.parts(m))
        ]
        for m, x in zip("ABC", (A, B, C))
    ]
    found = parallel.multiply(
        *parts[:2], plan, parts[2] if beta else None, alpha=0.5, beta=beta, step=queued
    )
    made.run()
    return parallel.collect(plan, found)


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
