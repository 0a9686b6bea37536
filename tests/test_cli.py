"""The command line: what it prints, and its exit status."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anywarp import gpu
from kernels import __main__ as cli
from kernels.analysis.reference import CheckError
from kernels.command import looking, recording, timing, words
from kernels.ladder import step as ladder
from kernels.records import Results

ROOT = Path(cli.__file__).parents[1]


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "kernels", "list"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""
    assert "03_coalesced Coalesced: neighbouring threads" in " ".join(done.stdout.split())


def test_list(capsys):
    assert cli.main(["list"]) == 0
    assert all(f"{one.id} " in capsys.readouterr().out for one in ladder.steps()[:1])
    assert cli.main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [one.id for one in ladder.steps()]
    naive = {
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
    assert rows[0] == naive


def test_check(capsys):
    assert cli.main(["check", "02", "coalesced", "--device", "interpreter"]) == 0
    out = capsys.readouterr().out
    assert out.count("every element is within its error bound") == 2
    assert cli.main(["check", "02", "--device", "interpreter", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["step"] == "02_naive" and result["ok"]
    first = result["cases"][0]
    assert first.pop("error_over_bound") < 1
    assert first == {"name": "one element", "M": 1, "N": 1, "K": 1, "alpha": 1, "beta": 0} | {
        "apart": [0, 0, 0],
        "moved": 0,
    }


def test_a_wrong_step_gives_status_1_and_the_others_are_still_checked(capsys, monkeypatch):
    def check(step, device):
        if step.number == 2:
            raise CheckError("C[1, 2] is wrong")
        return real(step, device)

    real = looking.check
    monkeypatch.setattr(looking, "check", check)
    assert cli.main(["check", "02", "03", "--device", "interpreter"]) == 1
    out = capsys.readouterr().out
    assert "02_naive FAILED: C[1, 2] is wrong" in out and "03_coalesced (BM=16" in out
    assert cli.main(["check", "02", "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)
    assert result == {"step": "02_naive", "ok": False, "error": "C[1, 2] is wrong"}


THREADS = "sgemm: block (64, 1000) has 64000 threads; a block has at most 1024"
BLOCKS = "sgemm: grid.x is 2147483648; CUDA allows 1 to 2147483647"
NO_LAUNCH = pytest.mark.parametrize(
    "label, message", [("03_coalesced BM=1000", THREADS), ("18_split_k SPLITS=2147483648", BLOCKS)]
)


@NO_LAUNCH
def test_a_step_without_a_launch_fails_and_the_others_are_still_checked(capsys, label, message):
    argv = ["check", "02", label, "--device", "interpreter"]
    assert cli.main(argv) == 1
    assert f"\n{label} FAILED: {message}\n" in capsys.readouterr().out
    assert cli.main([*argv, "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)
    assert first["ok"] and second == {"step": label, "ok": False, "error": message}


@NO_LAUNCH
@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_step_without_a_launch_cannot_be_looked_at(capsys, command, label, message):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, label, "64"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"{command}: error: {message}\n")


@NO_LAUNCH
@pytest.mark.parametrize("command, module, name", [
    ("bench", timing.bench, "benchmark"), ("profile", recording.profiling, "profile"),
    ("errors", recording.accuracy, "record"),
])  # fmt: skip
def test_a_step_without_a_launch_is_not_measured(
    capsys, monkeypatch, command, module, name, label, message
):
    def measure(steps, *_, **more):
        steps[0].launches(64, 64, 64)

    monkeypatch.setattr(module, name, measure)
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
])  # fmt: skip
def test_what_ends_a_command_is_said_in_one_line(capsys, monkeypatch, error, status, message):
    def trace(self, *sides, launch):
        print("as far as it came")
        raise error

    monkeypatch.setattr(ladder.Step, "trace", trace)
    assert cli.main(["trace", "03", "64"]) == status
    out, err = capsys.readouterr()
    assert out == "as far as it came\n" and err.endswith(message) and err.count("\n") == 1


def printing_to(stdout, *argv):
    """Exit status, and what stderr says, of a command in a process of its own. Its output is
    buffered, as it is for most: a short one is written only when all has been printed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "kernels", *argv]
    done = subprocess.run(
        command, cwd=ROOT, env=env, stdout=stdout, stderr=subprocess.PIPE, text=True
    )
    return done.returncode, done.stderr


PRINTING = pytest.mark.parametrize("argv", [["list"], ["list", "--json"], ["--help"]])


