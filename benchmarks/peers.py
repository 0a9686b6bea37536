"""The same product in Triton, CuTe DSL, cuTile, Numba and CUTLASS beside steps of this book.

    python -m benchmarks.peers compile FOLDER    machine code of all that are installed here
    python -m benchmarks.peers store             PTX for book/same_product.ipynb, of the same
    python -m benchmarks.peers FOLDER OUTPUT     time what FOLDER has, on a GPU

The programs are book/programs/product_….py; their compilers need no GPU. `compile` may run several
times, in environments that have one compiler each; CUTLASS's library comes from peers.cu. Each
program has a handful of configurations, of which the fastest at a size is timed there, as
`python -m kernels bench` times a step: those on tensor cores in rounds of their own.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kernels
from anywarp import gpu
from anywarp.sass import elf
from kernels.analysis.reference import FLOAT32_ROUNDOFF
from kernels.measure import bench, cublas
from kernels.measure.product import Launch, launch_of, loaded_of, matrices
from kernels.measure.provenance import provenance
from kernels.records import CUBLAS, write

from .row_sums import portable

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "book" / "programs"
SIZES = (1024, 2048, 4096, 8192)
RECORD = "same_product.json"  # beside the others of a GPU
STORED_SIZE = 256  # of the product that the page runs, where the code depends on it
STEPS = ("19_machine_code", "21_warpgroups", "24_halves")
TRIED = 3  # launches of each configuration, of which the fastest counts
PATIENCE = 60  # seconds for all attempts in a process
MOST_FAULTS = 5
BEGUN = "begun"
WRONG = 100.0  # roundoffs: no product in float32, nor in parts that hold its numbers, is so wrong
NULL = np.uint64(0)


class Made(NamedTuple):
    """One configuration, compiled: `ptx` is what the page may run, `code` what a GPU runs."""

    code: bytes
    ptx: str
    symbol: str
    tile: tuple[int, int]
    block: int
    shared: int


Configuration = tuple[Any, ...]


# ---------------------------------------------------------------------- the compilers


def program(name: str) -> Any:
    """The module book/programs/product_NAME.py."""
    path = PROGRAMS / f"product_{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_triton(
    precision: str, size: int, BM: int, BN: int, BK: int, warps: int, stages: int
) -> Made:
    from triton import compile as compiled
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    product = program("triton").product
    kinds = dict.fromkeys("abc", "*fp32") | dict.fromkeys("MNK", "i32")
    constants = {"BM": BM, "BN": BN, "BK": BK, "PRECISION": precision}
    signature = {name: kinds.get(name, "constexpr") for name in product.arg_names}
    # what Triton sees in arguments where it compiles at a call
    sixteens = {(i,): [["tt.divisibility", 16]] for i in range(len(kinds))}
    source = ASTSource(product, signature, constants, sixteens)
    options = {"num_warps": warps, "num_stages": stages, "ptx_version": 86}
    made = compiled(source, target=GPUTarget("cuda", 90, 32), options=options)
    about = made.metadata
    assert not (about.global_scratch_size or about.profile_scratch_size)
    return Made(made.asm["cubin"], made.asm["ptx"], about.name, (BM, BN), 32 * warps, about.shared)


def by_cute(warps: bool, size: int, BM: int, BN: int, BK: int, stages: int) -> Made:
    folder = tempfile.mkdtemp()  # read when CuTe DSL is imported, as the others are
    os.environ.setdefault("CUTE_DSL_DUMP_DIR", folder)
    os.environ |= {"CUTE_DSL_KEEP": "ptx,cubin", "CUTE_DSL_ARCH": "sm_90"}
    os.environ["CUTE_DSL_LINEINFO"] = "1"
    from cutlass import Float32, cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    by_row, by_column = (
        make_fake_compact_tensor(Float32, (size, size), stride_order=order, assumed_align=16)
        for order in ((1, 0), (0, 1))
    )
    folder = os.environ["CUTE_DSL_DUMP_DIR"]
    for path in Path(folder).glob("*.*"):
        path.unlink()
    cute.compile(program("cute").product, by_row, by_column, by_row, BM, BN, BK, stages, warps)
    (ptx,) = (path.read_text("utf-8").rstrip("\0") for path in Path(folder).glob("*.ptx"))
    (code,) = (path.read_bytes() for path in Path(folder).glob("*.cubin"))
    symbol = re.search(r"\.entry (\w+)", ptx)
    assert symbol
    return Made(code, ptx, symbol[1], (BM, BN), 256, 4 * stages * BK * (BM + 4 + BN))


def by_numba(name: str, size: int, BK: int) -> Made:
    from numba import cuda, float32

    product = program(name).product.py_func
    body = types.FunctionType(product.__code__, {**product.__globals__, "BK": BK}, "product")
    ptx, _ = cuda.compile_ptx(body, (float32[:, ::1],) * 3, cc=(9, 0), lineinfo=True)
    symbol = re.search(r"\.entry (\w+)", ptx)
    assert symbol
    return Made(f"{ptx}\0".encode(), ptx, symbol[1], (128, 128), 256, 0)


def by_cutile(parts: int, size: int, BM: int, BN: int, BK: int, tma: bool, warps: int) -> Made:
    import io

    import cuda.tile as ct
    from cuda.tile import compilation

    # what cuTile sees in the arguments of a call
    array = compilation.ArrayConstraint(
        ct.float32, 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        may_alias_internally=False, stride_constant=(None, 1), stride_divisible_by=(4, 1),
        shape_divisible_by=(16, 16), base_addr_divisible_by=16,
    )  # fmt: skip
    convention = compilation.CallingConvention.cutile_python_v1()
    parameters = [array, array, array, BM, BN, BK, parts, tma]
    signature = compilation.KernelSignature(parameters, convention, "product")
    product = program("cutile").product.replace_hints(num_worker_warps=warps or None)
    code = io.BytesIO()
    compilation.export_kernel(product, [signature], code, gpu_code="sm_90", output_format="cubin")
    return Made(code.getvalue(), ptx_within(code.getvalue()), "product", (BM, BN), 1, 0)


def ptx_within(cubin: bytes) -> str:
    """What cuTile's compiler leaves beside the machine code for debuggers, without what says that
    it was not written by hand."""
    (section,) = (one for one in elf.sections(cubin) if one.name == ".nv_debug_ptx_txt")
    text = cubin[section.start : section.start + section.size].decode().replace("\0", "\n")
    return re.sub(r"\n\.language \d+", "", text).replace(".version 9.4", ".version 8.8")


TRITON = [
    (128, 128, 32, 8, 3),
    (128, 128, 32, 4, 3),
    (128, 128, 16, 8, 4),
    (128, 256, 32, 8, 3),
    (64, 128, 32, 4, 4),
    (128, 64, 32, 4, 4),
    (64, 256, 32, 8, 3),
    (256, 128, 32, 8, 3),
]
CUTILE_TILES = [
    (64, 64, 16, 0),
    (64, 128, 16, 0),
    (128, 64, 16, 0),
    (64, 64, 32, 0),
    (64, 128, 32, 0),
    (128, 128, 16, 0),
    (128, 128, 32, 0),
    (128, 128, 16, 8),
    (128, 256, 16, 8),
]
CUTILE = [(*tile[:3], tma, tile[3]) for tile in CUTILE_TILES for tma in (False, True)]
CUTE = [(128, 128, 8, 3), (128, 128, 8, 4), (128, 128, 16, 3), (128, 256, 8, 3), (256, 128, 8, 3)]
NUMBA = [(8,), (16,), (32,)]


class Peer(NamedTuple):
    """A program in one precision. `sized`: compiled for a size."""

    package: str  # as it is installed
    compiled: Callable[..., Made]
    configurations: list[Configuration]
    tensor_cores: bool = False
    sized: bool = False


PEERS = {
    **{
        f"triton {precision}": Peer(
            "triton", functools.partial(by_triton, precision), TRITON, precision != "ieee"
        )
        for precision in ("ieee", "tf32x3", "bf16x6")
    },
    "cute": Peer("nvidia-cutlass-dsl", functools.partial(by_cute, False), CUTE, sized=True),
    "cute warps": Peer("nvidia-cutlass-dsl", functools.partial(by_cute, True), CUTE, sized=True),
    "cutile": Peer("cuda-tile", functools.partial(by_cutile, 1), CUTILE),
    "cutile 2 tf32": Peer("cuda-tile", functools.partial(by_cutile, 2), CUTILE, True),
    "numba": Peer("numba-cuda", functools.partial(by_numba, "numba"), NUMBA),
    "numba fours": Peer("numba-cuda", functools.partial(by_numba, "numba_fours"), NUMBA),
}
NOT_TIMED = ("cute warps", "numba fours")  # in the record that the book has
STORED = {  # the fastest at 4096, but for cuTile: that declares more shared memory than PTX may
    "triton ieee": (128, 64, 32, 4, 4),
    "cute": (128, 128, 16, 3),
    "cute warps": (128, 128, 16, 3),
    "cutile": (64, 64, 16, False, 0),
    "numba": (8,),
    "numba fours": (8,),
}
CUTLASS = "cutlass 3xtf32"
CUTLASS_VERSION = "4.7.0"
CUTLASS_TILES = ["128x64x16_4", "128x128x16_3", "128x128x16_4", "256x128x16_3"]


def installed(package: str) -> str | None:
    """Its version, None without it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def compile_all(folder: Path) -> None:
    """Write the machine code of all that are installed, and FOLDER/PEER.json with what they are."""
    folder.mkdir(exist_ok=True)
    for name, peer in PEERS.items():
        if not (version := installed(peer.package)):
            continue
        candidates: list[dict[str, Any]] = []
        for size in SIZES if peer.sized else (None,):
            for configuration in peer.configurations:
                words = " ".join(map(str, configuration))
                try:
                    made = peer.compiled(size or SIZES[0], *configuration)
                except Exception as error:  # some configurations are refused, in many ways
                    print(f"{name} {words}: {type(error).__name__}: {error}"[:300], flush=True)
                    continue
                file = f"{name} {words} {size or ''}".strip().replace(" ", "_")
                (folder / file).write_bytes(made.code)
                about = made._asdict() | {"code": file, "configuration": words, "size": size}
                del about["ptx"]
                candidates.append(about)
                print(f"{name} {words} {size or ''}: {len(made.code)} bytes", flush=True)
        said = {"name": name, "version": f"{peer.package} {version}", "candidates": candidates}
        write(folder / f"{name.replace(' ', '_')}.json", json.dumps(said, indent=1) + "\n")


