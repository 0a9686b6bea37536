"""One product over several GPUs, or through one that is too small for it.

    from kernels import parallel

    plan = parallel.ring(M, N, K, ranks=4)        # or gather, summa: who does what, round by round
    A_parts, B_parts = parallel.spread(plan, A, B)
    C_parts = parallel.multiply(A_parts, B_parts, plan)
    C = parallel.collect(plan, C_parts)

These ranks are in this process. `processes.multiply` is what each calls that is a process of its
own, on a GPU or without one, started by MPI on one host or several. `verify` proves a schedule,
`model` says how long it takes, and `stream.multiply` takes a product through a GPU whose memory
does not hold it.
"""

from . import cost_model as model, processes, stream
from .attempt_schedule import attempt, buffers, received
from .multiply import collect, multiply, spread
from .schedule import (
    HOST,
    Block,
    LocalProduct,
    Round,
    Schedule,
    Transfer,
    cut,
    gather,
    ring,
    square,
    summa,
    usual,
)
from .slots import slots
from .verify import ScheduleError, verify

__all__ = [
    "HOST", "Block", "LocalProduct", "Round", "Schedule", "ScheduleError", "Transfer",
    "attempt", "buffers", "collect", "cut", "gather", "model", "multiply", "processes", "received",
    "ring", "slots", "spread", "square", "stream", "summa", "usual", "verify",
]  # fmt: skip
