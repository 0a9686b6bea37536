"""Bulk copies: one thread copies, or combines, many bytes; pipelines of them; bulk groups."""

from __future__ import annotations

import random

import numpy as np
import pytest
from harness import entry, launch, run_body, run_cuda

from anywarp import ptx
from anywarp.ptx.memory.events import Fault, Finished, MemoryBarrier, Started

INTO = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
OUT = "cp.async.bulk.global.shared::cta.bulk_group"
ACROSS = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
DECLARED = """
    .shared .align 16 .b8 box[4096];
    .shared .align 8 .b64 bar[2];
    .reg .b32 %t, %a, %b, %n, %x<9>;
    .reg .b64 %g, %h, %s<9>;
    .reg .pred %p<9>;
    ld.param.u64 %g, [source];
    ld.param.u64 %h, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %a, bar;
    mov.u32 %b, box;
    setp.eq.u32 %p8, %t, 0;
    @%p8 mbarrier.init.shared::cta.b64 [%a], 1;
    @%p8 mbarrier.init.shared::cta.b64 [%a+8], 1;
    mov.u32 %x0, 0xA5A5A5A5;
    mov.u32 %x1, 0;
FILL:
    mad.lo.u32 %x2, %x1, 4, %b;
    st.shared.u32 [%x2], %x0;
    add.u32 %x1, %x1, 1;
    setp.lt.u32 %p7, %x1, 1024;
    @%p7 bra FILL;
    bar.sync 0;
"""
# the box as it is to the target, 4096 bytes, by the first thread
KEEP = """
    bar.sync 0;
    mov.u32 %x1, 0;
KEEP:
    cvt.u64.u32 %s7, %x1;
    add.u64 %s7, %h, %s7;
    add.u32 %x2, %x1, %b;
    ld.shared.u32 %x3, [%x2];
    @%p8 st.global.u32 [%s7], %x3;
    add.u32 %x1, %x1, 4;
    setp.lt.u32 %p7, %x1, 4096;
    @%p7 bra KEEP;
"""
WAIT = """
WAIT{n}:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%a], {parity};
    @!%p1 bra WAIT{n};
"""
MEET = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
EXPECT = "@%p8 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%a], {0};\n"
SIZE = 4096


def run(body: str, threads: int = 1, source=None, target=None, **keywords) -> bytes:
    """Run the body with the source's bytes at %g, the box (0xA5 everywhere) at %b, mbarriers that
    expect one arrival at %a and %a+8, and the target at %h, whose bytes are returned."""
    source = BYTES if source is None else source
    target = np.zeros(SIZE, np.uint8) if target is None else target
    text = DECLARED + body
    run_body(text, "u64 source, u64 target", 1, threads, [source, target], **keywords)
    return target.tobytes()


def run_pair(body: str, source) -> bytes:
    """As `run`, by one thread in each of the two blocks of a cluster. What it begins with lets a
    copy from shared memory to shared memory reach the other block, as %x5, whose mbarrier is %x6;
    both blocks leave the same bytes in the target."""
    other = """
    mov.u32 %x4, %cluster_ctarank;
    xor.b32 %x4, %x4, 1;
    mapa.shared::cluster.u32 %x5, %b, %x4;
    mapa.shared::cluster.u32 %x6, %a, %x4;
    """
    target = np.zeros(SIZE, np.uint8)
    text = entry(DECLARED + other + body + MEET, "u64 source, u64 target")
    text = text.replace("\n)\n{", "\n)\n.explicitcluster\n.reqnctapercluster 2\n{")
    launch(text, "k", 2, 1, [source, target])
    return target.tobytes()


BYTES = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)
GIVEN = BYTES.tobytes()
OLD = b"\xa5" * SIZE


@pytest.mark.parametrize(
    "text",
    [
        f"{INTO} [%b], [%g], 64, [%a];",
        f"{INTO} [box], [%g], 64, [bar];",
        f"{INTO}.L2::cache_hint [%b], [%g], 64, [%a], %s0;",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%b], [%g], 64, [%a];",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%b], [%g], 64, [%a], %s0;",
        f"mov.u32 %n, 64;\n{INTO} [%b+0], [%g+0], %n, [%a+0];",
    ],
)
def test_forms_into_shared_memory(text):
    body = "mov.b64 %s0, 0;\n" + EXPECT.format(64) + text + WAIT.format(n=0, parity=0) + KEEP
    assert run(body) == GIVEN[:64] + OLD[64:]


