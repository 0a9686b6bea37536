"""Records of timings: what they hold, and the recorded ones, in a folder for each GPU.

Those that the book shows are in this package. What is measured here goes to a folder of the user,
`own_folder`, where it is looked up first: SGEMM_RECORDS names another one, or is `none`, and then
nothing but the package's own is read. Reading needs neither a GPU nor CuPy; `bench` makes them.
"""

from __future__ import annotations

import json
import operator
import os
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from .table import table

RECORDED_ON = "NVIDIA H200"  # the GPU that the book's numbers are of
SAME_SM = "NVIDIA H100 80GB HBM3"  # what is counted in cycles of an SM holds for both
FOLDER = Path(__file__).parent
OWN = "SGEMM_RECORDS"  # the variable that names the user's folder
# in a folder for each GPU; RESIDENTS is of all: blocks on an SM, by compute capability and label
TIMINGS, COUNTERS, STALLS, BITS = "timings.json", "counters.json", "stalls.json", "bits.json"
EXPERIMENTS, LATENCY, MODEL = "experiments.json", "latency.json", "model.json"
SHAPES, SHAPES_TENSOR, TUNE, WAYS = "shapes.json", "shapes_tensor.json", "tune.json", "ways.json"
ERRORS, PARALLEL, PEERS, ROOFS = "errors.json", "parallel.json", "peers.json", "roofs.json"
SAMPLES, WHERE = "samples.json", "where.json"  # of stalls, and by place in the machine code
SUSTAINED, RESIDENTS = "sustained.json", "residents.json"
CUBLAS = "cublas"
COMMON = ("gpu", "driver", "nvrtc", "cublas")  # with the protocol: the same in all of a file


@dataclass(frozen=True)
class Record:
    """How long one step, or cuBLAS, took for C = A B at one shape: median, 10th, 90th percentile.

    A record keeps the median of cuBLAS in the same rounds, since no other can be compared with it:
    other rounds had other clocks. So a later run of some steps, which times cuBLAS anew, changes
    nothing that is said of others. Of cuBLAS's own record it is `ms`.

    The clock and the reasons that held it down (nvidia-smi) are one sample, taken while the
    rounds went on; None where nvidia-smi did not say.
    """

    step: str  # a step's label, or "cublas"
    M: int
    N: int
    K: int
    ms: float
    ms_p10: float
    ms_p90: float
    repeats: int
    cublas_ms: float | None = None  # None if cuBLAS was not timed beside it
    sm_clock_mhz: float | None = None
    throttle: tuple[str, ...] | None = None
    commit: str | None = None  # if merged in from a run of another tree than the rest

    @property
    def name(self) -> str:
        """What was measured, in words: "02_naive at 128 x 128 x 128"."""
        return f"{self.step} at {self.M} x {self.N} x {self.K}"

    @property
    def tflops(self) -> float:
        """10^12 floating-point operations a second, 2 M N K of them, at the median time."""
        return self._rate(self.ms)

    @property
    def tflops_p10(self) -> float:
        """The 10th percentile of the TFLOPS, which is that of the 90th percentile time."""
        return self._rate(self.ms_p90)

    @property
    def tflops_p90(self) -> float:
        return self._rate(self.ms_p10)

    def _rate(self, ms: float) -> float:
        return 2 * self.M * self.N * self.K / (ms * 1e9)


def sides(size: int | tuple[int, int, int]) -> tuple[int, int, int]:
    """M, N and K of a shape, or of a whole number n, NumPy's too, which stands for n x n x n."""
    try:
        return (operator.index(size),) * 3  # type: ignore[arg-type]
    except TypeError:
        M, N, K = map(operator.index, size)  # type: ignore[arg-type]
        return M, N, K


def fastest(records: Iterable[Record]) -> Record:
    """Of those that were timed most often, the one with the least median."""
    return min(records, key=lambda r: (-r.repeats, r.ms))


class MergeError(ValueError):
    """Records of two runs do not belong in one file."""


