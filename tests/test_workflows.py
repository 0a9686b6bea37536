"""The workflows that others run: what they may do, what they rest on, and what they call."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
newest = importlib.import_module("newest")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
each = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def steps(path: Path) -> list[dict]:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"gpu", "pages", "test", "weekly"}


@each
def test_a_job_has_a_limit_and_an_action_one_version_which_it_says(path):
    """That it is pinned, and what a job may do, zizmor sees to."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    assert all(job["timeout-minutes"] <= 90 for job in jobs)
    used = re.findall(r"uses: (\S+)(.*)", "".join(each.read_text("utf-8") for each in WORKFLOWS))
    assert all(re.fullmatch(r" +# v\d+\.\d+\.\d+", comment) for _, comment in used)
    assert len({action.partition("@")[0] for action, _ in used}) == len(set(used))


@each
def test_files_that_are_called_exist(path):
    run = " ".join(step.get("run", "") for step in steps(path))
    named = re.findall(r"(?<![\w/])((?:tests|tools|book|\.ci)(?:/[\w.]+)*)(?![\w/])", run)
    assert all((ROOT / name).exists() for name in named), named


def test_what_a_plain_pytest_leaves_out_is_run_beside_it():
    each, weekly = (
        [step.get("run", "") for step in steps(path)]
        for path in WORKFLOWS
        if path.stem in ("test", "weekly")
    )
    assert {"bash .ci/run", "python -m pytest -m slow"} <= set(each)
    assert 'python -m pytest -m ""' in weekly
    whole = [run for run in weekly if "tests/" in run and "pytest" in run]
    assert whole and all('pytest -m "" ' in run for run in whole)


def test_zizmor_finds_nothing():
    beside = Path(sys.executable).parent  # a virtual environment need not be on the path
    program = shutil.which("zizmor", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("zizmor is not installed: pip install -r requirements.txt")
    command = [program, "--offline", "--no-progress", "--persona", "pedantic", ".github"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


# ------------------------------------------------------------------ the newest releases


def test_the_newest_releases_are_asked_for_without_versions(tmp_path):
    (tmp_path / "more.txt").write_text('cupy-cuda12x==14.2.0; sys_platform != "darwin"\n')
    (tmp_path / "all.txt").write_text(
        "-r more.txt\n# why\nnumpy==2.4.6  # why\nnvidia-cuda-nvrtc-cu12==12.9.86\nruff==0.17.6\n"
    )
    found = newest.requirements(tmp_path / "all.txt")
    assert [newest.newest(one, "12") for one in found] == [
        'cupy-cuda12x; sys_platform != "darwin"',
        "numpy",
        "nvidia-cuda-nvrtc-cu12",
        "ruff==0.17.6",
    ]
    assert [newest.newest(one, "13") for one in found[:3]] == [
        'cupy-cuda13x; sys_platform != "darwin"',
        "numpy",
        "nvidia-cuda-nvrtc",
    ]


def test_the_command_lists_what_the_book_requires(capsys):
    assert newest.main(["13"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert {"numpy", "nvidia-cuda-nvrtc"} <= {line.partition(";")[0] for line in printed}
    for name in newest.HELD:
        assert any(line.startswith(f"{name}==") for line in printed), name
    assert newest.main(["11"]) == 2
