"""The model: what it adds up, that its short forms agree with it, and what fits find."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from kernels import parallel
from kernels.parallel import model

MACHINE = model.Machine(1e-5, 2.5e-12, 5e-6, 1e-13, 4e-6, 2.2e-7, (128, 128), 264)


def test_a_machine():
    assert MACHINE.gbs == pytest.approx(400)
    assert MACHINE.tflops == pytest.approx(2e-12 * 128 * 128 * 264 / 2.2e-7)
    assert MACHINE.transfer(0) == 0
    assert MACHINE.transfer(10**9) == pytest.approx(1e-5 + 4e9 * 2.5e-12)
    assert MACHINE.product(0, 5, 5) == 0
    one, full, more = (MACHINE.product(128 * n, 128, 100) for n in (1, 264, 265))
    operands = [1e-13 * 128 * (n + 1) * 100 for n in (1, 264, 265)]
    assert one == pytest.approx(5e-6 + 2.6e-5 + operands[0])
    assert full == pytest.approx(5e-6 + 2.6e-5 + operands[1])
    assert more == pytest.approx(5e-6 + 2 * 2.6e-5 + operands[2])


@pytest.mark.parametrize("n, ranks", list(itertools.product((256, 4096, 32768), (1, 2, 4, 16))))
@pytest.mark.parametrize("machine", [MACHINE, replace(MACHINE, beta=1e-9)], ids=["fast", "slow"])
def test_the_short_forms_are_the_rounds_added_up(n, ranks, machine):
    ring = model.predict(parallel.ring(n, n, n, ranks), machine)
    assert ring.seconds == pytest.approx(model.ring_seconds(n, ranks, machine))
    for pieces in 1, 4:
        summa = model.predict(parallel.summa(n, n, n, parallel.square(ranks), pieces), machine)
        assert summa.seconds == pytest.approx(model.summa_seconds(n, ranks, machine, pieces))


def test_a_round_takes_as_long_as_its_longest():
    n = 4096
    gather = model.predict(parallel.gather(n, n, n, 4), MACHINE)
    part = n * n // 4
    side = n // 4
    multiply = 3 * MACHINE.product(side, side, n, followed=True) + MACHINE.product(side, side, n)
    send = 3 * MACHINE.transfer(part)
    assert gather.seconds == pytest.approx(send + multiply)
    transfers = [span for span in gather.spans if span.what == "transfer"]
    assert [(one.rank, one.round, one.start) for one in transfers] == [(r, 0, 0) for r in range(4)]
    products = [span for span in gather.spans if span.what == "multiply"]
    assert all(one.start == pytest.approx(send) for one in products)
    assert all(one.end == pytest.approx(gather.seconds) for one in products)


def test_the_slowest_rank_decides():
    plan = parallel.ring(129, 128, 4096, 2)  # rank 1 has a row more than rank 0
    machine = model.Machine(0, 0, 0, 0, 0, 1, (64, 64), 1)
    assert model.predict(plan, machine).seconds == 2 * 2 * 4096  # 65 rows are two tiles


def test_an_independent_product_fills_the_last_wave():
    machine = model.Machine(0, 0, 0, 0, 0, 1, (1, 1), 4)
    assert machine.product(3, 3, 10) == 30  # nine tiles in waves of four
    assert machine.product(3, 3, 10, followed=True) == 22.5
    assert machine.product(1, 1, 10, followed=True) == 5  # two at a time, in as many streams
    assert model.predict(parallel.ring(6, 6, 10, 2), machine).seconds == 22.5 + 30
    one_block = parallel.summa(6, 6, 10, (1, 2))
    assert model.predict(one_block, machine).seconds == 2 * (-(-18 // 4)) * 5
    streamed = parallel.stream.plan(6, 6, 10, 3, 10)
    assert model.predict(streamed, machine).seconds == 4 * 30


def test_stages_of_a_broadcast():
    assert [model.stages(targets) for targets in (0, 1, 2, 3, 4, 63)] == [0, 1, 2, 2, 3, 6]


def test_fits_find_the_numbers():
    sizes = [4.0**n for n in range(6, 16)]
    alpha, beta = model.fit_transfers([(s, MACHINE.transfer(s / 4)) for s in sizes])
    assert (alpha, beta) == pytest.approx((MACHINE.alpha, MACHINE.beta))
    shapes = [(n, n, k) for n in (512, 2048, 8192) for k in (256, 1024, 8192)]
    rows = [(*shape, MACHINE.product(*shape)) for shape in shapes]
    found = model.fit_products(rows, MACHINE.tile, MACHINE.slots)
    assert found == pytest.approx([MACHINE.launch, MACHINE.operand, MACHINE.wave, MACHINE.depth])


def test_fits_are_relative_and_never_negative():
    """Times that bend down: without the bound, alpha would be below zero."""
    measured = [(1e3, 1.0e-6), (1e6, 1.2e-3), (1e9, 1.25)]
    alpha, beta = model.fit_transfers(measured)
    assert alpha == 0 and 1e-9 < beta < 1.25e-9
    noisy = [(s, MACHINE.transfer(s / 4) * f) for s, f in ((4096, 1.02), (2**20, 0.98), (2**30, 1))]
    alpha, beta = model.fit_transfers(noisy)
    assert alpha == pytest.approx(MACHINE.alpha, rel=0.03)
    assert beta == pytest.approx(MACHINE.beta, rel=0.03)


def test_linear_scaling_is_one():
    assert model.efficiency(8.0, 2.0, 4) == 1
    seconds = MACHINE.product(32768, 32768, 32768)
    shares = [
        model.efficiency(seconds, model.summa_seconds(32768, ranks, MACHINE), ranks)
        for ranks in 4 ** np.arange(7)
    ]
    assert shares[0] > 0.98 and shares == sorted(shares, reverse=True) and shares[-1] < 0.5
