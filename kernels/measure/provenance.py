"""What every record says of the machine, the software and the tree it was measured with."""

from __future__ import annotations

import json
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anywarp import capability, gpu

from ..records import own_path, recorded_path


def provenance(**more: Any) -> dict[str, Any]:
    """The current GPU, driver and compiler, today's date and this tree's commit, and `more`, what
    a kind of record says besides. Raises NoGPU."""
    device = gpu.device()
    return {
        "gpu": device.name,
        "compute_capability": capability.text(device.compute_capability),
        "driver": device.driver,
        "cuda_driver": device.cuda_driver,
        "nvrtc": device.nvrtc,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        **more,
    }


def begun(name: str, output: Path | None) -> tuple[Path, dict[str, Any] | None]:
    """Where a record of this GPU is to be written, by default in the user's folder, and what is
    there already: in that file or, unless it was named, wherever it is looked up."""
    path = there = output or own_path(gpu.device().name, name)
    if output is None and not path.is_file():
        there = recorded_path(gpu.device().name, name)
    return path, json.loads(there.read_text(encoding="utf-8")) if there.is_file() else None


def commit() -> str | None:
    """The commit of this tree, with "-dirty" if tracked files differ; None outside git."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