@PRINTING
def test_nobody_reads_what_is_printed(argv):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert printing_to(writer, *argv) == (141, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@PRINTING
def test_a_full_disk(argv):
    with open("/dev/full", "w") as full:
        status, err = printing_to(full, *argv)
    assert status == 2 and re.fullmatch(r"error: .*No space left on device\n", err)


@pytest.mark.parametrize(
    "argv, message",
    [
        ([], "arguments are required: COMMAND"),
        (["climb"], "invalid choice: 'climb'"),
        (["check", "coalescd"], "no step 'coalescd'; the nearest is '03_coalesced'"),
        (["check", "--device", "tpu"], "invalid choice: 'tpu'"),
        (["bench", "--sizes", "0"], "a size is a whole number from 1 on, not '0'"),
        (["bench", "--sizes", "big"], "a size is a whole number from 1 on, not 'big'"),
        (
            ["bench", "--sizes", "8x9"],
            "a shape is N for M = N = K, MxNxK or M N K, such as 64x64x8, not '8x9'",
        ),
        (["bench", "--sizes", "8x9x"], "a size is a whole number from 1 on, not ''"),
        (["bench", "--merge"], "--merge goes with --output"),
        (["check", "03 BX=1"], "03_coalesced has no define 'BX'; it has BM, BN"),
        (["check", "03 BM"], "a define of a step is NAME=NUMBER, not 'BM'"),
    ],
)
def test_usage_errors_give_status_2(capsys, argv, message):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    assert caught.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "profile", "experiments", "tune", "errors", "bits"])
def test_where_nothing_can_be_saved_nothing_is_measured(capsys, tmp_path, monkeypatch, command):
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "closed")
    for path, message in (
        (tmp_path, "is a folder: name a file in it"),
        (tmp_path / "file" / "x.json", "file is no folder, so"),
        (tmp_path / "closed" / "new" / "x.json", "it is read-only"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main([command, "--output", str(path)])
        assert caught.value.code == 2 and message in capsys.readouterr().err
    assert {path.name for path in tmp_path.rglob("*")} == {"file", "closed"}


@pytest.mark.parametrize("argv", [["check", "02", "--device", "gpu"], ["bench", "02"], ["bits"]])
def test_without_a_gpu_status_2_and_the_reason(capsys, monkeypatch, argv):
    monkeypatch.setattr(gpu, "why_not", lambda: "there is no GPU on the test's machine")
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert "there is no GPU on the test's machine" in err and out == ""


def test_without_a_gpu_a_command_names_its_own_option(capsys, monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "there is none")
    for argv in (["check", "02"], ["run", "02", "8"]):
        assert cli.main([*argv, "--device", "gpu"]) == 2
        assert " --device interpreter runs every kernel" in capsys.readouterr().err
    assert cli.main(["bits", "02"]) == 2  # has no such option: Python's argument is meant
    assert ' device="interpreter" runs every kernel' in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["list", "-h"], ["check", "-h"], ["bench", "-h"]])
def test_help(capsys, argv):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    out = capsys.readouterr().out
    assert caught.value.code == 0
    assert "usage: python -m kernels" in out and "exit status: 0 all well" in out


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


@pytest.mark.parametrize("error, status", [(cli.MergeError, 2), (CheckError, 1)])
def test_bench_that_cannot_merge_or_finds_a_fault(monkeypatch, capsys, error, status):
    def benchmark(*args, **options):
        raise error("driver is '2' and was '1'")

    monkeypatch.setattr(timing.bench, "benchmark", benchmark)
    assert cli.main(["bench"]) == status
    assert capsys.readouterr().err == "error: driver is '2' and was '1'\n"


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
    chosen = []
    monkeypatch.setattr(
        recording.profiling,
        "profile",
        lambda steps, *rest: chosen.append(steps) or {"steps": {one.label: {} for one in steps}},
    )
    for command in ("bench", "profile"):
        assert cli.main([command, *named, "--variants"]) == 0
    assert [[one.label for one in of] for of in (benched[0][0], *chosen)] == 2 * [labels]
    cli.main(["bench", "07"])
    assert [one.label for one in benched[-1][0]] == ["07_first"]
    capsys.readouterr()
    assert cli.main(["check", *named, "--variants", "--device", "interpreter", "--json"]) == 0
    assert [row["step"] for row in json.loads(capsys.readouterr().out)] == labels


def test_list_shows_variants(varied, capsys):
    assert cli.main(["list"]) == 0
    assert "variant 07_first BN=8\n" in capsys.readouterr().out
    assert cli.main(["list", "--json"]) == 0
    assert [row["variants"] for row in json.loads(capsys.readouterr().out)] == [
        ["07_first BN=8"],
        [],
    ]


