"""Clusters of blocks: launch, special registers, shared memory of one another, their barrier."""

from __future__ import annotations

import numpy as np
import pytest
from harness import cuda, entry, launch, launch_built, line_of, run_cuda

from anywarp import ptx
from anywarp.ptx.memory.clusters import Cluster, block_numbers, whole
from anywarp.ptx.memory.events import Access, ClusterBarrier, Fault

GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"


def events(source: str, kind: type, name: str, *arguments, **keywords) -> list:
    """What a run told of this kind."""
    found: list = []
    listen = lambda event: found.append(event) if isinstance(event, kind) else None
    run_cuda(source, name, *arguments, sink=listen, **keywords)
    return found


# -- launch -----------------------------------------------------------------------------------


def test_blocks_are_counted_cluster_after_cluster():
    grid, cluster = (4, 6, 2), Cluster(2, 3, 1, True)
    numbers = block_numbers(0, 48, grid, cluster)
    assert sorted(numbers.tolist()) == list(range(48))
    for n, number in enumerate(numbers.tolist()):
        x, y, z = number % 4, number // 4 % 6, number // 24
        assert n % 6 == x % 2 + 2 * (y % 3)
        assert n // 6 == x // 2 + 2 * (y // 3) + 4 * z
    assert block_numbers(5, 9, (3, 3, 1), Cluster()).tolist() == [5, 6, 7, 8]
    assert block_numbers(6, 12, grid, cluster).tolist() == numbers[6:12].tolist()


def test_a_chunk_holds_whole_clusters():
    assert whole(7, Cluster(2, 1, 1)) == 6
    assert whole(1, Cluster(2, 2, 2)) == 8
    assert whole(0, Cluster()) == 1


PLACE = """
#define READ(name) [] { unsigned n; asm volatile("mov.u32 %0, %%" name ";" : "=r"(n)); return n; }()
extern "C" __global__ void CLUSTER place(unsigned* out)
{
    unsigned found[] = {
        READ("cluster_ctaid.x"), READ("cluster_ctaid.y"), READ("cluster_ctaid.z"),
        READ("cluster_nctaid.x"), READ("cluster_nctaid.y"), READ("cluster_nctaid.z"),
        READ("clusterid.x"), READ("clusterid.y"), READ("clusterid.z"),
        READ("nclusterid.x"), READ("nclusterid.y"), READ("nclusterid.z"),
        READ("cluster_ctarank"), READ("cluster_nctarank"), 0};
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
                 : "=r"(found[14]));
    for (int n = 0; n < 15; ++n)
        out[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 15 + n] = found[n];
}
"""


