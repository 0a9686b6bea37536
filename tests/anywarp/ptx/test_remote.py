"""What lands in the shared memory of another block of the cluster and reports to an mbarrier there:
st.async and bulk copies; and arrivals at such an mbarrier."""

from __future__ import annotations

import numpy as np
import pytest
from harness import entry, launch, run_cuda

from anywarp import ptx
from anywarp.ptx.memory.events import Fault, Finished, Started

# -- stores that report to an mbarrier --------------------------------------------------------

ASYNC = """
__device__ unsigned at(void* p) { return __cvta_generic_to_shared(p); }
__device__ unsigned map(void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}
__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
__device__ void wait_at(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
        "@!p bra again; }" :: "r"(bar), "r"(parity) : "memory");
}
__device__ void wait(void* bar, unsigned parity) { wait_at(at(bar), parity); }
extern "C" __global__ void __cluster_dims__(4) k(unsigned* out)
{
    __shared__ __align__(16) unsigned box[4 * 32];
    __shared__ unsigned long long bar;
    unsigned rank = blockIdx.x % 4, t = threadIdx.x;
    for (int n = 0; n < 4; ++n)
        box[32 * n + t] = START;
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
    cluster_sync();
    if (t == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
            :: "r"(at(&bar)), "r"(EXPECT) : "memory");
    SEND
    LOOK
    wait(&bar, 0);
    for (int n = 0; n < 4; ++n)
        out[128 * blockIdx.x + 32 * n + t] = box[32 * n + t];
    cluster_sync();
}
"""
EVERYBODY = """for (int r = 0; r < 4; ++r)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
            :: "r"(map(&box[32 * rank + t], r)), "r"(100 * rank + t), "r"(map(&bar, r)) : "memory");
"""  # noqa: E501
BY_FOUR = """if (t % 4 == 0)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 "
            "[%0], {%1, %2, %3, %4}, [%5];"
            :: "r"(map(&box[t], (rank + 1) % 4)), "r"(rank), "r"(t), "r"(7), "r"(8),
               "r"(map(&bar, (rank + 1) % 4)) : "memory");
"""


def asynchronous(send: str, expect: int, start: str = "0", look: str = "", **keywords):
    source = ASYNC.replace("SEND", send).replace("EXPECT", str(expect)).replace("START", start)
    out = np.zeros((8, 4, 32), np.uint32)
    run_cuda(source.replace("LOOK", look), "k", 8, 32, (out,), **keywords)
    return out


def test_stores_that_report():
    out = asynchronous(EVERYBODY, 4 * 128)
    assert (out == 100 * np.arange(4)[:, None] + np.arange(32)).all()


def test_what_a_store_that_reports_tells():
    told: list = []
    asynchronous(BY_FOUR, 8 * 16, sink=told.append)
    (started,) = (event for event in told if isinstance(event, Started))
    done = [event for event in told if isinstance(event, Finished)]
    (written,) = started.writes
    assert started.instruction.opcode == "st" and started.reads == ()
    assert started.block.tolist() == [b for b in range(8) for _ in range(8)]
    assert started.thread.tolist() == list(range(0, 32, 4)) * 8
    assert written.space == "shared" and (written.size == 16).all()
    assert written.operation.tolist() == list(range(64))
    to = started.block // 4 * 4 + (started.block + 1) % 4
    assert (written.row == to).all()
    assert (written.start - written.start[0]).tolist() == [4 * t for t in started.thread.tolist()]
    assert sorted(n for event in done for n in event.ticket.tolist()) == started.ticket.tolist()
    assert all(event.mask is None and not event.reading_only for event in done)


def test_vectors_that_report():
    out = asynchronous(BY_FOUR, 8 * 16)
    for block in range(8):
        quads = out[block, 0].reshape(8, 4)
        assert (quads == [[(block - 1) % 4, 4 * n, 7, 8] for n in range(8)]).all()


def test_it_lands_when_it_is_waited_for():
    """Who does not wait finds what was there before."""
    look = "cluster_sync(); out[128 * blockIdx.x + t] = box[t]; if (out) return;"
    out = asynchronous(EVERYBODY, 4 * 128, "77", look)
    assert (out[:, 0] == 77).all()


def test_too_few_bytes_wait_for_ever():
    with pytest.raises(ptx.Endless, match="4 bytes are missing"):
        asynchronous(EVERYBODY, 4 * 128 + 4)


