"""The names of Nsight Compute's metrics that a trace computes, as its reports spell them."""

from __future__ import annotations

KINDS = {"load": "ld", "store": "st"}  # as the metrics abbreviate them

# Instructions of warps that reach shared memory, the wavefronts that they take, and those of
# them that bank conflicts cost.
SHARED_INSTRUCTIONS = "smsp__inst_executed_op_shared_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

# Instructions of warps that reach global memory, and the 32-byte sectors that they touch.
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"

# Multiply-adds of single threads.
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"

METRICS = (
    *(
        name.format(kind)
        for kind in KINDS.values()
        for name in (SHARED_INSTRUCTIONS, WAVEFRONTS, CONFLICTS, REQUESTS, SECTORS)
    ),
    FFMA,
)
