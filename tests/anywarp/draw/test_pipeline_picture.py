"""The picture of a pipeline: the states of its stages, moment by moment, and who makes them."""

import re
from pathlib import Path

import numpy as np
import pytest
from drawn import (
    EMPTY_AT,
    FULL_AT,
    ISSUE,
    LAND,
    LOAD,
    elements,
    made_pipeline,
    rounds,
    texts,
)
from test_pipelines import PIPELINE

import kernels
from anywarp.draw import moments, pipeline
from anywarp.draw.moments import FULL, READ, UNDER_WAY
from kernels.draw import PALETTE

LEFT, TOP = 100, 22
COLOURS = {"blue": UNDER_WAY, "green": FULL, "vermilion": READ}


def bars(frame, y):
    """(first moment, moments, what) of the coloured runs of a row."""
    cell = float(elements(frame, "rect", **{"stroke-width": "1.5"})[0]["width"])
    return [
        (round((float(e["x"]) - LEFT) / cell), round(float(e["width"]) / cell), what)
        for colour, what in COLOURS.items()
        for e in elements(frame, "rect", fill=PALETTE[colour])
        if float(e["y"]) == y and float(e["x"]) >= LEFT
    ]


def rows(frame):
    """Label -> its y, of the rows at the left."""
    return {words: y for (x, y), words in texts(frame).items() if x == LEFT - 8}


def numbers(frame, label):
    """Moment -> stage, of those who do something."""
    cell = float(elements(frame, "rect", **{"stroke-width": "1.5"})[0]["width"])
    y = rows(frame)[label]
    return {
        round((x - LEFT) / cell - 0.5): int(words)
        for (x, at), words in texts(frame).items()
        if at == y - 1 and x > LEFT
    }


def test_stages_without_mbarriers():
    made = made_pipeline(
        (*ISSUE, 0), (*ISSUE, 1), (*LAND, 0), ("barrier",), (*LOAD, 0), (*LOAD, 0), ("barrier",),
        (*ISSUE, 0), (*LAND, 1), (*LOAD, 1), (*LAND, 0), (*LOAD, 0),
    )  # fmt: skip
    steps = pipeline(made)
    assert len(steps) == 9  # the two reads are one
    frame = steps.frames[0]
    found = rows(frame)
    assert sorted(bars(frame, found["stage 0"] - 12)) == [
        (0, 2, UNDER_WAY), (2, 1, FULL), (3, 1, READ), (4, 3, UNDER_WAY), (7, 1, FULL),
        (8, 1, READ),
    ]  # fmt: skip
    assert sorted(bars(frame, found["stage 1"] - 12)) == [
        (1, 4, UNDER_WAY), (5, 1, FULL), (6, 1, READ),
    ]  # fmt: skip
    assert numbers(frame, "warp 2 issues") == {0: 0, 1: 1, 4: 0}
    assert numbers(frame, "copies land") == {2: 0, 5: 1, 7: 0}
    assert numbers(frame, "warps 0–1 read") == {3: 0, 6: 1, 8: 0}
    (met,) = elements(frame, "path", **{"stroke-dasharray": "3 3"})
    assert re.findall(r"M(\S+)", met["d"]) == [str(LEFT + 16 * n) for n in (3, 4)]
    assert steps.labels[0] == "1 of 9: warp 2 issues copies into stage 0, line 1"
    assert steps.labels[3] == "4 of 9: warps 0–1 read stage 0, line 5"
    assert steps.labels[2] == "3 of 9: copies into stage 0 land, line 3"
    told = [[w for (x, _), w in sorted(texts(f).items()) if x == 4] for f in steps.frames]
    assert told[0] == ["stage 0: filling 1 is under way", "stage 1: nothing yet"]
    assert told[3] == [
        "stage 0: filling 1 is read by warps 0–1", "stage 1: filling 1 is under way",
    ]  # fmt: skip
    assert told[5] == ["stage 0: filling 2 is under way", "stage 1: filling 1 is there"]
    assert told[8] == ["stage 0: filling 2 is read by warps 0–1", "stage 1: free again"]
    assert "Dashed" in steps.caption and "lands" in steps.caption and "parity" not in steps.caption