@pytest.mark.parametrize("cluster", [(2, 1, 1), (1, 2, 2), (2, 3, 1), (1, 1, 1), None])
def test_special_registers(cluster):
    dims = "" if cluster is None else "__cluster_dims__({}, {}, {})".format(*cluster)
    grid = 4, 6, 2
    out = np.zeros((2, 6, 4, 15), np.uint32)
    run_cuda(PLACE.replace("CLUSTER", dims), "place", grid, 1, (out,))
    size = np.array(cluster or (1, 1, 1))
    for z, y, x in np.ndindex(2, 6, 4):
        at = np.array([x, y, z])
        within = at % size
        rank = within[0] + size[0] * (within[1] + size[1] * within[2])
        expected = [*within, *size, *at // size, *np.array(grid) // size, rank, size.prod()]
        assert out[z, y, x].tolist() == [*expected, cluster is not None]


def test_a_grid_must_be_a_multiple_of_the_cluster():
    source = 'extern "C" __global__ void __cluster_dims__(2, 3) k() {}'
    run_cuda(source, "k", (4, 6), 32, ())
    with pytest.raises(ValueError, match=r"grid\.x is 3, .* of k have 2 blocks along it"):
        run_cuda(source, "k", (3, 6), 32, ())
    with pytest.raises(ValueError, match=r"grid\.y is 4, .* of k have 3 blocks along it"):
        run_cuda(source, "k", (2, 4), 32, ())


def test_at_most_eight_blocks():
    source = 'extern "C" __global__ void __cluster_dims__(SIZE) k() {}'
    run_cuda(source.replace("SIZE", "8"), "k", 16, 32, ())
    with pytest.raises(ValueError, match="cluster of 16 blocks is more than the 8"):
        run_cuda(source.replace("SIZE", "16"), "k", 16, 32, ())


def test_a_kernel_that_wants_a_cluster_at_launch():
    text = entry("").replace("\n)\n{", "\n)\n.explicitcluster\n{")
    with pytest.raises(ValueError, match="launched with a cluster size only"):
        launch(text, "k", 2, 1, ())
    limited = entry("").replace("\n)\n{", "\n)\n.maxclusterrank 4\n{")
    launch(limited, "k", 3, 1, ())  # a block each


# -- shared memory of other blocks ------------------------------------------------------------

RING = (
    GROUPS
    + """
extern "C" __global__ void __cluster_dims__(4) ring(int* out)
{
    __shared__ int box[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    box[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
    cluster.sync();
    int* next = cluster.map_shared_rank(box, (rank + 1) % cluster.num_blocks());
    int found = next[63 - threadIdx.x];
    int* previous = cluster.map_shared_rank(box, (rank + 3) % 4);
    cluster.sync();
    previous[threadIdx.x] = found;
    cluster.sync();
    out[64 * blockIdx.x + threadIdx.x] = box[threadIdx.x];
}
"""
)


@pytest.mark.parametrize("blocks", [4, 2048 + 4])  # more than a chunk holds
def test_ring(blocks):
    """What each block sends to the one before it, it has from the one after it: the value comes
    from two further on."""
    out = np.zeros((blocks, 64), np.int32)
    run_cuda(RING, "ring", blocks, 64, (out,))
    block, thread = np.arange(blocks)[:, None], np.arange(64)
    from_block = block // 4 * 4 + (block + 2) % 4
    assert (out == 1000 * from_block + 63 - thread).all()


def test_neighbours_in_two_dimensions():
    source = (
        GROUPS
        + """
extern "C" __global__ void __cluster_dims__(2, 3) k(float* out)
{
    __shared__ __align__(16) float tile[8][8];
    cg::cluster_group cluster = cg::this_cluster();
    dim3 at = cluster.block_index(), size = cluster.dim_blocks();
    tile[threadIdx.y][threadIdx.x] =
        100 * (blockIdx.y * gridDim.x + blockIdx.x) + 8 * threadIdx.y + threadIdx.x;
    cluster.sync();
    unsigned below = (at.y + 1) % size.y * size.x + at.x, across = at.y * size.x + 1 - at.x;
    float sum = cluster.map_shared_rank(&tile[0][0], below)[8 * threadIdx.x + threadIdx.y];
    float4* row = (float4*)cluster.map_shared_rank(&tile[threadIdx.y][0], across);
    float4 wide = row[threadIdx.x / 4];
    sum += wide.x + wide.y + wide.z + wide.w;
    unsigned number = blockIdx.y * gridDim.x + blockIdx.x;
    out[64 * number + 8 * threadIdx.y + threadIdx.x] = sum;
    cluster.sync();
}
"""
    )
    out = np.zeros((6, 4, 8, 8), np.float32)
    run_cuda(source, "k", (4, 6), (8, 8), (out,))
    tile = np.arange(64).reshape(8, 8)
    for by, bx in np.ndindex(6, 4):
        below = 4 * (by // 3 * 3 + (by + 1) % 3) + bx
        across = 4 * by + (bx ^ 1)
        quads = (100 * across + tile).reshape(8, 2, 4).sum(2).repeat(4, axis=1)
        assert (out[by, bx] == 100 * below + tile.T + quads).all()


HISTOGRAM = (
    GROUPS
    + """
extern "C" __global__ void __cluster_dims__(4) histogram(const int* x, int n, int* bins)
{
    extern __shared__ int mine[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int b = threadIdx.x; b < 16; b += blockDim.x)
        mine[b] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = x[i], rank = bin / 16;
        ADD
    }
    cluster.sync();
    for (int b = threadIdx.x; b < 16; b += blockDim.x)
        atomicAdd(&bins[16 * cluster.block_rank() + b], mine[b]);
}
"""
)
MAPPED = """{ unsigned own = __cvta_generic_to_shared(mine + bin % 16), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(there)); }"""


@pytest.mark.parametrize("add", ["atomicAdd(cluster.map_shared_rank(mine, rank) + bin % 16, 1);",
                                 MAPPED])  # fmt: skip
def test_histogram_over_a_cluster(add):
    x = np.random.default_rng(0).integers(0, 64, 5000).astype(np.int32)
    bins = np.zeros(64, np.int32)
    source = HISTOGRAM.replace("ADD", add)
    run_cuda(source, "histogram", 8, 96, (x, np.int32(x.size), bins), shared_mem=64)
    assert bins.tolist() == np.bincount(x, minlength=64).tolist()


def test_reduction_over_a_cluster():
    source = (
        GROUPS
        + """
extern "C" __global__ void __cluster_dims__(8) sum(const float* x, float* out)
{
    __shared__ float part;
    cg::cluster_group cluster = cg::this_cluster();
    float mine = x[blockIdx.x * 32 + threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        mine += __shfl_xor_sync(~0u, mine, step);
    if (threadIdx.x == 0)
        part = mine;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (int r = 0; r < 8; ++r)
            all += *cluster.map_shared_rank(&part, r);
        out[blockIdx.x / 8] = all;
    }
    cluster.sync();
}
"""
    )
    x = np.arange(24 * 32, dtype=np.float32)
    out = np.zeros(3, np.float32)
    run_cuda(source, "sum", 24, 32, (x, out))
    assert out.tolist() == x.reshape(3, -1).sum(1).tolist()


ADDRESSES = """
extern "C" __global__ void __cluster_dims__(2) addresses(unsigned* out, unsigned long long* wide)
{
    __shared__ unsigned box[32];
    __shared__ unsigned* theirs;
    unsigned rank, own = __cvta_generic_to_shared(&box[5]), there, of;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    box[threadIdx.x] = 100 * rank + threadIdx.x;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank ^ 1));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(there));
    out += 13 * blockIdx.x;
    out[0] = of;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(own));
    out[1] = of;
    unsigned long long generic = (unsigned long long)&box[5], other;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(generic), "r"(rank ^ 1));
    unsigned isown, isall, othersown, othersall;
#define ASK(space, of, to) asm volatile("{ .reg .pred p; isspacep." space " p, %1;" \\
        "selp.u32 %0, 1, 0, p; }" : "=r"(to) : "l"(of))
    ASK("shared::cta", generic, isown);
    ASK("shared::cluster", generic, isall);
    ASK("shared::cta", other, othersown);
    ASK("shared::cluster", other, othersall);
    out[2] = isown | isall << 1 | othersown << 2 | othersall << 3;
    out[3] = other == (generic ^ 1 << 24);  // as some kernels find their peer
    unsigned long long back;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(back) : "l"(other), "r"(rank));
    out[4] = back == generic;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    // a generic address means the same to all blocks of the cluster
    unsigned** slot = (unsigned**)other;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(slot) : "l"(&theirs), "r"(rank ^ 1));
    if (threadIdx.x == 0)
        *slot = &box[7];
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
                 ::: "memory");
    out[5] = *theirs;
    // and so does one of the cluster that was made from it
    unsigned long long named, plain;
    asm volatile("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(named) : "l"(generic));
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(plain) : "l"(generic));
    asm volatile("getctarank.shared::cluster.u64 %0, %1;" : "=r"(of) : "l"(named ^ 1 << 24));
    out[8] = of;
    out[9] = plain == own;
    asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(back) : "l"(named));
    out[10] = back == generic;
    asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(back) : "l"(plain));
    out[11] = back == generic;
    unsigned value;
    asm volatile("ld.shared::cluster.u32 %0, [%1+8];" : "=r"(value) : "r"(there));
    out[6] = value;
    asm volatile("ld.shared::cluster.u32 %0, [%1+8];" : "=r"(value) : "r"(own));
    out[7] = value;
    // an address that names the own block is one of the block
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    asm volatile("ld.shared.u32 %0, [%1+12];" : "=r"(value) : "r"(there));
    out[12] = value;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


def test_addresses():
    out = np.zeros((4, 13), np.uint32)
    run_cuda(ADDRESSES, "addresses", 4, 32, (out, np.zeros(1, np.uint64)))
    for block in range(4):
        mine, other = block % 2, 1 - block % 2
        found = [other, mine, 0b1011, 1, 1, 100 * other + 7, 100 * other + 7, 100 * mine + 7]
        found += [other, 1, 1, 1, 100 * mine + 8]
        assert out[block].tolist() == found


def test_an_address_of_another_block_is_none_of_the_block():
    own = '"r"(own), "r"(rank));'
    assert ADDRESSES.count(own) == 1
    source = ADDRESSES.replace(own, '"r"(own), "r"(rank ^ 1));')
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):
        run_cuda(source, "addresses", 4, 32, (np.zeros((4, 13), np.uint32), np.zeros(1, np.uint64)))


def test_vectors_and_bytes_of_another_block():
    source = """
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    __shared__ __align__(16) unsigned char box[64];
    unsigned rank = blockIdx.x % 2, own = __cvta_generic_to_shared(box + 16 * threadIdx.x), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};"
        :: "r"(there), "r"(rank), "r"(threadIdx.x), "r"(7), "r"(8));
    asm volatile("st.shared::cluster.u8 [%0+13], %1;" :: "r"(there), "r"(0xAB));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    for (int n = 0; n < 4; ++n)
        out[16 * blockIdx.x + 4 * threadIdx.x + n] = ((unsigned*)box)[4 * threadIdx.x + n];
}
"""
    out = np.zeros((2, 4, 4), np.uint32)
    run_cuda(source, "k", 2, 4, (out,))
    for block, thread in np.ndindex(2, 4):
        assert out[block, thread].tolist() == [1 - block, thread, 7, 0xAB08]


def test_a_flag_in_another_block():
    """Each block waits for the flag of the next one, but the last, which sets its own first."""
    source = """