@dataclass(frozen=True, repr=False)
class Results:
    """Records of one run on one GPU, with where they come from. Prints as a table."""

    provenance: dict[str, Any]
    fma_peak_tflops: float  # measured: independent FMAs in registers, nothing else
    copy_gbs: float  # measured: 10^9 bytes read and written a second
    records: tuple[Record, ...] = ()
    left_out: tuple[str, ...] = ()  # what was not measured, and why
    recorded: bool = field(default=False, compare=False)  # loaded, not measured just now

    @property
    def gpu(self) -> str:
        return str(self.provenance["gpu"])

    @property
    def date(self) -> str:
        return str(self.provenance["date"])

    def select(self, step: Any) -> tuple[Record, ...]:
        """The records of a step (or its label, or "cublas"), smallest product first."""
        wanted = getattr(step, "label", step)
        return tuple(
            sorted((r for r in self.records if r.step == wanted), key=lambda r: r.M * r.N * r.K)
        )

    def find(self, step: Any, size: int | tuple[int, int, int]) -> Record | None:
        """The record of a step (or its label, or "cublas") at a size n, which stands for
        n x n x n, or a shape (M, N, K); None if that was not measured."""
        shape = sides(size)
        return next((r for r in self.select(step) if (r.M, r.N, r.K) == shape), None)

    def at(self, step: Any, size: int | tuple[int, int, int]) -> Record:
        """`find`, raising ValueError, with what was measured, where there is no such record."""
        if record := self.find(step, size):
            return record
        there = ", ".join(f"{r.M} x {r.N} x {r.K}" for r in self.select(step)) or "nothing"
        raise ValueError(f"no record of {getattr(step, 'label', step)} at {size}; there is {there}")

    def best(self, shape: int | tuple[int, int, int]) -> Record:
        """The fastest step at a shape, of those that were timed most often: a search times what
        is left in the end more often. Raises ValueError where nothing was measured."""
        wanted = sides(shape)
        there = [r for r in self.records if (r.M, r.N, r.K) == wanted and r.step != CUBLAS]
        if not there:
            raise ValueError(f"nothing was measured at {' x '.join(map(str, wanted))}")
        return fastest(there)

    def share_of_cublas(self, record: Record) -> float | None:
        """The record's TFLOPS over cuBLAS's in the same rounds; None if that was not measured.

        What `find(CUBLAS, shape)` gives may be of another run: see `Record`.
        """
        return record.cublas_ms / record.ms if record.cublas_ms else None

    def merged(self, earlier: Results) -> Results:
        """These results and what an earlier run measured of other steps and shapes.

        The roofs and the provenance are these results' own, and cuBLAS's record at a shape that was
        measured again; an earlier record keeps its commit, and the cuBLAS of its rounds.
        Raises MergeError unless the timings can stand side by side.
        """
        here, there = (_circumstances(run.provenance) for run in (self, earlier))
        for key in here | there:
            if here.get(key) != there.get(key):
                raise MergeError(
                    f"these timings cannot join the earlier ones: {key} is "
                    f"{here.get(key)!r} and was {there.get(key)!r}; save them "
                    "elsewhere, or measure everything again"
                )
        old = earlier.provenance.get("commit")
        old = None if old == self.provenance.get("commit") else old
        lost = {text.partition(": ")[0] for text in self.left_out}
        done = {r.name for r in self.records} | lost
        kept = [replace(r, commit=r.commit or old) for r in earlier.records if r.name not in done]
        records = sorted(
            [*self.records, *kept],
            key=lambda r: (r.M * r.N * r.K, r.M, r.N, r.step != CUBLAS, r.step),
        )
        left_out = [text for text in earlier.left_out if text.partition(": ")[0] not in done]
        return replace(self, records=tuple(records), left_out=(*self.left_out, *left_out))

    def __repr__(self) -> str:
        how = "recorded" if self.recorded else "measured"
        lines = [
            f"{self.gpu}, {how} {self.date}: FMA peak {self.fma_peak_tflops:.1f} TFLOPS, "
            f"copy {self.copy_gbs:.0f} GB/s"
        ]
        cells = [("step", "M x N x K", "TFLOPS", "p10 to p90", "of cuBLAS")]
        for name in dict.fromkeys(r.step for r in self.records):
            for r in self.select(name):
                share = self.share_of_cublas(r)
                shape = f"{r.M} x {r.N} x {r.K}"
                spread = f"{r.tflops_p10:.3g} to {r.tflops_p90:.3g}"
                of_cublas = "-" if share is None else f"{share:.1%}"
                cells.append((r.step, shape, f"{r.tflops:.3g}", spread, of_cublas))
        if self.records:
            lines += ["", table(cells, "<>>>>", least=(22, 18, 7, 15, 9))]
        return "\n".join([*lines, *(f"left out: {reason}" for reason in self.left_out)])

    def to_json(self) -> str:
        """A record a line, without what is not known."""
        data = asdict(self)
        del data["recorded"]
        known = ({k: v for k, v in row.items() if v is not None} for row in data["records"])
        lines = ",\n".join(f"  {json.dumps(row)}" for row in known)
        text = json.dumps(data | {"records": []}, indent=1)
        return text.replace('"records": []', f'"records": [\n{lines}\n ]', 1) + "\n"

    def save(self, path: Path | str) -> None:
        """Write the results as JSON."""
        write(Path(path), self.to_json())

    @classmethod
    def load(cls, path: Path | str) -> Results:
        return cls.read(json.loads(Path(path).read_text(encoding="utf-8")))

    @classmethod
    def read(cls, data: dict[str, Any]) -> Results:
        """What `to_json` has written."""
        records = []
        for record in data["records"]:
            throttle = record.get("throttle")
            throttle = None if throttle is None else tuple(throttle)
            records.append(Record(**record | {"throttle": throttle}))
        values = data | {"records": tuple(records), "left_out": tuple(data["left_out"])}
        return cls(**values, recorded=True)


