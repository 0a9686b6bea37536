"""What a step costs and how exact it is: the analysis of any kernel, and what is SGEMM's own.

Pure functions on addresses, code, counts and records; none needs a GPU.
"""

from anywarp import analysis
from anywarp.analysis import *  # noqa: F403
from anywarp.sass import hot_words, machine_loop, operand_cycles, thread_index_reads, timeline

from .roofline import (
    Placement,
    arithmetic_peak,
    compulsory_bytes,
    placement,
    sgemm_flop,
    traced_bytes,
)
from .sm_limits import cycles, limits
from .waiting import load_gbs, multiply_add_tflops, scheduler_cycles

__all__ = [
    *analysis.__all__, "Placement", "arithmetic_peak", "compulsory_bytes", "cycles", "hot_words",
    "limits", "load_gbs", "machine_loop", "multiply_add_tflops", "operand_cycles", "placement",
    "scheduler_cycles", "sgemm_flop", "thread_index_reads", "timeline",
    "traced_bytes",
]  # fmt: skip
