"""The names of Nsight Compute's metrics, as its reports spell them.

METRICS are those that a trace computes, ASYNC_METRICS those that it adds for kernels with matrix
instructions or asynchronous copies; STATE says how busy the GPU was and what its warps waited for,
which only a GPU can tell.
"""

from __future__ import annotations

KINDS = {"load": "ld", "store": "st"}  # of accesses, as the metrics abbreviate them

# Instructions of warps that reach shared memory, the wavefronts that they take, and those of
# them that bank conflicts cost.
SHARED_INSTRUCTIONS = "smsp__inst_executed_op_shared_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

# Instructions of warps that reach global memory, and the 32-byte sectors that they touch.
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
# Wavefronts of the L1's tag stage, which finds lines: `analysis.tag_wavefronts`.
TAGS = "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_{}.sum"

# Wavefronts of the data pipe, through which loads and stores of all these memories go: what those
# of shared memory take, and what those of global and local memory take beside them. The number of
# ncu has more, which `Trace.pipe` adds: `pipe_overheads`.
PIPE = "l1tex__data_pipe_lsu_wavefronts.sum"

# Multiply-adds of single threads.
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"

# Of matrices and asynchronous copies. Instructions of warps: ldmatrix, stmatrix, cp.async, bulk
# copies out of global memory and into it; those of the tensor cores, each warp of a
# wgmma counted (and a few that ptxas writes to set registers, HFMA2.MMA).
LDMATRIX = "smsp__inst_executed_op_ldsm.sum"
STMATRIX = "smsp__inst_executed_op_shared_stsm.sum"
ASYNC_COPIES = "smsp__inst_executed_op_ldgsts.sum"
BULK_LOADS = "smsp__inst_executed_op_tma_ld.sum"
BULK_STORES = "smsp__inst_executed_op_tma_st.sum"
TENSOR = "sm__inst_executed_pipe_tensor.sum"
# Bytes that bulk copies read from global memory and wrote to it, in whole sectors; wavefronts of
# shared memory that the operands of wgmma took.
BULK_BYTES = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"
BULK_BYTES_STORED = "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"
WGMMA_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"

ASYNC_METRICS = (
    *(LDMATRIX, STMATRIX, ASYNC_COPIES, BULK_LOADS, BULK_STORES, TENSOR),
    *(BULK_BYTES, BULK_BYTES_STORED, WGMMA_WAVEFRONTS),
)

_OF_KINDS = SHARED_INSTRUCTIONS, WAVEFRONTS, CONFLICTS, REQUESTS, SECTORS
METRICS = (*(name.format(kind) for kind in KINDS.values() for name in _OF_KINDS), FFMA, PIPE)

# For each instruction that a scheduler issues, how many warps wait at that moment for one reason:
# added up, the cycles that lie between two instructions of a warp. "selected" is the warp that
# issues, "not_selected" one that could. REASONS has ncu's names, with plain words for
# those that need any.
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Samples of warps that waited for one reason while their scheduler issued nothing; ncu calls two
# of them no_instructions and warpgroup_arrive.
SAMPLED = "smsp__pcsamp_warps_issue_stalled_{}_not_issued"
REASONS = {
    "selected": "", "not_selected": "", "lg_throttle": "queue of global loads",
    "long_scoreboard": "data from global memory", "mio_throttle": "queue of shared memory",
    "short_scoreboard": "data from shared memory", "math_pipe_throttle": "busy arithmetic pipe",
    "dispatch_stall": "held back at dispatch", "gmma": "wgmma", "barrier": "",
    "branch_resolving": "target of a branch", "wait": "fixed delay", "drain": "last stores",
    "no_instruction": "instruction fetch", "imc_miss": "constants", "membar": "fence",
    "tex_throttle": "queue of textures", "sleeping": "", "misc": "",
}  # fmt: skip
# Of the cycles in which an SM, or its L1, had work, the per cent in which a scheduler issued an
# instruction, the FMA pipe was busy, the tensor cores, the data pipe; and the warps that it held.
ISSUE_ACTIVE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
FMA_BUSY = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
TENSOR_BUSY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
PIPE_BUSY = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"
WARPS_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
# Sectors found in the L1 and in the L2, per cent of those asked for; sectors that the L1s asked
# the L2 for, 32 bytes each; bytes of DRAM.
L1_HITS = "l1tex__t_sector_hit_rate.pct"
L2_HITS = "lts__t_sector_hit_rate.pct"
L2_SECTORS = "lts__t_sectors_srcunit_tex.sum"
DRAM_READ, DRAM_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
# Instructions of warps; cycles of an SM from start to end, and those in which it had a warp; time
# in nanoseconds.
EXECUTED = "smsp__inst_executed.sum"
CYCLES, CYCLES_ACTIVE = "sm__cycles_elapsed.max", "sm__cycles_active.avg"
TIME = "gpu__time_duration.sum"

STATE = (
    *(STALLED.format(reason) for reason in REASONS),
    *(ISSUE_ACTIVE, FMA_BUSY, TENSOR_BUSY, PIPE_BUSY, WARPS_ACTIVE),
    *(L1_HITS, L2_HITS, L2_SECTORS, DRAM_READ, DRAM_WRITTEN),
    *(EXECUTED, CYCLES, CYCLES_ACTIVE, TIME, PIPE, FFMA),
)