def page_of(name: str) -> Path:
    return PROGRAMS / f"product_{name.replace(' ', '_')}.ptx"


def stored(name: str) -> str:
    """The PTX of a peer as the page has it, after a line with what it takes to launch it."""
    peer = PEERS[name]
    made = peer.compiled(STORED_SIZE, *STORED[name])
    about = {"by": f"{peer.package} {installed(peer.package)}", "tile": made.tile}
    asked = re.search(r"\.reqntid (\d+)", made.ptx)  # of a tile kernel, `block` is 1
    about |= {"threads": int(asked[1]) if asked else made.block, "shared": made.shared}
    about |= {"configuration": STORED[name]}
    ptx = portable(made.ptx).replace(made.symbol, "product")
    ptx = re.sub(r"_ZN08NumbaEnv\w+", "environment", ptx)
    return f"// {json.dumps(about)}\n{ptx}\n"


def store() -> None:
    """Write the PTX of all that are installed."""
    for name in STORED:
        if installed(PEERS[name].package):
            page_of(name).write_text(stored(name), encoding="utf-8")


# ---------------------------------------------------------------------- on a GPU


def language(name: str) -> str:
    return name.split()[0]


def arrays_of_numba(x: Any, n: int) -> tuple[Any, ...]:
    """meminfo, parent, items, their size, data, shape and strides."""
    return NULL, NULL, np.int64(n * n), np.int64(4), x, *map(np.int64, (n, n, 4 * n, 4))