def _circumstances(provenance: dict[str, Any]) -> dict[str, Any]:
    """What must agree for timings to stand side by side."""
    return {**{key: provenance.get(key) for key in COMMON}, **provenance.get("protocol", {})}


def write(path: Path, text: str) -> None:
    """Write a record; a file that was there is replaced whole or not at all, whoever else writes
    it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def own_folder() -> Path | None:
    """Where what this user measures is kept; None if SGEMM_RECORDS is `none`."""
    if choice := os.environ.get(OWN):
        return None if choice == "none" else Path(choice)
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~"
    elif sys.platform == "darwin":
        root = "~/Library/Application Support"
    else:
        root = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(os.path.expanduser(root)) / "sgemm-book" / "records"


def own_path(gpu_name: str, name: str) -> Path:
    """Where to keep what is measured on this GPU, unless a place is named. Raises OSError where the
    user has no folder."""
    folder = own_folder()
    if folder is None:
        raise OSError(f"{OWN}=none: name a file by --output, or a folder by {OWN}")
    return recorded_path(gpu_name, name, folder)


def slug(gpu_name: str) -> str:
    """ "NVIDIA H200" -> "nvidia_h200"."""
    return re.sub(r"[^a-z0-9]+", "_", gpu_name.lower()).strip("_")


def results(gpu_name: str, folder: Path | None = None) -> Results:
    """The recorded results of a GPU, such as "NVIDIA H200". Raises ValueError if there are none."""
    return Results.load(_recorded(gpu_name, TIMINGS, folder))


def counters(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """What Nsight Compute counted on a GPU, such as "NVIDIA H200".

    {"size": M = N = K, "steps": {label: {metric: count}}, "provenance": …}, with the metrics'
    names as `Trace.counters` has them; of a step of several kernels, those of `pack` stand under
    "label:pack". Raises ValueError if there is no such record.
    """
    return _read(gpu_name, COUNTERS, folder)


def latency(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """How long instructions of a GPU wait, and what comes through while they do.

    What `benchmarks.latency` measured: {"latency": cycles, "loads" and "multiply-adds": rows
    by warps and chains, "read_gbs": GB/s of each memory, "provenance": …}. Raises ValueError if
    there is no such record.
    """
    return _read(gpu_name, LATENCY, folder)


def roofs(gpu_name: str = SAME_SM, folder: Path | None = None) -> dict[str, Any]:
    """What each instruction that multiplies reaches on a GPU, in multiply-adds a cycle of an SM.

    What `benchmarks.roofs` measured, on an H100, whose SM is the H200's: {"roofs": the most by
    instruction and kind, as "mma.sync BF16", "one block" and "all SMs": rows of cases,
    "provenance": …}. Raises ValueError if there is no such record."""
    return _read(gpu_name, ROOFS, folder)


def model(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """What `measure.splits` timed and fitted: {"labels": of steps, "shapes": [M, N, K] of each
    product, "us": microseconds, a row for each shape, "cublas_us", "tiles" and "costs":
    parameters of `analysis.duration`, "error": the root mean square of the logarithm of
    predicted over measured, "others": the same but the costs, for each of other steps that were
    timed in rounds of their own, "provenance": …}. Raises ValueError if there is no such record."""
    return _read(gpu_name, MODEL, folder)


def shapes(gpu_name: str, tensor_cores: bool = False, folder: Path | None = None) -> dict[str, Any]:
    """`kernels.sgemm` beside cuBLAS at shapes drawn at random, with tensor cores at the large ones:
    {"shapes": a dict of M, N, K, us, cublas_us and the chosen step for each, "provenance": …}.
    Raises ValueError if there is no such record."""
    return _read(gpu_name, SHAPES_TENSOR if tensor_cores else SHAPES, folder)


def stalls(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """What Nsight Compute saw warps wait for on a GPU, and how busy that was.

    {"size": M = N = K, "steps": {label: {metric: value}}, "provenance": …}; `kernels.metrics`
    has the metrics' names: STALLED with one of REASONS, ISSUE_ACTIVE, L1_HITS and the others of
    STATE; of an H200 also SAMPLED, which are those of an H100, whose SM is the same, and not of all
    steps. Raises ValueError if there is no such record.
    """
    record = _read(gpu_name, STALLS, folder)
    sampled = _read(SAME_SM, SAMPLES, None)["steps"] if gpu_name == RECORDED_ON else {}
    for label, row in record["steps"].items():
        row |= sampled.get(label, {})
    return record


def where(folder: Path | None = None) -> dict[str, dict[str, int]]:
    """Samples of warps on an H100 by where in the machine code they stood, by label and words:
    sums of what Nsight Compute tells of each instruction (its section SourceCounters)."""
    steps: dict[str, dict[str, int]] = _read(SAME_SM, WHERE, folder)["steps"]
    return steps


def experiments(gpu_name: str, folder: Path | None = None) -> dict[str, Results]:
    """The recorded experiments of a GPU, such as "NVIDIA H200", by name: see
    `benchmarks.experiments`. Raises ValueError if there are none."""
    data = _read(gpu_name, EXPERIMENTS, folder)
    return {name: Results.read(of) for name, of in data["experiments"].items()}


def sustained(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """What products take of time and energy: by themselves, in turns with cuBLAS alone, sustained.

    What `benchmarks.sustained` measured: {"products": rows with step, size and, for each of these
    ways, milliseconds, the clock and what holds it down; sustained, also watts, "provenance": …}.
    Raises ValueError if there is no such record."""
    return _read(gpu_name, SUSTAINED, folder)


def tuned(gpu_name: str, folder: Path | None = None) -> Results:
    """What a search of tiles has found on a GPU, such as "NVIDIA H200": see `measure.tune`.

    A record for each candidate and shape, as everywhere: `kernels.step(record.step)` is the
    candidate, `record.ms` its median, `record.repeats` how often it was timed; `best(shape)` is
    the fastest. Raises ValueError if there is no such record."""
    return Results.load(_recorded(gpu_name, TUNE, folder))


def errors(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """How wrong products were on a GPU, such as "NVIDIA H200", in roundoffs of |A| |B|.

    What `benchmarks.errors` measured: {"errors": {kind: {K: {label: error}}}, "chains": {kind:
    {length: error}}, "cases": rows with kind, shape and errors, "bits": SHA-256 of small products,
    "spoilt": milliseconds, …}. Raises ValueError if there is no such record.
    """
    return _read(gpu_name, ERRORS, folder)


def parallel(gpu_name: str, folder: Path | None = None) -> dict[str, Any]:
    """What several GPUs did together, and one with the host's memory.

    `benchmarks.parallel` measures it. {"1": …, "2": …, "4": …}, a section for each number of GPUs,
    with its provenance. Raises ValueError without such a record.
    """
    return _read(gpu_name, PARALLEL, folder)


def peers() -> dict[str, Any]:
    """Published kernels and libraries, as they were timed on an H200.

    {"kernels": {name: {"tflops": a number or None for each size, …}}, "columns": the sizes, …}.
    """
    return _read(RECORDED_ON, PEERS, FOLDER)


def recorded_path(gpu_name: str, name: str, folder: Path = FOLDER) -> Path:
    """Where the record of a GPU with this name stands in a folder."""
    return folder / slug(gpu_name) / name


def _read(gpu_name: str, name: str, folder: Path | None) -> dict[str, Any]:
    """A GPU's record as JSON has it; raises ValueError without one."""
    text = _recorded(gpu_name, name, folder).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def _recorded(gpu_name: str, name: str, folder: Path | None) -> Path:
    """The file of a GPU's record, unless `folder` names another place the user's own before that
    of the package; raises ValueError, with the GPUs that have one, without it."""
    folders = [folder] if folder else [x for x in (own_folder(), FOLDER) if x is not None]
    paths = (recorded_path(gpu_name, name, place) for place in folders)
    if path := next((path for path in paths if path.is_file()), None):
        return path
    others = sorted(path for place in folders for path in place.glob(f"*/{name}"))
    known = (json.loads(p.read_text(encoding="utf-8"))["provenance"]["gpu"] for p in others)
    raise ValueError(
        f"nothing is recorded for {gpu_name!r}; recorded: " + (", ".join(known) or "nothing yet")
    )


def __dir__() -> list[str]:
    """The names that are defined here, for those who complete them."""
    return [
        name
        for name, value in globals().items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", __name__) == __name__
    ]
