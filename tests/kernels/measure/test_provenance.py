"""kernels.measure.provenance: what the machine and the tree are called in records."""

from __future__ import annotations

import subprocess
import types

from anywarp import gpu
from kernels import records
from kernels.measure import provenance


def test_the_commit(monkeypatch, tmp_path):
    """Of a git tree that seems to hold the module."""
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*words):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        done = subprocess.run(command, cwd=tmp_path, check=True, text=True, capture_output=True)
        return done.stdout.strip()

    assert provenance.commit() is None
    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    (tmp_path / "new").write_text("git does not know this file")
    head = git("rev-parse", "HEAD")
    assert provenance.commit() == head
    (tmp_path / "file").write_text("2")
    assert provenance.commit() == f"{head}-dirty"
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() is None


def test_the_provenance_names_gpu_software_and_commit(monkeypatch):
    facts = {"driver": "1", "cuda_driver": "13.0", "nvrtc": "13.1"}
    device = types.SimpleNamespace(name="Simulated GPU 1", compute_capability=(9, 0), **facts)
    monkeypatch.setattr(gpu, "device", lambda: device)
    monkeypatch.setattr(provenance, "commit", lambda: "abc")
    found = provenance.provenance(more=1)
    assert found.pop("date") and found.pop("python")
    of_gpu = {"gpu": "Simulated GPU 1", "compute_capability": "9.0", "commit": "abc", "more": 1}
    assert found == of_gpu | facts


def test_a_record_begins_with_what_is_there_of_this_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv(records.OWN, str(tmp_path))
    monkeypatch.setattr(gpu, "device", lambda: types.SimpleNamespace(name="NVIDIA H200"))
    path, before = provenance.begun(records.EXPERIMENTS, None)
    assert path == tmp_path / "nvidia_h200" / "experiments.json"
    assert before["experiments"]  # the package's
    records.write(path, '{"own": 1}')
    assert provenance.begun(records.EXPERIMENTS, None) == (path, {"own": 1})
    assert provenance.begun(records.EXPERIMENTS, tmp_path / "x") == (tmp_path / "x", None)
    monkeypatch.setattr(gpu, "device", lambda: types.SimpleNamespace(name="Simulated GPU 1"))
    other = tmp_path / "simulated_gpu_1" / records.BITS
    assert provenance.begun(records.BITS, None) == (other, None)  # and nothing of another GPU
