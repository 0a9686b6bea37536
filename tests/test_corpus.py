"""The corpus in the interpreter, against what an H200 made of it: values, printf, counters,
findings. See tests/corpus/__init__.py for what a kernel's file says, record.py for the record.

Tables name every place where something else is right than equality; each has its reason, and a
test fails where an entry is no longer needed. How far counters are off is in
kernels/records/exact.json, which `python -m tests.test_corpus` writes anew, and what each kernel
alone has in tests/corpus/README.md. A kernel whose record is of another source, or that was
recorded in vain, is left out of all but the test that names it.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import io
import json
import re
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # as conftest.py does, for the command line
import corpus
from corpus import exact, table
from slow import if_slow

import kernels
from anywarp import build
from anywarp.compile import nvrtc
from anywarp.trace.metrics import PIPE

# Kernel -> why some of its values differ from the GPU's in their last bits.
VALUES: dict[str, str] = {}
# Correct kernel -> why compute-sanitizer speaks of it.
ATOMICS = "racecheck knows no order that a flag or lock with fences makes in shared memory"
FALSE_ALARMS = {
    "flag_within_block": ATOMICS,
    "t_cpasync_arrive": "synccheck does not count the arrivals that copies make",
    "t_mbarrier_count": "racecheck does not know what an arrival counts for several",
    "t_mbarrier_reuse": "racecheck does not know that an mbarrier was ended and made again",
    "x_named_barriers_ptx": "racecheck knows no order that bar.arrive makes",
}
# Planted kernel -> why compute-sanitizer says nothing of it.
GLOBAL = "racecheck looks at shared memory alone"
EXCHANGE = "synccheck looks at barriers, not at who takes part in a shuffle or a vote"
SHARED = "initcheck looks at global memory alone"
PROXY = "racecheck follows neither wgmma, nor tensor copies, nor bulk copies out of shared memory"
BYTES = "synccheck does not count the bytes that a phase waits for"
REGISTERS = "no tool looks at the registers of wgmma"
UNSEEN = {
    "bug_ballot_full_mask": EXCHANGE,
    "bug_blocks_overlap": GLOBAL,
    "bug_fence_missing": GLOBAL,
    "bug_global_count": GLOBAL,
    "bug_in_place_stencil": GLOBAL,
    "bug_local_index": "memcheck does not know where an array in local memory ends",
    "bug_lock_without_lock": GLOBAL,
    "bug_shuffle_full_mask": EXCHANGE,
    "bug_shuffle_inactive": EXCHANGE,
    "bug_uninitialised_shared": SHARED,
    "t_bug_bulk_expect_too_few": BYTES,
    "t_bug_bulk_store_no_barrier": PROXY,
    "t_bug_bulk_store_no_fence": PROXY,
    "t_bug_bulk_store_overwritten": PROXY,
    "t_bug_cluster_remote_init": "synccheck does not look at other blocks of a cluster",
    "t_bug_stmatrix_overlap": "racecheck says nothing of two stmatrix that overlap",
    "t_bug_wgmma_early_read": REGISTERS,
    "t_bug_wgmma_no_fence": REGISTERS,
    "t_bug_wgmma_no_proxy_fence": PROXY,
    "t_bug_wgmma_overwritten": PROXY,
    "x_bug_barrier_after_return": "threads that have exited are not waited for: no thread hangs",
    "x_bug_blocks_share_sum": GLOBAL,
    "x_bug_uninitialised_accumulator": SHARED,
}
TOOLS = {
    "out of bounds": "memcheck",
    "misaligned": "memcheck",
    "uninitialised": "initcheck",
    "race": "racecheck",
    "asynchronous copy": "racecheck",
    "barrier": "synccheck",
    "tensor core registers": "racecheck",
}
# Recorded with the frames of all functions added up, which is not what the driver does.
FRAMES = {
    "recursion_quicksort",
    "virtual_functions",
}

# exact.json and the table of the corpus are of this NVRTC's PTX; with another one some rows differ.
SAME_COMPILER = nvrtc.version() == (12, 9)
TABLE = corpus.FOLDER / "README.md"
RECORD = json.loads(corpus.RECORD.read_text()) if corpus.RECORD.exists() else {"kernels": {}}
RECORDS = RECORD["kernels"]
PLANTED = [name for name in corpus.names() if corpus.load(name).planted]
CORRECT = [name for name in corpus.names() if name not in PLANTED]


def is_recorded(name: str) -> bool:
    """As the file is now; a correct kernel also has to have run."""
    record, source = RECORDS.get(name, {}), corpus.load(name).source
    return record.get("source") == hashlib.sha256(source.encode()).hexdigest() and (
        name in PLANTED or record["outcome"] == "done"
    )


RECORDED = [name for name in corpus.names() if is_recorded(name)]
COUNTED = [name for name in RECORDED if name in CORRECT and corpus.load(name).counted]


def each(names: list[str]) -> pytest.MarkDecorator:
    """Slow are x_…, kernels of the same kinds in another hand; t_…, tensor cores and copies in
    bulk, of which tests/ptx has the instructions one by one, some with an H200's bits; and of the
    others those beyond the first of a family, but no planted faults."""
    marked, families = [], set()
    for name in names:
        case = corpus.load(name)
        slow = name.startswith(("x_", "t_")) or case.family in families
        marked.append(pytest.param(name, marks=if_slow(slow)))
        families |= set() if case.planted else {case.family}
    return pytest.mark.parametrize("name", marked)


each_correct = each([name for name in RECORDED if name in CORRECT])
each_planted = pytest.mark.parametrize("name", [name for name in RECORDED if name in PLANTED])


@functools.cache
def kernel_of(name: str) -> kernels.Kernel:
    case = corpus.load(name)
    if case.is_ptx:
        return kernels.Kernel.from_ptx(case.source, case.kernel, filename=case.filename)
    return kernels.Kernel(case.source, case.kernel, case.options, filename=case.filename)


@functools.cache
def interpreted(name: str):
    """(arguments after all launches, what was printed, counters of the first launch)."""
    case, kernel, args = corpus.load(name), kernel_of(name), corpus.load(name).arguments()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        passed = corpus.passed(args)
        traced = kernel.trace(case.grid, case.block, passed, keep=(), shared_mem=case.shared_mem)
        counters = dict(traced.counters)
        if name in COUNTED and PIPE in RECORDS[name]["counters"]:
            counters[PIPE] = sum(traced.pipe(kernel).values())
        for _ in range(case.launches - 1):
            kernel(case.grid, case.block, passed, "interpreter", case.shared_mem)
    return [corpus.contents(x) for x in args], printed.getvalue(), counters


def difference(after: np.ndarray, recorded: dict, bound: tuple[float, str] | None) -> str | None:
    """What is wrong with an array, in words; None if it is as recorded, or within the bound."""
    if hashlib.sha256(after.tobytes()).hexdigest() == recorded["sha256"]:
        return None
    if "data" not in recorded:
        return "the bits differ from the recorded ones"
    there = np.frombuffer(zlib.decompress(base64.b64decode(recorded["data"])), after.dtype).reshape(
        after.shape
    )
    wrong = after.view(f"u{after.itemsize}") != there.view(f"u{after.itemsize}")
    if bound and after.dtype.kind == "f":
        size, unit = bound
        with np.errstate(all="ignore"):
            unit = {"ulp": np.spacing(np.abs(there)), "relative": np.abs(there), "absolute": 1.0}[
                unit
            ]
            near = np.abs(after.astype("f8") - there) <= size * np.float64(unit)
        wrong &= ~(near | (np.isnan(after) & np.isnan(there)))
    if not wrong.any():
        return None
    at = tuple(int(k) for k in np.argwhere(wrong)[0])
    return (
        f"{wrong.sum()} of {wrong.size} differ, first {list(at)}: {after[at]!r}, not {there[at]!r}"
    )


def test_every_kernel_is_recorded_as_it_is():
    """Fails until the command that it names has been run on a GPU."""
    missing = [name for name in corpus.names() if name not in RECORDED]
    names = " ".join(missing) if len(missing) < len(corpus.names()) else ""
    assert missing == [], f"record on a GPU: {corpus.COMMAND} {names}"


def test_the_corpus_is_large_and_has_many_faults():
    assert len(CORRECT) >= 150 and len(PLANTED) >= 50
    assert {kind for name in PLANTED for kind in corpus.load(name).planted} == set(corpus.PLANTED)


def parts() -> dict[str, set[str]]:
    """Of each kernel what table.py looks at."""
    return {
        name: table.parts(
            corpus.load(name),
            kernel_of(name).ptx,
            found(name) if name in PLANTED else (),
            RECORDS[name].get("counters", {}),
        )
        for name in RECORDED
    }


def test_the_corpus_stays_thin():
    """Of each kernel README.md says what it alone has: `python -m tests.test_corpus` writes it."""
    rows = re.findall(r"^\| (\w+) \|.*\| (\S.*) \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    assert [name for name, _ in rows[1:]] == corpus.names() and len(corpus.names()) <= 250


@pytest.mark.slow
@pytest.mark.skipif(not SAME_COMPILER, reason="the table has the instructions of NVRTC 12.9")
def test_the_table_says_what_each_kernel_alone_has():
    alone = table.alone(parts())
    assert TABLE.read_text("utf-8") == table.table(alone)
    assert not [name for name in table.REASONS if alone[name]], "needs no reason any more"


@each_correct
def test_what_was_recorded_can_be_compared(name):
    """It ran well on the GPU, from these arguments, with the same bits twice."""
    case, record = corpus.load(name), RECORDS[name]
    assert record["outcome"] == "done"
    inputs = b"".join(x if isinstance(x, bytes) else x.tobytes() for x in case.arguments())
    assert record["inputs"] == hashlib.sha256(inputs).hexdigest()
    unsteady = [n for n, x in enumerate(record["outputs"]) if x and not x["steady"]]
    assert set(unsteady) <= case.not_compared
    alarms = {tool for tool, found in record["sanitizer"].items() if found["errors"] != 0}
    assert bool(alarms) == (name in FALSE_ALARMS), alarms


@each_planted
def test_what_compute_sanitizer_says_of_a_planted_fault(name):
    """It finds it where we do, or the table says why it cannot; some hang under it."""
    case, said = corpus.load(name), RECORDS[name]["sanitizer"]
    tools = [said[TOOLS[kind]] for kind in case.planted]
    hangs = any(found["errors"] is None for found in said.values())
    found = any(each["errors"] or each["warnings"] for each in tools)
    assert (found or hangs) == (name not in UNSEEN), said


def wrong_values(name: str) -> dict[int, str]:
    """By argument, what is wrong with it after all launches."""
    case, args = corpus.load(name), interpreted(name)[0]
    return {
        n: words
        for n, (x, there) in enumerate(zip(args, RECORDS[name]["outputs"]))
        if there and n not in case.not_compared and (words := difference(x, there, case.bound))
    }


@each_correct
def test_values_and_printf(name):
    assert bool(wrong := wrong_values(name)) == (name in VALUES), wrong
    printed = interpreted(name)[1]
    assert printed == (RECORDS[name]["printed"] if corpus.load(name).prints else "")


@pytest.mark.slow
def test_nearly_all_kernels_have_the_values_of_the_gpu():
    names = [name for name in RECORDED if name in CORRECT]
    assert sum(not wrong_values(name) for name in names) >= 0.98 * len(names) > 0


EXACT = json.loads(exact.EXACT.read_text(encoding="utf-8")) if exact.EXACT.exists() else {}
PUBLISHED = json.loads((exact.FOLDER / "published.json").read_text(encoding="utf-8"))


def beside(name: str) -> list:
    """A kernel's counters beside the measured ones: `exact.row`."""
    return exact.row(name, interpreted(name)[2], RECORDS[name])


