"""Steps: discovery, directives, geometry, regions, diffs, and the shipped files themselves."""

import re
from itertools import pairwise

import numpy as np
import pytest

import kernels
from kernels.ladder import step as ladder
from kernels.ladder.expressions import evaluate
from kernels.ladder.reference import assert_close, inputs
from kernels.measure.records import Record, Results

ALL = [pytest.param(one, id=one.id) for one in ladder.steps()]

TILED = """// Tiled: whole tiles only
//
// A second paragraph.
// block: (BN // 2, 2 * BM, 1)
// requires: M % BM == 0
// requires: N % BN == 0 and K >= BK
// compute capability: 8.6

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 8   // columns
#endif
#ifndef BK
#define BK 4
#endif
#ifndef PAD
#define PAD -1
#endif
#define HALF (BN / 2)

// region: outer
int a;
    // region: inner
    int b;

        int c;
    // endregion
// endregion
"""


@pytest.fixture
def tiled(tmp_path):
    (tmp_path / "05_tiled.cu").write_text(TILED)
    (tmp_path / "12_warp_tiling.cu").write_text(TILED.replace("Tiled:", "Warps:"))
    (tmp_path / "notes.cu").write_text("not a step")
    (tmp_path / "13_wip.txt").write_text("not a step")
    return ladder.step("05_tiled", tmp_path)


def test_discovery_by_file_name(tiled):
    found = ladder.steps(tiled.path.parent)
    assert [one.id for one in found] == ["05_tiled", "12_warp_tiling"]
    assert [one.number for one in found] == [5, 12]


@pytest.mark.parametrize("id", ["05_tiled", "05", "5", 5, "tiled"])
def test_a_step_has_many_names(tiled, id):
    assert ladder.step(id, tiled.path.parent) == tiled


def test_header(tiled):
    assert tiled.title == "Tiled: whole tiles only"
    assert "\nA second paragraph.\n" in tiled.header and "#ifndef" not in tiled.header
    assert tiled.defines == {"BM": 16, "BN": 8, "BK": 4, "PAD": -1}
    assert tiled.block == (4, 32, 1)
    assert tiled.requires == ("M % BM == 0", "N % BN == 0 and K >= BK")
    assert tiled.compute_capability == (8, 6)


def test_defaults_of_the_directives(tmp_path):
    (tmp_path / "01_bare.cu").write_text("// Bare\n// block: 32\nint a;\n// requires: late\n")
    bare = ladder.step("01_bare", tmp_path)
    assert bare.requires == () and bare.compute_capability == (5, 0) and bare.block == (32,)
    assert bare.alignment == 4 and bare.variants == ()


def test_faults_in_a_step_file(tmp_path):
    (tmp_path / "01_bad.cu").write_text("// Bad\n// region: a\n#ifndef X\n#define X 2\n#endif\n")
    bad = ladder.step(1, tmp_path)
    with pytest.raises(ValueError, match="01_bad.cu lacks a line such as '// block"):
        bad.block  # noqa: B018
    with pytest.raises(ValueError, match="region a has no // endregion"):
        bad.region("a")
    (tmp_path / "01_bad.cu").write_text("// endregion\n")
    with pytest.raises(ValueError, match="line 1: // endregion without"):
        ladder.step(1, tmp_path).region("a")
    (tmp_path / "01_bad.cu").write_text("#ifndef BM\n#define BM 4 * 2\n#endif\n")
    with pytest.raises(ValueError, match="01_bad.cu: BM must be a whole number"):
        ladder.step(1, tmp_path)


def test_define(tiled):
    variant = tiled.define(BM=32, PAD=np.int64(2))
    assert variant.defines == {"BM": 32, "BN": 8, "BK": 4, "PAD": 2}
    assert variant.block == (4, 64, 1)
    assert variant != tiled and tiled.defines["BM"] == 16
    assert repr(variant) == "<Step 05_tiled BM=32 BN=8 BK=4 PAD=2>"
    assert len({tiled, variant, tiled.define(BM=16)}) == 2


