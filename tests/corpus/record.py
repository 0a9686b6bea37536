"""Record what an NVIDIA GPU makes of the corpus: `python -m tests.corpus.record [NAME …]`.

Needs CuPy, and ncu and compute-sanitizer on the PATH. For each kernel: the arrays it leaves and
what it prints, the driver's resources beside those that ptxas reports, ncu's counters, and the
verdicts of compute-sanitizer's tools. It is saved after each stage; kernels that are not named
stay as they are. Kernels of FAMILIES are asked for more counters. The source is compiled as
anywarp/build.py does it (CuPy's own compilation adds -ftz=true), and launched by CuPy, so that
the record owes nothing to the project's interpreter.

A kernel that faults or hangs ends only its own process: outputs are taken one process a kernel,
and only what ended well goes on to be counted. Correct kernels are sanitized many to a process,
and one by one where a tool says anything of such a process.
"""

from __future__ import annotations

import argparse
import base64
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np

from anywarp.compile import nvrtc
from anywarp.trace.metrics import ASYNC_METRICS, METRICS, PIPE
from kernels import build
from kernels.measure import profiling
from kernels.measure.provenance import provenance
from kernels.records import write

from . import FOLDER, RECORD, Case, Map, contents, load, names as all_names

ROOT = FOLDER.parent.parent
ARCH = "sm_90"
LAUNCHES = 5  # under ncu, of which the least counts
CHUNK = 20  # kernels in a process
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
STAGES = ("outputs", "counters", "sanitizer")
# Beside ASYNC_METRICS, which a trace computes as well: instructions of warps for each kind of
# tensor core, and what copies and products take of the memory that is L1 and shared memory.
FURTHER = (
    "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "sm__inst_executed_pipe_tensor_op_imma.sum",
    "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_bank_reads.sum",
    "l1tex__data_bank_writes.sum",
)
# Without the data pipe's, which is counted by itself: where ncu has to run a kernel several times
# for its counters, stores wait differently, and blocks longer at their first barrier.
WITHOUT_PIPE = tuple(metric for metric in METRICS if metric != PIPE)
# Kernels of these families are asked for both.
FAMILIES = {
    *("cp.async", "memory barriers", "bulk copies", "matrix loads", "tensor cores"),
    *("warpgroups", "clusters", "tensor copies", "roles of warps"),
}
NCU = "ncu --csv --page raw --print-units base --clock-control none --kernel-name-base function"
NCU = tuple(NCU.split())
KEPT = 1024  # bytes of an array whose contents are kept beside their hash, to say what differs
PATIENCE = 60  # seconds for a process of one kernel


# ---------------------------------------------------------------- in the process that launches


def toolkit() -> Path:
    """The folder of the CUDA toolkit's headers."""
    nvcc = shutil.which("nvcc")
    homes = [
        os.environ.get("CUDA_PATH"),
        nvcc and Path(nvcc).resolve().parent.parent,
        "/usr/local/cuda",
    ]
    return next(
        Path(home) / "include"
        for home in homes
        if home and (Path(home) / "include/cuda_fp16.h").exists()
    )


def options(case: Case) -> tuple[str, ...]:
    """Beside those of anywarp/build.py: where the headers are that a case asks for."""
    flags = list(case.options)
    if case.headers:
        flags += [f"--include-path={path}" for path in (toolkit(), toolkit() / "cccl")]
    if re.search(r"\bINFINITY\b", case.source):  # NVRTC has no math.h
        flags.append("-DINFINITY=__int_as_float(0x7f800000)")
    return tuple(flags)


def compiled(case: Case) -> nvrtc.Compiled:
    return build.compile(case.source, case.filename, options(case), (case.kernel,), ARCH)


