"""A reader's own version of a step: what it keeps, and whether it reaches its goals."""

import re

import pytest

import kernels
from anywarp.testing import GOALS
from kernels import analysis
from kernels.ladder.attempt import Attempt, Row, small_shape
from kernels.ladder.step import FOLDER

SIX = kernels.step("06_bank_conflicts")
LOOP = """
for (int k = 0; k < BK; ++k)
    sum += tile_a[row][k] * TILE_B(k, col);
__syncthreads();
"""


def rows(found):
    return {row.what: row for row in found.rows}


# ------------------------------------------------------------------------------ edit


def test_a_region_is_replaced_and_indented():
    mine = SIX.edit(region="dot_product", code=LOOP.replace("k < BK", "k < BK / 2"))
    assert mine.region("dot_product") == LOOP.strip().replace("k < BK", "k < BK / 2")
    changed = [line for line in mine.diff(SIX).splitlines() if re.match(r"[-+] ", line)]
    assert changed == [
        "-        for (int k = 0; k < BK; ++k)",
        "+        for (int k = 0; k < BK / 2; ++k)",
    ]
    assert mine.diff(SIX).splitlines()[:2] == [
        "--- 06_bank_conflicts.cu",
        "+++ 06_bank_conflicts edited.cu",
    ]
    assert SIX.edit(region="dot_product", code=LOOP).source == SIX.source
    indented = "".join(f"      {line}\n" for line in LOOP.splitlines())
    assert SIX.edit(region="dot_product", code=indented).source == SIX.source


def test_a_region_in_another_goes_with_it():
    eleven = kernels.step("14_double_buffering")
    assert "outer_product" in eleven.file.regions
    mine = eleven.edit(region="loop", code="load(0);")
    assert mine.region("loop") == "load(0);" and "outer_product" not in mine.file.regions
    with pytest.raises(ValueError, match="edited has no region 'outer_product'"):
        mine.edit(region="outer_product", code="")


def test_what_was_changed_before_stays():
    padded = SIX.define(TRANSPOSED=1, PAD=1)
    mine = padded.edit(region="dot_product", code=LOOP)
    assert mine.defines == padded.defines
    assert mine.label == "06_bank_conflicts edited TRANSPOSED=1 PAD=1"
    twice = mine.edit(alignment=8, block="(BN, BM, 1)").edit(region="store", code="C[0] = sum;")
    assert twice.label == mine.label and twice.region("store") == "C[0] = sum;"
    assert (twice.alignment, twice.block) == (8, (32, 32, 1))
    assert twice.define(PAD=0).label == "06_bank_conflicts edited TRANSPOSED=1"


def test_directives():
    mine = SIX.edit(requires=["K % 4 == 0", "beta == 0"], compute_capability="8.0", variant="PAD=3")
    assert mine.requires == ("K % 4 == 0", "beta == 0") and mine.compute_capability == (8, 0)
    assert [one.label for one in mine.variants] == ["06_bank_conflicts edited PAD=3"]
    specific = SIX.edit(compute_capability="9.0a")
    assert ".target sm_90a" in specific.kernel.ptx and ".target sm_90a" not in mine.kernel.ptx
    assert mine.block == SIX.block and mine != SIX.edit(requires=())
    assert SIX.edit(requires=()).requires == ()


def test_a_whole_source():
    source = "\n" + kernels.step("03_coalesced").source.replace("// block: (BN, BM)\n", "")
    mine = SIX.edit(source=source)
    assert mine.file.sgemm.block == SIX.file.sgemm.block and mine.requires == ()
    assert mine.defines == {"BM": 16, "BN": 64} and mine.title.startswith("Coalesced")
    assert mine.check("interpreter").rows
    other = SIX.edit(source=source, block="(BN, BM, 1)")
    assert other.block == (64, 16, 1) and other != mine
    one = SIX.edit(source=source, launch="sgemm(grid=((N + 63) // 64, M), block=(BN, 1))")
    assert one.block == (64, 1) and one.grid(5, 65) == (2, 5)


def test_an_edited_step_has_no_records():
    mine = SIX.edit(region="dot_product", code=LOOP)
    found = kernels.results("NVIDIA H200")
    assert found.select(SIX) and not found.select(mine)
    assert mine not in kernels.steps() and not mine.path.exists() and mine.path.parent == FOLDER
    assert mine.number == 6


