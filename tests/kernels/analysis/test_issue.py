"""The model of a scheduler, on loops short enough to follow by hand."""

import itertools

from kernels.analysis.issue import BARRIER, LOAD, STORE, issue

F = "fma"


def test_one_warp_waits_for_its_loads():
    (warp,) = issue([LOAD, F, STORE, F], warps=1, blocks=1, latency=10, passes=2)
    # the store of a pass waits for the load of it: 10 cycles after that was issued
    assert warp.cycles == [0, 1, 10, 11, 12, 13, 22, 23]
    assert warp.waits == [(2, 10, LOAD), (14, 22, LOAD)]


def test_a_load_that_is_back_costs_nothing():
    (warp,) = issue([STORE, LOAD, *[F] * 10], 1, 1, latency=5, passes=3)
    assert warp.cycles == list(range(36)) and not warp.waits


def test_a_barrier_waits_for_all_warps_of_the_block():
    one, two = issue([F, F, BARRIER, F], warps=2, blocks=1, latency=0, passes=1)
    assert one.cycles == [0, 1, 2, 7] and two.cycles == [3, 4, 5, 6]
    assert one.waits == [(3, 6, BARRIER)] and two.waits == []


def test_blocks_do_not_wait_for_one_another():
    loop = [F, BARRIER, F]
    found = issue(loop, warps=1, blocks=3, latency=0, passes=2)
    assert [warp.block for warp in found] == [0, 1, 2]
    assert [warp.cycles for warp in found] == [list(range(n, n + 6)) for n in (0, 6, 12)]


def test_a_second_block_hides_the_wait():
    loop = [LOAD, STORE, BARRIER, *[F] * 20]

    def last(blocks):
        return max(warp.cycles[-1] for warp in issue(loop, 1, blocks, 20, 8))

    assert last(2) < 1.4 * last(1) < 2 * last(1)
    assert last(1) == 8 * (20 + 2 + 20) - 1


def test_the_scheduler_issues_once_a_cycle_and_leaves_nobody_out():
    found = issue([LOAD, F, F, STORE, BARRIER, F, F, F], 2, 3, 7, 5)
    cycles = sorted(itertools.chain.from_iterable(warp.cycles for warp in found))
    assert len(cycles) == len(set(cycles)) == 2 * 3 * 5 * 8
    ends = [warp.cycles[-1] for warp in found]
    assert max(ends) < 1.3 * min(ends)
    for warp in found:
        assert warp.cycles == sorted(warp.cycles)