@pytest.mark.parametrize("size", [16, 48, 1024, 4096])
@pytest.mark.parametrize("way", ["in", "out"])
def test_sizes(size, way):
    if way == "in":
        body = EXPECT.format(size) + f"{INTO} [%b], [%g], {size}, [%a];"
        assert run(body + WAIT.format(n=0, parity=0) + KEEP) == GIVEN[:size] + OLD[size:]
    else:
        body = f"{OUT} [%h], [%b], {size};\ncp.async.bulk.commit_group;\n"
        assert run(body + "cp.async.bulk.wait_group 0;\n") == OLD[:size] + bytes(SIZE - size)


def test_every_thread_copies_a_stretch_of_its_own_size():
    body = """
    and.b32 %n, %t, 3;
    mad.lo.u32 %n, %n, 16, 16;
    mad.lo.u32 %x1, %t, 64, %b;
    mul.wide.u32 %s1, %t, 64;
    add.u64 %s1, %g, %s1;
    """
    body += EXPECT.format(32 * 40) + f"{INTO} [%x1], [%s1], %n, [%a];" + WAIT.format(n=0, parity=0)
    want = bytearray(OLD)
    for t in range(32):
        want[64 * t : 64 * t + 16 * (t % 4 + 1)] = GIVEN[64 * t : 64 * t + 16 * (t % 4 + 1)]
    assert run(body + KEEP, 32) == bytes(want)


def test_a_predicated_copy():
    body = "setp.eq.u32 %p2, %t, 5;\n" + EXPECT.format(32) + f"@%p2 {INTO} [%b], [%g], 32, [%a];\n"
    assert run(body + WAIT.format(n=0, parity=0) + KEEP, 32) == GIVEN[:32] + OLD[32:]


def test_the_destination_is_old_until_somebody_waits():
    """Who forgets to wait computes with what was there before. A look at another object does not
    help, nor one at a phase that is over."""
    body = EXPECT.format(64) + f"{INTO} [%b], [%g], 64, [%a];\n"
    other = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%a+8], 0;\n"
    over = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%a], 1;\n"
    assert run(body + KEEP) == OLD
    assert run(body + other + KEEP) == OLD
    assert run(body + over + KEEP) == OLD
    assert run(body + WAIT.format(n=0, parity=0) + KEEP) == GIVEN[:64] + OLD[64:]


def test_the_source_is_read_when_the_copy_is_issued():
    body = EXPECT.format(64) + f"{INTO} [%b], [%g], 64, [%a];\nst.global.u32 [%g], %x0;\n"
    body += WAIT.format(n=0, parity=0) + KEEP
    assert run(body, source=BYTES.copy()) == GIVEN[:64] + OLD[64:]


def test_copies_of_one_instruction_land_each_for_itself():
    body = """
    mad.lo.u32 %x1, %t, 64, %b;
    mad.lo.u32 %x2, %t, 8, %a;
    """
    body += "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%x2], 32;\n"
    body += f"{INTO} [%x1], [%g], 32, [%x2];\n" + WAIT.format(n=0, parity=0)
    want = GIVEN[:32] + OLD[32:64] + GIVEN[:32] + OLD[96:]
    assert run(body + KEEP, 2) == GIVEN[:32] + OLD[32:]
    both = body + WAIT.format(n=1, parity=0).replace("[%a]", "[%a+8]")
    assert run(both + KEEP, 2) == want


def test_copies_land_in_the_order_of_issue():
    body = (
        EXPECT.format(192) + f"{INTO} [%b], [%g], 64, [%a];\n{INTO} [%b+32], [%g+64], 64, [%a];\n"
    )
    body += f"{INTO} [%b+16], [%g+128], 64, [%a];\n" + WAIT.format(n=0, parity=0) + KEEP
    want = GIVEN[:16] + GIVEN[128:192] + GIVEN[64 + 48 : 128] + OLD[96:]
    assert run(body) == want


