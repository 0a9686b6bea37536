"""The kernel as it is compiled: what is left out, and what is marked."""

from __future__ import annotations

import pytest

import kernels
from kernels.draw import code


def texts(listed, marked: bool | None = None) -> list[str]:
    return [line.strip() for mark, line in listed.lines if marked in (None, mark)]


def test_every_line_that_changed_is_marked_and_no_other():
    listed = code("06", "05")
    assert texts(listed, marked=True) == [
        "#define TILE_B(k, col) tile_b[k][col]",
        "__shared__ float tile_b[BN][BK + PAD];",
        "TILE_B(row, col) = B[row * N + col];",
        "sum += tile_a[row][k] * TILE_B(k, col);",
    ]
    before = set(texts(code("05")))
    assert not before & set(texts(listed, marked=True))
    assert before >= set(texts(listed, marked=False)) - {""}
    assert not texts(code("06"), marked=True)


def test_conditions_are_those_of_the_defines():
    swizzled = kernels.step("06").define(TRANSPOSED=1, SWIZZLE=1)
    assert texts(code(swizzled))[0].startswith("#define TILE_B(k, col) tile_b[col][SWIZZLE ?")
    assert "static_assert" not in repr(code("06")) and "#if" not in repr(code("06"))
    ways = {tuple(texts(code(f"04 {more}"))) for more in ("HOIST=1", "HOIST=0", "UNSIGNED=1")}
    assert len(ways) == 3


@pytest.mark.parametrize("step", kernels.steps(), ids=lambda step: step.id)
def test_each_region_is_a_part_of_it(step):
    whole = texts(code(step))
    assert not any("region" in line or line.startswith("#if") for line in whole)
    for region in step.file.regions:
        part = texts(code(step, region=region))
        start = [n for n, line in enumerate(whole) if line == part[0]]
        assert any(whole[n : n + len(part)] == part for n in start), region


def test_an_unknown_region_is_named():
    with pytest.raises((KeyError, ValueError), match="nowhere"):
        code("06", region="nowhere")


def test_both_forms_mark_the_same():
    listed = code("06", "05", "dot_product")
    assert repr(listed).splitlines()[:2] == [
        "  for (int k = 0; k < BK; ++k)",
        "+     sum += tile_a[row][k] * TILE_B(k, col);",
    ]
    html = listed._repr_html_()
    assert html.count("box-shadow") == 1 and "sum += tile_a[row][k] * TILE_B(k, col);" in html