extern "C" __global__ void __cluster_dims__(4) k(unsigned* out)
{
    __shared__ unsigned flag, value;
    unsigned rank, seen, there;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    flag = 0;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (rank < 3) {
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&flag)), "r"(rank + 1));
        do
            asm volatile("ld.acquire.cluster.shared::cluster.u32 %0, [%1];"
                : "=r"(seen) : "r"(there) : "memory");
        while (seen == 0);
        value = seen + 1;
    } else {
        value = 10;
    }
    asm volatile("st.release.cluster.shared::cta.u32 [%0], %1;"
        :: "r"((unsigned)__cvta_generic_to_shared(&flag)), "r"(value) : "memory");
    out[blockIdx.x] = value;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""
    out = np.zeros(8, np.uint32)
    run_cuda(source, "k", 8, 1, (out,))
    assert out.tolist() == [13, 12, 11, 10] * 2
    stuck = source.replace("value = 10;", "value = 0;")
    with pytest.raises(ptx.Endless):
        run_cuda(stuck, "k", 8, 1, (out,))


def test_one_thread_in_each_block():
    out = np.zeros(4, np.int32)
    source = RING.replace("63 - threadIdx.x", "0")
    run_cuda(source.replace("64 * blockIdx.x", "blockIdx.x"), "ring", 4, 1, (out,))
    assert out.tolist() == [2000, 3000, 0, 1000]