def distance(found: int | list | None) -> float:
    """How far one is off, in parts of the measured one."""
    if not isinstance(found, list):
        return 0
    here, least, most, _ = found
    return (least - here if here < least else here - most) / (least or 1)


@each(COUNTED)
def test_counters(name):
    """As `exact.json` has them: all of them as measured, or off for a reason, and as far."""
    now, recorded = beside(name), EXACT["kernels"][name]
    if SAME_COMPILER:
        assert now == recorded, "look at it; python -m tests.test_corpus writes it anew"
    assert all(distance(x) <= 2 * distance(y) for x, y in zip(now, recorded, strict=True))


def test_the_record_of_published_functions_is_whole():
    """Their sources are not here: a counter that is not as measured lies beside what was."""
    for name, row in PUBLISHED["kernels"].items():
        assert "/".join(name.split("/")[:2]) in PUBLISHED["repositories"]
        assert len(row) == len(exact.COUNTERS)
        for computed, least, most, reason in (x for x in row if isinstance(x, list)):
            assert least <= most and not least <= computed <= most and reason is None


def test_what_is_off_has_a_reason_and_each_reason_is_needed():
    assert {*EXACT["kernels"]} == {*COUNTED}
    assert (EXACT["counters"], EXACT["reasons"]) == (exact.COUNTERS, list(exact.REASONS))
    off = [
        (name, metric, found)
        for name, row in EXACT["kernels"].items()
        for metric, found in zip(exact.COUNTERS, row, strict=True)
        if isinstance(found, list)
    ]
    for name, metric, found in off:
        assert found[3] == exact.reason(name, metric) is not None, (name, metric)
    entries = {(n, x) for n, entries in enumerate(exact.REASONS.values()) for x in entries}
    needed = {
        (n, x)
        for name, metric, (*_, n) in off
        for x in list(exact.REASONS.values())[n]
        if (name, True) == ((of := x.partition(": "))[0], exact.COUNTERS[metric].startswith(of[2]))
    }
    assert entries == needed


