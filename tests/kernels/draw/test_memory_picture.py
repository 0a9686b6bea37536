"""The picture of an SM and the memories: each box inside the one that owns it."""

from drawn import elements, texts

from kernels.analysis.hierarchy import hierarchy
from kernels.draw import memory


def boxes(figure):
    """(left, top, right, bottom) of each box, by its fill."""
    found = {}
    for one in elements(figure, "rect"):
        x, y, wide, high = (float(one[key]) for key in ("x", "y", "width", "height"))
        found.setdefault(one["fill"], []).append((x, y, x + wide, y + high))
    return found


def within(inner, outer):
    return all(a >= b for a, b in zip(inner[:2], outer)) and all(
        a <= b for a, b in zip(inner[2:], outer[2:])
    )


def test_what_belongs_to_an_sm_lies_in_it():
    outlined, *levels = boxes(memory()).values()
    *schedulers, sm, gpu = outlined
    (registers,), (shared,), (l2,), (device,) = levels
    assert len(schedulers) == 4
    assert all(within(one, sm) for one in (*schedulers, registers, shared))
    assert within(sm, gpu) and within(l2, gpu) and not within(l2, sm)
    assert device[1] > gpu[3]  # outside the chip


def test_it_names_each_level_with_its_numbers():
    words = set(texts(memory()).values())
    assert {level.name for level in hierarchy()} < words
    assert {"an SM, one of 132", "60 MiB, 9.07 TB/s recorded"} < words