def test_a_string_of_another_block_is_printed():
    source = (
        GROUPS
        + """
extern "C" __global__ void __cluster_dims__(2) k()
{
    __shared__ char text[4];
    cg::cluster_group cluster = cg::this_cluster();
    text[0] = 'a' + blockIdx.x;
    text[1] = 0;
    cluster.sync();
    printf("%s of %s\\n", text, cluster.map_shared_rank(text, cluster.block_rank() ^ 1));
    cluster.sync();
}
"""
    )
    lines = []
    run_cuda(source, "k", 4, 1, (), write=lines.append)
    assert "".join(lines) == "a of b\nb of a\nc of d\nd of c\n"


def test_cooperative_groups():
    """What else a cluster says of itself; and a barrier in two halves."""
    source = (
        GROUPS
        + """
extern "C" __global__ void __cluster_dims__(2, 2) k(unsigned* out)
{
    __shared__ unsigned box;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), number = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0)
        box = 50 + rank;
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    unsigned* other = cluster.map_shared_rank(&box, 3 - rank);
    cluster.barrier_wait((cg::cluster_group::arrival_token&&)token);
    unsigned found[] = {*other, cluster.query_shared_rank(other), cluster.query_shared_rank(&box),
        cluster.num_blocks(), cluster.num_threads(), cluster.thread_rank(),
        cluster.block_index().x, cluster.block_index().y, cluster.dim_blocks().y,
        cluster.dim_threads().x};
    for (int n = 0; n < 10; ++n)
        out[(number * blockDim.x + threadIdx.x) * 10 + n] = found[n];
    cluster.sync();
}
"""
    )
    out = np.zeros((4, 4, 3, 10), np.uint32)
    run_cuda(source, "k", (4, 4), 3, (out,))
    for y, x, t in np.ndindex(4, 4, 3):
        rank = x % 2 + 2 * (y % 2)
        place = [3 * rank + t, x % 2, y % 2]
        assert out[y, x, t].tolist() == [53 - rank, 3 - rank, rank, 4, 12, *place, 2, 6]