def test_nearly_all_counters_are_those_of_the_gpu():
    distances = [distance(x) for row in EXACT["kernels"].values() for x in row if x is not None]
    assert len(distances) > 2000
    assert sum(each == 0 for each in distances) >= 0.95 * len(distances)


@functools.cache
def found(name: str) -> tuple:
    """What the sanitizer finds in a launch."""
    case = corpus.load(name)
    args = corpus.passed(case.arguments())
    return kernel_of(name).sanitize(case.grid, case.block, args, case.shared_mem, case.unwritten)


@each(corpus.names())
def test_findings(name):
    """Nothing in a correct kernel; in a planted one the right kind of fault at a marked line."""
    case = corpus.load(name)
    if not case.planted:
        assert found(name) == ()
        return
    places = [
        {p.line for p in (f.position, f.other_position) if p}
        for f in found(name)
        if f.kind in case.planted
    ]
    assert any(lines & case.faults for lines in places), found(name)


@pytest.mark.parametrize("name", [n for n in RECORDED if "resources" in RECORDS[n]])
def test_resources_are_the_drivers(name):
    reported, driver = (RECORDS[name]["resources"][which] for which in ("reported", "driver"))
    if name in FRAMES:
        case = corpus.load(name)
        built = build.compile(
            case.source, case.filename, case.options, (case.kernel,), arch="sm_90"
        )
        reported = reported | {"local": build.resources(built, built.lowered[case.kernel]).stack}
    assert reported == driver


