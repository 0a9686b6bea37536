"""The module that Rust made, as a kernel of the corpus: `python -m tests.corpus.made_rust`.

Needs a nightly rustc, whose other parts need not be installed for this target.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from . import FOLDER, write_module

COMMAND = "rustc +nightly --target nvptx64-nvidia-cuda -C target-cpu=sm_80 --emit=asm -O".split()
COMMAND += ["-C", "debuginfo=line-directives-only"]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.ptx")
        subprocess.run([*COMMAND, FOLDER / "made_rust.rs", "-o", path], check=True)
        write_module(
            "rs_polynomials",
            "Polynomials of 21 coefficients, by Horner",
            {
                "family": "Rust",
                "kernel": "polynomials",
                "grid": 4,
                "block": 64,
                "args": "float[21] uniform; float[256] uniform; out float[256]; int 21",
            },
            path.read_text(encoding="utf-8"),
        )