# -- without clusters -------------------------------------------------------------------------

ALONE = """
extern "C" __global__ void k(unsigned* out, unsigned rank)
{
    __shared__ unsigned box[32];
    unsigned own = __cvta_generic_to_shared(&box[threadIdx.x]), there, value;
    box[threadIdx.x] = threadIdx.x + 32 * blockIdx.x;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there));
    out[32 * blockIdx.x + threadIdx.x] = value;
}
"""


def test_a_block_is_a_cluster_of_its_own():
    out = np.zeros(96, np.uint32)
    run_cuda(ALONE, "k", 3, 32, (out, np.uint32(0)))
    assert out.tolist() == list(range(96))
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):
        run_cuda(ALONE, "k", 3, 32, (out, np.uint32(1)))


# -- the barrier ------------------------------------------------------------------------------


def test_arrive_does_not_wait():
    """Block 0 stores between its arrival and its wait; block 1 waits, and may not see that before
    the second barrier."""
    source = """
extern "C" __global__ void __cluster_dims__(2) k(volatile unsigned* out)
{
    unsigned rank = blockIdx.x % 2;
    if (rank == 0)
        for (int n = 0; n < 100; ++n)
            out[0] = n;  // late
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    if (rank == 0)
        out[1] = 5;
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    if (rank == 1)
        out[2] = out[0];
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 1)
        out[3] = out[1];
}
"""
    out = np.zeros(4, np.uint32)
    run_cuda(source, "k", 2, 1, (out,))
    assert out.tolist() == [99, 5, 99, 5]