def test_the_copy_may_come_before_its_bytes_are_expected():
    body = f"{INTO} [%b], [%g], 64, [%a];\n"
    body += "mbarrier.test_wait.parity.shared::cta.b64 %p2, [%a], 0;\n" + EXPECT.format(64)
    assert run(body + WAIT.format(n=0, parity=0) + KEEP) == GIVEN[:64] + OLD[64:]


def test_two_threads_that_look_for_two_phases():
    """The phase before the current one is over for the thread that asks for it, though the other
    one's look ends the current phase."""
    body = EXPECT.format(16) + f"@%p8 {INTO} [%b], [%g], 16, [%a];\n"
    body += """
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%a], %t;
    selp.u32 %x4, 1, 0, %p1;
    mul.wide.u32 %s1, %t, 4;
    add.u64 %s1, %h, %s1;
    st.global.u32 [%s1], %x4;
    """
    assert words(run(body, 2))[:2] == [1, 1]


FILLED = EXPECT.format(64) + f"{INTO} [%b], [%g], 64, [%a];\n" + WAIT.format(n=0, parity=0)


def test_from_shared_to_shared_memory():
    body = FILLED + EXPECT.format(48) + MEET + f"{ACROSS} [%x5+256], [%b+16], 48, [%x6];\n"
    late = "st.shared.u32 [%b+16], %x0;\n" + WAIT.format(n=1, parity=1)
    want = GIVEN[:16] + OLD[:4] + GIVEN[20:64] + OLD[64:256] + GIVEN[16:64] + OLD[304:]
    assert run_pair(body + late + KEEP, BYTES) == want


def test_from_shared_to_shared_memory_in_a_block_of_its_own():
    body = FILLED + EXPECT.format(48) + f"{ACROSS} [%b+256], [%b+16], 48, [%a];\n"
    with pytest.raises(ptx.PTXError, match="in a launch without clusters, where a GPU stops"):
        run(body)


# -- out of shared memory ------------------------------------------------------------------------

CHANGE = "mov.u32 %x4, {0};\nst.shared.u32 [%b], %x4;\nst.shared.u32 [%b+64], %x4;\n"
COMMIT = "cp.async.bulk.commit_group;\n"
LOAD = "ld.global.u32 {0}, [%h];\n"


@pytest.mark.parametrize(
    "text", [f"{OUT} [%h], [%b], 32;", f"{OUT}.L2::cache_hint [%h], [%b], 32, %s0;",
             f"mov.u32 %n, 32;\n{OUT} [%h+0], [box], %n;"],
)  # fmt: skip
def test_forms_into_global_memory(text):
    assert run(text + COMMIT + "cp.async.bulk.wait_group 0;\n") == OLD[:32] + bytes(SIZE - 32)


def words(data: bytes) -> list[int]:
    return np.frombuffer(data, np.uint32).tolist()


def test_a_bulk_store_reads_late():
    """What is stored before the wait is copied, what is stored after it is not."""
    body = CHANGE.format(1) + f"{OUT} [%h], [%b], 16;\n" + COMMIT + CHANGE.format(2)
    for wait in ("cp.async.bulk.wait_group.read 0;\n", "cp.async.bulk.wait_group 0;\n"):
        assert words(run(body + wait + CHANGE.format(3)))[0] == 2
    assert words(run(body + CHANGE.format(3)))[0] == 3


def test_a_wait_for_the_reading_does_not_wait_for_the_writing():
    body = f"{OUT} [%h], [%b], 16;\n" + COMMIT + "cp.async.bulk.wait_group.read 0;\n"
    body += LOAD.format("%x5") + "cp.async.bulk.wait_group 0;\n" + LOAD.format("%x6")
    body += "st.global.u32 [%h+16], %x5;\nst.global.u32 [%h+20], %x6;\n"
    found = words(run(body))
    assert found[:6] == [0xA5A5A5A5] * 4 + [0, 0xA5A5A5A5]


