"""What a reader sees whose GPU is not the recorded one, on a GPU that does not exist.

Kernels are compiled for its compute capability, by NVRTC, and refused where it lacks something;
then the interpreter runs them. A clock of its own gives timings, all of them made up, as its name
says. To run notebooks on it, or to compile all steps and variants for some compute capabilities:

    python -m tests.made_up notebooks 7.5 book/16_async_copy.ipynb
    python -m tests.made_up compile 7.5 8.0 8.6 8.9 9.0 10.0 12.0
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from anywarp import capability
from anywarp.analysis.occupancy import SMS
from anywarp.build import CompileError
from kernels.ladder.step import Step, steps, with_variants
from tests.stand_in import device

ROOT = Path(__file__).resolve().parent.parent


def compiles(one: Step, of: str) -> str:
    """What becomes of a step on a GPU of compute capability `of`: why it is refused, or what a
    block of it takes. Raises AssertionError where it is neither refused nor compiled."""
    there = device(of)
    if lacking := capability.lacking(one.compute_capability, one.shared_mem, there):
        return lacking
    arch = "sm_{}{}".format(*there.compute_capability)
    try:
        used, found = one.kernel.resources(arch), one.occupancy(of, arch)
    except CompileError as error:
        raise AssertionError(f"{one.label} is not refused for {of}: {error}") from None
    return f"{used.registers} registers, {found.blocks} on an SM, limited by {found.limit}"


def run_notebook(path: Path, of: str) -> list[str]:
    """Run a notebook on such a GPU; what it printed and where it failed."""
    import nbformat
    from nbclient import NotebookClient

    nb = nbformat.read(path, as_version=4)
    code = [n for n, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    install = f"import sys; sys.path.append({str(ROOT)!r}); from tests import stand_in\n"
    install += f"stand_in.MadeUp({of!r}).install()"
    nb.cells.insert(code[0] + 1, nbformat.v4.new_code_cell(install))
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        nb, timeout=600, kernel_name="python3", resources=where, allow_errors=True
    ).execute()
    found = []
    for n, cell in enumerate(nb.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found.append(f"cell {n - 1} FAILED: {output.ename}: {output.evalue}")
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            if "made-up GPU" in text:
                found.append(f"cell {n - 1}: {text}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    notebooks = commands.add_parser("notebooks")
    notebooks.add_argument("capability", choices=SMS)
    notebooks.add_argument("path", nargs="+", type=Path)
    compiling = commands.add_parser("compile")
    compiling.add_argument("capability", nargs="+", choices=SMS)
    options = parser.parse_args()
    failed = 0
    if options.command == "compile":
        for one in with_variants(steps()):
            for of in options.capability:
                print(f"{one.label}, {of}: {compiles(one, of)}", flush=True)
        return 0
    for path in options.path:
        begin = time.perf_counter()
        found = run_notebook(path, options.capability)
        failed += any("FAILED" in line for line in found)
        print(f"== {path.name}, {time.perf_counter() - begin:.0f} s", *found, sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
