"""Asynchronous copies from global to shared memory: cp.async, its groups and its zero fill."""

from __future__ import annotations

import numpy as np
import pytest
from harness import run_body

from anywarp.ptx.memory.events import Fault

COPY = """
    .shared .align 16 .b8 box[2048];
    .reg .b32 %t, %s, %n, %x<4>;
    .reg .b64 %g, %q;
    .reg .pred %p;
    ld.param.u64 %g, [source];
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %s, box;
    mad.lo.u32 %s, %t, 16, %s;
    mad.wide.u32 %g, %t, 16, %g;
    mad.wide.u32 %q, %t, 16, %q;
    mov.u32 %x0, 0xA5A5A5A5;
    st.shared.v4.u32 [%s], {{%x0, %x0, %x0, %x0}};
    {copy}
    {wait}
    ld.shared.v4.u32 {{%x0, %x1, %x2, %x3}}, [%s];
    st.global.v4.u32 [%q], {{%x0, %x1, %x2, %x3}};
"""
WAITS = ["cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;",
         "cp.async.commit_group;\ncp.async.wait_all;"]  # fmt: skip


def copied(copy: str, wait: str = WAITS[1], threads: int = 40) -> tuple[bytes, bytes]:
    source = np.array([(17 + 31 * i + (i >> 4)) & 0xFF for i in range(16 * threads)], np.uint8)
    target = np.zeros(16 * threads, np.uint8)
    body = COPY.format(copy=copy, wait=wait)
    run_body(body, "u64 source, u64 target", 1, threads, [source, target])
    return bytes(source), bytes(target)


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    "kind, size",
    [("ca.shared.global", 4), ("ca.shared.global", 8), ("ca.shared.global", 16),
     ("cg.shared.global", 16), ("cg.shared.global.L2::128B", 16), ("ca.shared::cta.global", 4)],
)  # fmt: skip
def test_copies(kind, size, wait):
    source, target = copied(f"cp.async.{kind} [%s], [%g], {size};", wait)
    for start in range(0, len(source), 16):
        assert target[start : start + 16] == source[start : start + size] + b"\xa5" * (16 - size)


@pytest.mark.parametrize("given", ["immediate", "register"])
@pytest.mark.parametrize(
    "size, kept", [(4, 0), (4, 3), (8, 4), (16, 0), (16, 4), (16, 13), (16, 16)]
)
def test_copies_fill_with_zeros(size, kept, given):
    count = kept if given == "immediate" else "%n"
    copy = f"mov.u32 %n, {kept};\ncp.async.ca.shared.global [%s], [%g], {size}, {count};"
    source, target = copied(copy)
    for start in range(0, len(source), 16):
        want = source[start : start + kept] + bytes(size - kept) + b"\xa5" * (16 - size)
        assert target[start : start + 16] == want


def test_nothing_is_read_of_a_source_of_size_zero():
    """The usual way to fill a tile's edge: size 0, and an address that may lie anywhere."""
    copy = "mov.u32 %n, 0;\nadd.s64 %g, %g, 1048576;\ncp.async.cg.shared.global [%s], [%g], 16, %n;"
    assert copied(copy)[1] == bytes(16 * 40)


@pytest.mark.parametrize("size", ["16", "16, 16", "16, %n"])
def test_a_tolerant_run_copies_zeros_where_the_source_is_out_of_bounds(size):
    """That of the last of 40 threads; what the others copy is as it was."""
    source = np.arange(1, 157, dtype=np.uint32)
    target, told = np.zeros(160, np.uint32), []
    copy = f"mov.u32 %n, 16;\ncp.async.cg.shared.global [%s], [%g], {size};"
    run_body(
        COPY.format(copy=copy, wait=WAITS[0]), "u64 source, u64 target", 1, 40, [source, target],
        tolerant=True, sink=told.append,
    )  # fmt: skip
    assert (target[:156] == source[:156]).all() and not target[156:].any()
    assert [x.kind for x in told if isinstance(x, Fault)] == ["load"]


def test_predicated_copies():
    even = "and.b32 %n, %t, 1;\nsetp.eq.u32 %p, %n, 0;\n"
    copy = even + "@%p cp.async.ca.shared.global [%s], [%g], 16;"
    source, target = copied(copy)
    for t in range(40):
        want = source[16 * t :][:16] if t % 2 == 0 else b"\xa5" * 16
        assert target[16 * t :][:16] == want


@pytest.mark.parametrize("hint", [False, True])
@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("form, size", [("cg", 16), ("ca", 8)])
def test_an_ignored_source_gives_zeros(form, size, negated, hint):
    """Its address may be any."""
    words = f"cp.async.{form}.shared.global" + ".L2::cache_hint.L2::128B" * hint
    policy = ", %q" if hint else ""
    copy = f"""
    setp.lt.u32 %p, %t, 7;
    @%p add.s64 %g, %g, 1048576;
    {"setp.ge.u32 %p, %t, 7;" if negated else ""}
    {words} [%s], [%g], {size}, {"!" * negated}%p{policy};
    """
    source, target = copied(copy)
    for t in range(40):
        want = bytes(size) if t < 7 else source[16 * t :][:size]
        assert target[16 * t :][:16] == want + b"\xa5" * (16 - size)


@pytest.mark.parametrize(
    "words, more",
    [(".L2::cache_hint", ", %q"), (".L2::cache_hint", ", 16, %q"), (".L2::64B", ""),
     (".L2::cache_hint.L2::256B", ", %n, %q")],
)  # fmt: skip
def test_hints_change_nothing(words, more):
    copy = f"mov.u32 %n, 16;\ncp.async.cg.shared::cta.global{words} [%s], [%g], 16{more};"
    source, target = copied(copy)
    assert source == target