@pytest.mark.parametrize("read", ["", ".read"])
def test_a_wait_leaves_the_newest_groups(read):
    body = CHANGE.format(1) + f"{OUT} [%h], [%b], 16;\n" + COMMIT
    body += f"{OUT} [%h+16], [%b+64], 16;\n{OUT} [%h+32], [%b+64], 16;\n" + COMMIT
    body += COMMIT + f"{OUT} [%h+48], [%b+64], 16;\n" + COMMIT
    body += f"cp.async.bulk.wait_group{read} 2;\n" + CHANGE.format(2)
    found = words(run(body + "cp.async.bulk.wait_group 0;\n"))
    assert found[0:16:4] == [1, 1, 1, 2]
    body = body.replace(f"group{read} 2", f"group{read} 3")
    assert words(run(body))[0:16:4] == [1, 2, 2, 2]


def test_stores_of_one_instruction_are_done_each_for_itself():
    """The first thread's source is read, then changed, before the other one's is; and written
    before the other one's is read."""
    body = """
    mad.lo.u32 %x1, %t, 64, %b;
    mul.wide.u32 %s1, %t, 64;
    add.u64 %s1, %h, %s1;
    st.shared.u32 [%x1], %t;
    mov.u32 %x4, 5;
    @%p8 st.global.u32 [%h+64], %x4;
    bar.sync 0;
    """
    body += f"{OUT} [%s1], [%x1], 16;\n" + COMMIT + "@%p8 cp.async.bulk.wait_group.read 0;\n"
    body += "bar.sync 0;\nmov.u32 %x4, 7;\nst.shared.u32 [%x1], %x4;\n"
    body += "@%p8 cp.async.bulk.wait_group 0;\nbar.sync 0;\nld.global.u32 %x5, [%h+64];\n"
    body += (
        "bar.sync 0;\n@!%p8 cp.async.bulk.wait_group.read 0;\n@!%p8 cp.async.bulk.wait_group 0;\n"
    )
    body += "bar.sync 0;\n@%p8 st.global.u32 [%h+128], %x5;\n"
    assert words(run(body, 2))[0:33:16] == [0, 7, 5]
    later = body.replace("@%p8 cp.async.bulk.wait_group 0;\n", "")
    later += "@%p8 cp.async.bulk.wait_group 0;\n"
    assert words(run(later, 2))[0:33:16] == [0, 7, 5]


def test_groups_are_done_in_order_and_once():
    body = (
        "mov.u32 %x4, 1;\nst.shared.u32 [%b], %x4;\nmov.u32 %x4, 2;\nst.shared.u32 [%b+64], %x4;\n"
    )
    body += f"{OUT} [%h], [%b], 16;\n" + COMMIT + f"{OUT} [%h], [%b+64], 16;\n" + COMMIT
    body += "cp.async.bulk.wait_group 0;\n" + LOAD.format("%x5") + "st.global.u32 [%h+16], %x5;\n"
    body += "mov.u32 %x4, 3;\nst.global.u32 [%h], %x4;\n" + COMMIT + "cp.async.bulk.wait_group 0;\n"
    assert words(run(body))[0:5:4] == [3, 2]


def test_groups_are_each_threads_own():
    body = """
    mad.lo.u32 %x1, %t, 16, %b;
    mul.wide.u32 %s1, %t, 16;
    add.u64 %s1, %h, %s1;
    setp.lt.u32 %p2, %t, 16;
    st.shared.u32 [%x1], %t;
    """
    body += f"{OUT} [%s1], [%x1], 16;\n@%p2 cp.async.bulk.commit_group;\n"
    body += (
        "cp.async.bulk.wait_group 0;\nmov.u32 %x4, 99;\nst.shared.u32 [%x1], %x4;\nbar.sync 0;\n"
    )
    found = words(run(body, 32))[0 : 32 * 4 : 4]
    assert found == [*range(16), *[99] * 16]  # the others' copies are done when all have exited


def test_what_a_thread_leaves_is_done_when_its_block_is_over():
    """The thread that stored has long exited when another changes what it stores."""
    body = f"@%p8 {OUT} [%h], [%b], 16;\n@%p8 cp.async.bulk.commit_group;\n@%p8 exit;\n"
    body += CHANGE.format(7)
    assert words(run(body, 33))[:4] == [7, *[0xA5A5A5A5] * 3]


