"""A step's file: directives, tile sizes, regions, and what is wrong with one."""

import re
from pathlib import Path

import pytest

import kernels
from kernels.ladder.expressions import Expression
from kernels.ladder.source import Code, Diff, lines_of_regions, parse

TILE = "#ifndef BM\n#define BM 16\n#endif\n#ifndef BN\n#define BN 8\n#endif\n"
BARE = f"// Bare\n// block: 32\n{TILE}"


def read(text):
    return parse(Path("07_it.cu"), text)


def test_defaults_of_the_directives():
    bare = read(f"{BARE}int a;\n// requires: late\n")
    assert (bare.title, bare.header) == ("Bare", "Bare\nblock: 32\n")
    assert bare.sgemm.block({}) == 32 and bare.requires == bare.variants == ()
    assert (bare.compute_capability({}), bare.alignment) == ((5, 0), 4)
    assert not bare.tensor_cores
    assert read(BARE.replace("// block", "// tensor cores: yes\n// block")).tensor_cores
    assert bare.defines == {"BM": 16, "BN": 8}


def test_machine_code():
    text = BARE.replace("// block", "// machine code: reordered\n// block")
    assert read(text).reordered and not read(BARE).reordered


@pytest.mark.parametrize(
    "text, found", [("8.6", (8, 6)), ("9.0", (9, 0)), ("8", (8, 0)), ("9.0a", (9, 0, "a"))]
)
def test_compute_capability(text, found):
    text = BARE.replace("// block", f"// compute capability: {text}\n// block")
    assert read(text).compute_capability({}) == found


def test_compute_capability_of_a_define():
    text = BARE.replace("// block", "// compute capability: 8.0, 9.0 with BN\n// block")
    assert read(text).compute_capability({"BN": 0}) == (8, 0)
    assert read(text).compute_capability({"BN": 4}) == (9, 0)
    assert kernels.step("18 SPLITS=4").compute_capability == (8, 0)
    assert kernels.step("18 SPLITS=4 CLUSTER=1").compute_capability == (9, 0)


@pytest.mark.parametrize("line, message", [
    ("require: K % 8 == 0", r":3: there is no directive 'require: K % 8 == 0'; the nearest is "
     "'requires:', of block, launch, shared, arguments, workspace, tensor map, requires, align"),
    ("Requires: K % 8 == 0", ":3: .*the nearest is 'requires:'"),
    ("variants: PAD=1", ":3: .*the nearest is 'variant:'"),
    ("computecapability: 8.0", ":3: .*the nearest is 'compute capability:'"),
    ("tile: 32", ":3: there is no directive 'tile: 32'"),
    ("alignment: 0", ":3: alignment: it is a number of bytes, not '0'"),
    ("alignment: float4", ":3: alignment: it is a number of bytes, not 'float4'"),
    ("compute capability: new", ":3: .* it is a number such as 8.0 or 9.0a, not 'new'"),
    ("compute capability: 8.0.1", ":3: compute capability: .* not '8.0.1'"),
    ("compute capability: 8.0, 9.0 with CLUSTER", ":3: .* no define CLUSTER; there are BM, BN"),
    ("compute capability: 8.0, 9.0", ":3: .* such as 9.0 with CLUSTER, not '9.0'"),
    ("requires: K % BK == 0", r":3: requires: 'K % BK == 0' has the name BK; known are M, N"),
    ("requires: K / 8", ":3: requires: cannot evaluate 'K / 8'"),
    ("requires: K %% 8", ":3: requires: cannot evaluate 'K %% 8'"),
    ("variant: PAX=1", ":3: variant: 07_it has no define 'PAX'; it has BM, BN"),
    ("variant: BM", ":3: variant: a define of a step is NAME=NUMBER, not 'BM'"),
    ("variant: BM=0", ":3: variant: BM is a size, 1 at least, not 0"),
    ("tensor cores: no", ":3: tensor cores: it is 'yes', or the line is left out, not 'no'"),
    ("variant: BM=-1", ":3: variant: BM is a size, 1 at least, not -1"),
    ("block: 64", ":4: a second line 'block:'"),
    ("machine code: faster", ":3: machine code: it is 'reordered', or the line is left out"),
])  # fmt: skip
def test_wrong_directives_name_file_and_line(line, message):
    with pytest.raises(ValueError, match=r"^07_it\.cu" + message):
        read(BARE.replace("// block", f"//\n// {line}\n// block"))


def test_after_the_first_directive_all_lines_are_directives():
    with pytest.raises(ValueError, match=r"07_it\.cu:3: there is no directive 'requires M % BM"):
        read(BARE.replace("32\n", "32\n// requires M % BM == 0\n", 1))
    prose = "// As the text says: it is so. Look at the alignment: all is well.\n"
    assert read(BARE.replace("// block", f"{prose}//\n// block")).sgemm.block({}) == 32