@pytest.mark.parametrize(
    "copy",
    [
        "cp.async.cg.shared.global [%s], [%g], 4;",
        "cp.async.ca.shared.global [%s], [%g], 12;",
        "cp.async.ca.shared.global.L2::32B [%s], [%g], 4;",
        "cp.async.ca.shared::cluster.global [%s], [%g], 4;",
        "cp.async.ca.shared.global [%s], [%g], 4, 4, %q;",
        "cp.async.mbarrier.arrive.shared.b32 [%s];",
        "cp.async.mbarrier.arrive.release.shared.b64 [%s];",
    ],
)
def test_what_is_no_form_is_refused(copy):
    from anywarp import ptx

    with pytest.raises(ptx.UnknownOpcode, match="cp.async"):
        copied(copy)


def test_more_bytes_of_the_source_than_are_copied():
    from anywarp import ptx

    copy = "add.u32 %n, %t, 1;\ncp.async.ca.shared.global [%s], [%g], 8, %n;"
    with pytest.raises(ptx.PTXError, match="of 8 bytes of which 9 come from the source") as caught:
        copied(copy)
    assert "thread (8, 0, 0)" in str(caught.value)


def test_a_pipeline_of_groups():
    """Three stages in flight; each round waits for the oldest group and sums what it brought."""
    rounds, threads = 9, 32
    body = f"""
    .shared .align 16 .b8 stage[{3 * threads * 4}];
    .reg .b32 %t, %s, %n, %i, %x, %sum, %slot;
    .reg .b64 %g, %q;
    .reg .pred %p;
    ld.param.u64 %g, [source];
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %q, %t, 4, %q;
    mad.wide.u32 %g, %t, 4, %g;
    mov.u32 %s, stage;
    mad.lo.u32 %s, %t, 4, %s;
    cp.async.ca.shared.global [%s], [%g], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%s+{4 * threads}], [%g+{4 * threads}], 4;
    cp.async.commit_group;
    mov.u32 %i, 0;
    mov.u32 %sum, 0;
LOOP:
    add.u32 %n, %i, 2;
    setp.ge.u32 %p, %n, {rounds};
    @%p bra COMMIT;
    rem.u32 %slot, %n, 3;
    mad.lo.u32 %slot, %slot, {4 * threads}, %s;
    cp.async.ca.shared.global [%slot], [%g+{8 * threads}], 4;
COMMIT:
    cp.async.commit_group;
    add.s64 %g, %g, {4 * threads};
    cp.async.wait_group 2;
    bar.sync 0;
    rem.u32 %slot, %i, 3;
    mov.u32 %x, stage;
    mad.lo.u32 %slot, %slot, {4 * threads}, %x;
    xor.b32 %x, %t, 31;
    mad.lo.u32 %slot, %x, 4, %slot;
    ld.shared.u32 %x, [%slot];
    mad.lo.u32 %sum, %sum, 3, %x;
    bar.sync 0;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, {rounds};
    @%p bra LOOP;
    st.global.u32 [%q], %sum;
    """
    source = np.array([(i * i) % 97 for i in range(rounds * threads)], np.uint32)
    target = np.zeros(threads, np.uint32)
    run_body(body, "u64 source, u64 target", 1, threads, [source, target])
    for t in range(threads):
        total = 0
        for row in range(rounds):
            total = 3 * total + (row * threads + (t ^ 31)) ** 2 % 97
        assert int(target[t]) == total


@pytest.mark.parametrize("kept", [0, 1, 5, 7, 8, 13])
def test_a_partial_copy_reads_only_the_bytes_that_it_keeps(kept):
    """The last bytes of an array may be copied to a wider slot; one byte more is a fault."""
    from anywarp import ptx

    body = (
        ".shared .align 16 .b8 box[16]; .reg .b32 %n; .reg .b64 %g; ld.param.u64 %g, [source];"
        "ld.param.u32 %n, [count]; cp.async.ca.shared.global [box], [%g], 16, %n;"
        "cp.async.wait_all;"
    )
    source = np.ones(kept, np.uint8)
    run_body(body, "u64 source, u32 count", 1, 1, [source, np.uint32(kept)])
    with pytest.raises(ptx.MemoryFault, match=f"{kept + 1}-byte access"):
        run_body(body, "u64 source, u32 count", 1, 1, [source, np.uint32(kept + 1)])


def test_a_group_of_some_threads_holds_only_their_copies():
    """Odd threads commit twice: for them the copy is the older of two groups, and
    wait_group 1 lands it; for even threads it is the newest, and does not land."""
    copy = """cp.async.ca.shared.global [%s], [%g], 4;
    cp.async.commit_group;
    and.b32 %n, %t, 1;
    setp.eq.u32 %p, %n, 1;
    @%p cp.async.commit_group;"""
    source, target = copied(copy, "cp.async.wait_group 1;")
    for t, start in enumerate(range(0, len(source), 16)):
        landed = source[start : start + 4] if t % 2 else b"\xa5" * 4
        assert target[start : start + 4] == landed


def test_what_some_threads_commit_leaves_the_others_copies_open():
    copy = """cp.async.ca.shared.global [%s], [%g], 4;
    and.b32 %n, %t, 1;
    setp.eq.u32 %p, %n, 1;
    @%p cp.async.commit_group;
    cp.async.wait_group 0;"""
    source, target = copied(copy, "")
    for t, start in enumerate(range(0, len(source), 16)):
        landed = source[start : start + 4] if t % 2 else b"\xa5" * 4
        assert target[start : start + 4] == landed