@pytest.fixture
def varied(tmp_path):
    directives = "// alignment: 16\n// variant: PAD=1 BM=32\n// variant:  PAD=-2\n// block"
    (tmp_path / "06_varied.cu").write_text(TILED.replace("// block", directives))
    return ladder.step(6, tmp_path)


def test_variants_and_alignment(varied):
    assert varied.alignment == 16
    assert varied.variants == (varied.define(PAD=1, BM=32), varied.define(PAD=-2))
    wide = varied.define(BN=64)
    assert wide.variants[1] == varied.define(BN=64, PAD=-2)  # what was changed stays changed


def test_a_label_names_what_was_changed_in_the_order_of_the_file(varied):
    assert varied.label == varied.define(BM=16).label == "06_varied"
    assert varied.define(PAD=1).define(BM=32).label == "06_varied BM=32 PAD=1"
    for one in (varied, *varied.variants, varied.define(BK=1, BN=-3)):
        assert ladder.step(one.label, varied.path.parent) == one
    for name in ("6", "06", "varied", "06_varied"):
        assert ladder.step(f"{name} PAD=1  BM=32", varied.path.parent) == varied.variants[0]


@pytest.mark.parametrize("label, message", [
    ("varied PAD", "a define of a step is NAME=NUMBER, not 'PAD'"),
    ("varied PAD=x", "NAME=NUMBER, not 'PAD=x'"),
    ("varied PAX=1", "06_varied has no define 'PAX'; it has BM, BN, BK, PAD"),
    ("vared PAD=1", "no step 'vared'; the nearest is '06_varied'"),
])  # fmt: skip
def test_wrong_labels(varied, label, message):
    with pytest.raises(ValueError, match=message):
        ladder.step(label, varied.path.parent)


def test_with_variants(varied, tiled):
    assert [one.label for one in ladder.with_variants([tiled, varied, varied.variants[0]])] == [
        "05_tiled",
        "06_varied",
        "06_varied BM=32 PAD=1",
        "06_varied PAD=-2",
        "06_varied BM=32 PAD=-2",
    ]


@pytest.mark.parametrize("directive, message", [
    ("variant: PAX=1", r"06_bad\.cu, variant 'PAX=1': 06_bad has no define 'PAX'; it has BM"),
    ("variant: PAD", r"06_bad\.cu, variant 'PAD': a define of a step is NAME=NUMBER, not 'PAD'"),
    ("alignment: 0", r"06_bad\.cu: alignment is a number of bytes, not '0'"),
    ("alignment: float4", r"06_bad\.cu: alignment is a number of bytes, not 'float4'"),
])  # fmt: skip
def test_wrong_variants_and_alignments(tmp_path, directive, message):
    (tmp_path / "06_bad.cu").write_text(TILED.replace("// block", f"// {directive}\n// block"))
    with pytest.raises(ValueError, match=message):
        getattr(ladder.step(6, tmp_path), "variants" if "variant" in directive else "alignment")


@pytest.mark.parametrize(
    "M, N, grid", [(16, 8, (1, 1)), (17, 8, (1, 2)), (16, 9, (2, 1)), (1, 1, (1, 1))]
)
def test_grid(tiled, M, N, grid):
    assert tiled.grid(M, N) == grid


def test_broken_constraint(tiled):
    assert tiled.broken(32, 16, 4) is None
    assert tiled.broken(33, 16, 4) == "M % BM == 0"
    assert tiled.broken(32, 16, 3) == "N % BN == 0 and K >= BK"
    assert tiled.define(BK=3).broken(32, 16, 3) is None


def test_regions(tiled):
    assert tiled.region("inner") == "int b;\n\n    int c;"
    assert tiled.region("outer") == "int a;\n    int b;\n\n        int c;"
    with pytest.raises(ValueError, match="no region 'other'; it has outer, inner"):
        tiled.region("other")


