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


def test_one_round():
    assert said(640, 64, 160) == pytest.approx(3 + hand(1, 10), rel=1e-6)  # 10 blocks on 10 SMs
    assert said(641, 64, 160) == pytest.approx(3 + hand(2, 10), rel=1e-6)
    assert said(1, 1, 1) == pytest.approx(3 + hand(1, 1, 0.6), rel=1e-6)  # no whole tile


def test_full_rounds_and_what_is_left():
    assert said(64 * 45, 64, 160) == pytest.approx(3 + 2 * hand(2, 10) + hand(1, 10), rel=1e-6)
    assert said(64 * 40, 64, 160) == pytest.approx(3 + 2 * hand(2, 10), rel=1e-6)


def test_splits_have_fewer_steps_and_a_launch_more():
    assert said(128, 64, 160, splits=5) == pytest.approx(3 + hand(1, 2) + 5 + 5 * 0.5, rel=1e-6)
    assert said(64, 64, 160, splits=3) == pytest.approx(3 + hand(1, 4) + 5 + 3 * 0.5, rel=1e-6)


def test_a_cluster_finds_room_on_fewer_sms_and_sums_itself():
    assert said(64, 64, 160, splits=8, cluster=1) == pytest.approx(
        3 + hand(1, 2) + 2 * (1 + 0.25 * 8), rel=1e-6
    )
    assert said(128, 64, 160, splits=5, cluster=1) == pytest.approx(
        3 + hand(2, 2) + 2 * (1 + 0.25 * 5), rel=1e-6
    )  # 10 blocks, of which 8 find an SM of their own


def test_a_stream_has_no_last_round():
    tiles, steps = 15, 10
    expected = hand(1, tiles * steps / 10) + 2 * 1.0 * tiles / 10
    assert said(64 * tiles, 64, 160, stream=10) == pytest.approx(
        3 + expected + 5 + 0.5 * 2 * 10 / tiles, rel=1e-6
    )


def test_a_stream_has_no_more_blocks_than_steps():
    few, many = (said(64, 64, 160, stream=n) for n in (10, 1000))
    assert few == many == pytest.approx(3 + hand(1, 1) + 2 * 1.0 / 10 + 5 + 0.5 * 2 * 10, rel=1e-6)


def test_the_parts_of_a_stream_are_stored_and_loaded():
    slow, work = COSTS._replace(gbs=0.01), Work(64 * 15, 64, 160, stream=10)
    moved = 4 * (960 * 160 + 160 * 64 + 960 * 64) + 2 * 4 * (15 + 10) * 64 * 64
    wanted = 3 + 5 + 0.5 * 2 * 10 / 15 + moved / 0.01 / 1000
    assert microseconds(TILE, slow, work) == pytest.approx(wanted, rel=1e-3)


def test_unaligned_rows_and_memory():
    assert said(640, 64, 160, aligned=0) == pytest.approx(3 + hand(1, 10, 0.6), rel=1e-6)
    slow = COSTS._replace(gbs=0.001)
    moved = 4 * (640 * 160 + 160 * 64 + 640 * 64) / 0.001 / 1000
    assert microseconds(TILE, slow, Work(640, 64, 160)) == pytest.approx(3 + moved, rel=1e-3)


def test_packing_is_a_launch_before_and_takes_what_ragged_rows_cost():
    tile = TILE._replace(pack=20.0)
    both = 640 * 160 + 160 * 64
    packing = 5 + 20 * both / 1e6
    found = microseconds(tile, COSTS, Work(640, 64, 160, packed=both))
    assert found == pytest.approx(3 + hand(1, 10) + packing, rel=1e-6)
    found = microseconds(tile, COSTS, Work(640, 64, 160, aligned=0, packed=both))
    assert found == pytest.approx(3 + hand(1, 10) + 5 + 1.5 * (packing - 5), rel=1e-6)
    # of one factor alone: the other's rows are ragged still
    found = microseconds(tile, COSTS, Work(640, 64, 160, aligned=0, packed=160 * 64))
    packing = 5 + 1.5 * 20 * 160 * 64 / 1e6
    assert found == pytest.approx(3 + hand(1, 10, 0.6) + packing, rel=1e-6)


def test_a_tile_may_have_costs_of_its_own_for_pieces_and_for_memory():
    work = Work(640, 64, 160, stream=5)
    usual = microseconds(TILE, COSTS, work)  # a piece: twice what a round costs beside its steps
    assert microseconds(TILE._replace(piece=2.0), COSTS, work) == pytest.approx(usual)
    more = microseconds(TILE._replace(piece=3.0), COSTS, work)
    assert more == pytest.approx(usual + 10 / 5)  # ten tiles for five blocks
    moved = 4 * (640 * 160 + 160 * 64 + 640 * 64) / 0.001 / 1000
    slow = microseconds(TILE._replace(gbs=0.001), COSTS, Work(640, 64, 160))
    assert slow == pytest.approx(3 + moved, rel=1e-3)


def test_no_k_is_a_step():
    assert said(64, 64, 0) == pytest.approx(3 + hand(1, 1), rel=1e-6)


def test_arrays_give_what_numbers_give():
    works = [Work(640, 64, 160), Work(100, 700, 33, splits=4), Work(64, 64, 999, stream=10)]
    works.append(Work(900, 900, 900, 8, 1, 0, 0))
    together = Work(*(np.array(x) for x in zip(*works)))
    one_by_one = [microseconds(TILE, COSTS, one) for one in works]
    assert microseconds(TILE, COSTS, together) == pytest.approx(one_by_one)