class Launcher:
    """A case on the GPU: the module loaded anew, arguments as fresh as asked for."""

    def __init__(self, case: Case):
        import cupy

        cupy.cuda.set_allocator(None)  # each array its own cudaMalloc, with its bounds
        self.cupy, self.case = cupy, case
        self.module = cupy.cuda.function.Module()
        if case.is_ptx:  # the driver compiles it
            self.module.load(f"{case.source}\0".encode())
            self.function = self.module.get_function(case.kernel)
        else:
            built = compiled(case)
            self.module.load(built.cubin)
            self.function = self.module.get_function(built.lowered[case.kernel])

    def place(self, values: list, unwritten: bool = False) -> list:
        """The arguments on the GPU; unwritten: `out` arrays as cudaMalloc gives them."""
        placed = []
        for n, value in enumerate(values):
            array = contents(value)
            if isinstance(array, np.ndarray):
                there = self.cupy.empty(array.shape, array.dtype)
                if not (unwritten and n in self.case.unwritten):
                    there.set(array)
                placed.append(replace(value, array=there) if isinstance(value, Map) else there)
            else:
                placed.append(as_bytes(value) if isinstance(value, bytes) else value)
        return placed

    def run(self, args: list, launches: int) -> None:
        words = [self.word(x) for x in args]
        for _ in range(launches):
            self.function(self.case.grid, self.case.block, words, self.case.shared_mem)
            self.cupy.cuda.runtime.deviceSynchronize()

    def word(self, value):
        """What CuPy takes in the place of a placed argument."""
        if isinstance(value, Map):
            return as_bytes(value.tensor_map().encoded(value.array))
        return value.data if isinstance(value, self.cupy.ndarray) else value


def as_bytes(value: bytes) -> np.ndarray:
    return np.frombuffer(value, f"V{len(value)}")


def outputs(name: str, path: str) -> None:
    """Run a case, twice if it prints nothing, and write what came out to `path` as JSON."""
    case = load(name)
    before = case.arguments()
    found = {"source": sha256(case.source.encode()), "inputs": sha256(*map(raw, before))}
    rounds = []
    try:
        for _ in range(1 if case.prints else 2):
            launcher = Launcher(case)
            if not case.is_ptx:
                found["resources"] = resources(launcher)
            args = launcher.place(before)
            launcher.run(args, case.launches)
            rounds.append(
                [
                    launcher.cupy.asnumpy(contents(x))
                    if isinstance(contents(b), np.ndarray)
                    else None
                    for x, b in zip(args, before)
                ]
            )
        found["outcome"] = "done"
        found["outputs"] = [
            None if b is None else output(contents(a), b, [r[n] for r in rounds[1:]], case)
            for n, (a, b) in enumerate(zip(before, rounds[0]))
        ]
    except (RuntimeError, ValueError, TypeError) as error:  # a fault, or a refused source
        found["outcome"] = f"{type(error).__name__}: {str(error)[:400]}"
    Path(path).write_text(json.dumps(found), encoding="utf-8")


def output(before: np.ndarray, after: np.ndarray, again: list, case: Case) -> dict:
    """What is kept of an array. `steady`: the same bits in a second run."""
    found = {"sha256": sha256(raw(after)), "steady": all(raw(x) == raw(after) for x in again)}
    wanted = case.bound or (after.nbytes <= KEPT and not case.planted)
    if wanted and raw(before) != raw(after):
        found["data"] = base64.b64encode(zlib.compress(raw(after), 9)).decode()
    return found


def resources(launcher: Launcher) -> dict:
    """What the driver says of a loaded kernel, and what `build.resources` reads from ptxas."""
    from cupy.cuda import driver

    attributes = {
        "registers": driver.CU_FUNC_ATTRIBUTE_NUM_REGS,
        "local": driver.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        "shared": driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    }
    built = compiled(launcher.case)
    said = build.resources(built, built.lowered[launcher.case.kernel])
    return {
        "driver": {
            what: driver.funcGetAttribute(number, launcher.function.ptr)
            for what, number in attributes.items()
        },
        "reported": {"registers": said.registers, "local": said.stack, "shared": said.shared},
    }


def count(names: list[str]) -> None:
    """What runs under ncu."""
    for name in names:
        launcher = Launcher(load(name))
        for _ in range(LAUNCHES):
            launcher.run(launcher.place(launcher.case.arguments()), 1)


def once(names: list[str]) -> None:
    """What runs under compute-sanitizer."""
    for name in names:
        launcher = Launcher(load(name))
        launcher.run(
            launcher.place(launcher.case.arguments(), unwritten=True), launcher.case.launches
        )


def raw(value) -> bytes:
    return value if isinstance(value, bytes) else value.tobytes()