def test_clusters_do_not_wait_for_each_other():
    """Each passes as many barriers as its number says; warps and blocks come at other times."""
    source = """
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    unsigned trips = 1 + blockIdx.x / 2, spins = 7 * threadIdx.x % 5 + 3 * (blockIdx.x % 2);
    for (unsigned n = 0; n < trips; ++n) {
        for (volatile unsigned s = 0; s < spins; ++s) {}
        atomicAdd(&out[4 * (blockIdx.x / 2) + 0], 1);
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
        unsigned seen = atomicAdd(&out[4 * (blockIdx.x / 2) + 0], 0);
        if (seen != 2 * blockDim.x * (n + 1))
            out[4 * (blockIdx.x / 2) + 1] = seen;
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    }
}
"""
    out = np.zeros((3, 4), np.uint32)
    run_cuda(source, "k", 6, 64, (out,))
    assert out[:, :2].tolist() == [[128 * trips, 0] for trips in (1, 2, 3)]


def test_threads_wait_at_several_places():
    """Half of the threads wait at the first; the others of one cluster come to the second, and
    those of the other cluster to the third, later."""
    source = """
#define MEET(place) asm volatile("barrier.cluster.arrive; barrier.cluster.wait; // " #place \
    ::: "memory"); atomicAdd(&out[4 * (blockIdx.x / 2) + place], 1);
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    if (threadIdx.x < 32) {
        MEET(0)
    } else if (blockIdx.x < 2) {
        MEET(1)
    } else {
        MEET(2)
    }
    MEET(3)
}
"""
    out = np.zeros((3, 4), np.uint32)
    found = events(source, ClusterBarrier, "k", 6, 64, (out,))
    assert out.tolist() == [[64, 64, 0, 128], [64, 0, 64, 128], [64, 0, 64, 128]]
    assert all(
        np.broadcast_to(event.mask, (6, 64)).any() for event in found if event.mask is not None
    )


def test_a_barrier_in_a_function():
    source = """
__device__ __noinline__ unsigned meet(unsigned* out, unsigned n)
{
    if (n > 0)
        return meet(out, n - 1) + 1;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    return atomicAdd(out, 0);
}
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    for (volatile unsigned s = 0; s < 9 * threadIdx.x; ++s) {}
    if (threadIdx.x > 0)
        atomicAdd(out, 1);
    out[1 + 4 * blockIdx.x + threadIdx.x] = meet(out, 1 + threadIdx.x % 2);
}
"""
    out = np.zeros(9, np.uint32)
    run_cuda(source, "k", 2, 4, (out,))
    assert out.tolist() == [6, *[7, 8, 7, 8] * 2]


@pytest.mark.parametrize("when", ["blockIdx.x == 1", "threadIdx.x >= 40"])
def test_threads_that_have_exited_count_as_arrived(when):
    source = """
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    for (volatile unsigned s = 0; s < 20 * (blockIdx.x + threadIdx.x / 32); ++s) {}
    if (WHEN)
        return;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    atomicAdd(out, 1);
}
""".replace("WHEN", when)
    out = np.zeros(1, np.uint32)
    run_cuda(source, "k", 2, 64, (out,))
    assert out[0] == (64 if "block" in when else 80)


def test_a_barrier_that_is_never_completed():
    source = """
extern "C" __global__ void __cluster_dims__(2) k()
{
    if (blockIdx.x == 1)
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    else
        asm volatile("bar.sync 1, 64;" ::: "memory");
}
"""
    with pytest.raises(ptx.Deadlock, match="32 of its threads wait, 64 have not exited") as error:
        run_cuda(source, "k", 2, 32, ())
    assert error.value.thread == "block (1, 0, 0), thread (0, 0, 0)"
    assert error.value.source.line == line_of(source, "barrier.cluster")


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("barrier.cluster.arrive; barrier.cluster.arrive;", "has arrived already"),
        ("barrier.cluster.wait;", "has not arrived"),
        ("barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.wait;", "has not arrived"),
    ],
)
def test_arrive_and_wait_take_turns(code, what):
    source = f'extern "C" __global__ void __cluster_dims__(2) k() {{ asm volatile("{code}"); }}'
    with pytest.raises(ptx.PTXError, match=what):
        run_cuda(source, "k", 2, 32, ())