def test_a_label_names_a_step_everywhere(capsys, monkeypatch):
    def fail(step, device):
        raise CheckError("wrong")

    assert cli.main(["trace", "03 BM=8", "32", "64", "8"]) == 0
    assert capsys.readouterr().out.startswith("03_coalesced BM=8, 32 x 64 x 8\n")
    monkeypatch.setattr(looking, "check", fail)
    assert cli.main(["check", "03 BM=8"]) == 1
    assert capsys.readouterr().out.startswith("03_coalesced BM=8 FAILED: wrong")


def test_bits_are_merged_into_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(recording, "digest", lambda step, M, N, K, device: f"{device} {M} {N} {K}")
    path = tmp_path / "bits.json"
    path.write_text('{"02_naive": {"1x1x1": "old"}, "99_other": {}}')
    assert cli.main(["bits", "02", "02 BM=8", "--output", str(path)]) == 0
    found = json.loads(path.read_text())
    assert found["99_other"] == {}
    assert found["02_naive"]["64x64x64"] == "gpu 64 64 64" and "1x1x1" not in found["02_naive"]
    assert found["02_naive BM=8"] == found["02_naive"]


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
    assert cli.main(["trace", "03", "32", "64", "8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("03_coalesced, 32 x 64 x 8\n")
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" in out and "sectors/req" in out
    assert cli.main(["trace", "03", "32", "64", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counters"]["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 32 * 64 * 8
    assert {cost["array"] for cost in found["costs"]} == {"A", "B", "C"}


COMMANDS = ["trace", "run"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shape_that_the_step_cannot_do(capsys, command):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "05", "32", "64", "7"])
    assert caught.value.code == 2
    assert "05_shared_tiling requires K % BK == 0" in capsys.readouterr().err


@pytest.mark.parametrize("words, shape", [
    (["16"], (16, 16, 16)), (["16x8x4"], (16, 8, 4)), (["16", "8", "4"], (16, 8, 4)),
])  # fmt: skip
@pytest.mark.parametrize("command", COMMANDS)
def test_a_shape_is_written_in_one_of_three_ways(monkeypatch, capsys, command, words, shape):
    seen = []

    def call(self, A, B, device):
        seen.append((A.shape[0], B.shape[1], A.shape[1]))

    def trace(self, *sides, launch):
        seen.append(sides)
        return real(self, 1, 1, 1)

    real = ladder.Step.trace
    monkeypatch.setattr(ladder.Step, "__call__", call)
    monkeypatch.setattr(ladder.Step, "trace", trace)
    assert cli.main([command, "03", *words]) == 0
    assert seen == [shape]


@pytest.mark.parametrize("words", [["16", "8"], ["16x8"], ["0"], ["16x8x4", "3", "4"], ["1.5"]])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_shape(capsys, command, words):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "03", *words])
    assert caught.value.code == 2
    assert re.search("a (shape|size) is ", capsys.readouterr().err)


def test_run(monkeypatch, capsys):
    launched = []
    monkeypatch.setattr(
        ladder.Step, "__call__", lambda self, A, B, device: launched.append((self, device))
    )
    assert cli.main(["run", "03 BM=8", "64x32x16", "--times", "3", "--device", "gpu"]) == 0
    assert launched == 3 * [(ladder.step("03 BM=8"), "gpu")]
    assert cli.main(["run", "03", "8"]) == 0 and launched[-1] == (ladder.step(3), "auto")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text, size", [("64", 64), ("64x64x64", 64)])
def test_counters_are_of_a_cube(monkeypatch, capsys, text, size):
    sizes = []
    monkeypatch.setattr(
        recording.profiling,
        "profile",
        lambda steps, size, output: sizes.append(size) or {"steps": {}},
    )
    assert cli.main(["profile", "02", "--size", text, "--json"]) == 0 and sizes == [size]
    with pytest.raises(SystemExit):
        cli.main(["profile", "02", "--size", "64x64x8"])
    assert "counters are recorded for M = N = K, not '64x64x8'" in capsys.readouterr().err


def test_profile(capsys, monkeypatch):
    found = {"size": 64, "steps": {"02_naive": {"a.sum": 1234}}}
    monkeypatch.setattr(recording.profiling, "profile", lambda *args: found)
    assert cli.main(["profile", "02", "--size", "64"]) == 0
    assert "1,234  a.sum" in capsys.readouterr().out
    assert cli.main(["profile", "02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_profile_that_fails(capsys, monkeypatch):
    def profile(*args):
        raise recording.profiling.ProfileError("ncu failed (1): no permission")

    monkeypatch.setattr(recording.profiling, "profile", profile)
    assert cli.main(["profile", "02"]) == 2
    assert "no permission" in capsys.readouterr().err
