"""The corpus in the interpreter, against what an H200 made of it: values, printf, counters,
findings. See tests/corpus/__init__.py for what a kernel's file says, record.py for the record.

Three tables name every place where something else is right than equality; each has its reason.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import io
import json
import zlib

import corpus
import numpy as np
import pytest

import kernels

# (kernel, metric) -> how far the counter may be from the measured one, in parts of it.
COUNTERS: dict[tuple[str, str], float] = {}
# Kernel -> why compute-sanitizer speaks of a kernel that is correct.
FALSE_ALARMS: dict[str, str] = {}
# Kernel -> why ptxas reports other resources than the driver gives.
RESOURCES: dict[str, str] = {}

RECORD = json.loads(corpus.RECORD.read_text()) if corpus.RECORD.exists() else {"kernels": {}}
RECORDS = RECORD["kernels"]
RECORDED = [name for name in corpus.names() if name in RECORDS]
PLANTED = [name for name in corpus.names() if corpus.load(name).planted]
CORRECT = [name for name in corpus.names() if name not in PLANTED]

each_correct = pytest.mark.parametrize("name", [n for n in CORRECT if n in RECORDS])


@functools.cache
def kernel_of(name: str) -> kernels.Kernel:
    case = corpus.load(name)
    return kernels.Kernel(case.source, case.kernel, case.options, case.filename)


@functools.cache
def interpreted(name: str):
    """(arguments after all launches, what was printed, counters of the first launch)."""
    case, kernel, args = corpus.load(name), kernel_of(name), corpus.load(name).arguments()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        traced = kernel.trace(
            case.grid, case.block, args, keep=(), dynamic_shared=case.dynamic_shared
        )
        for _ in range(case.launches - 1):
            kernel(case.grid, case.block, args, "interpreter", case.dynamic_shared)
    return args, printed.getvalue(), dict(traced.counters)


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
    missing = [
        name
        for name in corpus.names()
        if name not in RECORDS
        or RECORDS[name].get("source")
        != hashlib.sha256(corpus.load(name).source.encode()).hexdigest()
    ]
    names = " ".join(missing) if len(missing) < len(corpus.names()) else ""
    assert missing == [], f"record on a GPU: {corpus.COMMAND} {names}"


def test_the_corpus_is_large_and_has_many_faults():
    assert len(CORRECT) >= 140 and len(PLANTED) >= 25
    assert {kind for name in PLANTED for kind in corpus.load(name).planted} == set(corpus.PLANTED)


@each_correct
def test_what_was_recorded_can_be_compared(name):
    """It ran well on the GPU, from these arguments, with the same bits twice."""
    case, record = corpus.load(name), RECORDS[name]
    assert record["outcome"] == "done"
    inputs = b"".join(x if isinstance(x, bytes) else x.tobytes() for x in case.arguments())
    assert record["inputs"] == hashlib.sha256(inputs).hexdigest()
    unsteady = [n for n, x in enumerate(record["outputs"]) if x and not x["steady"]]
    assert set(unsteady) <= case.not_compared
    if name not in FALSE_ALARMS:
        assert {
            tool: found["errors"] for tool, found in record["sanitizer"].items()
        } == dict.fromkeys(record["sanitizer"], 0)


@each_correct
def test_values_and_printf(name):
    case, record = corpus.load(name), RECORDS[name]
    args, printed, _ = interpreted(name)
    wrong = {
        n: words
        for n, (x, there) in enumerate(zip(args, record["outputs"]))
        if there and n not in case.not_compared and (words := difference(x, there, case.bound))
    }
    assert wrong == {}
    assert printed == (record["printed"] if case.prints else "")


@pytest.mark.parametrize("name", [n for n in CORRECT if n in RECORDS and corpus.load(n).counted])
def test_counters(name):
    found = interpreted(name)[2]
    wrong = {}
    for metric, there in RECORDS[name]["counters"].items():
        if abs(found[metric] - there) > COUNTERS.get((name, metric), 0) * there:
            wrong[metric] = found[metric], there
    assert wrong == {}


@pytest.mark.parametrize("name", RECORDED)
def test_findings(name):
    """Nothing in a correct kernel; in a planted one the right kind of fault at a marked line."""
    case = corpus.load(name)
    found = kernel_of(name).sanitize(
        case.grid, case.block, case.arguments(), case.dynamic_shared, case.unwritten
    )
    if not case.planted:
        assert found == ()
        return
    places = [
        {p.line for p in (f.position, f.other_position) if p}
        for f in found
        if f.kind in case.planted
    ]
    assert any(lines & case.faults for lines in places), found


@pytest.mark.parametrize("name", [n for n in RECORDED if "resources" in RECORDS[n]])
def test_resources_are_the_drivers(name):
    if name not in RESOURCES:
        assert RECORDS[name]["resources"]["reported"] == RECORDS[name]["resources"]["driver"]


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
    ],
)
def test_a_wrong_header(line, words):
    with pytest.raises(ValueError, match=f"^f.cu: .*{words}"):
        corpus.parse("f", f"{HEADER}{line}\nvoid f();\n")


@pytest.mark.parametrize(
    "text",
    [
        "float[4]",
        "out float[4] uniform",
        "quad[4] ones",
        "float[4] uniform 1",
        "int[4] specials",
        "float[] ones",
        "int",
        "int 1.5",
        "bytes 0g",
        "float[4] some",
        "int[4] below",
    ],
)
def test_a_wrong_argument(text):
    with pytest.raises(ValueError):
        corpus.argument(text, np.random.RandomState(0))


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
    assert counted(rows) == {"counters": dict.fromkeys(METRICS, 3), "varies": {METRICS[1]: 5}}
