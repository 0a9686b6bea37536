"""What threads read of their place: clusters of one block, windows of addresses."""

from __future__ import annotations

import numpy as np
from harness import run_cuda

from anywarp.ptx.memory.allocations import window_of

CLUSTER = """
#define READ(name) [] { unsigned n; asm volatile("mov.u32 %0, %%" name ";" : "=r"(n)); return n; }()
extern "C" __global__ void place(unsigned* out)
{
    unsigned found[] = {
        READ("cluster_ctarank"), READ("cluster_nctarank"), READ("cluster_ctaid.x"),
        READ("cluster_nctaid.x"), READ("clusterid.x"), READ("nclusterid.x"), READ("nsmid"),
        READ("nwarpid"), READ("warpid")};
    for (int n = 0; n < 9; ++n)
        out[9 * blockIdx.x + n] = found[n];
}
"""


def test_every_block_is_a_cluster():
    out = np.zeros((3, 9), np.uint32)
    run_cuda(CLUSTER, "place", 3, 1, (out,))
    assert out[:, :6].tolist() == [[0, 1, 0, 1, block, 3] for block in range(3)]
    assert (out[:, 6:] == [132, 1, 0]).all()


def test_addresses_outside_all_windows_are_global():
    assert window_of(np.array([-1, 5, 1 << 40, 4 << 40])).tolist() == [0, 0, 1, 0]