def test_what_has_been_waited_for_is_not_left():
    body = "mul.wide.u32 %s1, %t, 16;\nadd.u64 %s1, %h, %s1;\n" + f"{OUT} [%s1], [%b], 16;\n"
    body += COMMIT + "@%p8 cp.async.bulk.wait_group 0;\n@%p8 st.global.u32 [%h], %t;\n"
    assert words(run(body, 2))[0:5:4] == [0, 0xA5A5A5A5]


def test_the_blocks_of_a_launch_store_their_own():
    source = r"""
    extern "C" __global__ void k(int* out) {
        __shared__ __align__(16) int box[64];
        box[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x) return;
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
            :: "l"(out + blockIdx.x * 64), "r"((unsigned)__cvta_generic_to_shared(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        if (blockIdx.x % 2) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    """
    out = np.zeros(64 * 700, np.int32)
    run_cuda(source, "k", 700, 64, [out])
    assert (out == np.arange(64 * 700)).all()


# -- reductions ----------------------------------------------------------------------------------

INTEGER = {
    "add": lambda a, b: a + b,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, x: np.where(old >= x, 0, old + np.uint32(1)).astype(np.uint32),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - np.uint32(1)),
}
SHARED_OPS = (
    "add.u32 add.s32 add.u64 min.u32 min.s32 max.u32 max.s32 inc.u32 dec.u32 and.b32 or.b32 xor.b32"
)
GLOBAL_OPS = SHARED_OPS + " and.b64 or.b64 xor.b64 min.u64 max.u64 min.s64 max.s64"


def operands(seed: int, size: int = 256):
    rng = np.random.default_rng(seed)
    there, given = rng.integers(0, 256, (2, size), np.uint8)
    given[::3] = there[::3]  # for inc and dec to meet their bounds
    return there, given


