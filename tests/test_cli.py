"""The command line: what it prints, and its exit status."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernels
from anywarp import gpu
from kernels import __main__ as cli
from kernels.analysis.reference import inputs
from kernels.command import looking, program, recording, timing, words
from kernels.ladder import choose, step as ladder
from kernels.ladder.check import Report
from kernels.records import Results

ROOT = Path(cli.__file__).parents[1]
INTERPRETED = "--device", "interpreter"


def refused(capsys, *argv):
    """What a command says that could not be carried out as it was written."""
    with pytest.raises(SystemExit) as caught:
        cli.main(list(argv))
    assert caught.value.code == 2
    return capsys.readouterr().err


def printed(capsys, *argv, status=0):
    """What a command prints; JSON is read."""
    assert cli.main(list(argv)) == status
    out = capsys.readouterr().out
    return json.loads(out) if "--json" in argv else out


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "kernels", "list"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""
    assert "03_coalesced Coalesced: neighbouring threads" in " ".join(done.stdout.split())


def test_list(capsys):
    lines = printed(capsys, "list").splitlines()
    assert all(any(line.startswith(f"{step.id} ") for line in lines) for step in ladder.steps())
    rows = printed(capsys, "list", "--json")
    assert [row["id"] for row in rows] == [step.id for step in ladder.steps()]
    assert rows[0] == {
        "id": "02_naive",
        "number": 2,
        "title": "Naive: a thread per element of C",
        "defines": {"BM": 64, "BN": 16},
        "block": [64, 16],
        "launches": ["sgemm"],
        "arguments": [],
        "requires": [],
        "alignment": 4,
        "compute_capability": "5.0",
        "variants": [],
    }


def test_check(capsys):
    out = printed(capsys, "check", "02", "coalesced", *INTERPRETED)
    assert out.count("every element is within its error bound") == 2
    (result,) = printed(capsys, "check", "02", *INTERPRETED, "--json")
    assert result["step"] == "02_naive" and result["ok"]
    first = result["cases"][0]
    assert first.pop("error_over_bound") < 1
    scalars = {"alpha": 1, "beta": 0, "apart": [0, 0, 0], "moved": 0}
    assert first == {"name": "one element", "M": 1, "N": 1, "K": 1, **scalars}


THREADS = "sgemm: block (64, 1000) has 64000 threads; a block has at most 1024"
BLOCKS = "sgemm: grid.x is 2147483648; CUDA allows 1 to 2147483647"
NO_LAUNCH = pytest.mark.parametrize(
    "label, message", [("03_coalesced BM=1000", THREADS), ("18_split_k SPLITS=2147483648", BLOCKS)]
)


@NO_LAUNCH
def test_a_wrong_step_fails_and_the_others_are_still_checked(capsys, label, message):
    argv = ["check", label, "02", *INTERPRETED]
    assert printed(capsys, *argv, status=1).startswith(f"{label} FAILED: {message}\n\n02_naive")
    first, second = printed(capsys, *argv, "--json", status=1)
    assert first == {"step": label, "ok": False, "error": message} and second["ok"]


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("command", ["check", "sanitize"])
def test_who_looks_on_sees_how_far_it_is(capsys, monkeypatch, watched, command):
    monkeypatch.setattr(words, "watched", lambda: watched)
    monkeypatch.setattr(looking, "check", lambda step, device: Report(step.label, ()))
    monkeypatch.setattr(ladder.Step, "sanitize", lambda *_: ())
    for argv, lines in ((["02", "03"], 1), (["02 BM=8"], 0)):
        assert cli.main([command, *argv, *(["8x8x8"] if command == "sanitize" else [])]) == 0
        assert capsys.readouterr().err.count("\r[2 of 2] 03_coalesced") == (watched and lines)


@NO_LAUNCH
@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_step_without_a_launch_cannot_be_looked_at(capsys, command, label, message):
    assert refused(capsys, command, label, "64").endswith(f"{command}: error: {message}\n")


@NO_LAUNCH
@pytest.mark.parametrize("command, module, name", [
    ("bench", timing.bench, "benchmark"), ("profile", recording.profiling, "profile"),
])  # fmt: skip
def test_a_step_without_a_launch_is_not_measured(
    capsys, monkeypatch, command, module, name, label, message
):
    monkeypatch.setattr(module, name, lambda steps, *_, **more: steps[0].launches(64, 64, 64))
    assert cli.main([command, label]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_step_that_does_not_compile_shows_what_the_compiler_says(capsys, command):
    assert cli.main([command, "05 BM=8", "64"]) == 2
    assert capsys.readouterr().err.startswith("error: 05_shared_tiling.cu does not compile")


@pytest.mark.parametrize("error, status, message", [
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (MemoryError(), 2, "error: this takes more memory than there is: give a smaller shape\n"),
    (MemoryError("no 9 GiB"), 2, "than there is: give a smaller shape (no 9 GiB)\n"),
    (program.CheckError("C[0, 0] is nan"), 1, "error: C[0, 0] is nan\n"),
    (program.MergeError("driver is '2' and was '1'"), 2, "error: driver is '2' and was '1'\n"),
    (program.profiling.ProfileError("no permission"), 2, "error: no permission\n"),
])  # fmt: skip
def test_what_ends_a_command_is_said_in_one_line(capsys, monkeypatch, error, status, message):
    def benchmark(*_, **more):
        print("as far as it came")
        raise error

    monkeypatch.setattr(timing.bench, "benchmark", benchmark)
    assert cli.main(["bench", "03"]) == status
    out, err = capsys.readouterr()
    assert out == "as far as it came\n" and err.endswith(message) and err.count("\n") == 1


INTERRUPTED = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == "kernels.measure":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from kernels.__main__ import main
sys.exit(main(["list"]))
"""


