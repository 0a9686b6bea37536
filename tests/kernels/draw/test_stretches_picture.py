"""The picture of stretches: the work of each block, as its addresses say, and where it is drawn."""

import re

import kernels
from kernels.draw import stretches as drawn
from kernels.draw.steps.stretches import Piece, schedule, work

SMALL = kernels.step("18_split_k BM=32 BN=32 BK=16 STAGES=3 TM=4 TN=4 BLOCKS=1 WM=16 WN=32")


def test_a_block_for_each_tile():
    assert work(SMALL, 64, 32, 48) == [[Piece((0, 0), 0, 3)], [Piece((1, 0), 0, 3)]]


def test_splits_divide_the_steps_of_a_tile():
    halves = [[Piece((0, 0), 0, 2)], [Piece((0, 0), 2, 5)]]
    assert work(SMALL.define(SPLITS=2), 32, 32, 80) == halves


def test_a_stream_cuts_tiles():
    assert work(SMALL.define(STREAM=2), 32, 96, 64) == [
        [Piece((0, 0), 0, 4), Piece((0, 1), 0, 2)],
        [Piece((0, 1), 2, 4), Piece((0, 2), 0, 4)],
    ]


def test_blocks_go_to_the_sm_that_is_free_first():
    one, two = Piece((0, 0), 0, 4), Piece((0, 1), 0, 1)
    assert schedule([[one], [two], [two]], 2) == [(0, one, 0, 4), (1, two, 0, 1), (1, two, 1, 2)]


def test_the_picture_says_how_long_it_takes():
    figure = drawn([SMALL, SMALL.define(STREAM=2)], 32, 96, 64, sms=2)
    assert "a block for each tile: 8 steps, 75%" in figure.caption
    assert "STREAM=2: 6 steps, 100%" in figure.caption
    bars = re.findall(r'<rect [^>]*fill="#', figure.svg)
    assert len(bars) == 3 + 4


def test_tiles_have_their_numbers_on_the_line():
    """Which goes down GROUP rows of tiles before it goes on."""
    assert work(SMALL, 64, 96, 64)[1] == [Piece((1, 0), 0, 4)]
    figure = drawn([SMALL], 64, 96, 64)
    assert re.findall(r">(\d)<", figure.svg) == ["0", "1", "2", "3", "4", "5"]
