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
    legible,
    made_pipeline,
    rounds,
    texts,
)
from test_pipelines import PIPELINE

import kernels
from anywarp.draw import moments, pipeline
from anywarp.draw.moments import EMPTY, FULL, READ, UNDER_WAY
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


def test_the_frame_stands_at_its_moment():
    steps = pipeline(made_pipeline(*rounds(2)))
    for n, frame in enumerate(steps.frames):
        (at,) = elements(frame, "rect", **{"stroke-width": "1.5"})
        assert float(at["x"]) == LEFT + n * float(at["width"])
    html = steps._repr_html_()
    assert len(html.encode()) < 20_000 and '"<"' not in html.partition("})(")[2]


def test_parities_of_mbarriers():
    steps = pipeline(made_pipeline(*rounds(5)))
    # issue, land (and full), read, empty: four moments for each
    assert [label.split(": ")[1].split(",")[0] for label in steps.labels[:4]] == [
        "warp 2 issues copies into stage 0", "copies into stage 0 land",
        "warps 0–1 read stage 0", "the empty barrier of stage 0 ends a phase",
    ]  # fmt: skip
    full = [0, *[1] * 8, *[0] * 8, *[1] * 3]  # stage 0: lands in moments 1, 9, 17
    empty = [0, 0, 0, *[1] * 8, *[0] * 8, 1]
    for n, frame in enumerate(steps.frames):
        words = [w for (x, _), w in sorted(texts(frame).items(), key=lambda t: t[0][1])
                 if x == LEFT - 8 and ":" in w]  # fmt: skip
        assert words[:2] == [f"full: {full[n]}", f"empty: {empty[n]}"]
        assert len(words) == 4
    waves = elements(steps.frames[0], "path", **{"stroke-opacity": "0.8"})
    assert len(waves) == 4
    heights = re.findall(r"(?:M100 |V)([\d.]+)H", waves[0]["d"])
    assert [float(h) < float(max(heights)) for h in heights] == [bool(one) for one in full]
    ends = re.findall(r"H([\d.]+)", waves[0]["d"])
    assert [float(x) for x in ends] == pytest.approx([LEFT + 252 / 20 * k for k in range(1, 21)])
    assert "parity" in steps.caption


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


def test_a_stage_is_full_until_it_is_read_and_filled_in_several_goes():
    made = made_pipeline(
        (*ISSUE, 0), (*ISSUE, 1), (*ISSUE, 0), (*LAND, 0), (*LAND, 0), (*LAND, 1), (*LOAD, 0),
        (*LOAD, 1),
    )  # fmt: skip
    steps = pipeline(made)
    found = rows(steps.frames[0])
    first, second = (sorted(bars(steps.frames[0], found[f"stage {n}"] - 12)) for n in (0, 1))
    assert first == [(0, 3, UNDER_WAY), (3, 2, FULL), (5, 1, READ)]
    assert second == [(1, 3, UNDER_WAY), (4, 2, FULL), (6, 1, READ)]
    told = [w for f in steps.frames for (x, _), w in texts(f).items() if x == 4]
    assert not any("filling 2" in words for words in told)


def test_arrays_that_lie_beside_what_is_filled_are_not_stages():
    made = made_pipeline((*ISSUE, 1), (*LAND, 1), (*LOAD, 1))
    made.arrays.update(tile=(64, 64), head=(0, 64), tail=(128, 64))
    assert moments.filled(made) == ["tile"]


def test_products_read_until_they_are_waited_for():
    team = [0, 1, 2, 3]
    made = made_pipeline(
        (*ISSUE, 0), (*LAND, 0), ("begin", team, 0), (*ISSUE, 1), ("end", team, 0), (*LAND, 1),
        ("begin", team, 1), ("end", team, 1), opcode="wgmma",
    )  # fmt: skip
    steps = pipeline(made)
    found = rows(steps.frames[0])
    assert sorted(bars(steps.frames[0], found["stage 0"] - 12)) == [
        (0, 1, UNDER_WAY), (1, 1, FULL), (2, 3, READ),
    ]  # fmt: skip
    assert numbers(steps.frames[0], "wgmma begins") == {2: 0, 6: 1}
    assert numbers(steps.frames[0], "wgmma ends") == {4: 0, 7: 1}
    assert steps.labels[2].startswith("3 of 8: wgmma of warps 0–3 begins to read stage 0")
    assert steps.labels[4].startswith("5 of 8: wgmma of warps 0–3 has read stage 0")