def arrays_of_cutile(x: Any, n: int) -> tuple[Any, ...]:
    """Data, shape and strides."""
    return x, *map(np.int32, (n, n, n, 1))


def arguments(name: str, A: Any, B: Any, C: Any, n: int) -> tuple[Any, ...]:
    """What the kernel of a peer takes."""
    if language(name) == "cute":
        return A, B, C
    if language(name) == "numba":
        return tuple(one for x in (A, B, C) for one in arrays_of_numba(x, n))
    if language(name) == "cutile":
        return tuple(one for x in (A, B, C) for one in arrays_of_cutile(x, n))
    return A, B, C, *[np.int32(n)] * 3, NULL, NULL


def grid(name: str, tile: list[int], n: int) -> tuple[int, ...]:
    rows, columns = n // tile[0], n // tile[1]
    return (columns, rows) if language(name) in ("cute", "numba") else (rows * columns,)


def versions(folder: Path) -> dict[str, str]:
    """What FOLDER has, by name: the package that made it, with its version."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    more = {CUTLASS: f"CUTLASS {CUTLASS_VERSION}"} if (folder / "cutlass.so").exists() else {}
    return {said["name"]: said["version"] for said in found} | more


def launches(folder: Path, name: str, n: int, A: Any, B: Any, C: Any) -> Iterator[tuple[str, Any]]:
    """Each configuration of a peer for C = A B of a size, and a function that loads what launches
    it, which the driver may refuse."""
    if name == CUTLASS:
        library = ctypes.CDLL(str(folder / "cutlass.so"))
        where = [ctypes.c_void_p(gpu.address(x)) for x in (A, B, C)]
        for tiles in CUTLASS_TILES:
            launch = functools.partial(checked, library[f"product_{tiles}"], n, *where)
            yield tiles, functools.partial(functools.partial, launch)
        return
    said = json.loads((folder / f"{name.replace(' ', '_')}.json").read_text())
    values = arguments(name, A, B, C, n)
    for one in said["candidates"]:
        if one["size"] in (None, n) and not (n % one["tile"][0] or n % one["tile"][1]):
            yield one["configuration"], functools.partial(loaded, folder, name, one, n, values)


def loaded(folder: Path, name: str, one: dict[str, Any], n: int, values: Any) -> Launch:
    kernel = gpu.load((folder / one["code"]).read_bytes(), one["symbol"])
    at, block = grid(name, one["tile"], n), (one["block"],)
    return functools.partial(gpu.launch, kernel, at, block, values, one["shared"])


def checked(function: Any, *arguments: Any) -> None:
    """Call a function of CUTLASS's library, whose result says whether it was launched."""
    if status := function(*arguments):
        raise RuntimeError(f"CUTLASS answers {status}")