# ------------------------------------------------------------- the comparison and the headers


def recorded(array: np.ndarray) -> dict:
    return {
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "data": base64.b64encode(zlib.compress(array.tobytes())).decode(),
    }


def test_a_wrong_bit_is_seen():
    there = np.array([1, -2, np.nan], np.float32)
    after = there.copy()
    assert difference(after, recorded(there), None) is None
    after[1] = np.nextafter(after[1], np.float32(0))
    assert difference(after, recorded(there), None).startswith("1 of 3 differ, first [1]")
    assert difference(after, {"sha256": ""}, (1, "ulp")) == "the bits differ from the recorded ones"


@pytest.mark.parametrize(
    "bound, near, far",
    [
        ((2, "ulp"), 8 + 2 * 2.0**-20, 8 + 3 * 2.0**-20),
        ((0.25, "absolute"), 8.25, 8.26),
        ((0.25, "relative"), 10, 10.1),
        ((0.25, "relative"), 8, np.nan),
        ((0.25, "absolute"), 8, np.inf),
    ],
)
def test_a_bound(bound, near, far):
    there = np.array([np.nan, 8], np.float32)
    assert difference(np.array([-np.nan, near], np.float32), recorded(there), bound) is None
    assert difference(np.array([np.nan, far], np.float32), recorded(there), bound)


HEADER = """\
// A title
//
// family: example
// kernel: f
// grid: 1
// block: 32
// args: float[4] uniform; out int[2,3]; int -7
"""


def test_a_header():
    case = corpus.parse("f", HEADER + "// launches: 2\nvoid f();\n")
    assert (case.title, case.grid, case.launches, case.unwritten) == ("A title", (1,), 2, [1])
    x, y, n = case.arguments()
    assert x.dtype == np.float32 and np.abs(x).max() < 1 and y.shape == (2, 3) and not y.any()
    assert n == np.int32(-7) and n.dtype == np.int32
    assert x.tobytes() == case.arguments()[0].tobytes()


@pytest.mark.parametrize(
    "line, words",
    [
        ("// launch: 2", "is no directive"),
        ("// launches: 2\n// launches: 3", "given twice"),
        ("// launches:", "empty"),
        ("// planted: slip", "is none of"),
        ("// planted: race", "goes with lines"),
        ("// approximate: 2", "is not as"),
        ("// compare: none for 3", "is not as"),
        ("// output: stdout", "is not printf"),
        ("// counters: some", "is not none"),
        ("// compute capability: 9.0", "is not 9.0a"),
    ],
)
def test_a_wrong_header(line, words):
    with pytest.raises(ValueError, match=f"^f.cu: .*{words}"):
        corpus.parse("f", f"{HEADER}{line}\nvoid f();\n")


WRONG = """float[4]; out float[4] uniform; quad[4] ones; float[4] uniform 1; int[4] specials
float[] ones; int; int 1.5; bytes 0g; float[4] some; int[4] below
map float[4,4]; map float[4,4] uniform box; map float 4 box 4; map int 4 box 4"""


