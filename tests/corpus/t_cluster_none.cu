// The special registers of clusters in a launch without clusters
//
// family: clusters
// kernel: ids
// grid: 3
// block: 32
// args: out uint[3,5]


extern "C" __global__ void ids(unsigned *y)
{
    unsigned rank, blocks, cluster, clusters, is;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    asm volatile("{\n\t.reg .pred p;\n\tmov.pred p, %%is_explicit_cluster;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}" : "=r"(is));
    if (threadIdx.x) return;
    y += 5 * blockIdx.x;
    y[0] = rank;
    y[1] = blocks;
    y[2] = cluster;
    y[3] = clusters;
    y[4] = is;
}