def test_mbarriers_are_told_by_who_waits_for_them():
    made = made_pipeline(*rounds(4))
    parts = moments.parts_of(made, None)
    assert moments.barriers_of(made, parts) == {
        FULL_AT: ("full", 0), FULL_AT + 8: ("full", 1),
        EMPTY_AT: ("empty", 0), EMPTY_AT + 8: ("empty", 1),
    }  # fmt: skip
    silent = [one[:3] if one[0] == "land" else one for one in rounds(4)]  # copies of threads
    assert moments.barriers_of(made_pipeline(*silent), parts) == moments.barriers_of(made, parts)
    assert moments.barriers_of(made_pipeline((*ISSUE, 0), (*LOAD, 0)), parts) == {}


def test_a_report_counts_more_than_a_wait():
    """Readers wait for an mbarrier of something else before they read."""
    made = made_pipeline(
        (*ISSUE, 0), (*LAND, 0, FULL_AT), ("wait", 400, [0, 1], 0), (*LOAD, 0),
        ("phase", 400, [-1], 0),
    )  # fmt: skip
    assert moments.barriers_of(made, moments.parts_of(made, None)) == {FULL_AT: ("full", 0)}
    assert len(pipeline(made)) == 3  # the phase of the other is nothing to the stages


TEAM = [0, 1, 2, 3]


@pytest.mark.parametrize(
    "events, opcode, first, second",
    [
        (  # full until it is read, and filled in several goes
            [(*ISSUE, 0), (*ISSUE, 1), (*ISSUE, 0), (*LAND, 0), (*LAND, 0), (*LAND, 1), (*LOAD, 0),
             (*LOAD, 1)], "cp",
            [(0, 3, UNDER_WAY), (3, 2, FULL), (5, 1, READ)],
            [(1, 3, UNDER_WAY), (4, 2, FULL), (6, 1, READ)],
        ),
        (  # read before the copy lands
            [(*ISSUE, 0), (*LOAD, 0), (*LAND, 0)], "cp", [(0, 1, UNDER_WAY), (1, 1, READ)], []
        ),
        (  # products read until they are waited for
            [(*ISSUE, 0), (*LAND, 0), ("begin", TEAM, 0), (*ISSUE, 1), ("end", TEAM, 0), (*LAND, 1),
             ("begin", TEAM, 1), ("end", TEAM, 1)], "wgmma",
            [(0, 1, UNDER_WAY), (1, 1, FULL), (2, 3, READ)],
            [(3, 2, UNDER_WAY), (5, 1, FULL), (6, 2, READ)],
        ),
    ],
)  # fmt: skip
def test_what_stages_hold_over_time(events, opcode, first, second):
    steps = pipeline(made_pipeline(*events, opcode=opcode))
    frame = steps.frames[0]
    for stage, states in enumerate((first, second)):
        assert sorted(bars(frame, rows(frame)[f"stage {stage}"] - 12)) == states
    assert not any("filling 2" in words for f in steps.frames for words in texts(f).values())
    if opcode == "wgmma":
        assert numbers(frame, "wgmma begins") == {2: 0, 6: 1}
        assert numbers(frame, "wgmma ends") == {4: 0, 7: 1}
        assert steps.labels[2].startswith("3 of 8: wgmma of warps 0–3 begins to read stage 0")
        assert steps.labels[4].startswith("5 of 8: wgmma of warps 0–3 has read stage 0")


def test_arrays_that_lie_beside_what_is_filled_are_not_stages():
    made = made_pipeline((*ISSUE, 1), (*LAND, 1), (*LOAD, 1))
    made.arrays.update(tile=(64, 64), head=(0, 64), tail=(128, 64))
    assert moments.filled(made) == ["tile"]


