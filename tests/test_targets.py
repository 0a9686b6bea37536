"""Sanitizing steps, and the command line of the sanitizer."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from slow import heavy, if_slow

import kernels
from kernels import __main__ as cli
from kernels.command import targets
from kernels.ladder import step as ladder

STRAY = """\
extern "C" __global__ void twice(int n, float x, const float* a, float* b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n + EXTRA)
        b[i] = x * a[i] + MORE;
}
"""


@pytest.fixture
def stray(tmp_path):
    path = tmp_path / "stray.cu"
    path.write_text(STRAY)
    launch = "--kernel twice --grid 4 --block 64 --args 200 -1.5e3 float[200] out:float[200]"
    return [str(path), *launch.split()]


@pytest.fixture
def broken(tmp_path):
    """A folder with a step that lacks a guard, and reads C when beta is 0."""
    source = kernels.step("03_coalesced").source
    for old, new in (("row >= M || col >= N", "row >= M"), ("beta == 0.0f ? alpha * sum : ", "")):
        assert old in source
        source = source.replace(old, new)
    (tmp_path / "04_broken.cu").write_text(source)
    return tmp_path


def test_shapes_are_whole_tiles_and_primes():
    assert targets.shapes(kernels.step("07").define(BM=32, BN=64, BK=16)) == [(64, 128, 64)]
    assert targets.shapes(kernels.step("15"))[1:] == [(67, 71, 73)]


@pytest.mark.parametrize("one, shape", [
    pytest.param(one, shape, marks=if_slow(heavy(one.id) and shape != targets.shapes(one)[-1]))
    for one in kernels.steps()
    for shape in targets.shapes(one)
], ids=lambda x: getattr(x, "id", None) or "x".join(map(str, x)))  # fmt: skip
def test_nothing_is_found_in_a_step(one, shape):
    assert one.sanitize(*shape) == ()


def test_a_broken_step(broken):
    one = ladder.step("04", broken)
    store = 1 + one.source.splitlines().index(
        next(line for line in one.source.splitlines() if "beta * *c" in line)
    )
    (finding,) = one.sanitize(32, 64, 8)  # whole tiles: only C is left
    assert (finding.kind, finding.position.line) == ("uninitialised", store)
    assert finding.count == 32 * 64
    found = one.sanitize(32, 60, 8)
    assert {f.kind for f in found} == {"uninitialised", "race", "out of bounds"}
    assert len({(f.kind, f.position, f.other_position, f.address) for f in found}) == len(found)


def test_a_step_refuses_a_shape_it_cannot_do(tmp_path):
    source = kernels.step("03_coalesced").source.replace(
        "// block:", "// requires: K % 8 == 0\n// block:"
    )
    (tmp_path / "07_picky.cu").write_text(source)
    one = ladder.step("07_picky", tmp_path)
    with pytest.raises(ValueError, match="K % 8 == 0"):
        one.sanitize(8, 8, 7)
    assert (67, 71, 73) not in targets.shapes(one) and targets.shapes(one)


def test_steps_on_the_command_line(capsys):
    assert cli.main(["sanitize", "02", "coalesced", "17", "19", "23"]) == 0
    assert capsys.readouterr().out == (
        "02_naive M = 17, N = 19, K = 23: no findings\n"
        "03_coalesced M = 17, N = 19, K = 23: no findings\n"
    )
    assert cli.main(["sanitize", "03", "-D", "BM=8", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {"target": "03_coalesced BM=8 M = 16, N = 128, K = 32", "findings": []}


def test_variants_on_the_command_line(capsys, monkeypatch, tmp_path):
    source = kernels.step("03_coalesced").source
    (tmp_path / "03_x.cu").write_text(source.replace("// block", "// variant: BM=8\n// block"))
    monkeypatch.setattr(targets, "step", lambda name: ladder.step(name, tmp_path))
    assert cli.main(["sanitize", "03 BN=32", "8", "8", "8", "--variants"]) == 0
    assert capsys.readouterr().out == (
        "03_x BN=32 M = 8, N = 8, K = 8: no findings\n"
        "03_x BM=8 BN=32 M = 8, N = 8, K = 8: no findings\n"
    )


def test_all_steps_without_a_name(capsys, monkeypatch):
    assert targets.steps is ladder.steps
    monkeypatch.setattr(targets, "steps", lambda: ladder.steps()[:4])  # of all: the test above
    assert cli.main(["sanitize", "128", "128", "64"]) == 0  # whole tiles
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == [one.id for one in ladder.steps()][:4]


def test_findings_of_any_step_give_status_1(capsys, monkeypatch, broken):
    (broken / "05_fine.cu").write_text(kernels.step("03_coalesced").source)
    monkeypatch.setattr(targets, "step", lambda name: ladder.step(name, broken))
    for names in (["04", "05"], ["05", "04"]):
        assert cli.main(["sanitize", *names, "32", "64", "8"]) == 1
        out = capsys.readouterr().out
        assert "05_fine M = 32, N = 64, K = 8: no findings\n" in out
        assert "04_broken M = 32, N = 64, K = 8: 1 finding\n  04_broken.cu:" in out
        assert ": uninitialised: block (0, 0, 0)" in out
    assert cli.main(["sanitize", "05", "32", "64", "8"]) == 0


def test_a_file(capsys, stray):
    assert cli.main(["sanitize", *stray, "-D", "EXTRA=0", "-D", "MORE=0"]) == 0
    assert capsys.readouterr().out == "stray.cu twice: no findings\n"
    assert cli.main(["sanitize", *stray, "-D", "EXTRA=5", "-D", "MORE=b[i]", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    findings = {(f["kind"], f["address"]): f for f in row["findings"]}
    assert set(findings) == {
        ("out of bounds", "a[200]"),
        ("out of bounds", "b[200]"),
        ("uninitialised", "b[0]"),
    }
    read = findings["out of bounds", "a[200]"]
    assert read["position"] == {"file": "stray.cu", "line": 5} and read["count"] == 5
    assert read["thread"] == "block (3, 0, 0), thread (8, 0, 0)" and read["other_thread"] is None


def test_a_file_that_cannot_be_compiled_gives_status_2(capsys, stray, tmp_path):
    assert cli.main(["sanitize", *stray, "-D", "EXTRA=0"]) == 2
    assert 'stray.cu:5: error: identifier "MORE" is undefined' in capsys.readouterr().err
    stray[0] = str(tmp_path / "none.cu")
    assert cli.main(["sanitize", *stray]) == 2
    assert "none.cu" in capsys.readouterr().err


@pytest.mark.parametrize("argv, message", [
    (["coalescd"], "no step 'coalescd'"),
    (["03", "64", "64"], "no step '64'"),
    (["03", "8"], "8 may be a step or a size: write the whole name of the step, or 8x8x8"),
    (["02", "03", "15"], "15 may be a step or a size"),
    (["03", "--grid", "2"], "go with a file FILE.cu"),
    (["03", "--shared-mem", "5"], "and --shared-mem go with a file FILE.cu"),
    (["03", "-D", "BM"], "a define of a step is NAME=NUMBER, not 'BM'"),
    (["03", "-D", "BX=2"], "has no define 'BX'"),
    (["03 BM"], "a define of a step is NAME=NUMBER, not 'BM'"),
    (["a.cu", "--variants"], "--variants goes with steps"),
    (["a.cu", "b.cu"], "one file at a time"),
    (["a.cu", "--kernel", "f"], "a file needs --grid, --block, --args"),
    (["a.cu", "--kernel", "f", "--grid", "x"], "invalid int value: 'x'"),
])  # fmt: skip
def test_wrong_use_gives_status_2(capsys, argv, message):
    with pytest.raises(SystemExit) as caught:
        cli.main(["sanitize", *argv])
    assert caught.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("change, message", [
    ((-1, "flot[200]"), "'flot[200]' is neither a number nor an array"),
    ((-2, "1.5"), "args[2] of twice"),
    ((4, "0"), "grid.x is 0"),
    ((6, "2000"), "block.x is 2000"),
])  # fmt: skip
def test_wrong_arguments_of_a_file(capsys, stray, change, message):
    stray[change[0]] = change[1]
    with pytest.raises(SystemExit) as caught:
        cli.main(["sanitize", *stray, "-D", "EXTRA=0", "-D", "MORE=0"])
    assert caught.value.code == 2 and message in capsys.readouterr().err


ONE_THREAD = ["--kernel", "f", "--grid", "1", "--block", "1", "--args"]


@pytest.fixture
def printing(tmp_path):
    """A file whose name and output are not ASCII."""
    path = tmp_path / "grün.cu"
    source = 'extern "C" __global__ void f() { printf("grün\\n"); }'
    path.write_text(source, encoding="utf-8")
    return ["sanitize", str(path), *ONE_THREAD]


def test_what_a_kernel_prints_is_no_json(capsys, printing):
    assert cli.main(printing) == 0
    assert capsys.readouterr().out == "grün\ngrün.cu f: no findings\n"
    assert cli.main([*printing, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "grün\n" and json.loads(out) == [{"target": "grün.cu f", "findings": []}]


def test_output_that_cannot_show_all_characters(monkeypatch, printing):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii", newline="\n"))
    assert cli.main(printing) == 0
    assert sys.stdout.buffer.getvalue() == b"gr\\xfcn\ngr\\xfcn.cu f: no findings\n"


def test_a_file_that_is_not_utf_8_is_named(capsys, tmp_path):
    path = tmp_path / "latin.cu"
    path.write_bytes("// grün".encode("latin-1"))
    with pytest.raises(SystemExit) as caught:
        cli.main(["sanitize", str(path), *ONE_THREAD])
    assert caught.value.code == 2
    assert f"error: {path} is not in UTF-8: " in capsys.readouterr().err


@pytest.mark.parametrize("argument, given", [([], 0), (["--shared-mem", "64"], 64)])
def test_dynamic_shared_memory_of_a_file(monkeypatch, printing, argument, given):
    seen = []
    monkeypatch.setattr(targets.Kernel, "sanitize", lambda self, *how: seen.append(how) or ())
    assert cli.main([*printing, *argument]) == 0
    assert seen == [([1], [1], [], given, [])]


@pytest.mark.parametrize("text, dtype, shape, unwritten", [
    ("float[3,4]", np.float32, (3, 4), False), ("out:double[5]", np.float64, (5,), True),
    ("zero:int[7]", np.int32, (7,), False), ("half[2]", np.float16, (2,), False),
])  # fmt: skip
def test_arrays_in_the_argument_syntax(text, dtype, shape, unwritten):
    value, out = targets.parse_argument(text, np.random.RandomState(0))
    assert (value.dtype, value.shape, out) == (dtype, shape, unwritten)
    assert text.startswith(("zero", "out")) != value.any()


def test_numbers_in_the_argument_syntax():
    stream = np.random.RandomState(0)
    for text, number in (("-3", -3), (" -3", -3), ("1e3", 1000.0), (" -1.5e3", -1500.0)):
        value, unwritten = targets.parse_argument(text, stream)
        assert value == number and type(value) is type(number) and not unwritten