class Product:
    """A and B of a size on the GPU, and how wrong what is in C is."""

    def __init__(self, n: int):
        _, _, self.matrix = matrices(n, n, n)
        self.A, self.B, self.C = self.matrix("A", 0), self.matrix("B", 0), gpu.empty((n, n))
        a, b = self.A.astype(np.float64), self.B.astype(np.float64)
        self.exact, self.bound = a @ b, FLOAT32_ROUNDOFF * (abs(a) @ abs(b))

    def error(self, launch: Launch) -> float:
        """The largest error of a launch, in roundoffs; NaN where it does not write."""
        gpu.fill_bytes(self.C, 0xFF)
        launch()
        return self.wrong()

    def wrong(self) -> float:
        return float((abs(self.C - self.exact) / self.bound).max())


def key(name: str, words: str) -> str:
    """How a configuration of a peer is called: "cute 128 128 8 3"."""
    return f"{name} {words}"


def attempt(folder: Path, left_out: list[str]) -> None:
    """Launch each configuration that is not left out at the least size, and print how wrong it is.
    In a process of its own, which a fault on the GPU ends."""
    n = SIZES[0]
    product = Product(n)
    for name in versions(folder):
        for words, load in launches(folder, name, n, product.A, product.B, product.C):
            if (one := key(name, words)) in left_out:
                continue
            print(f"{one}: {BEGUN}", flush=True)
            gpu.fill_bytes(product.C, 0xFF)
            try:
                load()()
            except RuntimeError as error:  # refused, by the driver or by CUTLASS
                print(f"{one}: {error}".replace("\n", " "), flush=True)
            else:
                print(f"{one}: {product.wrong()}", flush=True)