def run_with(stdout, *command):
    """Exit status, and what stderr says, of Python in a process of its own. Its output is
    buffered, as it is for most: a short one is written only when all has been printed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, stdout=stdout, stderr=-1, text=True
    )
    return done.returncode, done.stderr


def test_ctrl_c_while_it_is_loaded():
    assert run_with(None, "-c", INTERRUPTED) == (130, "interrupted\n")


PRINTING = pytest.mark.parametrize("argv", [["list"], ["list", "--json"], ["--help"]])


@PRINTING
def test_nobody_reads_what_is_printed(argv):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run_with(writer, "-m", "kernels", *argv) == (141, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@PRINTING
def test_a_full_disk(argv):
    with open("/dev/full", "w") as full:
        status, err = run_with(full, "-m", "kernels", *argv)
    assert status == 2 and re.fullmatch(r"error: .*No space left on device\n", err)


def test_output_that_is_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)  # as Python leaves it after `>&-`
    assert cli.main(["list"]) == 2
    assert "standard output is closed" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trace", "run"])
@pytest.mark.parametrize("argv, message", [
    (["03", "16", "8"], "a shape is N for M = N = K"), (["03", "16x8"], "a shape is N for M"),
    (["03", "0"], "a size is a whole"), (["03", "16x8x4", "3", "4"], "a size is a whole"),
    (["03", "1.5"], "a size is a whole"),
    (["05", "32", "64", "7"], "05_shared_tiling requires K % BK == 0"),
])  # fmt: skip
def test_what_is_no_shape_of_the_step(capsys, command, argv, message):
    assert message in refused(capsys, command, *argv)


@pytest.mark.parametrize("argv, message", [
    ([], "arguments are required: COMMAND"),
    (["climb"], "invalid choice: 'climb'"),
    (["check", "coalescd"], "no step 'coalescd'; the nearest is '03_coalesced'"),
    (["check", "--device", "tpu"], "invalid choice: 'tpu'"),
    (["check", "03 BX=1"], "03_coalesced has no define 'BX'; it has BM, BN"),
    (["check", "03 BM"], "a define of a step is NAME=NUMBER, not 'BM'"),
    (["run", "02", "64", "--also", "05 BK=3"], "05_shared_tiling BK=3 requires K % BK == 0"),
    (["profile", "02", "--size", "64x64x8"], "counters are recorded for M = N = K, not '64x64x8'"),
    (["plan", "64", "64"], "a shape is N for M = N = K"),
    (["attempt", "02", "--goals", "speed=1"], "there is no goal 'speed'"),
    (["attempt", "02", "--goals", "spills"], "a goal is GOAL=MOST or GOAL=LEAST:MOST"),
    (["bench", "--sizes", "0"], "a size is a whole number from 1 on, not '0'"),
    (["bench", "--sizes", "big"], "a size is a whole number from 1 on, not 'big'"),
    (["bench", "--sizes", "8x9"], "MxNxK or M N K, such as 64x64x8, not '8x9'"),
    (["bench", "--sizes", "8x9x"], "a size is a whole number from 1 on, not ''"),
    (["bench", "--merge"], "--merge goes with --output"),
])  # fmt: skip
def test_usage_errors_give_status_2(capsys, argv, message):
    assert message in refused(capsys, *argv)


@pytest.mark.parametrize("command", ["bench", "profile", "tune", "bits"])
def test_where_nothing_can_be_saved_nothing_is_measured(capsys, tmp_path, monkeypatch, command):
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "closed")
    for path, message in (
        (tmp_path, "is a folder: name a file in it"),
        (tmp_path / "file" / "x.json", "file is no folder, so"),
        (tmp_path / "closed" / "new" / "x.json", "it is read-only"),
    ):
        assert message in refused(capsys, command, "--output", str(path))
    assert {path.name for path in tmp_path.rglob("*")} == {"file", "closed"}


@pytest.mark.parametrize("argv, advice", [
    (["check", "02", "--device", "gpu"], "; --device interpreter runs every kernel without one"),
    (["run", "02", "8", "--device", "gpu"], "; --device interpreter runs every kernel without one"),
    *((argv, "") for argv in (["bench", "02"], ["bits"], ["tune"], ["profile"])),
])  # fmt: skip
def test_without_a_gpu_a_command_advises_what_it_has(capsys, no_gpu, argv, advice):
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    text = f"No GPU can be used: there is none. Timings need a machine with an NVIDIA GPU{advice}."
    assert (out, err) == ("", f"error: {text}\n")


@pytest.mark.parametrize("argv, words", [
    (["--help"], ["attempt", "exit status: 0 all well"]),
    (["--version"], ["anywarp 0."]),
    (["list", "-h"], ["exit status: 0 all well"]),
    (["check", "-h"], ["; all if none"]),
    (["tune", "-h"], ["of 18_split_k, many shapes drawn at random"]),
])  # fmt: skip
def test_help(capsys, argv, words):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    out = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0 and all(word in out for word in words)


@pytest.fixture
def benched(monkeypatch):
    """What `bench` is asked to time, with its options."""
    seen = []

    def benchmark(steps, sizes, output, merge):
        seen.append((steps, sizes, output, merge))
        return Results({"gpu": "Simulated GPU 1", "date": "2001-02-03"}, 1.0, 1.0)

    monkeypatch.setattr(timing.bench, "benchmark", benchmark)
    monkeypatch.setattr(timing.bench, "unordered", lambda steps: [])
    return seen


def test_bench_passes_its_options_on(benched, tmp_path, capsys):
    cli.main(["bench", "03", "--sizes", "64", "10x13x7", "--output", str(tmp_path / "r"), "--json"])
    assert json.loads(capsys.readouterr().out)["records"] == []
    cli.main(["bench", "03 BM=8", "--output", "r", "--merge"])
    cli.main(["bench"])
    coalesced = ladder.step(3)
    assert benched == [
        ((coalesced,), [64, (10, 13, 7)], tmp_path / "r", False),
        ((coalesced.define(BM=8),), timing.bench.SIZES, Path("r"), True),
        (ladder.steps(), timing.bench.SIZES, None, False),
    ]


@pytest.fixture
def varied(monkeypatch, tmp_path):
    """Two steps in place of the shipped ones, the first of them with a variant."""
    source = ladder.step(3).source
    (tmp_path / "07_first.cu").write_text(source.replace("// block", "// variant: BN=8\n// block"))
    (tmp_path / "08_second.cu").write_text(source)
    monkeypatch.setattr(words, "step", lambda name: ladder.step(name, tmp_path))
    for module in (words, looking):
        monkeypatch.setattr(module, "steps", lambda: ladder.steps(tmp_path))


@pytest.mark.parametrize("named, labels", [
    ([], ["07_first", "07_first BN=8", "08_second"]),
    (["08"], ["08_second"]),
    (["08 BN=8", "07"], ["08_second BN=8", "07_first", "07_first BN=8"]),
])  # fmt: skip
def test_variants(varied, benched, monkeypatch, capsys, named, labels):
    taken = []

    def profile(steps, *_):
        taken.append(steps)
        return {"steps": {step.label: {} for step in steps}}

    monkeypatch.setattr(recording.profiling, "profile", profile)
    for command in ("bench", "profile"):
        assert cli.main([command, *named, "--variants"]) == 0
    assert [[step.label for step in of] for of in (benched[0][0], *taken)] == 2 * [labels]
    cli.main(["bench", "07"])
    assert [step.label for step in benched[-1][0]] == ["07_first"]
    capsys.readouterr()
    rows = printed(capsys, "check", *named, "--variants", *INTERPRETED, "--json")
    assert [row["step"] for row in rows] == labels


def test_list_shows_variants(varied, capsys):
    assert "variant 07_first BN=8\n" in printed(capsys, "list")
    rows = printed(capsys, "list", "--json")
    assert [row["variants"] for row in rows] == [["07_first BN=8"], []]


def test_bits_are_merged_into_the_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(recording, "digest", lambda step, M, N, K, device: f"{device} {M} {N} {K}")
    path = tmp_path / "bits.json"
    path.write_text('{"02_naive": {"1x1x1": "old"}, "99_other": {}}')
    result = printed(capsys, "bits", "02", "02 BM=8", "--output", str(path), "--json")
    assert result == json.loads(path.read_text()) and result["99_other"] == {}
    assert result["02_naive"]["64x64x64"] == "gpu 64 64 64" and "1x1x1" not in result["02_naive"]
    assert result["02_naive BM=8"] == result["02_naive"]


IMPORT = """
import sys
import kernels
print(*(name in sys.modules for name in ("cupy", "matplotlib", "numpy", "IPython")))
"""


def test_importing_the_package_loads_nothing_large():
    command = [sys.executable, "-c", IMPORT]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False"] * 4


def test_trace(capsys):
    out = printed(capsys, "trace", "03 BM=8", "32", "64", "8")
    assert out.startswith("03_coalesced BM=8, 32 x 64 x 8\n")
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" in out and "sectors/req" in out
    traced = printed(capsys, "trace", "03", "32", "64", "8", "--json")
    assert traced["counters"]["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 32 * 64 * 8
    assert {cost["array"] for cost in traced["costs"]} == {"A", "B", "C"}


@pytest.mark.parametrize("words, shape", [
    (["16"], (16, 16, 16)), (["16x8x4"], (16, 8, 4)), (["16", "8", "4"], (16, 8, 4)),
])  # fmt: skip
@pytest.mark.parametrize("command", ["trace", "run"])
def test_a_shape_is_written_in_one_of_three_ways(monkeypatch, capsys, command, words, shape):
    seen = []
    real = ladder.Step.trace

    def call(self, A, B, device):
        seen.append((*A.shape, B.shape[1]))
        return A

    def trace(self, M, N, K, launch):
        seen.append((M, K, N))
        return real(self, 1, 1, 1)

    monkeypatch.setattr(ladder.Step, "__call__", call)
    monkeypatch.setattr(ladder.Step, "trace", trace)
    assert cli.main([command, "03", *words]) == 0
    assert seen == [(shape[0], shape[2], shape[1])]


def test_run(monkeypatch, capsys):
    argv = ["run", "03 BM=8", "64x32x16", "--times", "3", "--also", "02", *INTERPRETED]
    called, real = [], ladder.Step.__call__
    call = lambda self, *x, **more: called.append(self) or real(self, *x, **more)
    monkeypatch.setattr(ladder.Step, "__call__", call)
    first, second = printed(capsys, *argv, "--json")
    assert [step.label for step in called] == 3 * ["03_coalesced BM=8"] + 3 * ["02_naive"]
    assert first.pop("seconds") > 0 and second["step"] == "02_naive"
    A, B, _ = inputs(64, 32, 16)
    bits = hashlib.sha256(real(ladder.step(2), A, B, device="interpreter").tobytes()).hexdigest()
    said = {"shape": [64, 32, 16], "where": "interpreter", "times": 3, "sha256": bits}
    assert first == {"step": "03_coalesced BM=8", **said}
    head, line, _ = printed(capsys, *argv).splitlines()
    assert head.split() == "step M x N x K where seconds SHA-256 of C".split()
    assert line.startswith("03_coalesced BM=8  64 x 32 x 16  interpreter") and line.endswith(bits)


def test_a_gpu_has_no_time_of_the_interpreter(monkeypatch, capsys):
    monkeypatch.setattr(looking, "choose_device", lambda device, *_: device)
    monkeypatch.setattr(ladder.Step, "__call__", lambda *_, device: np.zeros(1))
    (row,) = printed(capsys, "run", "03", "8", "--device", "gpu", "--json")
    assert row["where"] == "gpu" and row["seconds"] is None


@pytest.mark.parametrize(
    "shape, tensor_cores", [(["64"], []), (["67", "71", "73"], ["--tensor-cores"])]
)
def test_plan_names_the_step_that_sgemm_takes(monkeypatch, capsys, shape, tensor_cores):
    argv = ["plan", *shape, *tensor_cores, *INTERPRETED]
    row = printed(capsys, *argv, "--json")
    assert f"on the interpreter: {row['step']}\n{row['why']}" in printed(capsys, *argv)
    taken = []
    monkeypatch.setattr(choose, "run", lambda step, product: taken.append(step.label))
    A, B, _ = inputs(*row["shape"])
    kernels.sgemm(A, B, device="interpreter", tensor_cores=bool(tensor_cores))
    assert taken == [row["step"]] and row["ways"][0][0] == row["step"]


def test_attempt(capsys, tmp_path):
    argv = ["attempt", "02", "--shape", "64x16x8"]
    out = printed(capsys, *argv, "--goals", "registers=500", "shared_bytes=0:0")
    assert out.startswith("02_naive: passed\n") and "passed  registers" in out
    rows = printed(capsys, *argv, "--goals", "registers=1", "--json", status=1)["rows"]
    assert [row["passed"] for row in rows] == [True, True, True, False]
    path = tmp_path / "mine.cu"
    path.write_text(ladder.step(2).source.replace("alpha *", "2 * alpha *"))
    out = printed(capsys, *argv, "--source", str(path), status=1)
    assert "FAILED  right" in out and "edited" in out


@pytest.mark.parametrize("text", ["64", "64x64x64"])
def test_profile(capsys, monkeypatch, text):
    counts = {"size": 64, "steps": {"02_naive": {"a.sum": 1234}}}
    sizes = []
    monkeypatch.setattr(
        recording.profiling, "profile", lambda steps, size, output: sizes.append(size) or counts
    )
    lines = printed(capsys, "profile", "02", "--size", text).splitlines()
    assert lines == ["02_naive, 64", f"{'1,234':>15}  a.sum"]
    assert printed(capsys, "profile", "02", "--json") == counts
    assert sizes == [64, 256]