def sha256(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


# --------------------------------------------------------------------- in the process that asks


def child(*words: str, under: tuple[str, ...] = (), patience: float = PATIENCE):
    """Run this module in a process of its own: (exit status or None after `patience` seconds,
    standard output, standard error)."""
    process = subprocess.Popen(
        [*under, sys.executable, "-m", f"{__package__}.record", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )  # so that what it started can be ended with it
    try:
        printed, errors = process.communicate(timeout=patience)
        return process.returncode, printed, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, errors = process.communicate()
        return None, printed, errors


def each(label: str, work, items: list, workers: int):
    """Yield (item, work(item)) as they are done, and print how far it is."""
    with ThreadPoolExecutor(workers) as pool:
        pending = {pool.submit(work, item): item for item in items}
        for n, done in enumerate(as_completed(pending), 1):
            print(f"{label} {n}/{len(items)}", pending[done], flush=True)
            yield pending[done], done.result()


def record_outputs(names: list[str], found: dict) -> None:
    gpu = provenance()["gpu"]

    def work(name: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "found.json"
            status, printed, errors = child("--outputs", name, str(path))
            if not path.exists():
                words = "timed out" if status is None else f"ended with {status}: {errors[-400:]}"
                return {"outcome": words, "source": sha256(load(name).source.encode())}
            made = json.loads(path.read_text(encoding="utf-8"))
            return made | {"printed": printed, "gpu": gpu}

    for name, result in each("outputs", work, names, 12):
        found[name] = result
        if result["outcome"] != "done":
            print(f"  {name}: {result['outcome'][:200]}", flush=True)


def record_counters(names: list[str], found: dict) -> None:
    # planted kernels are not counted: what a wrong kernel does is nobody's standard
    good = [n for n in names if found[n].get("outcome") == "done" and not load(n).planted]
    for name, rows in launches_counted("counters", good, WITHOUT_PIPE):
        found[name] |= counted(rows, WITHOUT_PIPE)
    compiled = [n for n in good if not load(n).is_ptx]  # by us, which a trace needs for the pipe
    for name, rows in launches_counted("the data pipe", compiled, (PIPE,)):
        add(found[name], counted(rows, (PIPE,)))
    more = [n for n in good if load(n).family in FAMILIES]
    asked = available((*ASYNC_METRICS, *FURTHER)) if more else ()
    for name, rows in launches_counted("further counters", more, asked):
        add(found[name], counted(rows, tuple(m for m in asked if m in ASYNC_METRICS)))
        found[name]["further"] = counted(rows, tuple(m for m in asked if m in FURTHER))


def add(record: dict, counts: dict) -> None:
    for key, values in counts.items():
        record.setdefault(key, {}).update(values)


def available(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Those that this ncu counts on this GPU; prints the others."""
    listed = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True).stdout
    known = set(listed.split())
    missing = [m for m in metrics if m.partition(".")[0] not in known]
    if missing:
        print(f"ncu does not list {', '.join(missing)}", flush=True)
    return tuple(m for m in metrics if m not in missing)


def launches_counted(label: str, names: list[str], metrics: tuple[str, ...]):
    """Yield (name, a row of metrics for each of its launches), of those that ncu has counted."""

    def work(chunk: tuple[str, ...]) -> dict[str, list[dict]]:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            status, printed, errors = child(
                "--count",
                *chunk,
                patience=300,
                under=(*NCU, "--log-file", str(log), "--metrics", ",".join(metrics)),
            )
            text = log.read_text(encoding="utf-8") if log.exists() else ""
            rows = profiling.parse(text, metrics)
        if len(rows) != LAUNCHES * len(chunk):
            print(
                f"  ncu counted {len(rows)} launches of {len(chunk)} kernels ({status}): "
                f"{(printed + errors)[-600:]}",
                flush=True,
            )
            if len(chunk) > 1:  # find the one that spoils it
                return {k: v for name in chunk for k, v in work((name,)).items()}
            return {}
        return {name: rows[n * LAUNCHES : (n + 1) * LAUNCHES] for n, name in enumerate(chunk)}

    for _, result in each(label, work, chunks(names) if metrics else [], 4):
        yield from result.items()


def counted(rows: list[dict], metrics: tuple[str, ...]) -> dict:
    """The least of each counter, and of those that are not the same in all launches, the most."""
    least, most = ({m: which(row[m] for row in rows) for m in metrics} for which in (min, max))
    return {"counters": least, "varies": {m: most[m] for m in metrics if most[m] != least[m]}}


def record_sanitizer(names: list[str], found: dict) -> None:
    def work(job: tuple[str, tuple[str, ...]]) -> dict:
        tool, chunk = job
        status, printed, errors = child(
            "--once",
            *chunk,
            patience=PATIENCE * (1 if len(chunk) == 1 else 4),
            under=("compute-sanitizer", "--tool", tool, "--show-backtrace", "no"),
        )
        return verdict(printed + errors, status)

    planted = [n for n in names if load(n).planted or found[n].get("outcome") != "done"]
    jobs = [(tool, (name,)) for name in planted for tool in TOOLS]
    jobs += [
        (tool, chunk) for chunk in chunks([n for n in names if n not in planted]) for tool in TOOLS
    ]
    while jobs:
        again = []
        for (tool, chunk), result in each("sanitizer", work, jobs, 12):
            if len(chunk) > 1 and (result["errors"] != 0 or result["warnings"]):
                again += [(tool, (name,)) for name in chunk]
            else:
                for name in chunk:
                    found[name].setdefault("sanitizer", {})[tool] = result
        jobs = again


def verdict(text: str, status: int | None) -> dict:
    """Errors and warnings as compute-sanitizer counts them (None: it did not come to an end),
    the first words of its reports, and the lines of the source that they name."""
    total = re.search(r"ERROR SUMMARY: (\d+) error", text)
    races = re.search(r"RACECHECK SUMMARY: .*\((\d+) errors?, (\d+) warnings?\)", text)
    reports = re.findall(
        r"^========= (?!COMPUTE|ERROR|RACECHECK|Program|Target|\s)(.*)", text, re.MULTILINE
    )
    said = sorted({re.sub(r" at \S+\+0x.*", "", report) for report in reports})
    errors = int(races[1]) if races else int(total[1]) if total else None
    found = {
        "errors": errors,
        "warnings": int(races[2]) if races else 0,
        "says": said[:6],
        "lines": sorted({int(n) for n in re.findall(r"\.cu:(\d+)", text)}),
    }
    if errors is None:
        found["outcome"] = "timed out" if status is None else f"{status}: {text[-300:]}"
    return found


def chunks(names: list[str]) -> list[tuple[str, ...]]:
    return [tuple(names[n : n + CHUNK]) for n in range(0, len(names), CHUNK)]


def save(path: Path, found: dict) -> None:
    """A line for each part of a kernel's record."""

    def lines(parts: dict, line: Callable[[object], str]) -> str:
        return ",\n".join(f"{json.dumps(key)}: {line(parts[key])}" for key in sorted(parts))

    compact = functools.partial(json.dumps, sort_keys=True)
    kernels = lines(found["kernels"], lambda one: "{\n" + lines(one, compact) + "\n}")
    origin = compact(found["provenance"])
    write(path, f'{{"kernels": {{\n{kernels}\n}},\n"provenance": {origin}}}\n')


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--outputs"]:
        outputs(*arguments[1:])
        return
    if arguments[:1] == ["--count"]:
        count(arguments[1:])
        return
    if arguments[:1] == ["--once"]:
        once(arguments[1:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels (all if none)")
    parser.add_argument("--output", type=Path, default=RECORD, metavar="FILE")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    chosen = parser.parse_args(arguments)
    names = chosen.names or all_names()
    for name in names:
        load(name)
    found = {"kernels": {}}
    for path in (RECORD, chosen.output):
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
    known = found["kernels"]
    for name in sorted(known.keys() - set(all_names())):
        del known[name]  # its file is gone
    found["provenance"] = provenance(**profiling.tool()) | {
        "what": "outputs, ncu's counters, compute-sanitizer"
    }
    for stage, work in zip(STAGES, (record_outputs, record_counters, record_sanitizer)):
        if stage in chosen.stages:
            work([n for n in names if n in known or stage == "outputs"], known)
            save(chosen.output, found)
    for name in names:
        if name in known and (words := doubts(load(name), known[name])):
            print(f"look at {name}: {words}")
    print(f"{chosen.output}: {len(known)} kernels, of which {len(names)} were asked for")


def doubts(case: Case, record: dict) -> str:
    """What speaks against a kernel that ought to be correct; nothing for one with a fault."""
    if case.planted:
        return ""
    unsteady = {n for n, x in enumerate(record.get("outputs", ())) if x and not x["steady"]}
    words = [] if record["outcome"] == "done" else [record["outcome"]]
    if unsteady - case.not_compared:
        words.append(f"arguments {sorted(unsteady - case.not_compared)} differ from run to run")
    if case.counted and record.get("varies"):
        words.append(f"counters vary: {', '.join(record['varies'])}")
    for tool, said in record.get("sanitizer", {}).items():
        if said["errors"] != 0:
            words.append(f"{tool}: {said['errors']} errors, {said['says']}, lines {said['lines']}")
    return "; ".join(words)


if __name__ == "__main__":
    main(sys.argv[1:])
