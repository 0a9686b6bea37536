"""The picture of a swizzle: every unit is where the PTX ISA's tables of swizzles have it."""

import pytest
from drawn import elements, texts

from anywarp.draw import swizzle
from kernels.draw import PALETTE

LEFT, TOP, WIDE, HIGH = 44, 52, 39, 21


def units(frame):
    """(row, place) -> (line of 128 bytes, unit in it), as they are named."""
    found = {}
    for (x, y), words in texts(frame).items():
        if "," in words:
            row, place = map(int, words.split(", "))
            across, down = (x - LEFT - WIDE / 2) / WIDE, (y - TOP - 15) / HIGH
            assert (row, place) not in found and across == int(across) and down == int(down)
            found[row, place] = int(down), int(across)
    return found


def marked(frame, colour):
    """(line, bytes in it, how many) of the marks in one colour."""
    return sorted(
        (
            (float(e["y"]) - TOP) / HIGH,
            (float(e["x"]) - LEFT) / WIDE * 16,
            float(e["width"]) / WIDE * 16,
        )
        for e in elements(frame, "rect", fill=PALETTE[colour])
        if e["height"] == str(HIGH)
    )


def counts(frame):
    found = {at: words for at, words in texts(frame).items() if words.endswith(" x")}
    assert all((x - LEFT) / WIDE % 1 == 0.5 for x, _ in found)
    return [words for _, words in sorted(found.items())]


def wavefronts(steps):
    """Of all frames; each says them in its label."""
    return [int(label.split(": ")[1].split()[0]) for label in steps.labels]


def test_without_a_swizzle_a_matrix_is_in_four_banks():
    steps = swizzle(128, 0)
    assert len(steps) == 8 and wavefronts(steps) == [8] * 8
    for n, frame in enumerate(steps.frames):
        assert units(frame) == {
            (row, place): (row, place) for row in range(8) for place in range(8)
        }
        assert marked(frame, "blue") == [(0, 16 * n, 16)]
        assert marked(frame, "vermilion") == [(row, 16 * n, 16) for row in range(1, 8)]
        assert counts(frame) == ["8 x"]
    assert "All matrices together take 64 wavefronts, 8 at best" in steps.caption
    assert steps.labels[2].startswith("bytes 32 to 47 of rows 0 to 7: 8 wavefronts")


@pytest.mark.parametrize("size", [32, 64, 128])
def test_rows_as_long_as_the_swizzle_are_free_of_conflicts(size):
    steps, plain = swizzle(size, size), swizzle(size, 0)
    assert wavefronts(steps) == [1] * (size // 16)
    assert wavefronts(plain) == [size // 16] * (size // 16)
    for n, frame in enumerate(steps.frames):
        found = units(frame)
        for (row, place), (line, unit) in found.items():
            before = row * size // 16 + place  # its number without a swizzle
            exchanged = before // 8 % (size // 16)  # which units, by the number of the 128 bytes
            assert (line, unit) == (before // 8, before % 8 ^ exchanged)
        own = sorted((line, 16 * unit, 16) for (_, place), (line, unit) in found.items()
                     if place == n)  # fmt: skip
        assert marked(frame, "blue") == own and not marked(frame, "vermilion")
        assert counts(frame) == ["1 x"] * 8
    assert len({units(frame)[3, 0] for frame in steps.frames}) == 1


def test_a_swizzle_shorter_than_the_row_leaves_conflicts():
    assert wavefronts(swizzle(128, 64)) == [2] * 8
    assert wavefronts(swizzle(128, 32)) == [4] * 8


def test_what_cannot_be_drawn():
    for row in (0, 8, 40, 256):
        with pytest.raises(ValueError, match=f"a row has 16 to 128 bytes.*not {row}"):
            swizzle(row)
    with pytest.raises(ValueError, match="mode must be one of 0, 32, 64, 128, not 16"):
        swizzle(128, 16)