def test_many_moments_are_shown_in_parts():
    made = made_pipeline(*rounds(12))
    steps = pipeline(made)
    assert len(steps) == 32 and "48 moments, of which 32 are shown" in steps.caption
    later = pipeline(made, index=range(40, 48))
    assert later.labels[0].startswith("41 of 48: warp 2 issues copies into stage 0")
    assert "stage 0: filling 6 is under way" in texts(later.frames[0]).values()


def test_tensor_cores_that_read():
    source = (Path(__file__).parents[2] / "corpus" / "t_wgmma_pipeline.cu").read_text()
    kernel = kernels.Kernel(source, "product", options=("-arch=sm_90a",))
    bfloat16s = np.full((2, 16, 64, 8), 0x3F80, np.uint16)
    out = np.zeros((2, 64, 64), np.float32)
    steps = pipeline(kernel.pipeline(2, 160, (bfloat16s, bfloat16s[0].copy(), out)))
    frame = steps.frames[0]
    stages = [0, 1, 2, 0]  # of the four tiles
    for label in "warp 4 issues", "copies land", "wgmma begins", "wgmma ends":
        assert list(numbers(frame, label).values()) == stages
    begin, end = (list(numbers(frame, f"wgmma {what}s")) for what in ("begin", "end"))
    assert all(one < other for one, other in zip(begin, end))
    assert "3 stages of as and bs" in steps.caption


def real(name, threads):
    kernel = kernels.Kernel(PIPELINE, name, options=("-arch=sm_90",))
    given, out = np.ones((1, 4, 128), np.float32), np.zeros((1, 128), np.float32)
    return kernel.pipeline(1, threads, (given, out, np.int32(4)))


def test_a_block_that_fills_its_own_stages():
    steps = pipeline(real("same", 128))
    frame = steps.frames[-1]
    assert list(numbers(frame, "warp 0 issues").values()) == [0, 1, 2, 0]
    words = [w for w in texts(frame).values() if w.startswith(("full:", "empty:"))]
    assert words == ["full: 0", "full: 1", "full: 1"]  # nobody waits for an empty stage


def test_a_step_whose_threads_store():
    steps = pipeline(kernels.step(14).pipeline(128, 128, 16))
    assert steps.labels[0].split(": ")[1].startswith("warps 0–7 store into stage 0")
    assert "2 stages of tile_a and tile_b" in steps.caption
    assert "land" not in steps.caption


@pytest.mark.parametrize(
    "events, extents, stages, words",
    [
        ([(*ISSUE, 0), (*LOAD, 0)], (32,), None, "does not tell the number of stages of tile"),
        ([(*ISSUE, 0)], None, None, "does not tell the number of stages of tile"),
        ([(*ISSUE, 0)], (32,), 3, "tile has 128 bytes, which are not 3 equal stages"),
        ([(*ISSUE, 0)], (32,), [[(64, 32)]], "nobody fills or reads these stages"),
        ([(*LOAD, 0)], (2, 16), None, "nobody fills shared memory"),
    ],
)
def test_stages_that_are_not_told(events, extents, stages, words):
    made = made_pipeline(*events, extents=extents or (2, 16))
    if extents is None:  # as of dynamic shared memory
        made.shapes.clear()
    with pytest.raises(ValueError, match=words):
        pipeline(made, stages)


def test_stages_are_given():
    made = made_pipeline((*ISSUE, 0), (*LAND, 0), (*LOAD, 0), extents=(32,))
    assert "4 stages of tile" in pipeline(made, 4).caption
    swapped = pipeline(made, [[(64, 64)], [(0, 32), (32, 32)]])
    assert swapped.labels[0].startswith("1 of 3: warp 2 issues copies into stage 1")
    assert "2 stages of shared memory" in swapped.caption
