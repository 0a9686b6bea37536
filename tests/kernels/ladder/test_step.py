"""Steps: discovery, directives, geometry, regions, diffs, and the shipped files themselves."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest

import kernels
from anywarp.trace.parameters import parameters
from kernels.ladder import step as ladder

TILE = "#ifndef BM\n#define BM 1\n#endif\n#ifndef BN\n#define BN 1\n#endif\n"
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


def test_define(tiled):
    variant = tiled.define(BM=32, PAD=np.int64(2))
    assert variant.defines == {"BM": 32, "BN": 8, "BK": 4, "PAD": 2}
    assert variant.block == (4, 64, 1)
    assert variant != tiled and tiled.defines["BM"] == 16
    assert repr(variant) == "<Step 05_tiled BM=32 BN=8 BK=4 PAD=2>"
    assert len({tiled, variant, tiled.define(BM=16)}) == 2


@pytest.mark.parametrize("value", [1.5, "32", None])
def test_sizes_are_whole_numbers(tiled, value):
    with pytest.raises(TypeError, match=f"BM must be a whole number, not {value!r}"):
        tiled.define(BM=value)


@pytest.mark.parametrize("size", ["BM", "BN", "BK"])
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_are_1_at_least(tiled, size, value):
    with pytest.raises(ValueError, match=f"{size} is a size, 1 at least, not {value}"):
        tiled.define(**{size: value})


def test_a_label_is_the_same_object_as_long_as_the_file_is_the_same(tiled):
    folder = tiled.path.parent
    assert ladder.step(5, folder) is tiled and tiled.variants is tiled.variants
    assert ladder.step("5 PAD=1", folder) is ladder.step("05 PAD=1", folder)
    assert ladder.step("5 PAD=2", folder) != ladder.step("5 PAD=1", folder)
    before = ladder.step("5 PAD=1", folder)
    tiled.path.write_text(TILED.replace("BM 16", "BM 32"))
    assert ladder.step("5 PAD=1", folder).defines == before.defines | {"BM": 32}
    assert ladder.step(5, folder).defines["BM"] == 32


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
    for one in (varied, *varied.variants, varied.define(BK=1, BN=3)):
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
    labels = [one.label for one in ladder.with_variants([tiled, varied, varied.variants[0]])]
    own = ["", " BM=32 PAD=1", " PAD=-2", " BM=32 PAD=-2"]
    assert labels == ["05_tiled", *(f"06_varied{defines}" for defines in own)]


@pytest.mark.parametrize(
    "M, N, grid", [(16, 8, (1, 1)), (17, 8, (1, 2)), (16, 9, (2, 1)), (1, 1, (1, 1))]
)
def test_grid(tiled, M, N, grid):
    assert tiled.grid(M, N) == grid


def test_occupancy_is_of_the_whole_block_with_its_dynamic_shared_memory():
    assert kernels.step("06_bank_conflicts").occupancy().blocks_by["threads"] == 2048 // (32 * 32)
    one = kernels.step("15")
    assert one.occupancy().blocks == 2 and one.edit(shared="100 * 1024").occupancy().blocks == 1
    one = kernels.step("20_tensor_cores")  # 112 KiB of dynamic shared memory and 32 bytes
    found = one.occupancy((8, 0), "sm_80")
    assert (found.compute_capability, found.blocks, found.limit) == ("8.0", 1, "shared memory")
    with pytest.raises(ValueError, match="114720 bytes .*114688 of them dynamic.* 8.6 allows"):
        one.occupancy("8.6", "sm_86")


def test_broken_constraint(tiled):
    assert tiled.broken(32, 16, 4) is None
    assert tiled.broken(33, 16, 4) == "M % BM == 0"
    assert tiled.broken(32, 16, 3) == "N % BN == 0 and K >= BK"
    assert tiled.define(BK=3).broken(32, 16, 3) is None


SCALARS = TILED.replace("K >= BK", "(alpha == 1 or beta != 0)")


def test_constraints_on_alpha_and_beta(tmp_path):
    (tmp_path / "05_scalars.cu").write_text(SCALARS)
    one = ladder.step(5, tmp_path)
    assert one.broken(32, 16, 4) is None and one.broken(32, 16, 4, 2, -0.5) is None
    assert one.broken(32, 16, 4, 2) == "N % BN == 0 and (alpha == 1 or beta != 0)"
    A, B, _ = kernels.inputs(32, 16, 4)
    with pytest.raises(ValueError, match=r"K = 4, alpha = 2, beta = 0, BN = 8 breaks; no step can"):
        one(A, B, alpha=2)


@pytest.mark.parametrize("M, N, K, constraint", [
    (65535 * 16, 8, 4, None),
    (65535 * 16 + 16, 8, 4, "(M + BM - 1) // BM <= 65535"),  # blocks along y
    (2**15, 2**16, 4, "M * N < 2147483648"),
    (2**15, 8, 2**16, "M * K < 2147483648"),
    (16, 2**15, 2**16, "K * N < 2147483648"),
    (2**15, 2**16 - 8, 4, None),
])  # fmt: skip
def test_what_no_launch_can_do(tiled, M, N, K, constraint):
    assert tiled.broken(M, N, K) == constraint
    if constraint is not None:
        with pytest.raises(ValueError, match="breaks; no step can: split the matrices"):
            tiled.trace(M, N, K)


def test_shifted_tiles_are_refused_where_they_are_wrong():
    shifted = kernels.step("15_any_shape SHIFTED=1")
    A, B, C = kernels.inputs(132, 140, 12)
    with pytest.raises(ValueError, match="requires not SHIFTED or beta == 0, which .*beta = 0.5"):
        shifted(A, B, C, beta=0.5)
    assert shifted.sanitize(132, 140, 12) == ()  # without a beta
    assert shifted.check("interpreter")
    every = shifted.edit(requires="M >= BM and N >= BN")
    with pytest.raises(kernels.CheckError, match="not whole tiles, alpha and beta"):
        every.check("interpreter")
    assert {finding.kind for finding in every.sanitize(132, 140, 12)} == {"race"}


def test_regions(tiled):
    assert tiled.region("inner") == "int b;\n\n    int c;"
    assert tiled.region("outer") == "int a;\n    int b;\n\n        int c;"
    with pytest.raises(ValueError, match="no region 'other'; it has outer, inner"):
        tiled.region("other")


def test_diff_leaves_the_headers_out_and_numbers_lines_as_the_files_do(tiled, tmp_path):
    body = "".join(f"line {i}\n" for i in range(1, 20))
    body += TILE
    (tmp_path / "01_a.cu").write_text(f"// A\n// block: 1\n{body}")
    (tmp_path / "02_b.cu").write_text(
        f"// B\n//\n// block: 1\n{body.replace('line 10', 'changed')}"
    )
    a, b = (ladder.step(number, tmp_path) for number in (1, 2))
    lines = b.diff(a).splitlines()
    assert lines[:3] == ["--- 01_a.cu", "+++ 02_b.cu", "@@ -11,3 +12,3 @@"]
    assert [x for x in lines[3:] if x[0] != " "] == ["-line 10", "+changed"]
    assert a.source.splitlines()[11 - 1] == b.source.splitlines()[12 - 1] == lines[3].strip()
    assert a.diff(a) == ""
    (tmp_path / "03_c.cu").write_text(f"// C\n// block: 1\none\n{TILE}")
    (tmp_path / "04_d.cu").write_text(f"// D\n// block: 1\ntwo\n{TILE}")
    c, d = (ladder.step(number, tmp_path) for number in (3, 4))
    assert d.diff(c).splitlines()[2:] == ["@@ -3,2 +3,2 @@", "-one", "+two", " #ifndef BM"]


def test_a_step_is_found_by_itself_and_whatever_its_case():
    three = kernels.step(3)
    assert kernels.step(three) is three
    with pytest.raises(ValueError, match="no step 'COALESCED'; the nearest is '03_coalesced'"):
        kernels.step("COALESCED")


def test_what_a_reader_sees_of_a_step():
    shown = {name for name in dir(kernels.step(3)) if not name.startswith("_")}
    called = {"attempt", "check", "define", "diff", "edit", "pipeline", "region", "sanitize"}
    assert called | {"occupancy", "trace", "variants"} <= shown
    assert not shown & {"ready", "run", "stored_as", "storing", "limits", "asks_scalars"}
    assert len(shown) <= 36


@pytest.mark.parametrize("change", [
    lambda one: one, lambda one: one.define(PAD=1),
    lambda one: one.define(PAD=1).edit(region="dot_product", code="__syncthreads();"),
    lambda one: one.edit(requires=["K == 8", "M > 1"], variant="PAD=3"),
    lambda one: one.edit(source=kernels.step(3).source, block="(BN, BM, 1)"),
])  # fmt: skip
def test_steps_are_pickled(change):
    step = change(kernels.step("06"))
    for _ in range(2):  # before and after its use
        again = pickle.loads(pickle.dumps(step))
        assert (again, again.label, again.requires) == (step, step.label, step.requires)
        step.kernel.entry, step._ready, step.variants  # noqa: B018
    assert again.edit(block="1").file == step.edit(block="1").file
    assert again.kernel.ptx == step.kernel.ptx


def test_modules_that_are_called():
    """What a reader tries: `kernels.trace(step, …)`, as `step.trace(…)`, and `kernels.check`."""
    three = kernels.step(3)
    kernel = three.kernel
    assert kernels.trace(three, 16, 64, 8).counters == three.trace(16, 64, 8).counters
    args = (16, 64, 8, 1.0, *kernels.inputs(16, 64, 8)[:2], 0.0, np.zeros((16, 64), np.float32))
    launch = three.grid(16, 64), three.block, args
    assert kernels.trace(kernel, *launch).counters == three.trace(16, 64, 8).counters
    assert kernels.trace(kernel.entry, *launch[:2], kernel.convert(args)).warps
    assert kernels.check(three, "interpreter").rows
    with pytest.raises(
        TypeError, match=r"check takes a step: kernels.check\(kernels.step\('03'\)\)"
    ):
        kernels.check("03")


def test_the_public_names():
    assert kernels.steps() == ladder.steps()
    assert kernels.step(kernels.steps()[0].id) == kernels.steps()[0]
    assert set(kernels.__all__) <= set(dir(kernels))
    assert kernels.sgemm is vars(kernels)["sgemm"]  # which is found without a search from now on
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kernels.nothing  # noqa: B018


# ------------------------------------------------------------------------ the shipped steps

TYPES = {"alpha": "float", "A": "const float*", "B": "const float*", "beta": "float"} | {
    "C": "float*",
    "workspace": "float*",
}


@pytest.mark.parametrize("one", ALL)
def test_a_shipped_step_is_well_formed_and_spills_nothing(one):
    assert re.fullmatch(r"\d\d_[a-z0-9_]+", one.id)
    assert one.title and ": " in one.title
    maps = {box.name: "const __grid_constant__ TensorMap" for box in one.file.boxes}
    for launch in one.file.launches:
        found = parameters(one.source, launch.kernel)
        assert [(p.text, p.name) for p in found] == [
            ((TYPES | maps).get(name, "int"), name) for name in one.parameters
        ]
    assert {"BM", "BN"} <= set(one.defines)
    assert 1 <= np.prod(one.block) <= 1024
    if len(one.file.launches) == 1:
        assert one.grid(one.defines["BM"], one.defines["BN"], 8)[:2] == (1, 1)
    for name in re.findall(r"// region: (\w+)", one.source):
        assert one.region(name).strip()
    assert one.alignment in (4, 8, 16)
    for variant in one.variants:
        assert variant != one and ladder.step(variant.label) == variant
    assert len({one, *one.variants}) == 1 + len(one.variants)
    used = one.kernel.resources("sm_90")
    assert one.kernel.symbol == "sgemm"
    assert used.registers > 0 and used.spill_loads == used.stack == 0


LONGER = {  # diffs, in lines
    "15_any_shape": 75,  # guards every access
    "16_async_copy": 100,  # copies, and fragments that are fetched ahead
    "17_tile_space": 220,  # both storages of each operand, whole tiles and edges
    "18_split_k": 325,  # two kernels, clusters, parts of tiles, what overflows
    "20_tensor_cores": 600,  # another machine: only names and the order of things are kept
    "21_warpgroups": 510,  # other instructions, and what surrounds them
    "23_skinny": 490,  # the loop of 21, the line of steps of 18, a factor from memory
    "24_halves": 320,  # scales, what is lost, and rows computed again
    "25_tensor_maps": 620,  # other copies, roles, and a loop over tiles around it all
}


@pytest.mark.parametrize("one", ALL)
def test_a_shipped_step_says_whether_it_multiplies_on_tensor_cores(one):
    """`sgemm` takes those that do only when it is asked to."""
    found = re.search(r"^\s*(?:@!?%\w+ )?(?:wg|w)?mma(?:\.mma)?[._]", one.kernel.ptx, re.MULTILINE)
    assert one.tensor_cores == (found is not None)


@pytest.mark.parametrize("number", [one.number for one in ladder.steps()[1:]])
def test_a_step_differs_by_an_idea_from_the_one_before_or_an_earlier_one(number):
    *earlier, one = (other for other in ladder.steps() if other.number <= number)
    changed = [
        sum(line[0] in "+-" for line in one.diff(other).splitlines()[2:]) for other in earlier
    ]
    assert changed[-1] > 0
    assert min(changed) <= LONGER.get(one.id, 60)


def asserts(one):
    """The static_asserts of a step, condition and words, in the order of its file."""
    found = re.findall(r'static_assert\((.*?),\s*"([^"]*)"\);', one.source, re.DOTALL)
    return [(" ".join(condition.split()), words) for condition, words in found]


@pytest.mark.parametrize("before, after", list(pairwise(ladder.steps())))
def test_neighbours_assert_in_the_same_order_and_words(before, after):
    words = [[words for _, words in asserts(one)] for one in (before, after)]
    common = [[word for word in mine if word in other] for mine, other in (words, words[::-1])]
    assert common[0] == common[1] and words[1]


def test_numbers_are_unique():
    numbers = [one.number for one in ladder.steps()]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("alpha", [np.float16(2), np.int64(2), np.float32(2), np.float64(2)])
def test_alpha_may_be_of_any_type_of_numbers(alpha):
    """Of which some cannot hold the largest float32, and one has no absolute value of its least."""
    A, B, _ = kernels.inputs(5, 6, 7)
    three = kernels.step("03")
    np.testing.assert_array_equal(three(A, B, alpha=alpha), three(A, B, alpha=2.0))
    three(A, B, alpha=np.int64(-(2**63)))


@pytest.mark.parametrize("look", ["trace", "sanitize"])
def test_a_shape_that_the_step_cannot_do_is_refused(look):
    picky = kernels.step(3).edit(requires="K % 8 == 0")
    with pytest.raises(ValueError, match="K % 8 == 0"):
        getattr(picky, look)(8, 8, 7)
