"""How many blocks of each tile that `sgemm` may choose an SM holds, on each compute capability that
the NVRTC here compiles for: `python -m benchmarks.residents` writes it to `kernels/records`. It
needs no GPU, and some minutes."""

from __future__ import annotations

import json

from anywarp import capability
from anywarp.analysis.occupancy import SMS
from anywarp.compile import nvrtc
from kernels import records
from kernels.ladder import model


def residents(name: str) -> dict[str, int]:
    """Blocks on an SM of compute capability `name`, such as "7.5", by the label of the tile."""
    wanted = tuple(map(int, name.split(".")))
    labels = [label for section, _ in model._sections(model.H200) for label in section["tiles"]]
    steps = (model.named(label, wanted) for label in labels)
    return {
        tile.label: model.occupied(tile, wanted)
        for tile in steps
        if capability.runs_on(tile.compute_capability, wanted)
    }


def main() -> None:
    """Write the table of residents for all compute capabilities that NVRTC compiles for."""
    known = {number: f"{number // 10}.{number % 10}" for number in nvrtc.architectures()}
    table = {name: residents(name) for name in known.values() if name in SMS}
    path = records.FOLDER / records.RESIDENTS
    records.write(path, json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
