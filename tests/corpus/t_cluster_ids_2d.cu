// Special registers of clusters of two by two blocks
//
// family: clusters
// kernel: ids
// grid: 4 4 1
// block: 32
// args: out uint[16,16]


#define REGISTER(n, name)                                                                          \
    if (threadIdx.x == n) asm volatile("mov.u32 %0, %%" name ";" : "=r"(r))
extern "C" __global__ void __cluster_dims__(2, 2, 1) ids(unsigned *y)
{
    unsigned r = 0;
    REGISTER(0, "cluster_ctaid.x");
    REGISTER(1, "cluster_ctaid.y");
    REGISTER(2, "cluster_ctaid.z");
    REGISTER(3, "cluster_nctaid.x");
    REGISTER(4, "cluster_nctaid.y");
    REGISTER(5, "cluster_nctaid.z");
    REGISTER(6, "clusterid.x");
    REGISTER(7, "clusterid.y");
    REGISTER(8, "clusterid.z");
    REGISTER(9, "nclusterid.x");
    REGISTER(10, "nclusterid.y");
    REGISTER(11, "nclusterid.z");
    REGISTER(12, "cluster_ctarank");
    REGISTER(13, "cluster_nctarank");
    if (threadIdx.x == 14)
        asm volatile("{\n\t.reg .pred p;\n\tmov.pred p, %%is_explicit_cluster;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}" : "=r"(r));
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (threadIdx.x < 16) y[block * 16 + threadIdx.x] = r;
}
