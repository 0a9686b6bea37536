"""What came through while instructions waited: rates from the timed chains of `latency.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anywarp.analysis import LANES, LINE_BYTES


def load_gbs(row: Mapping[str, Any], multiprocessors: int) -> float:
    """GB/s of device memory in a row of the record's "loads": each warp reads a line a load."""
    return _instructions(row, multiprocessors) * LINE_BYTES / float(row["ms"] * 1e6)


def multiply_add_tflops(row: Mapping[str, Any], multiprocessors: int) -> float:
    """TFLOPS in a row of the record's "multiply-adds"."""
    return _instructions(row, multiprocessors) * LANES * 2 / float(row["ms"] * 1e9)


def _instructions(row: Mapping[str, Any], multiprocessors: int) -> int:
    """Of all warps together."""
    return int(row["steps"] * row["chains"] * row["warps"] * multiprocessors)
