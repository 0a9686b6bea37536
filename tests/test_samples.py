"""benchmarks.samples: what was measured is what it measures."""

from __future__ import annotations

import json

from anywarp import gpu
from anywarp.trace.metrics import REASONS, SAMPLED
from benchmarks import samples
from kernels.records import FOLDER, SAMPLES

(PATH,) = FOLDER.glob(f"*/{SAMPLES}")
RECORD = json.loads(PATH.read_text(encoding="utf-8"))


def test_the_record_has_every_step_and_only_reasons():
    assert sorted(RECORD["steps"]) == sorted(one.label for one in samples.steps())
    assert RECORD["size"] == samples.stalls()["size"]
    names = {SAMPLED.format(reason) for reason in REASONS if "selected" not in reason}
    for label, row in RECORD["steps"].items():
        assert set(row) < names and sum(row.values()) > 3000, label


def test_launches_of_a_step_are_summed_up(monkeypatch, tmp_path):
    few = [one for one in samples.steps() if one.label.startswith("13")]

    def counted(command, names, metrics):
        rows = range(samples.LAUNCHES * len(few))
        return [{name: n if "no_instructions" in name else 0 for name in metrics} for n in rows]

    monkeypatch.setattr(samples, "steps", lambda: iter(few))
    monkeypatch.setattr(samples.profiling, "run_ncu", counted)
    monkeypatch.setattr(samples.profiling, "tool", dict)
    monkeypatch.setattr(samples, "provenance", lambda **more: {"gpu": "none"})
    monkeypatch.setattr(gpu, "require", lambda: None)
    samples.main([str(tmp_path / "out.json")])
    saved = json.loads((tmp_path / "out.json").read_text())
    name = SAMPLED.format("no_instruction")
    assert [row[name] for row in saved["steps"].values()] == [6, 22]