def attempted(folder: Path) -> dict[str, str]:
    """What became of each configuration: its error, or what was said instead. After a fault on the
    GPU, or where one takes too long, another process goes on with the rest."""
    found: dict[str, str] = {}
    for _ in range(MOST_FAULTS):
        command = [sys.executable, "-m", "benchmarks.peers", "attempt", str(folder), *found]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            late = threading.Timer(PATIENCE, process.kill)
            late.start()
            out, errors = process.communicate()
            late.cancel()
        answers = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
        last = (errors.strip().splitlines() or ["no word"])[-1][:200]
        found |= {one: last if said == BEGUN else said for one, said in answers.items()}
        if not process.returncode:
            break
        print(f"an attempt ended with {process.returncode}: {errors[-600:]}", file=sys.stderr)
    return found


def is_right(answer: str) -> bool:
    try:
        return float(answer) < WRONG
    except ValueError:
        return False


def fastest_of(
    folder: Path, name: str, right: set[str], product: Product, n: int, flush: Launch
) -> tuple[str, Launch] | None:
    """Of the configurations that were right, the fastest at this size."""
    tried: list[tuple[float, str, Launch]] = []
    for words, load in launches(folder, name, n, product.A, product.B, product.C):
        if key(name, words) in right:
            launch = load()
            bench.rounds([launch], flush, 1, 0)
            (times,) = bench.rounds([launch], flush, TRIED, 0)
            tried.append((min(times), words, launch))
    for ms, words, _ in sorted(tried, key=lambda one: one[0]):
        print(f"{name} at {n}, {words}: {2 * n**3 / ms / 1e9:.1f} TFLOPS", flush=True)
    return min(tried, key=lambda one: one[0])[1:] if tried else None


def measure(folder: Path) -> dict[str, Any]:
    """The record, as it is stored. Raises NoGPU."""
    gpu.require()
    answers = attempted(folder)
    print(json.dumps(answers, indent=1), flush=True)
    flush = bench.flusher()
    _, _, empty_launch_us = bench.measure_roofs(flush)
    words = {"min_repeats": bench.MIN_REPEATS, "min_seconds_each": bench.MIN_SECONDS}
    origin = provenance(**bench.circumstances(empty_launch_us, **words), versions=versions(folder))
    protocol = bench.Protocol(bench.often, words, thorough=True)
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        product = Product(n)
        groups: dict[bool, dict[str, tuple[str, Launch]]] = {False: {}, True: {}}
        for label in STEPS:
            step = kernels.step(label)
            launch = launch_of(step, loaded_of(step), product.matrix, product.C)
            groups[step.tensor_cores][label] = "", launch
        for name in versions(folder):
            right = {one for one, answer in answers.items() if is_right(answer)}
            if best := fastest_of(folder, name, right, product, n, flush):
                tensor_cores = name == CUTLASS or PEERS[name].tensor_cores
                groups[tensor_cores][name] = best
        by_cublas = functools.partial(cublas.sgemm, product.A, product.B, product.C)
        for tensor_cores, group in groups.items():
            works = {CUBLAS: ("", by_cublas)} | group
            timed = bench._timed(
                {name: launch for name, (_, launch) in works.items()}, (n, n, n), protocol, flush
            )
            for record in timed:
                configuration, launch = works[record.step]
                rows.append(
                    {
                        "name": record.step,
                        "size": n,
                        "beside tensor cores": tensor_cores,
                        **{k: getattr(record, k) for k in KEPT},
                        "error": product.error(launch),
                        "configuration": configuration,
                    }
                )
                ms = rows[-1]["ms"]
                print(
                    f"{record.step} {n}: {2 * n**3 / ms / 1e9:.1f} TFLOPS, {rows[-1]}", flush=True
                )
    return {"provenance": origin, "attempts": answers, "products": rows}


KEPT = ("ms", "ms_p10", "ms_p90", "repeats", "cublas_ms", "sm_clock_mhz", "throttle")


def main(words: list[str]) -> None:
    if words[0] == "compile":
        compile_all(Path(words[1]))
    elif words == ["store"]:
        store()
    elif words[0] == "attempt":
        attempt(Path(words[1]), words[2:])
    else:
        write(Path(words[1]), json.dumps(measure(Path(words[0])), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