def test_diff_leaves_the_headers_out_and_numbers_lines_as_the_files_do(tiled, tmp_path):
    body = "".join(f"line {i}\n" for i in range(1, 20))
    (tmp_path / "01_a.cu").write_text(f"// A\n{body}")
    (tmp_path / "02_b.cu").write_text(f"// B\n// longer\n{body.replace('line 10', 'changed')}")
    a, b = (ladder.step(number, tmp_path) for number in (1, 2))
    lines = b.diff(a).splitlines()
    assert lines[:3] == ["--- 01_a.cu", "+++ 02_b.cu", "@@ -10,3 +11,3 @@"]
    assert [x for x in lines[3:] if x[0] != " "] == ["-line 10", "+changed"]
    assert a.source.splitlines()[10 - 1] == b.source.splitlines()[11 - 1] == lines[3].strip()
    assert a.diff(a) == ""
    (tmp_path / "03_c.cu").write_text("// C\none\n")
    (tmp_path / "04_d.cu").write_text("// D\ntwo\n")
    c, d = (ladder.step(number, tmp_path) for number in (3, 4))
    assert d.diff(c).splitlines()[2:] == ["@@ -2 +2 @@", "-one", "+two"]


def test_code_shows_itself():
    code = ladder.Code("int a < b;")
    assert repr(code) == str(code)
    assert code._repr_markdown_() == "```cpp\nint a < b;\n```"
    assert ladder.Diff("-a\n+b")._repr_markdown_() == "```diff\n-a\n+b\n```"


NAMES = {"M": 64, "K": 33, "BK": 8}


@pytest.mark.parametrize(
    "text, value",
    [
        ("3", 3),
        ("M", 64),
        ("-M + 2 * BK - 1", -49),
        ("K // BK", 4),
        ("K % BK == 1", True),
        ("1 <= BK < 8", False),
        ("not (M > 1 and K != 33) or BK >= 9", True),
        ("(BK, M * 2)", (8, 128)),
    ],
)
def test_expressions(text, value):
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    "text", ["", "N", "M / 2", "M ** 2", "f(M)", "M.real", "2.5", "'a'", "M &&", "M % 0", "1 in M"]
)
def test_what_is_no_integer_expression(text):
    with pytest.raises(ValueError, match="cannot evaluate .*whole numbers, the names M, K, BK"):
        evaluate(text, NAMES)


def test_the_public_names():
    assert kernels.steps() == ladder.steps()
    assert kernels.step(kernels.steps()[0].id) == kernels.steps()[0]
    assert set(kernels.__all__) <= set(dir(kernels))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kernels.nothing  # noqa: B018


# ------------------------------------------------------------------------ the shipped steps

SIGNATURE = (
    "sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)"
)


@pytest.mark.parametrize("one", ALL)
def test_a_shipped_step_is_well_formed(one):
    assert re.fullmatch(r"\d\d_[a-z0-9_]+", one.id)
    assert one.title and ": " in one.title
    assert SIGNATURE in " ".join(one.source.split()).replace("( ", "(").replace(" )", ")")
    assert {"BM", "BN"} <= set(one.defines)
    assert 1 <= np.prod(one.block) <= 1024
    assert one.grid(one.defines["BM"], one.defines["BN"]) == (1, 1)
    for name in re.findall(r"// region: (\w+)", one.source):
        assert one.region(name).strip()
    assert one.alignment in (4, 8, 16)
    for variant in one.variants:
        assert variant != one and ladder.step(variant.label) == variant
    assert len({one, *one.variants}) == 1 + len(one.variants)


@pytest.mark.parametrize("one", ALL)
def test_a_shipped_step_compiles(one):
    assert one.kernel.symbol == "sgemm"
    found = one.kernel.resources("sm_90")
    assert found.registers > 0 and found.spill_loads == found.stack == 0


@pytest.mark.parametrize("before, after", list(pairwise(ladder.steps())))
def test_neighbours_differ_by_an_idea(before, after):
    changed = [x for x in after.diff(before).splitlines()[2:] if x[0] in "+-"]
    assert 0 < len(changed) <= (75 if after.id == "15_any_shape" else 60)  # it guards every access


