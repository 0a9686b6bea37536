"""One product by ranks that are processes, on GPUs or without, on one host or several.

    mpiexec -n 4 python -m mpi4py book/programs/ranks.py SCHEDULE M N K

Each rank makes its own parts of A and B and keeps its part of C, which rank 0 collects and checks.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from anywarp import gpu
from kernels import parallel, reference

comm = parallel.processes.world()
shape = tuple(map(int, sys.argv[2:5]))
plan = {
    "ring": lambda: parallel.ring(*shape, comm.size),
    "gather": lambda: parallel.gather(*shape, comm.size),
    "summa": lambda: parallel.summa(*shape, parallel.square(comm.size)),
}[sys.argv[1]]()

random = np.random.default_rng(comm.rank)
A, B = (random.random(block.shape, np.float32) - 0.5 for block in plan.homes[comm.rank][:2])
if gpu.available():
    parallel.processes.take_gpu()
    C = gpu.to_host(parallel.processes.multiply(gpu.to_device(A), gpu.to_device(B), plan))
else:
    C = parallel.processes.multiply(A, B, plan)

parts = comm.gather((A, B, C))
if comm.rank == 0:
    whole = {}
    for name, of_ranks in zip("ABC", zip(*parts)):
        whole[name] = np.empty(
            {"A": shape[::2], "B": shape[:0:-1], "C": shape[:2]}[name], np.float32
        )
        for block, part in zip(plan.parts(name), of_ranks):
            whole[name][slice(*block.rows), slice(*block.columns)] = part
    reference.assert_close(whole["C"], whole["A"], whole["B"])
    print(f"{plan} is right")