def test_compile_errors_count_the_lines_of_the_edited_source():
    mine = SIX.edit(region="dot_product", code="\n\nsum += tile_a[row][kk];\n")
    with pytest.raises(kernels.CompileError) as caught:
        mine.kernel  # noqa: B018
    line = 1 + next(n for n, text in enumerate(mine.source.splitlines()) if "kk" in text)
    assert f"06_bank_conflicts_edited.cu:{line}: error: identifier " in str(caught.value)


@pytest.mark.parametrize("options, message", [
    ({"region": "loop", "code": ""}, "06_bank_conflicts has no region 'loop'; it has layout, ti"),
    ({"region": "tiles"}, "region and code go together"),
    ({"code": "x"}, "region and code go together"),
    ({"region": "tiles", "code": "x", "source": "y"}, "either a region and its code, or a whole"),
    ({"source": "x"}, "06_bank_conflicts edited.cu lacks '#ifndef BM'"),
    ({"blocks": "32"}, "no directive 'blocks'; there are block, launch, shared, arguments"),
    ({"block": (32, 32)}, "'block' is one line of a file, not 2: give it as one text"),
    ({"options": ["-DX", "-DY"]}, "'options' is one line of a file, not 2"),
    ({"block": None}, "cannot evaluate 'None'"),
    ({"block": "f(32)"}, "06_bank_conflicts edited.cu:given: block: cannot evaluate"),
    ({"requires": "K % BX == 0"}, "has the name BX; known are M, N, K, alpha, beta, BM"),
])  # fmt: skip
def test_wrong_edits(options, message):
    with pytest.raises(ValueError, match=message):
        SIX.edit(**options)


# ------------------------------------------------------------------------------ attempt


@pytest.mark.parametrize("shape", [(64, 64), 64, "64x64x64", (-1, 8, 8), (0, 8, 8), (8.0, 8, 8)])
def test_an_attempt_is_at_a_shape(shape):
    with pytest.raises(ValueError, match=r"shape must be \(M, N, K\), whole numbers above 0, not"):
        SIX.attempt(shape)


@pytest.mark.parametrize("region, code, failed, reason", [
    ("dot_product", "sum += x;", {"compiles", "right", "clean", "conflicts"}, 'error: .* "x" is'),
    ("dot_product", LOOP.replace("< BK", "< BK - 1"), {"right"}, "one tile .*elements are wrong"),
    ("dot_product", LOOP.replace("__syncthreads();", ""), {"clean"}, "race: .*tile_"),
    ("dot_product", LOOP.replace("[k]", "[k + 1]"), {"right", "clean"}, "out of bounds|wrong"),
    ("store", "C[1 << 29] = sum;", {"right", "clean", "conflicts"}, "out of bounds|allocat"),
    ("load_tile", "if (row < 7) __syncthreads();", {"right", "clean"}, "barrier"),
])  # fmt: skip
def test_a_wrong_kernel_is_a_row_that_failed(region, code, failed, reason):
    found = SIX.edit(region=region, code=code).attempt((32, 32, 64), conflicts=1e9)
    assert isinstance(found, Attempt)
    assert {row.what for row in found.rows if not row.passed} == failed
    assert len(found.rows) == 4
    assert re.search(reason, " ".join(row.found for row in found.rows if not row.passed))


def test_a_block_that_cannot_be_is_a_row_that_failed():
    found = SIX.edit(block="(BN, BM, 2)").attempt()
    assert {row.what for row in found.rows if not row.passed} == {"right", "clean"}
    assert "2048 threads; a block has at most 1024" in repr(found)
    found = SIX.define(BK=16).attempt(stack=0)
    assert not any(row.passed for row in found.rows) and "static assertion failed" in repr(found)


@pytest.mark.parametrize("requires, shape", [
    ([], (64, 64, 128)), ("M == BM", (32, 32, 32)), ("M == 67", (67, 71, 73)),
    ("M == 1", (64, 64, 128)),
])  # fmt: skip
def test_a_small_shape_is_one_that_the_step_can_do(requires, shape):
    assert small_shape(SIX.edit(requires=requires)) == shape


