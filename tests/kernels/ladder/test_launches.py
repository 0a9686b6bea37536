"""What a file says of its launches: read, refused in words, and planned for a product."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from several import several

from kernels.ladder import launches
from kernels.ladder.launches import Planned, planned, read
from kernels.ladder.source import parse

TILE = "#ifndef BM\n#define BM 16\n#endif\n#ifndef BN\n#define BN 8\n#endif\n"
SGEMM = "launch: sgemm(grid=(N // BN, M // BM), block=BM * BN)"
SIDES = {"M": 64, "N": 32, "K": 8, "BM": 16, "BN": 8}


def file(*directives):
    lines = "".join(f"// {line}\n" for line in directives)
    return parse(Path("07_it.cu"), f"// It\n{lines}{TILE}")


def test_a_file_of_one_kernel():
    one = file("block: (BN, BM)", "shared: 4 * BM")
    assert [launch.kernel for launch in one.launches] == ["sgemm"]
    assert planned(one.launches, SIDES) == (Planned("sgemm", (4, 4), (8, 16), 64),)
    assert planned(one.launches, SIDES | {"M": 65, "N": 31}) == (
        Planned("sgemm", (4, 5), (8, 16), 64),
    )
    assert (one.arguments, one.workspace({})) == ((), 0)
    assert file("block: 32").launches[0].shared({}) == 0


def test_several_launches_in_order():
    one = file(
        "launch: pack(grid=((M + 127) // 128, K // 4), block=min(256, 2 * BM), when=K > 4)",
        SGEMM.replace("BN)", "BN, shared=max(BM, BN) * 4)"),
        "launch: reduce(grid=M * N // 256, block=(BN, 1, 2))",
        "arguments: ldc workspace",
        "workspace: 6 * (M + N) * K",
    )
    assert planned(one.launches, SIDES) == (
        Planned("pack", (1, 2), (32,), 0),
        Planned("sgemm", (4, 4), (128,), 64),
        Planned("reduce", (8,), (8, 1, 2), 0),
    )
    assert one.arguments == ("ldc", "workspace") and one.workspace(SIDES) == 4608
    assert one.sgemm.block({"BM": 16, "BN": 8}) == 128


def test_what_is_left_out():
    one = several()
    names = lambda *sides: [launch.kernel for launch in one.launches(*sides)]
    assert names(20, 10, 5) == ["pack", "sgemm", "reduce"]
    assert names(20, 10, 0) == ["sgemm", "reduce"]  # there is nothing to pack
    single = one.define(SPLITS=1)
    assert [launch.kernel for launch in single.launches(20, 10, 5)] == ["pack", "sgemm"]
    assert single.workspace(20, 10, 5) == 4 * 32 * 5
    assert one.workspace(20, 10, 5) == 4 * (32 * 5 + 2 * 200)


@pytest.mark.parametrize("text, message", [
    ("sgemm", "a launch is pack(grid=(M // BM, K), block=256), with"),
    ("sgemm(", "a launch is pack("),
    ("sgemm((1, 2), 32)", "a launch is pack("),
    ("a.sgemm(grid=1, block=1)", "a launch is pack("),
    ("sgemm(grid=1, block=1) or 2", "a launch is pack("),
    ("sgemm(grid=1, blocks=2)", "sgemm has no 'blocks'; it has grid, block, shared, when"),
    ("sgemm(grid=1, **block)", "sgemm has no None"),
    ("sgemm(grid=1, block=1, grid=2)", "sgemm has a second 'grid'"),
    ("sgemm(grid=1)", "sgemm lacks its block"),
    ("sgemm(block=1)", "sgemm lacks its grid"),
    ("sgemm(grid=M / 2, block=1)", "cannot evaluate 'M / 2'"),
    ("sgemm(grid=BX, block=1)", "'BX' has the name BX; known are M, N, K, BM, BN"),
    ("sgemm(grid=1, block=M)", "'M' has the name M; known are BM, BN"),
    ("sgemm(grid=1, block=1, shared=4 * K)", "'4 * K' has the name K; known are BM, BN"),
    ("sgemm(grid=1, block=1, when=alpha == 0)", "'alpha == 0' has the name alpha"),
])  # fmt: skip
def test_what_is_no_launch(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(text, ("BM", "BN"))
    with pytest.raises(ValueError, match=r"^07_it\.cu:2: launch: " + re.escape(message)):
        file(f"launch: {text}")


@pytest.mark.parametrize("directives, message", [
    ((SGEMM, "block: 32"), "07_it.cu has both 'launch:' and 'block:'; each launch has its own blo"),
    ((SGEMM, "shared: 32"), "07_it.cu has both 'launch:' and 'shared:'"),
    ((SGEMM, SGEMM), "07_it.cu: launch: sgemm is launched twice; each kernel has one launch"),
    (("launch: pack(grid=1, block=1)",), "07_it.cu: launch: none of pack is sgemm, the kernel tha"),
    ((), "07_it.cu lacks a line such as '// block: (BN, BM)', or '// launch: …' for each"),
    (("shared: 4",), "07_it.cu lacks a line such as '// block: (BN, BM)'"),
    ((SGEMM, "workspace: 4 * K"), "there is one without the other"),
    ((SGEMM, "arguments: workspace"), "there is one without the other"),
    ((SGEMM, "arguments: lda ldd"), "some of lda, ldb, ldc, workspace, each once, not 'lda ldd'"),
    ((SGEMM, "arguments: lda lda"), "each once, not 'lda lda'"),
    ((SGEMM, "arguments:"), "each once, not ''"),
    ((SGEMM, "arguments: workspace", "workspace: 4 * beta"), "has the name beta; known are M, N"),
    ((SGEMM, "ptxas: O1"), "an option of ptxas begins with '-', as -O1, not 'O1'"),
    ((SGEMM, "ptxas: -O1", "ptxas: -O2"), "07_it.cu:4: a second line 'ptxas:'"),
])  # fmt: skip
def test_what_does_not_go_together(directives, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        file(*directives)


@pytest.mark.parametrize("launch, message", [
    ("sgemm(grid=-1, block=32)", "sgemm: grid.x is -1; CUDA allows 1 to"),
    ("sgemm(grid=(1, 1, 1, 1), block=32)", "sgemm: grid must be 1 to 3 numbers, not 4"),
    ("sgemm(grid=1, block=BM * 128)", "sgemm: block.x is 2048"),
    ("sgemm(grid=1, block=(BM * 8, 16))", "2048 threads; a block has at most 1024"),
    ("sgemm(grid=1, block=32, shared=-BM)", "sgemm: shared_mem must be a number of bytes"),
])  # fmt: skip
def test_what_no_launch_can_have(launch, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        planned([read(launch, ("BM", "BN"))], SIDES)


def test_limits_of_the_grid():
    one = several()
    assert [limit.text for limit in one._limits[3:]] == [
        "K <= 65535",
        "(M + BM - 1) // BM <= 65535",
        "SPLITS <= 65535",
    ]
    assert one.broken(65535 * 16, 8, 4) is None
    assert one.broken(65535 * 16 + 1, 8, 4) == "(M + BM - 1) // BM <= 65535"
    conditional = read("reduce(grid=(1, N), block=32, when=K > 1)", ())
    assert [limit.text for limit in conditional.limits()] == ["not (K > 1) or N <= 65535"]
    usual = launches.Launch("sgemm", launches.TILES, one.file.sgemm.block)
    assert [limit.text for limit in usual.limits()] == ["(M + BM - 1) // BM <= 65535"]


def test_options_of_ptxas():
    one = several()
    assert one.file.options == ("--ptxas-options=-O2",)
    assert one.edit(ptxas="-O1 -v").file.options == ("--ptxas-options=-O1", "--ptxas-options=-v")
    slow = one.edit(ptxas="-O0").kernel.resources()
    assert slow != one.kernel.resources()


def test_lines_that_an_edit_keeps():
    one = several()
    kept = one.file.launch_lines()
    assert kept["launch"] == [launch.text for launch in one.file.launches]
    assert set(kept) == {"launch", "arguments", "workspace", "tensor map"}
    bare = "".join(line for line in one.source.splitlines(True) if not line.startswith("//"))
    assert one.edit(source=f"// Bare\n{bare}").file.launches == one.file.launches
    fewer = one.edit(source=f"// Bare\n{bare}", launch=kept["launch"][:2])
    assert [launch.kernel for launch in fewer.file.launches] == ["pack", "sgemm"]
    assert fewer.arguments == one.arguments
    dynamic = file("block: 32", "shared: 4 * BM")
    assert dynamic.launch_lines() == {"block": ["32"], "shared": ["4 * BM"]}