def test_numbers_are_unique():
    numbers = [one.number for one in ladder.steps()]
    assert numbers == sorted(set(numbers))


# ------------------------------------------------------------------------ the best step


def test_sgemm_takes_the_step_that_was_fastest_near_the_size(monkeypatch):
    A, B, C = inputs(33, 20, 10)
    assert_close(kernels.sgemm(A, B, device="interpreter"), A, B)
    before = C.copy()
    assert kernels.sgemm(A, B, C, 2, 0.5, device="interpreter") is C
    assert_close(C, A, B, before, 2, 0.5)

    called = []
    monkeypatch.setattr(ladder.Step, "__call__", lambda self, *args: called.append(self.id))
    rates = {"14_double_buffering": 3.0, "15_any_shape": 2.0}  # the others are slower
    made_up = [
        Record(one.id, 64, 64, 64, 2 * 64**3 / rates.get(one.id, 1.0) / 1e9, 0, 0, 20)
        for one in ladder.steps()
    ]
    monkeypatch.setattr(ladder, "_timings", lambda: Results({}, 1.0, 1.0, tuple(made_up)))
    for n in 128, 127:
        kernels.sgemm(*inputs(n, n, n)[:2])
    assert called == ["14_double_buffering", "15_any_shape"]


def test_sgemm_passes_over_steps_that_cannot(tiled, monkeypatch):
    folder = tiled.path.parent
    plain = TILED.replace("// requires: M % BM == 0\n", "").replace("N % BN == 0 and ", "")
    (folder / "03_any.cu").write_text(plain)
    found = ladder.steps(folder)
    monkeypatch.setattr(ladder, "steps", lambda: found)
    monkeypatch.setattr(ladder, "_timings", lambda: Results({}, 1.0, 1.0))
    called = []
    monkeypatch.setattr(ladder.Step, "__call__", lambda self, *args: called.append(self.id))
    for shape in [(16, 8, 4), (17, 8, 4)]:
        A, B, _ = inputs(*shape)
        ladder.sgemm(A, B, device="interpreter")
    assert called == ["12_warp_tiling", "03_any"]
    with pytest.raises(ValueError, match="no step can do M = 17, N = 8, K = 1: pad"):
        ladder.sgemm(A[:, :1].copy(), B[:1], device="interpreter")


def test_sgemm_passes_over_steps_whose_alignment_the_matrices_lack(tiled, monkeypatch):
    folder = tiled.path.parent
    text = (folder / "12_warp_tiling.cu").read_text()
    text = text.replace("// block", "// alignment: 16\n// block")
    (folder / "12_warp_tiling.cu").write_text(text)
    found = ladder.steps(folder)
    monkeypatch.setattr(ladder, "steps", lambda: found)
    monkeypatch.setattr(ladder, "choose_device", lambda *args: "interpreter")
    monkeypatch.setattr(ladder, "misaligned", lambda alignment, *matrices: alignment > 4)
    called = []
    monkeypatch.setattr(ladder.Step, "__call__", lambda self, *args: called.append(self.id))
    A, B, _ = inputs(16, 8, 4)
    ladder.sgemm(A, B)
    assert called == ["05_tiled"]


@pytest.mark.parametrize("shape, best", [
    ((4096, 4096, 4096), "14_double_buffering"),
    ((1023, 1023, 1023), "15_any_shape"),       # as many multiply-adds as 256 x 256 x 16384
    ((4097, 4097, 4097), "15_any_shape"),
])  # fmt: skip
def test_the_best_step_by_the_records(monkeypatch, shape, best):
    called = []
    monkeypatch.setattr(ladder.Step, "__call__", lambda self, *args: called.append(self.id))
    M, N, K = shape
    ladder.sgemm(np.empty((M, K), np.float32), np.empty((K, N), np.float32), device="interpreter")
    assert called == [best]