def test_forms_that_there_are_not():
    for code in ("barrier.cluster.sync;", "barrier.cluster.arrive.acquire;"):
        with pytest.raises(ptx.UnknownOpcode):
            launch(entry(code), "k", 1, 1, ())


def test_what_the_barrier_tells():
    source = """
extern "C" __global__ void __cluster_dims__(2) k()
{
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (blockIdx.x < 2)
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""
    found = events(source, ClusterBarrier, "k", 4, 2, ())
    assert [event.what for event in found] == ["arrive", "wait"] * 2
    masks = [event.mask for event in found]
    assert masks[0] is None and masks[1] is None
    first = np.arange(4)[:, None] < 2
    assert all((np.broadcast_to(mask, (4, 2)) == first).all() for mask in masks[2:])
    phases = [event.phase.tolist() for event in found]
    assert phases == [[0] * 4, [0] * 4, [1] * 4, [1, 1, 0, 0]]


# -- what goes wrong --------------------------------------------------------------------------

REACH = (
    GROUPS
    + """
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out, unsigned rank, unsigned n)
{
    __shared__ unsigned box[32];
    cg::cluster_group cluster = cg::this_cluster();
    box[threadIdx.x] = blockIdx.x;
    cluster.sync();
    if (blockIdx.x % 2 == 0)
        out[blockIdx.x] = cluster.map_shared_rank(box, rank)[n];  // reach
    if (LAST)
        cluster.sync();
}
"""
)


def test_out_of_bounds_in_another_block():
    out = np.zeros(4, np.uint32)
    source = REACH.replace("LAST", "1")
    run_cuda(source, "k", 4, 32, (out, np.uint32(1), np.uint32(31)))
    assert out.tolist() == [1, 0, 3, 0]
    with pytest.raises(ptx.MemoryFault) as error:
        run_cuda(source, "k", 4, 32, (out, np.uint32(1), np.uint32(32)))
    assert "0 bytes past the end of" in str(error.value)
    assert "in the shared memory of block (1, 0, 0)" in str(error.value)
    assert error.value.thread == "block (0, 0, 0), thread (0, 0, 0)"
    assert error.value.source.line == line_of(source, "// reach")
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):  # no such rank
        run_cuda(source, "k", 4, 32, (out, np.uint32(2), np.uint32(0)))


def test_a_block_with_nothing_left_to_do_has_exited():
    """A barrier at the end is missing: block 1 may be gone when block 0 reads."""
    with pytest.raises(ptx.MemoryFault, match=r"block \(1, 0, 0\), which has exited") as error:
        run_cuda(
            REACH.replace("LAST", "0"),
            "k",
            4,
            32,
            (np.zeros(4, np.uint32), np.uint32(1), np.uint32(0)),
        )
    assert error.value.thread == "block (0, 0, 0), thread (0, 0, 0)"


def test_a_block_that_is_about_to_store_has_not_exited():
    source = REACH.replace("if (LAST)\n        cluster.sync()", "out[blockIdx.x + 4] = 7")
    out = np.zeros(8, np.uint32)
    run_cuda(source, "k", 4, 32, (out, np.uint32(1), np.uint32(0)))
    assert out.tolist() == [1, 0, 3, 0, 7, 7, 7, 7]


LEFT = """
extern "C" __global__ void __cluster_dims__(2) k(unsigned* out)
{
    __shared__ unsigned box[32];
    unsigned own = __cvta_generic_to_shared(&box[threadIdx.x]), there, value = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there) : "r"(own), "r"(blockIdx.x % 2 ^ 1));
    box[threadIdx.x] = 5;
    if (blockIdx.x % 2 == 0)
        return;
    for (volatile unsigned s = 0; s < 100; ++s) {}
    asm volatile("CODE" : "+r"(value) : "r"(there));  // reach
    out[blockIdx.x * 32 + threadIdx.x] = value;
}
"""


@pytest.mark.parametrize(
    "code", ["ld.shared::cluster.u32 %0, [%1];", "st.shared::cluster.u32 [%1], %0;",
             "atom.shared::cluster.add.u32 %0, [%1], 1;"],
)  # fmt: skip
def test_a_block_that_has_exited(code):
    source = LEFT.replace("CODE", code)
    with pytest.raises(ptx.MemoryFault, match=r"block \(0, 0, 0\), which has exited") as error:
        run_cuda(source, "k", 2, 32, (np.zeros(64, np.uint32),))
    assert error.value.thread == "block (1, 0, 0), thread (0, 0, 0)"
    assert error.value.source.line == line_of(source, "// reach")


def test_a_tolerant_run_tells_of_it_and_goes_on():
    source = LEFT.replace("CODE", "ld.shared::cluster.u32 %0, [%1];")
    out = np.full(128, 7, np.uint32)
    found = events(source, Fault, "k", 4, 32, (out,), tolerant=True)
    (fault,) = found
    assert (fault.kind, fault.space, fault.width) == ("load", "shared", 4)
    assert fault.mask[:, 0].tolist() == fault.exited[:, 0].tolist() == [False, True] * 2
    assert fault.rows[1].tolist() == [0] * 32 and fault.rows[3].tolist() == [2] * 32
    assert out.reshape(4, 32)[:, 0].tolist() == [7, 0, 7, 0]


def test_mapping_what_is_not_in_shared_memory():
    source = GROUPS + (
        'extern "C" __global__ void __cluster_dims__(2) k(int* x) '
        "{ *cg::this_cluster().map_shared_rank(x, 1) = 1; }"
    )
    with pytest.raises(ptx.PTXError, match="not in shared memory"):
        run_cuda(source, "k", 2, 1, (np.zeros(1, np.int32),))


# -- events -----------------------------------------------------------------------------------


def test_an_access_says_whose_memory_it_reaches():
    out = np.zeros((4, 64), np.int32)
    found = events(RING, Access, "ring", 4, 64, (out,))
    shared = [event for event in found if event.space == "shared"]
    own = [event.rows is None for event in shared]
    assert own == [True, False, False, True]
    load, store = shared[1], shared[2]
    assert load.kind == "load" and store.kind == "store"
    assert (load.rows == np.array([1, 2, 3, 0])[:, None]).all() and load.rows.shape == (4, 64)
    assert (store.rows == np.array([3, 0, 1, 2])[:, None]).all()
    assert (np.broadcast_to(load.address, (4, 64)) == 4 * (63 - np.arange(64))).all()


def test_an_access_to_ones_own_memory_is_as_without_clusters():
    """Through a generic address or one of the cluster that names the own block."""
    source = (
        GROUPS
        + """
