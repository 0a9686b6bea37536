"""tools/live.py: what a page loads to run kernels is whole, and is what was tried."""

from __future__ import annotations

import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
live = importlib.import_module("live")


def test_a_zip_is_the_same_for_the_same_files():
    files = {"b/c.py": b"x = 1\n", "a.py": b""}
    made = live.zipped(files)
    assert made == live.zipped(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files


def test_the_code_runs_from_what_a_page_unpacks(tmp_path):
    """Python finds in it, and in what is compiled, all that a step and its trace need."""
    for name, content in live.code().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    shutil.copytree(ROOT / live.COMPILED, tmp_path / live.COMPILED, dirs_exist_ok=True)
    code = (
        "import kernels.page\n"
        "code = 'step = kernels.step(\"06 PAD=1\"); step.trace(64, 64, 64)'\n"
        "print(kernels.__file__); print(kernels.page.run(code, {'kernels': kernels}))"
    )
    unlike = {"ANYWARP_NVRTC": "none", "ANYWARP_CACHE": "none", "CUDA_VISIBLE_DEVICES": "-1"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | unlike | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    file, shown = ran.stdout.splitlines()
    assert file.startswith(str(tmp_path))
    shown = json.loads(shown)
    assert not shown["failed"] and "wavefronts/req" in shown["html"]


def test_variants_that_come_compiled_are_offered():
    grid = live.grid()
    assert set(grid) == {path.stem for path in (ROOT / "kernels" / "cuda").glob("*.cu")}
    assert grid["06_bank_conflicts"][0] == "06_bank_conflicts"
    assert {"06_bank_conflicts PAD=3", "06_bank_conflicts TRANSPOSED=1 PAD=2"} <= {
        *grid["06_bank_conflicts"]
    }
    assert not any("TRANS_" in label for labels in grid.values() for label in labels)


def test_without_what_is_fetched_nothing_is_served(tmp_path):
    assert live.install(tmp_path / "static", tmp_path / "none") == 0
    assert not (tmp_path / "static").exists()


def test_a_build_serves_the_same_bytes(tmp_path):
    folder = tmp_path / "fetched"
    folder.mkdir()
    for name in (*live.FETCHED, *live.EDITOR):
        (folder / name).write_bytes(name.encode())
    (folder / "left.wasm").write_bytes(b"of another time")
    size = live.install(tmp_path / "static", folder)
    served = tmp_path / "static" / "live"
    about = json.loads((served / "files.json").read_text())
    assert size == sum((served / name).stat().st_size for name in live.LOADED)
    assert about["bytes"] == {name: (served / name).stat().st_size for name in live.LOADED}
    assert sorted(path.name for path in (served / "compiled").glob("*.bz2")) == about["compiled"]
    assert not (served / "left.wasm").exists()


def npm(folder, script: str) -> None:
    """A program of that name."""
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="a script of sh stands for npm")
@pytest.mark.parametrize(
    "script, told",
    [
        ("echo x > $4/made.tgz", "is not the one that was tried"),
        ("echo no network >&2; exit 1", "npm cannot fetch pyodide@0.25.1: no network"),
        (None, "there is no npm"),
    ],
)
def test_what_cannot_be_fetched_or_is_another_is_said(tmp_path, monkeypatch, capsys, script, told):
    if script:
        npm(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if script else str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["live.py", str(tmp_path / "made")])
    assert live.main() == 1
    assert told in capsys.readouterr().err