def test_a_shape_that_it_cannot_do_is_a_row_that_failed():
    found = SIX.attempt((33, 32, 32), conflicts=0)
    assert {row.what for row in found.rows if not row.passed} == {"clean", "conflicts"}
    assert "requires M % BM == 0" in rows(found)["clean"].found


@pytest.mark.parametrize("goals, message", [
    ({"conflict": 0}, "there is no goal 'conflict'; there are\n  wavefronts_per_fma: wavefron"),
    ({"conflicts": "0"}, r"a number, or \(least, most\), not '0'"),
    ({"conflicts": (3, 2)}, r"not \(3, 2\)"),
    ({"conflicts": (1, 2, 3)}, r"not \(1, 2, 3\)"),
    ({"conflicts": None}, "not None"),
])  # fmt: skip
def test_wrong_goals_are_errors(goals, message):
    with pytest.raises(ValueError, match=message):
        SIX.attempt(**goals)


def test_every_goal_has_a_number():
    found = SIX.attempt((32, 32, 64), **dict.fromkeys(GOALS, (0, 1e12)))
    assert found and [row.what for row in found.rows[3:]] == list(GOALS)
    numbers = {row.what: float(row.found.split()[0]) for row in found.rows[3:]}
    assert numbers["multiply_adds"] == 32 * 32 * 64
    assert numbers["wavefronts"] == numbers["shared_wavefronts_per_fma"] * 32 * 64
    assert numbers["sectors"] == numbers["sectors_per_request"] * numbers["requests"]
    traced = SIX.trace(32, 32, 64)
    whole = traced.per_fma("l1tex__data_pipe_lsu_wavefronts.sum")
    assert numbers["wavefronts_per_fma"] == pytest.approx(whole, rel=1e-4)
    assert numbers["shared_wavefronts_per_fma"] < whole == traced.wavefronts_per_fma
    used = SIX.kernel.resources()
    assert (numbers["registers"], numbers["shared_bytes"]) == (used.registers, 8192)
    loop = analysis.machine_loop(SIX)
    assert numbers["instructions_per_fma"] == pytest.approx(len(loop) / loop.count("fma"), rel=1e-4)
    naive = rows(kernels.step(3).attempt((16, 64, 8), wavefronts_per_access=1, shared_bytes=0))
    assert naive["shared_bytes"].passed and not naive["wavefronts_per_access"].passed
    assert "no such access" in naive["wavefronts_per_access"].found


def test_the_table():
    found = Attempt(
        "x", (Row("right", True, "", "8 cases"), Row("a<b", False, "at most 1", "2\n3"))
    )
    assert repr(found) == (
        "x: 1 of 2 failed\npassed  right             8 cases\n"
        "FAILED  a<b    at most 1  2\n                          3"
    )
    html = found._repr_html_()
    assert html.count("<tr>") == 3 and "a&lt;b" in html and "✗ failed" in html
    assert bool(found) is found.passed is False


def test_ptx_stands_in_place_of_what_the_compiler_makes():
    ptx = SIX.kernel.ptx
    mine = SIX.edit(ptx=ptx)
    assert mine.label == "06_bank_conflicts edited" and mine.source == SIX.source
    assert mine.attempt((32, 32, 32), wavefronts_per_fma=9)
    assert mine.trace(32, 32, 32).counters == SIX.trace(32, 32, 32).counters
    (finding, *_) = SIX.edit(ptx=ptx.replace("bar.sync", "//", 1)).sanitize(32, 32, 32)
    assert finding.kind == "race" and finding.position.file == "06_bank_conflicts.cu"
    down = SIX.edit(ptx=ptx.replace("fma.rn.f32", "fma.rm.f32"))
    A, B, _ = kernels.inputs(32, 32, 32)
    lower, nearest = (one(A, B, device="interpreter") for one in (down, mine))
    assert (lower <= nearest).all() and (lower < nearest).any()
    with pytest.raises(ValueError, match="define first, then edit"):
        mine.define(PAD=1)
    with pytest.raises(ValueError, match="give either PTX, or a source"):
        SIX.edit(ptx=ptx, region="store", code="")
    assert not SIX.edit(ptx=ptx).attempt((32, 32, 32), registers=255)  # which nobody here knows
