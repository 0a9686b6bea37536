"""The picture of fragments: what is strong lies where the lane's or the register's elements are."""

import pytest
from drawn import elements, rectangles, texts

from anywarp.analysis import fragments
from anywarp.draw import fragment
from kernels.draw import PALETTE

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
S8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
COLOURS = [PALETTE[name] for name in ("blue", "vermilion", "green", "purple")]


def corners(frame):
    """Title -> upper left corner of its matrix, and the size of an element."""
    found = {}
    titles = elements(frame, "text", **{"font-weight": "bold"})
    words = {(float(e["x"]), float(e["y"])): texts(frame)[float(e["x"]), float(e["y"])]
             for e in titles}  # fmt: skip
    pale = elements(frame, "path", **{"fill-opacity": "0.13"})
    for (x, y), title in words.items():
        first = [b for p in pale for b in rectangles(p) if abs(b[0] - x) + abs(b[1] - y - 6) < 0.1]
        found[title] = x, y + 6, min(first[0][2:])
    return found


def strong(frame):
    """The boxes of what is strong, by colour."""
    return [
        [box for path in elements(frame, "path", fill=colour, **{"fill-opacity": "0.5"})
         if path["d"] != "M0 0" for box in rectangles(path)]
        for colour in COLOURS
    ]  # fmt: skip


def cells(boxes, corner):
    """(row, column) of the elements in boxes, counted from the corner of a matrix."""
    x0, y0, cell = corner
    found = set()
    for x, y, wide, high in boxes:
        for row in range(round(high / cell)):
            for column in range(round(wide / cell)):
                found.add((round((y - y0) / cell) + row, round((x - x0) / cell) + column))
    return found


def test_elements_of_a_lane_of_mma():
    steps = fragment(BF16)
    assert len(steps) == 32
    assert steps.labels[5] == (
        "lane 5: A rows 1 and 9, columns 2, 3, 10 and 11; B rows 2, 3, 10 and 11, column 1; "
        "D rows 1 and 9, columns 2 and 3"
    )
    places = corners(steps.frames[0])
    assert list(places) == ["A, 16 x 16", "B, 16 x 8", "D, 16 x 8"]
    (ax, ay, cell), (bx, by, _), (dx, dy, _) = places.values()
    assert ay == dy and bx == dx  # rows of A and of D in line, and columns of B and of D
    for lane in 0, 5, 31:
        group, member = lane // 4, lane % 4
        boxes = strong(steps.frames[lane])
        assert [bool(one) for one in boxes] == [n == lane // 8 for n in range(4)]
        boxes = boxes[lane // 8]
        columns = [2 * member + n + k for k in (0, 8) for n in (0, 1)]
        a = [b for b in boxes if b[0] < bx]
        b = [b for b in boxes if b[1] < ay]
        d = [b for b in boxes if b[0] >= bx and b[1] >= ay]
        assert cells(a, places["A, 16 x 16"]) == {(r, c) for r in (group, group + 8)
                                                  for c in columns}  # fmt: skip
        assert cells(b, places["B, 16 x 8"]) == {(row, group) for row in columns}
        assert cells(d, places["D, 16 x 8"]) == {
            (r, c) for r in (group, group + 8) for c in columns[:2]
        }
        names = {words: at for at, words in texts(steps.frames[lane]).items()}
        assert names["a1"][1] > names["a0"][1] and names["a2"][0] > names["a0"][0]
        assert names["a1"][0] == names["a0"][0] and names["a2"][1] == names["a0"][1]
        assert set(names) >= {"b0", "b1", "d0", "d1", "d2", "d3"}


def test_lanes_of_a_register_of_mma():
    steps = fragment(TF32, "register")
    assert [label.split(":")[0] for label in steps.labels] == [
        "a0", "a1", "a2", "a3", "b0", "b1", "d0", "d1", "d2", "d3",
    ]  # fmt: skip
    assert steps.labels[1] == "a1: rows 8 to 15, columns 0 to 3 of A, 1 element in a lane"
    assert steps.labels[7].startswith("d1: rows 0 to 7, columns 1, 3, 5 and 7 of D")
    frame = steps.frames[1]
    x0, y0, cell = corners(frame)["A, 16 x 8"]
    numbers = {at: words for at, words in texts(frame).items() if words.isdigit()}
    assert len(numbers) == 32
    for (x, y), lane in numbers.items():
        row, column = (y - 4 - y0) / cell - 0.5, (x - x0) / cell - 0.5
        assert (round(row, 2), round(column, 2)) == (8 + int(lane) // 4, int(lane) % 4)
    for n, boxes in enumerate(strong(frame)):
        assert cells(boxes, (x0, y0, cell)) == {
            (8 + lane // 4, lane % 4) for lane in range(8 * n, 8 * n + 8)
        }


def test_the_first_warp_of_a_warpgroup():
    steps = fragment(WGMMA, "register")
    ((title, place),) = corners(steps.frames[0]).items()
    assert title == "D, 64 x 128: rows 0 to 15, columns 0 to 15"
    assert len(steps) == 8  # registers of 16 columns, of the 64 that there are
    product = fragments(WGMMA)["D"]
    for register, frame in enumerate(steps.frames):
        for n, boxes in enumerate(strong(frame)):
            row, column = (x[register, 8 * n : 8 * n + 8, 0] for x in product[1:])
            assert cells(boxes, place) == set(zip(row.tolist(), column.tolist()))
    assert steps.labels[3] == "d3: rows 8 to 15, columns 1, 3, 5 and 7 of D, 1 element in a lane"
    assert fragment(WGMMA).labels[5] == "lane 5: D rows 1 and 9, columns 2, 3, 10 and 11"


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="there are no fragments of 'fma.rn.f32'"):
        fragment("fma.rn.f32")
    with pytest.raises(ValueError, match=f"{LDMATRIX} has no product: name an mma or a wgmma"):
        fragment(LDMATRIX)
    with pytest.raises(ValueError, match='by must be "lane" or "register", not \'warp\''):
        fragment(BF16, "warp")