@pytest.mark.parametrize("text", re.split("; |\n", WRONG))
def test_a_wrong_argument(text):
    with pytest.raises(ValueError):
        corpus.argument(text, np.random.RandomState(0))


def test_a_tensor_map():
    text = "out map bfloat16[8,64] box 4,32 swizzle 64 fill nan steps 2,1"
    found = corpus.argument(text, np.random.RandomState(0))
    assert corpus.contents(found) is found.array and found.tobytes() == bytes(8 * 64 * 2)
    (passed, number) = corpus.passed([found, np.int32(7)])
    assert repr(passed) == repr(
        kernels.TensorMap(
            found.array, (4, 32), dtype="bfloat16", swizzle=64, fill="nan", element_strides=(2, 1)
        )
    )
    assert passed.memory is found.array and number == 7
    other = found.array.copy()
    assert found.tensor_map(other).memory is other


MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at add+0x90 in bug.cu:14
=========     by thread (58,0,0) in block (3,0,0)
========= Invalid __global__ read of size 4 bytes
=========     at add+0x90 in bug.cu:14
========= Program hit cudaErrorLaunchFailure (error 719)
========= ERROR SUMMARY: 7 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Read access at reverse+0x110 in bug.cu:15
=========     and Write access at reverse+0x90 in bug.cu:14 [380 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 2 warnings)
"""


@pytest.mark.parametrize(
    "text, found",
    [
        (MEMCHECK, (7, 0, ["Invalid __global__ read of size 4 bytes"], [14])),
        (RACECHECK, (1, 2, ["Error: Race reported between Read access"], [14, 15])),
        ("========= ERROR SUMMARY: 0 errors", (0, 0, [], [])),
        ("no summary: it was stopped", (None, 0, [], [])),
    ],
)
def test_what_compute_sanitizer_says(text, found):
    from corpus.record import verdict

    read = verdict(text, None)
    assert (read["errors"], read["warnings"], read["says"], read["lines"]) == found
    assert ("outcome" in read) == (found[0] is None)


def test_the_least_of_several_launches():
    from corpus.record import METRICS, counted

    rows = [dict.fromkeys(METRICS, 3), dict.fromkeys(METRICS, 3) | {METRICS[1]: 5}]
    assert counted(rows, METRICS) == {
        "counters": dict.fromkeys(METRICS, 3),
        "varies": {METRICS[1]: 5},
    }
    assert counted(rows, METRICS[:1]) == {"counters": {METRICS[0]: 3}, "varies": {}}


def test_recording_changes_no_line_but_those_of_what_changed(tmp_path):
    from corpus.record import save

    save(tmp_path / "again.json", RECORD)
    assert (tmp_path / "again.json").read_text() == corpus.RECORD.read_text()


@pytest.mark.parametrize(
    "size, bound, planted, kept",
    [(256, None, (), True), (257, None, (), False), (257, (1, "ulp"), (), True),
     (256, None, ("race",), False)],
)  # fmt: skip
def test_contents_are_kept_of_small_arrays_and_of_those_within_a_bound(size, bound, planted, kept):
    from corpus.record import output

    case = replace(corpus.load("acquire_release"), bound=bound, planted=planted)
    before, after = np.zeros(size, np.float32), np.ones(size, np.float32)
    assert ("data" in output(before, after, [after], case)) == kept
    assert "data" not in output(before, before, [before], case)  # nobody has written it


def test_counters_that_ncu_does_not_know_are_not_asked_for(monkeypatch, capsys):
    from corpus import record

    listed = "Metric  Type  Metric Description\nfirst__count  Counter  # of firsts\n"
    monkeypatch.setattr(
        record.subprocess,
        "run",
        lambda command, **_: record.subprocess.CompletedProcess(command, 0, listed, ""),
    )
    assert record.available(("first__count.sum", "second__count.sum")) == ("first__count.sum",)
    assert capsys.readouterr().out == "ncu does not list second__count.sum\n"


def test_kernels_that_are_asked_for_more_counters():
    """Those of families that exist, and none of before."""
    from corpus.record import FAMILIES

    asked = {name for name in corpus.names() if corpus.load(name).family in FAMILIES}
    assert {corpus.load(name).family for name in asked} == FAMILIES
    assert all(name.startswith("t_") for name in asked) and len(asked) >= 50


if __name__ == "__main__":
    exact.write({name: beside(name) for name in COUNTED}, RECORD["provenance"])
    TABLE.write_text(table.table(table.alone(parts())), encoding="utf-8")
