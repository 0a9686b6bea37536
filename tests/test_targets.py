"""Sanitizing steps, and the command line of the sanitizer."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from slow import heavy, if_slow, sanitized_in_its_chapter

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
    picky = targets.shapes(kernels.step(3).edit(requires="K % 8 == 0"))
    assert picky and (67, 71, 73) not in picky


@pytest.mark.parametrize("step, shape", [
    pytest.param(
        step,
        shape,
        marks=if_slow(
            heavy(step.id)
            and (sanitized_in_its_chapter(step.id) or shape != targets.shapes(step)[-1])
        ),
    )
    for step in kernels.steps()
    for shape in targets.shapes(step)
], ids=lambda x: getattr(x, "id", None) or "x".join(map(str, x)))  # fmt: skip
def test_nothing_is_found_in_a_step(step, shape):
    assert step.sanitize(*shape) == ()


def test_a_broken_step(broken):
    step = ladder.step("04", broken)
    store = 1 + step.source.splitlines().index(
        next(line for line in step.source.splitlines() if "beta * *c" in line)
    )
    (finding,) = step.sanitize(32, 64, 8)  # whole tiles: only C is left
    assert (finding.kind, finding.position.line) == ("uninitialised", store)
    assert finding.count == 32 * 64
    findings = step.sanitize(32, 60, 8)
    assert {f.kind for f in findings} == {"uninitialised", "race", "out of bounds"}
    assert len({(f.kind, f.position, f.other_position, f.address) for f in findings}) == len(
        findings
    )


@pytest.fixture
def sanitize(capsys):
    """The exit status, and what is printed."""

    def run(*argv):
        try:
            status = cli.main(["sanitize", *argv])
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return run


def test_steps_on_the_command_line(sanitize, monkeypatch):
    lines = "02_naive M = {0}: no findings\n03_coalesced M = {0}: no findings\n"
    odd = lines.format("17, N = 19, K = 23")
    assert sanitize("02", "coalesced", "17", "19", "23") == (0, odd, "")
    _, out, _ = sanitize("03", "-D", "BM=8", "--json")
    row = {"target": "03_coalesced BM=8 M = 16, N = 128, K = 32", "findings": []}
    assert json.loads(out)[0] == row
    assert targets.steps is ladder.steps
    monkeypatch.setattr(targets, "steps", lambda: ladder.steps()[:2])  # of all: the test above
    assert sanitize("128", "128", "64") == (0, lines.format("128, N = 128, K = 64"), "")


def test_variants_on_the_command_line(sanitize, monkeypatch, tmp_path):
    source = kernels.step("03_coalesced").source
    (tmp_path / "03_x.cu").write_text(source.replace("// block", "// variant: BM=8\n// block"))
    monkeypatch.setattr(targets, "step", lambda name: ladder.step(name, tmp_path))
    _, out, _ = sanitize("03 BN=32", "8", "8", "8", "--variants")
    sides = "M = 8, N = 8, K = 8: no findings"
    assert out.splitlines() == [f"03_x BN=32 {sides}", f"03_x BM=8 BN=32 {sides}"]


def test_findings_of_any_step_give_status_1(sanitize, monkeypatch, broken):
    (broken / "05_fine.cu").write_text(kernels.step("03_coalesced").source)
    monkeypatch.setattr(targets, "step", lambda name: ladder.step(name, broken))
    for names in (["04", "05"], ["05", "04"]):
        status, out, _ = sanitize(*names, "32", "64", "8")
        assert status == 1 and "05_fine M = 32, N = 64, K = 8: no findings\n" in out
        assert "04_broken M = 32, N = 64, K = 8: 1 finding\n  04_broken.cu:" in out
        assert ": uninitialised: block (0, 0, 0)" in out
    assert sanitize("05", "32", "64", "8")[0] == 0


def test_a_file(sanitize, stray):
    fine = 0, "stray.cu twice: no findings\n", ""
    assert sanitize(*stray, "-D", "EXTRA=0", "-D", "MORE=0") == fine
    status, out, _ = sanitize(*stray, "-D", "EXTRA=5", "-D", "MORE=b[i]", "--json")
    (row,) = json.loads(out)
    findings = {(f["kind"], f["address"]): f for f in row["findings"]}
    strays = {("out of bounds", "a[200]"), ("out of bounds", "b[200]")}
    assert status == 1 and set(findings) == {*strays, ("uninitialised", "b[0]")}
    read = findings["out of bounds", "a[200]"]
    place = {"file": "stray.cu", "line": 5, "headers": [], "near": False}
    assert read["position"] == place and read["count"] == 5
    assert read["thread"] == "block (3, 0, 0), thread (8, 0, 0)" and read["other_thread"] is None


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
def test_wrong_use_gives_status_2(sanitize, argv, message):
    status, out, err = sanitize(*argv)
    assert status == 2 and not out and message in err


@pytest.mark.parametrize("place, word, message", [
    (-1, "flot[200]", "'flot[200]' is neither a number nor an array"),
    (-2, "1.5", "args[2] of twice"),
    (4, "0", "grid.x is 0"),
    (6, "2000", "block.x is 2000"),
    (0, "none.cu", "none.cu"),
    (0, "latin.cu", "latin.cu is not in UTF-8: "),
    (0, "stray.cu", 'stray.cu:5: error: identifier "MORE" is undefined'),
])  # fmt: skip
def test_a_file_that_cannot_be_launched_gives_status_2(sanitize, stray, place, word, message):
    folder = Path(stray[0]).parent
    (folder / "latin.cu").write_bytes("// grün".encode("latin-1"))
    stray[place] = word if place else str(folder / word)
    more = [] if word == "stray.cu" else ["-D", "MORE=0"]
    status, out, err = sanitize(*stray, "-D", "EXTRA=0", *more)
    assert status == 2 and not out and message in err


@pytest.fixture
def printing(tmp_path):
    """A file whose name and output are not ASCII."""
    path = tmp_path / "grün.cu"
    source = 'extern "C" __global__ void f() { printf("grün\\n"); }'
    path.write_text(source, encoding="utf-8")
    return [str(path), "--kernel", "f", "--grid", "1", "--block", "1", "--args"]


def test_what_a_kernel_prints_is_no_json(sanitize, printing):
    assert sanitize(*printing) == (0, "grün\ngrün.cu f: no findings\n", "")
    status, out, err = sanitize(*printing, "--json")
    assert (status, err) == (0, "grün\n")
    assert json.loads(out) == [{"target": "grün.cu f", "findings": []}]


def test_output_that_cannot_show_all_characters(monkeypatch, printing):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii", newline="\n"))
    assert cli.main(["sanitize", *printing]) == 0
    assert sys.stdout.buffer.getvalue() == b"gr\\xfcn\ngr\\xfcn.cu f: no findings\n"


def test_dynamic_shared_memory_of_a_file(sanitize, monkeypatch, printing):
    seen = []
    monkeypatch.setattr(targets.Kernel, "sanitize", lambda self, *how: seen.append(how) or ())
    sanitize(*printing)
    sanitize(*printing, "--shared-mem", "64")
    assert seen == [([1], [1], [], 0, []), ([1], [1], [], 64, [])]


@pytest.mark.parametrize("text, dtype, shape, unwritten", [
    ("float[3,4]", np.float32, (3, 4), False), ("out:double[5]", np.float64, (5,), True),
    ("zero:int[7]", np.int32, (7,), False), ("half[2]", np.float16, (2,), False),
])  # fmt: skip
def test_arrays_in_the_argument_syntax(text, dtype, shape, unwritten):
    value, out = targets.parse_argument(text, np.random.RandomState(0))
    assert (value.dtype, value.shape, out) == (dtype, shape, unwritten)
    assert text.startswith(("zero", "out")) != value.any()


@pytest.mark.parametrize("text, number", [("-3", -3), ("1e3", 1000.0), (" -1.5e3", -1500.0)])
def test_numbers_in_the_argument_syntax(text, number):
    value, unwritten = targets.parse_argument(text, np.random.RandomState(0))
    assert value == number and type(value) is type(number) and not unwritten