def test_a_read_before_the_copy_lands_is_seen():
    steps = pipeline(made_pipeline((*ISSUE, 0), (*LOAD, 0), (*LAND, 0)))
    y = rows(steps.frames[0])["stage 0"] - 12
    assert sorted(bars(steps.frames[0], y)) == [(0, 1, UNDER_WAY), (1, 1, READ)]


def test_many_moments_are_shown_in_parts():
    made = made_pipeline(*rounds(12))
    steps = pipeline(made)
    assert len(steps) == 32 and "48 moments, of which 32 are shown" in steps.caption
    later = pipeline(made, index=range(40, 48))
    assert later.labels[0].startswith("41 of 48: warp 2 issues copies into stage 0")
    assert "stage 0: filling 6 is under way" in texts(later.frames[0]).values()


def real(name, threads):
    kernel = kernels.Kernel(PIPELINE, name, options=("-arch=sm_90",))
    given, out = np.ones((1, 4, 128), np.float32), np.zeros((1, 128), np.float32)
    return kernel.pipeline(1, threads, (given, out, np.int32(4)))


def test_a_producer_and_its_readers():
    steps = pipeline(real("special", 160))
    frame = steps.frames[-1]
    assert [n for n in rows(frame) if n[0] in "wc"] == [
        "warp 4 issues", "copies land", "warps 0–3 read",
    ]  # fmt: skip
    assert list(numbers(frame, "warp 4 issues").values()) == [0, 1, 2, 0]
    assert list(numbers(frame, "copies land").values()) == [0, 1, 2, 0]
    assert list(numbers(frame, "warps 0–3 read").values()) == [0, 1, 2, 0]
    assert "3 stages of tile" in steps.caption
    assert list(rows(frame)).count("stage 2") == 1
    ends = [w for (x, _), w in sorted(texts(frame).items(), key=lambda t: t[0][1])
            if x == LEFT - 8 and ":" in w]  # fmt: skip
    assert ends == ["full: 0", "empty: 0", *["full: 1", "empty: 1"] * 2]


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


def test_stages_are_told_or_given():
    made = made_pipeline((*ISSUE, 0), (*LAND, 0), (*LOAD, 0), extents=(32,))
    with pytest.raises(ValueError, match="does not tell the number of stages of tile"):
        pipeline(made)
    shapeless = made_pipeline((*ISSUE, 0))
    shapeless.shapes.clear()  # as of dynamic shared memory
    with pytest.raises(ValueError, match="does not tell the number of stages of tile"):
        pipeline(shapeless)
    with pytest.raises(ValueError, match="tile has 128 bytes, which are not 3 equal stages"):
        pipeline(made, 3)
    assert "4 stages of tile" in pipeline(made, 4).caption
    swapped = pipeline(made, [[(64, 64)], [(0, 32), (32, 32)]])
    assert swapped.labels[0].startswith("1 of 3: warp 2 issues copies into stage 1")
    assert "2 stages of shared memory" in swapped.caption
    with pytest.raises(ValueError, match="nobody fills or reads these stages"):
        pipeline(made, [[(64, 32)]])
    with pytest.raises(ValueError, match="nobody fills shared memory"):
        pipeline(made_pipeline((*LOAD, 0)))
    assert EMPTY not in {state.what for state in moments.states_of(
        moments.moments_of(made, moments.parts_of(made, 2)), 0)}  # fmt: skip


def test_it_is_legible():
    for steps in (pipeline(made_pipeline(*rounds(8))), pipeline(real("special", 160))):
        for frame in steps.frames[:: len(steps) - 1]:
            legible(frame)
