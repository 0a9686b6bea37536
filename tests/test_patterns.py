"""benchmarks.patterns: the patterns that were measured are those that it makes today."""

from __future__ import annotations

import json

import numpy as np
import pytest

from anywarp import gpu
from anywarp.kernel import Kernel
from benchmarks import patterns
from kernels.measure import profiling
from kernels.records import FOLDER

MEASURED = sorted(FOLDER.glob("*/patterns.json"))
CASES = list(patterns.cases())


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.parent.name)
def test_what_was_measured_is_what_it_makes(path):
    recorded = json.loads(path.read_text(encoding="utf-8"))
    found = [
        patterns.Pattern(one["name"], one["width"], tuple(one["units"]), one["active"])
        for one in recorded["patterns"]
    ]
    assert found == CASES
    assert patterns.to_json({}, {})  # of nothing, too
    counts = {
        what: {p: one["counts"][what] for p, one in zip(found, recorded["patterns"])}
        for what in recorded["metrics"]
    }
    assert json.loads(patterns.to_json(counts, recorded["provenance"])) == recorded


def test_a_gpu_was_measured():
    assert MEASURED


@pytest.mark.parametrize("space", patterns.METRICS)
@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("width", patterns.WIDTHS)
def test_the_kernels_go_where_the_pattern_says(space, kind, width):
    """In the interpreter, which sees every address and lane."""
    own = [p for p in CASES if p.width == width]
    kernel = Kernel(patterns.SOURCE, f"{space}_{kind}_{width}", (f"-DUNITS={patterns.UNITS}",))
    for pattern in own[1::29]:
        trace = kernel.trace(1, 32, patterns.arguments(pattern))
        # the argument "lanes" is read in another space; "out" is not written
        (access,) = [a for a in trace.accesses if (a.space, a.kind) == (space, kind)]
        assert access.width == width
        np.testing.assert_array_equal(access.active, pattern.mask)
        np.testing.assert_array_equal(access.offset[access.active], pattern.addresses[pattern.mask])


def test_measure_pairs_rows_with_patterns(monkeypatch):
    asked = []

    def counters(command, names, metrics):
        asked.append((command[-3:], names))
        return [
            {"name": f"shared_load_{p.width}"} | {m: 10 * n + at for at, m in enumerate(metrics)}
            for n, p in enumerate(CASES)
        ]

    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(profiling, "run_ncu", counters)
    found = patterns.measure("shared", "load")
    assert asked == [(["--launch", "shared", "load"], "shared_load")]
    assert found == {p: list(range(10 * n, 10 * n + 4)) for n, p in enumerate(CASES)}
    with pytest.raises(profiling.ProfileError, match="launches, but ncu counted"):
        patterns.measure("shared", "store")


def test_main_measures_everything_and_launches_every_case(monkeypatch, tmp_path):
    monkeypatch.setattr(patterns, "measure", lambda space, kind: {CASES[0]: [1, 2, 3]})
    monkeypatch.setattr(patterns, "provenance", lambda **more: {"gpu": "none"})
    patterns.main([str(tmp_path / "out.json")])
    saved = json.loads((tmp_path / "out.json").read_text())
    assert list(saved["metrics"]) == ["shared load", "shared store", "global load", "global store"]
    assert saved["patterns"][0]["counts"] == {what: [1, 2, 3] for what in saved["metrics"]}
    launched = []
    call = lambda self, grid, block, args, device: launched.append((self.name, grid, block, device))
    monkeypatch.setattr(Kernel, "__call__", call)
    monkeypatch.setattr(gpu, "empty", np.empty)
    monkeypatch.setattr(gpu, "fill_bytes", lambda array, value: array.fill(value))
    patterns.main(["--launch", "global", "store"])
    assert launched == [(f"global_store_{p.width}", 1, 32, "gpu") for p in CASES]