def test_a_fault_says_whose_memory_it_is():
    own = EVERYBODY.replace("map(&bar, r)", "at(&bar) + 4").replace("map(&box", "at(&box")
    own = own.replace(", r)", ")")
    for send, elsewhere in (own, False), (BY_FOUR.replace("map(&box[t]", "map(&box[t + 1]"), True):
        told: list = []
        with pytest.raises(ptx.Endless):  # what is not made is not reported
            asynchronous(send, 8 * 16, sink=told.append, tolerant=True)
        found = [event for event in told if isinstance(event, Fault)]
        assert found[0].space == "shared" and found[0].exited is None
        if elsewhere:
            assert found[0].mask.sum() == 8 * 8
            rows = found[0].rows[found[0].mask].reshape(8, 8)
            assert (rows == [[n // 4 * 4 + (n + 1) % 4] for n in range(8)]).all()
        else:
            assert found[0].mask.all() and found[0].rows is None


def test_a_store_may_report_to_another_block():
    """The bytes lie there when that block's mbarrier says so; who has to wait is its neighbour."""
    send = EVERYBODY.replace("map(&bar, r)", "map(&bar, r ^ 1)")
    out = asynchronous(send, 4 * 128, look="wait(&bar, 0); cluster_sync();")
    assert (out == 100 * np.arange(4)[:, None] + np.arange(32)).all()
    with pytest.raises(ptx.Endless, match="512 bytes are missing"):
        asynchronous(send.replace("r ^ 1", "0").replace("&bar, 0", "&bar, rank & 2"), 4 * 128)


def test_misaligned():
    send = BY_FOUR.replace("map(&box[t]", "map(&box[t + 1]")
    with pytest.raises(ptx.MemoryFault, match="multiple of 16"):
        asynchronous(send, 8 * 16)


def test_forms_of_stores_that_report_and_are_not_there():
    for code in ("st.async.release.gpu.global.u32 [%r], %v, [%m];",
                 "red.async.mmio.release.gpu.global.add.u32 [%r], %v;"):  # fmt: skip
        with pytest.raises(ptx.UnknownOpcode):
            launch(entry(f".reg .b32 %r, %v, %m;\n{code}"), "k", 1, 1, ())


def test_the_own_mbarrier_by_its_name():
    """The address that mapa gives for one's own rank may be waited at."""
    out = asynchronous(EVERYBODY, 4 * 128, look="wait_at(map(&bar, rank), 0);")
    assert (out == 100 * np.arange(4)[:, None] + np.arange(32)).all()


REMOTE_ARRIVAL = (
    ASYNC.split('extern "C"')[0]
    + """
extern "C" __global__ void __cluster_dims__(4) k(unsigned* out)
{
    __shared__ unsigned long long bar;
    __shared__ unsigned count;
    unsigned t = threadIdx.x;
    if (t == 0) {
        count = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(at(&bar)));
    }
    cluster_sync();
    for (int r = 0; r < 4; ++r) {
        asm volatile("red.shared::cluster.add.u32 [%0], 1;" :: "r"(map(&count, r)) : "memory");
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
            :: "r"(map(&bar, r)) : "memory");
    }
    WAIT
    out[blockIdx.x] = count;
    cluster_sync();
}
"""
)


def test_arrivals_at_an_mbarrier_of_another_block():
    out = np.zeros(8, np.uint32)
    run_cuda(REMOTE_ARRIVAL.replace("WAIT", "wait(&bar, 0);"), "k", 8, 32, (out,))
    assert out.tolist() == [128] * 8


def test_nobody_waits_at_an_mbarrier_of_another_block():
    wait = """unsigned long long far; unsigned done;
    asm volatile("mapa.u64 %0, %1, 1;" : "=l"(far) : "l"(&bar));
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0;"
        "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "l"(far));"""
    with pytest.raises(ptx.PTXError, match=r"block \(1, 0, 0\), is another block's"):
        run_cuda(REMOTE_ARRIVAL.replace("WAIT", wait), "k", 8, 32, (np.zeros(8, np.uint32),))


# -- bulk copies ------------------------------------------------------------------------------

BULK = (
    ASYNC.split('extern "C"')[0]
    + """
#define REPORTS "mbarrier::complete_tx::bytes"
extern "C" __global__ void __cluster_dims__(2, 2) k(
    const unsigned* x, unsigned* out, unsigned ranks)
{
    __shared__ __align__(16) unsigned box[64];
    __shared__ __align__(16) unsigned from[64];
    __shared__ unsigned long long bar;
    unsigned rank, t = threadIdx.x, number = blockIdx.y * gridDim.x + blockIdx.x;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    box[t] = 7;
    box[t + 32] = 7;
    from[t] = 100 * rank + t;
    from[t + 32] = 1000 * rank + t;
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    cluster_sync();
    unsigned bytes = EXPECT;
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
            :: "r"(at(&bar)), "r"(bytes) : "memory");
        COPY
    }
    wait(&bar, 0);
    for (int n = 0; n < 2; ++n)
        out[64 * number + 32 * n + t] = box[32 * n + t];
    cluster_sync();
}
"""
)
TO_MANY = """if (rank == 2)
            asm volatile("cp.async.bulk.shared::cluster.global." REPORTS ".multicast::cluster"
                " [%0], [%1], 128, [%2], %3;"
                :: "r"(at(box + 16)), "l"(x + 4 * number), "r"(at(&bar)), "h"((short)ranks));
"""
ACROSS = """unsigned next = (rank + 1) % 4;
        asm volatile("cp.async.bulk.shared::cluster.shared::cta." REPORTS " [%0], [%1], 256, [%2];"
            :: "r"(map(box, next)), "r"(at(from)), "r"(map(&bar, next)) : "memory");
"""
COMBINED = """for (int r = 0; r < 4; ++r)
            asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta." REPORTS ".add.u32"
                " [%0], [%1], 256, [%2];"
                :: "r"(map(box, r)), "r"(at(from)), "r"(map(&bar, r)) : "memory");
"""


def bulk(copy: str, expect: str, ranks: int = 0, sink=None):
    x, out = np.arange(100, dtype=np.uint32), np.zeros((4, 4, 64), np.uint32)
    source = BULK.replace("COPY", copy).replace("EXPECT", expect)
    run_cuda(source, "k", (4, 4), 32, (x, out, np.uint32(ranks)), sink=sink)
    # by cluster and rank
    return out.reshape(2, 2, 2, 2, 64).transpose(0, 2, 1, 3, 4).reshape(4, 4, 64)


@pytest.mark.parametrize("ranks", [0b1111, 0b1011, 0b0100])
def test_a_copy_to_several_blocks(ranks):
    out = bulk(TO_MANY, f"({ranks} >> rank & 1) * 128", ranks)
    issuer = np.array([4, 6, 12, 14])  # the blocks of rank 2
    for cluster, rank in np.ndindex(4, 4):
        expected = np.full(64, 7)
        if ranks >> rank & 1:
            expected[16:48] = 4 * issuer[cluster] + np.arange(32)
        assert out[cluster, rank].tolist() == expected.tolist()


def test_what_a_copy_to_several_blocks_tells():
    found = []
    bulk(TO_MANY, "(13 >> rank & 1) * 128", 13, lambda e: found.append(e))
    begun = [event for event in found if isinstance(event, Started)]
    done = [event for event in found if isinstance(event, Finished)]
    (started,) = begun
    (reads,), (writes,) = started.reads, started.writes
    assert writes.row.tolist() == [4 * c + r for c in range(4) for r in (0, 2, 3)]
    assert reads.operation.tolist() == [0, 3, 6, 9] and reads.size.tolist() == [128] * 4
    assert started.block.tolist() == [4 * c + 2 for c in range(4) for _ in range(3)]
    assert sorted(n for event in done for n in event.ticket.tolist()) == started.ticket.tolist()


@pytest.mark.parametrize("ranks", [0, 0b10001])
def test_a_copy_to_blocks_that_there_are_not(ranks):
    with pytest.raises(ptx.PTXError, match=f"mask {ranks:#06b}: the cluster has 4"):
        bulk(TO_MANY, "128", ranks)


def test_a_copy_to_another_block():
    out = bulk(ACROSS, "256")
    for rank in range(4):
        before, t = (rank - 1) % 4, np.arange(32)
        assert (out[:, rank] == np.r_[100 * before + t, 1000 * before + t]).all()


def test_a_bulk_reduction_over_a_cluster():
    out, t = bulk(COMBINED, "1024"), np.arange(32)
    assert (out == np.r_[7 + 600 + 4 * t, 7 + 6000 + 4 * t]).all()


OWN = ACROSS.replace("(rank + 1) % 4", "rank")


@pytest.mark.parametrize(
    "to, report", [("map(box, next)", "map(&bar, next)"), ("at(box)", "at(&bar)")]
)
def test_a_copy_to_the_own_block_in_a_cluster(to, report):
    copy = OWN.replace("map(box, next)", to).replace("map(&bar, next)", report)
    out, t = bulk(copy, "256"), np.arange(32)
    for rank in range(4):
        assert (out[:, rank] == np.r_[100 * rank + t, 1000 * rank + t]).all()
    x, alone = np.arange(100, dtype=np.uint32), np.zeros((2, 64), np.uint32)
    source = BULK.replace("COPY", copy).replace("EXPECT", "256").replace("(2, 2)", "(1)")
    run_cuda(source, "k", 2, 32, (x, alone, np.uint32(0)))
    assert (alone == np.r_[t, t]).all()  # a cluster of one block, whose rank is 0
    source = source.replace("__cluster_dims__(1) ", "")
    with pytest.raises(ptx.PTXError, match="in a launch without clusters"):
        run_cuda(source, "k", 2, 32, (x, alone, np.uint32(0)))


def test_a_copy_reports_where_it_writes():
    with pytest.raises(ptx.PTXError, match="both must be in the same"):
        bulk(ACROSS.replace("map(&bar, next)", "at(&bar)"), "256")


def test_reductions_that_report():
    """red.async: all blocks of a cluster combine with the same words of the first."""
    send = """asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::"
        "complete_tx::bytes.OP [%0], %1, [%2];"
        :: "r"(map(&box[t], 0)), "r"(rank + t - 3), "r"(map(&bar, 0)) : "memory");
    if (rank) { cluster_sync(); return; }"""
    t = np.arange(32)
    for op, start, expected in ("add.u32", 5, 4 * t - 1), ("min.s32", 1, np.minimum(1, t - 3)):
        out = asynchronous(send.replace("OP", op), 4 * 128, start=str(start))
        assert (out[::4, 0].view(np.int32) == expected).all()
    for wrong in ("cas.b32", "u32", "add.f32"):
        with pytest.raises(ptx.UnknownOpcode):
            asynchronous(send.replace("OP", wrong), 4 * 128)