extern "C" __global__ void __cluster_dims__(2) k(int* out, int* (*f)(int*))
{
    __shared__ int box[32];
    cg::cluster_group cluster = cg::this_cluster();
    *cluster.map_shared_rank(&box[threadIdx.x], cluster.block_rank()) = threadIdx.x;
    cluster.sync();
    out[32 * blockIdx.x + threadIdx.x] = box[31 - threadIdx.x];
}
"""
    )
    out = np.zeros((2, 32), np.int32)
    found = events(source, Access, "k", 2, 32, (out, np.uint64(0)))
    store = next(event for event in found if event.space == "shared" and event.kind == "store")
    assert store.rows is None
    assert (np.broadcast_to(store.address, (2, 32)) == 4 * np.arange(32)).all()
    assert (out == 31 - np.arange(32)).all()


def test_the_launch_tells_its_cluster():
    found = events(RING, ptx.Launched, "ring", 4, 64, (np.zeros((4, 64), np.int32),))
    assert found[0].cluster == (4, 1, 1)


def test_the_compiler_knows_the_kernels():
    """What is launched here is what NVRTC makes of `__cluster_dims__`."""
    text = cuda(RING).ptx
    assert ".explicitcluster" in text and ".reqnctapercluster 4, 1, 1" in text
    launch_built(cuda(RING), "ring", 4, 64, (np.zeros((4, 64), np.int32),))
