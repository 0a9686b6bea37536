"""What every record says of the machine, the software and the tree it was measured with."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anywarp import capability, gpu


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