def expected(op: str, there, given):
    name, kind = op.split(".")
    dtype = np.dtype(("i" if kind[0] == "s" else "u") + str(int(kind[1:]) // 8))
    return INTEGER[name](there.view(dtype), given.view(dtype)).view(np.uint8)


REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
INSIDE = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
LOADED = EXPECT.format(256) + f"{INTO} [%b], [%g], 256, [%a];\n" + WAIT.format(n=0, parity=0)


@pytest.mark.parametrize("hint", [False, True])
@pytest.mark.parametrize("op", GLOBAL_OPS.split())
def test_integers_are_combined_in_global_memory(op, hint):
    there, given = operands(3)
    policy = ", %s0" if hint else ""
    body = LOADED + f"{REDUCE}{'.L2::cache_hint' * hint}.{op} [%h], [%b], 256{policy};\n" + COMMIT
    found = run(body + "cp.async.bulk.wait_group 0;\n", source=given, target=there.copy())
    assert found == expected(op, there, given).tobytes()


@pytest.mark.parametrize("op", SHARED_OPS.split())
def test_integers_are_combined_in_shared_memory(op):
    there, given = operands(4)
    body = EXPECT.format(512) + f"{INTO} [%b], [%g], 512, [%a];\n" + WAIT.format(n=0, parity=0)
    body += EXPECT.format(256) + MEET + f"{INSIDE}.{op} [%x5], [%b+256], 256, [%x6];\n"
    body += WAIT.format(n=1, parity=1) + KEEP
    found = run_pair(body, np.concatenate([there, given]))
    assert found[:256] == expected(op, there, given).tobytes() and found[256:512] == given.tobytes()


def floats(dtype, seed: int):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((2, 256 // np.dtype(dtype).itemsize)) * 100).astype(dtype)
    return x[0], x[1]


@pytest.mark.parametrize(
    "op, dtype",
    [("add.f32", "f4"), ("add.f64", "f8"), ("add.noftz.f16", "f2"), ("min.f16", "f2"),
     ("max.f16", "f2")],
)  # fmt: skip
def test_floats_are_combined(op, dtype):
    there, given = floats(dtype, 5)
    body = LOADED + f"{REDUCE}.{op} [%h], [%b], 256;\n" + COMMIT + "cp.async.bulk.wait_group 0;\n"
    found = run(body, source=given, target=(target := there.copy()))
    want = INTEGER[op.split(".")[0]](there, given)
    assert found == want.tobytes() and target.dtype == want.dtype


def bf16(x):
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("op", ["add.noftz.bf16", "min.bf16", "max.bf16"])
def test_bfloats_are_combined(op):
    rng = np.random.default_rng(6)
    there, given = bf16(rng.integers(-60, 60, (2, 128)))  # sums are exact
    body = LOADED + f"{REDUCE}.{op} [%h], [%b], 256;\n" + COMMIT + "cp.async.bulk.wait_group 0;\n"
    found = run(body, source=given, target=there.copy())
    wide = [(x.astype(np.uint32) << 16).view(np.float32) for x in (there, given)]
    want = bf16(INTEGER[op.split(".")[0]](*wide))
    assert np.frombuffer(found, np.uint16).tolist() == want.tolist()


def test_sums_of_floats_have_the_bits_of_an_h200():
    """Subnormals are kept, other than by atomic additions of global memory; one NaN."""
    there = "00000001 00000001 00000001 00000001 80000001 80000001 00400000 00400000 00400000 "
    there += "00800000 00800000 80800000 7f800000 7fc00001 3f800000 80000000"
    given = "00000001 80000001 00400000 80800000 80000001 00800000 00400000 7f800000 80000000 "
    given += "80000001 80800000 00400000 7fc00001 00000001 3f800000 80000000"
    want = "00000002 00000000 00400001 807fffff 80000002 007fffff 00800000 7f800000 00400000 "
    want += "007fffff 00000000 80400000 7fffffff 7fffffff 40000000 80000000"
    old, new, sums = (
        np.array([int(x, 16) for x in row.split()], np.uint32) for row in (there, given, want)
    )
    body = LOADED + f"{REDUCE}.add.f32 [%h], [%b], 64;\n" + COMMIT
    body += "cp.async.bulk.wait_group 0;\n"
    source = np.zeros(64, np.uint32)
    source[:16] = new
    assert run(body, source=source, target=old.copy()) == sums.tobytes()
    small = np.full(128, 2.0**-24, np.float16)
    body = body.replace("add.f32", "add.noftz.f16").replace("[%b], 64", "[%b], 256")
    assert run(body, source=small, target=small.copy()) == (small + small).tobytes()


def test_the_threads_of_one_instruction_add_to_the_same_elements():
    given = np.arange(64, dtype=np.uint32)
    body = LOADED.replace(INTO, f"@%p8 {INTO}") + f"{REDUCE}.add.u32 [%h], [%b], 256;\n"
    found = run(body + COMMIT + "cp.async.bulk.wait_group 0;\n", 37, given, np.ones(64, np.uint32))
    assert words(found) == [1 + 37 * n for n in range(64)]


# -- what is refused, and what is wrong ----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "cp.async.bulk.global.global.bulk_group [%h], [%g], 16;",
        "cp.async.bulk.shared::cluster.global.bulk_group [%b], [%g], 16;",
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%h], [%b], 16, [%a];",
        "cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%b], [%b], 16, [%a];",
        f"{OUT}.cp_mask [%h], [%b], 16, %x0;",
        f"{INTO}.L2::cache_hint [%b], [%g], 16, [%a];",
        f"{REDUCE}.add.f16 [%h], [%b], 16;",
        f"{REDUCE}.add.noftz.f32 [%h], [%b], 16;",
        f"{REDUCE}.min.f32 [%h], [%b], 16;",
        f"{REDUCE}.and.u32 [%h], [%b], 16;",
        f"{REDUCE}.inc.u64 [%h], [%b], 16;",
        f"{REDUCE}.add.s64 [%h], [%b], 16;",
        f"{INSIDE}.add.f32 [%b], [%b], 16, [%a];",
        f"{INSIDE}.and.b64 [%b], [%b], 16, [%a];",
        f"{INTO.replace('cp.async', 'cp.reduce.async')}.add.u32 [%b], [%g], 16, [%a];",
        "cp.async.bulk.wait_group.write 0;",
        "fence.proxy.sync;",
        "griddepcontrol.sleep;",
    ],
)
def test_what_is_no_form_is_refused(text):
    with pytest.raises(ptx.UnknownOpcode, match=text.split(".")[0]):
        run(text)


@pytest.mark.parametrize("size", [0, 8, 24, 17])
@pytest.mark.parametrize(
    "text", [f"{INTO} [%b], [%g], %n, [%a];", f"{OUT} [%h], [%b], %n;",
             f"{REDUCE}.add.u32 [%h], [%b], %n;"],
)  # fmt: skip
def test_sizes_that_are_no_multiple_of_16(text, size):
    with pytest.raises(
        ptx.PTXError, match=f"of {size} bytes, which is not a positive multiple of 16"
    ):
        run(f"mov.u32 %n, {size};\n{text}")


LOOK = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%a], 0;"
COMPLETED = WAIT.format(n=0, parity=0)
WRONG = [
    (f"{INTO} [%b+8], [%g], 16, [%a];", "misaligned .* access to shared memory"),
    (f"{INTO} [%b], [%g+4], 16, [%a];", "misaligned .* access to global memory"),
    (f"{INTO} [%b], [%g], 16, [%a+4];", "misaligned .* access to shared memory"),
    (f"{OUT} [%h+8], [%b], 16;", "misaligned .* access to global memory"),
    (f"{OUT} [%h], [%b+2], 16;", "misaligned .* access to shared memory"),
    (f"{INTO} [%b], [%g+16], 4096, [%a];", "byte access to global memory out of bounds"),
    (f"{INTO} [%b+16], [%g], 4096, [%a];", "byte access to shared memory out of bounds"),
    (f"{OUT} [%h+16], [%b], 4096;", "byte access to global memory out of bounds"),
    (f"{OUT} [%h], [%b+4080], 32;", "byte access to shared memory out of bounds"),
    (f"mbarrier.inval.shared::cta.b64 [%a];\n{INTO} [%b], [%g], 16, [%a];\n{LOOK}",
     "is not initialised: mbarrier.init comes first"),
    # the phase does not end when the bytes pass zero
    (EXPECT.format(16) + f"{INTO} [%b], [%g], 32, [%a];\n" + COMPLETED,
     "pending and 16 bytes have come that nobody expected"),
    (EXPECT.format(64) + f"{INTO} [%b], [%g], 32, [%a];\n" + COMPLETED,
     r"a thread waits for the end of the phase of parity 0 of the mbarrier at .*byte 0 of bar \(16 "
     r"bytes\): 0 of 1 arrivals are pending and 32 bytes are"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", WRONG)
def test_what_is_wrong(text, message):
    kind = ptx.PTXError
    if "access" in message:
        kind = ptx.MemoryFault
    elif "pending" in message:
        kind = ptx.Deadlock
    with pytest.raises(kind, match=message):
        run(text)


def test_an_array_that_is_read_only_is_not_written():
    target = np.zeros(SIZE, np.uint8)
    target.flags.writeable = False
    with pytest.raises(ptx.MemoryFault, match="read-only"):
        run(f"{OUT} [%h], [%b], 16;", target=target)


def test_a_tolerant_run_goes_on_without_the_copies_that_miss():
    events: list = []
    body = "mad.lo.u32 %x1, %t, 1024, %b;\n" + EXPECT.format(32)
    body += f"{INTO} [%x1], [%g], 16, [%a];\n" + WAIT.format(n=0, parity=0)
    body += f"{OUT} [%h+8], [%b], 16;\n"
    body = body.replace("1024, %b", "4096, %b").replace("format(32)", "format(16)")
    body = body.replace("_, [%a], 32", "_, [%a], 16")
    run(body, 2, sink=events.append, tolerant=True)
    faults = [(e.kind, e.space, e.mask.sum()) for e in events if isinstance(e, Fault)]
    assert faults == [("store", "shared", 1), ("store", "global", 2)]
    starts = [len(e.ticket) for e in events if isinstance(e, Started)]
    assert starts == [1]


@pytest.mark.parametrize(
    "text",
    [
        "fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;",
        "fence.proxy.async.shared::cluster;", "fence.proxy.alias;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.mbarrier_init.release.cluster;", "griddepcontrol.wait;",
        "griddepcontrol.launch_dependents;", "cp.async.bulk.prefetch.L2.global [%g], 64;",
        "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%g], 64, %s0;",
        "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 3;",
        "applypriority.global.L2::evict_normal [%g], 128;", "discard.global.L2 [%g], 128;",
    ],
)  # fmt: skip
def test_what_changes_nothing(text):
    assert run(text + KEEP) == OLD


# -- events --------------------------------------------------------------------------------------


def events_of(body: str, threads: int = 1):
    found: list = []
    run(body, threads, sink=found.append)
    kinds = (Started, Finished, MemoryBarrier)
    return [event for event in found if isinstance(event, kinds)]


def stretches(those):
    return [
        (s.space, *each)
        for s in those
        for each in zip(s.operation.tolist(), s.row.tolist(), s.start.tolist(), s.size.tolist())
    ]


def test_what_the_sink_is_told_of_copies_into_shared_memory():
    body = "mad.lo.u32 %x1, %t, 64, %b;\nmad.lo.u32 %n, %t, 16, 16;\n" + EXPECT.format(48)
    body += f"{INTO} [%x1], [%g], %n, [%a];\n" + WAIT.format(n=0, parity=0)
    found = events_of(body, 2)
    names = [getattr(event, "what", type(event).__name__) for event in found]
    assert names[2:6] == ["expect", "arrive", "Started", "Started"]  # one for each size
    assert names[6:] == ["Finished", "complete", "Finished", "complete", "phase", "wait"]
    assert found[4].ticket.tolist() != found[5].ticket.tolist()
    for n, (started, finished, complete) in enumerate(zip(found[4:6], found[6::2], found[7::2])):
        assert started.ticket.tolist() == finished.ticket.tolist()
        assert started.block.tolist() == [0] and started.thread.tolist() == [n]
        ((space, *read),) = stretches(started.reads)
        assert space == "global" and read[::3] == [0, 16 + 16 * n]
        assert stretches(started.writes) == [("shared", 0, 0, 64 * n, 16 + 16 * n)]
        assert not finished.reading_only and finished.mask is None
        assert finished.row.tolist() == [0] and finished.address.tolist() == [4096]
        assert complete.count.tolist() == [16 + 16 * n] and complete.thread.tolist() == [-1]
        assert finished.instruction is started.instruction


def test_what_the_sink_is_told_of_copies_out_of_shared_memory():
    body = f"{OUT} [%h], [%b], 32;\n" + COMMIT + "cp.async.bulk.wait_group.read 0;\n"
    started, read, done = events_of(body + "cp.async.bulk.wait_group 0;\n", 2)[2:]
    assert stretches(started.reads) == [("shared", 0, 0, 0, 32), ("shared", 1, 0, 0, 32)]
    assert [s.space for s in started.writes] == ["global"]
    for event, reading in ((read, True), (done, False)):
        assert event.reading_only is reading and event.mask.tolist() == [[True, True]]
        assert event.ticket.tolist() == started.ticket.tolist() and event.row is None
        assert event.instruction.text.startswith("cp.async.bulk.wait_group")
    (started, left) = events_of(f"{OUT} [%h], [%b], 32;\n")[2:]
    assert left.ticket.tolist() == started.ticket.tolist() and not left.reading_only
    assert left.instruction is started.instruction


def test_copies_and_phases_at_random():
    """Several copies for each phase, of random sizes, issued by random threads."""
    rng = random.Random(7)
    body, parity, want = "", 0, bytearray(OLD)
    for round_ in range(8):
        sizes = [16 * rng.randint(1, 8) for _ in range(rng.randint(1, 5))]
        body += EXPECT.format(sum(sizes))
        for size in sizes:
            to, start = 16 * rng.randrange(256 - 8), 16 * rng.randrange(256 - 8)
            body += f"setp.eq.u32 %p2, %t, {rng.randrange(40)};\n"
            body += f"@%p2 {INTO} [%b+{to}], [%g+{start}], {size}, [%a];\n"
            want[to : to + size] = GIVEN[start : start + size]
        body += WAIT.format(n=round_, parity=parity) + "bar.sync 0;\n"
        parity ^= 1
    assert run(body + KEEP, 40) == bytes(want)
