"""The formula of a product's duration, against sums by hand."""

import numpy as np
import pytest

from kernels.analysis.duration import Costs, Tile, Work, larger, microseconds

TILE = Tile(64, 64, 16, 2, start=1.0, latency=0.1, step=0.4, ragged=1.5, cluster=2.0)
COSTS = Costs(
    10, launch=3.0, gbs=1e9, reduce=5.0, part=0.5, rank=0.25, piece=2.0, packing=0.8
)  # fmt: skip


def hand(blocks_of_an_sm, steps, step=0.4):
    return 1.0 + steps * larger(0.1, blocks_of_an_sm * step, 4)


def said(*work, **more):
    return microseconds(TILE, COSTS, Work(*work, **more))


SPLIT = 5 + 5 * 0.5  # the launch that sums five parts
STREAM = 5 + 0.5 * 2 * 10  # and that of a stream of ten blocks, over its tiles


@pytest.mark.parametrize("M, more, us", [
    # one round: 10 blocks on 10 SMs, 11 of them, and no whole tile
    (640, {}, hand(1, 10)), (641, {}, hand(2, 10)),
    (640, {"aligned": 0}, hand(1, 10, 0.6)),
    # full rounds and what is left
    (64 * 45, {}, 2 * hand(2, 10) + hand(1, 10)), (64 * 40, {}, 2 * hand(2, 10)),
    # splits have fewer steps and a launch more
    (128, {"splits": 5}, hand(1, 2) + SPLIT), (64, {"splits": 3}, hand(1, 4) + 5 + 3 * 0.5),
    # a cluster sums itself, and of 10 blocks 8 find an SM of their own
    (64, {"splits": 8, "cluster": 1}, hand(1, 2) + 2 * (1 + 0.25 * 8)),
    (128, {"splits": 5, "cluster": 1}, hand(2, 2) + 2 * (1 + 0.25 * 5)),
    # a stream has no last round, and no more blocks than steps
    (64 * 15, {"stream": 10}, hand(1, 15) + 2 * 15 / 10 + 5 + 0.5 * 2 * 10 / 15),
    (64, {"stream": 10}, hand(1, 1) + 2 / 10 + STREAM),
    (64, {"stream": 1000}, hand(1, 1) + 2 / 10 + STREAM),
])  # fmt: skip
def test_the_sum_by_hand(M, more, us):
    assert said(M, 64, 160, **more) == pytest.approx(3 + us, rel=1e-6)


@pytest.mark.parametrize("sides, us", [((1, 1, 1), hand(1, 1, 0.6)), ((64, 64, 0), hand(1, 1))])
def test_no_whole_tile_and_no_k_are_a_step(sides, us):
    assert said(*sides) == pytest.approx(3 + us, rel=1e-6)


def test_the_parts_of_a_stream_are_stored_and_loaded():
    slow, work = COSTS._replace(gbs=0.01), Work(64 * 15, 64, 160, stream=10)
    moved = 4 * (960 * 160 + 160 * 64 + 960 * 64) + 2 * 4 * (15 + 10) * 64 * 64
    wanted = 3 + 5 + 0.5 * 2 * 10 / 15 + moved / 0.01 / 1000
    assert microseconds(TILE, slow, work) == pytest.approx(wanted, rel=1e-3)


def test_a_slow_memory():
    slow = COSTS._replace(gbs=0.001)
    moved = 4 * (640 * 160 + 160 * 64 + 640 * 64) / 0.001 / 1000
    assert microseconds(TILE, slow, Work(640, 64, 160)) == pytest.approx(3 + moved, rel=1e-3)
    own = microseconds(TILE._replace(gbs=0.001), COSTS, Work(640, 64, 160))
    assert own == pytest.approx(3 + moved, rel=1e-3)


def test_packing_is_a_launch_before_and_ragged_rows_of_c_cost_a_round_of_its_tiles():
    tile = TILE._replace(pack=20.0)
    both = 640 * 160 + 160 * 64
    packing = 5 + 20 * both / 1e6
    found = microseconds(tile, COSTS, Work(640, 64, 160, packed=both))
    assert found == pytest.approx(3 + hand(1, 10) + packing, rel=1e-6)
    found = microseconds(tile, COSTS, Work(640, 64, 160, aligned=0, packed=both))
    assert found == pytest.approx(3 + hand(1, 10) + 0.5 * TILE.start + packing, rel=1e-6)
    found = microseconds(tile, COSTS, Work(640, 16, 160, aligned=0, packed=640 * 160 + 160 * 16))
    packed = 5 + 20 * (640 * 160 + 160 * 16) / 1e6  # a quarter of each tile is C
    assert found == pytest.approx(3 + hand(1, 10) + 0.125 * TILE.start + packed, rel=1e-6)
    # of one factor alone: the other's rows are ragged still
    found = microseconds(tile, COSTS, Work(640, 64, 160, aligned=0, packed=160 * 64))
    packing = 5 + 1.5 * 20 * 160 * 64 / 1e6
    assert found == pytest.approx(3 + hand(1, 10, 0.6) + packing, rel=1e-6)


def test_a_tile_may_have_costs_of_its_own_for_pieces():
    work = Work(640, 64, 160, stream=5)
    usual = microseconds(TILE, COSTS, work)  # a piece: twice what a round costs beside its steps
    assert microseconds(TILE._replace(piece=2.0), COSTS, work) == pytest.approx(usual)
    more = microseconds(TILE._replace(piece=3.0), COSTS, work)
    assert more == pytest.approx(usual + 10 / 5)  # ten tiles for five blocks


def test_arrays_give_what_numbers_give():
    works = [Work(640, 64, 160), Work(100, 700, 33, splits=4), Work(64, 64, 999, stream=10)]
    works.append(Work(900, 900, 900, 8, 1, 0, 0))
    together = Work(*(np.array(x) for x in zip(*works)))
    one_by_one = [microseconds(TILE, COSTS, one) for one in works]
    assert microseconds(TILE, COSTS, together) == pytest.approx(one_by_one)