def test_a_directive_goes_on_in_indented_lines():
    text = "32\n// requires: M % 2 == 0\n//     and N % 2 == 0\n//   and K > 1\n// alignment: 16\n"
    found = read(BARE.replace("32\n", text, 1))
    assert [one.text for one in found.requires] == ["M % 2 == 0 and N % 2 == 0 and K > 1"]
    assert found.alignment == 16
    with pytest.raises(ValueError, match=r"07_it\.cu:3: requires: cannot evaluate 'K and / 2'"):
        read(BARE.replace("32\n", "32\n// requires: K\n//   and / 2\n", 1))


@pytest.mark.parametrize("old, new, message", [
    ("// block: 32\n", "", "07_it.cu lacks a line such as '// block"),
    ("#define BM 16", "#define BM 4 * 2", "07_it.cu: BM must be a whole number, not ' 4 . 2'"),
    ("#define BM 16", "#define BM 0", "07_it.cu: BM is a size, 1 at least, not 0"),
    ("#ifndef BM\n#define BM 16\n#endif\n", "", "07_it.cu lacks '#ifndef BM' and '#define BM 32'"),
    ("#ifndef BM", "#ifndef TRANS_A\n#define TRANS_A 2\n#endif\n#ifndef BM",
     "07_it.cu: TRANS_A is 0 or 1, whether the operand is transposed, not 2"),
    ("BN", "BX", "07_it.cu lacks '#ifndef BN'"),
    ("#ifndef BM", "// region: a\n#ifndef BM", "07_it.cu: region a has no // endregion"),
    ("#ifndef BM", "// endregion\n#ifndef BM", r"07_it.cu:3: // endregion without a // region"),
])  # fmt: skip
def test_faults_in_a_file(old, new, message):
    if new.startswith("// "):  # a comment of its own, after the header
        old, new = f"32\n{old}", f"32\n\n{new}"
        message = message.replace(":3:", ":4:")
    with pytest.raises(ValueError, match=message):
        read(BARE.replace(old, new))


REGIONS = "// region: a\n1\n  // region: b\n  2\n  // endregion\n3\n// endregion\n"


@pytest.mark.parametrize("name, inside", [
    ("a", "1\n  // region: b\n  2\n  // endregion\n3"), ("b", "  2"),
])  # fmt: skip
def test_lines_of_a_region(name, inside):
    first, end = lines_of_regions("x.cu", REGIONS)[name]
    assert "\n".join(REGIONS.splitlines()[first:end]) == inside
    assert read(f"{BARE}\n{REGIONS}").regions == {"a": "1\n  2\n3", "b": "2"}


def test_code_shows_itself():
    code = Code("int a < b;")
    assert repr(code) == str(code)
    assert code._repr_markdown_() == "```cpp\nint a < b;\n```"
    assert Diff("-a\n+b")._repr_markdown_() == "```diff\n-a\n+b\n```"


# ------------------------------------------------------------------------ expressions

NAMES = {"M": 64, "K": 33, "BK": 8, "beta": -0.5}


@pytest.mark.parametrize("text, value", [
    ("3", 3),
    ("M", 64),
    (" M", 64),
    ("-M + 2 * BK - 1", -49),
    ("K // BK", 4),
    ("K % BK == 1", True),
    ("1 <= BK < 8", False),
    ("not (M > 1 and K != 33) or BK >= 9", True),
    ("(BK, M * 2)", (8, 128)),
    ("min(M, K) + max(BK, 9, 2)", 42),
    ("max(1, M - 65)", 1),
    ("beta == 0", False),
])  # fmt: skip
def test_expressions(text, value):
    assert Expression(text)(NAMES) == value


@pytest.mark.parametrize("text", [
    "", "M / 2", "M ** 2", "f(M)", "M.real", "2.5", "'a'", "M &&", "1 in M", "M[0]", "[M]",
    "min(M)", "min", "max + 1", "min(M, K, key=M)", "min(*M, K)", "abs(M)", "min.max(M, K)",
    "lambda: M", "(M := 2)", "M if K else 1", "__import__('os')", "M; K", "M & K", "~M",
])  # fmt: skip
def test_what_is_no_expression(text):
    with pytest.raises(ValueError, match="cannot evaluate .*whole numbers, names, and"):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    ["N", "M % 0", "K // (BK - 8)", "__builtins__ == 1 or N", "min((M, K), 3)", "(M, K) % 2"],
)
def test_what_has_no_value(text):
    with pytest.raises(ValueError, match="cannot evaluate .*whole numbers, the names M, K, BK"):
        Expression(text)(NAMES)


def test_expressions_know_their_names():
    one = Expression("M % BM == 0 and (beta == 0 or M > 2)", ("M", "BM", "beta"))
    assert set(one.names) == {"M", "BM", "beta"}
    assert one == Expression(one.text) != Expression("M") and len({one, Expression(one.text)}) == 1
    with pytest.raises(ValueError, match=re.escape("'M % BN' has the name BN; known are M, BM")):
        Expression("M % BN", ("M", "BM"))
