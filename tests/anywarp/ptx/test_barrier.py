"""Barriers of a block, deadlock, and progress while others wait."""

from __future__ import annotations

import re

import numpy as np
import pytest
from harness import entry, launch, line_of, number_occurs, run_body, vectors

THREADS = 128


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "bar.cta.sync 3;", "barrier.sync 0;", "barrier.sync.aligned 1;",
                "barrier.cta.sync.aligned 0;", "bar.sync 2, 128;", "bar.sync %one, %all;"],
)  # fmt: skip
def test_values_cross_warps(barrier):
    """Each thread loops as often as its number says, stores, and reads the mirrored thread."""
    template = f"""
    .shared .align 4 .b8 box[{4 * THREADS}];
    .reg .b32 %s, %n, %one, %all;
    .reg .pred %q;
    mov.u32 %one, 1;
    mov.u32 %all, {THREADS};
    mov.u32 %n, 0;
    mov.u32 %d, 0;
LOOP:
    add.u32 %d, %d, %a;
    add.u32 %n, %n, 1;
    setp.lt.u32 %q, %n, %b;
    @%q bra LOOP;
    mov.u32 %s, box;
    mad.lo.u32 %s, %a, 4, %s;
    st.shared.u32 [%s], %d;
    {barrier}
    mov.u32 %s, box;
    xor.b32 %a, %a, 127;
    mad.lo.u32 %s, %a, 4, %s;
    ld.shared.u32 %d, [%s];
    """
    trips = [1 + t * 29 % 40 for t in range(THREADS)]
    got = vectors(template, "u32", "u32 u32", list(enumerate(trips)))
    assert got == [(t ^ 127) * trips[t ^ 127] for t in range(THREADS)]


def test_each_thread_has_its_own_number_and_count():
    """The two halves of a block wait at barriers of their own, for 64 and for all others."""
    template = """
    .shared .align 4 .b8 box[512];
    .reg .b32 %s, %n, %c;
    mov.u32 %s, box;
    mad.lo.u32 %s, %a, 4, %s;
    st.shared.u32 [%s], %b;
    shr.u32 %n, %a, 6;
    mov.u32 %c, 64;
    bar.sync %n, %c;
    xor.b32 %s, %a, 63;
    mov.u32 %c, box;
    mad.lo.u32 %s, %s, 4, %c;
    ld.shared.u32 %d, [%s];
    """
    got = vectors(template, "u32", "u32 u32", [(t, 7 * t) for t in range(THREADS)])
    assert got == [7 * (t ^ 63) for t in range(THREADS)]


def test_barriers_in_a_loop():
    """A rotation by one place per round, two barriers each, in three blocks."""
    body = """
    .shared .align 4 .b8 box[160];
    .reg .b32 %t, %s, %r, %v, %n, %w;
    .reg .b64 %q;
    .reg .pred %p;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ctaid.x;
    mad.lo.u32 %v, %n, 40, %t;
    mad.wide.u32 %q, %v, 4, %q;
    mov.u32 %s, box;
    add.u32 %r, %t, 1;
    rem.u32 %r, %r, 40;
    mad.lo.u32 %r, %r, 4, %s;
    mad.lo.u32 %s, %t, 4, %s;
ROUND:
    st.shared.u32 [%s], %v;
    bar.sync 0;
    ld.shared.u32 %v, [%r];
    bar.sync 0;
    add.u32 %n, %n, 1;
    setp.lt.u32 %p, %n, 7;
    @%p bra ROUND;
    st.global.u32 [%q], %v;
    """
    out = np.zeros(120, np.uint32)
    run_body(body, "u64 out", 3, 40, [out])
    # Block b starts counting at b, so the blocks make 7, 6 and 5 rounds.
    assert out.tolist() == [40 * b + (t + 7 - b) % 40 for b in range(3) for t in range(40)]


def test_many_blocks_each_with_its_own_barrier_and_memory():
    """More blocks than any one chunk is likely to hold; odd blocks stop half-way."""
    body = """
    .shared .align 4 .u32 cell;
    .reg .b32 %t, %b, %v;
    .reg .b64 %q;
    .reg .pred %p;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    setp.ne.u32 %p, %t, 63;
    @%p bra FIRST;
    mad.lo.u32 %v, %b, 3, 1;
    st.shared.u32 [cell], %v;
FIRST:
    bar.sync 0;
    and.b32 %v, %b, 1;
    setp.ne.u32 %p, %v, 0;
    @%p ret;
    ld.shared.u32 %v, [cell];
    bar.sync 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra SECOND;
    st.shared.u32 [cell], %b;
SECOND:
    bar.sync 0;
    ld.shared.u32 %t, [cell];
    add.u32 %v, %v, %t;
    mad.wide.u32 %q, %b, 4, %q;
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 9;
    @%p st.global.u32 [%q], %v;
    """
    out = np.zeros(1500, np.uint32)
    run_body(body, "u64 out", 1500, 64, [out])
    assert out.tolist() == [0 if b % 2 else 4 * b + 1 for b in range(1500)]


def test_partial_barriers_leave_other_warps_alone():
    """Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2, more often."""
    template = f"""
    .shared .align 4 .b8 box[{4 * THREADS}];
    .reg .b32 %s, %o, %n;
    .reg .pred %q;
    mov.u32 %s, box;
    xor.b32 %o, %a, 63;
    mad.lo.u32 %o, %o, 4, %s;
    mad.lo.u32 %s, %a, 4, %s;
    mov.u32 %n, 0;
    mov.u32 %d, %a;
    setp.ge.u32 %q, %a, 64;
    @%q bra UPPER;
    st.shared.u32 [%s], %d;
    bar.sync 1, 64;
    ld.shared.u32 %d, [%o];
    bra END;
UPPER:
    st.shared.u32 [%s], %d;
    bar.sync 2, 64;
    ld.shared.u32 %d, [%o];
    bar.sync 2, 64;
    add.u32 %d, %d, 1000;
    add.u32 %n, %n, 1;
    setp.lt.u32 %q, %n, 5;
    @%q bra UPPER;
END:
    """
    got = vectors(template, "u32", "u32", range(THREADS))
    assert got == [t ^ 63 if t < 64 else (t ^ 63) + 5000 for t in range(THREADS)]


def test_arrive_does_not_wait():
    """A producer warp arrives; a consumer warp waits for it. Two hand-overs each way."""
    template = """
    .shared .align 4 .b8 box[128];
    .reg .b32 %s, %l;
    .reg .pred %q;
    mov.u32 %s, box;
    and.b32 %l, %a, 31;
    mad.lo.u32 %s, %l, 4, %s;
    setp.ge.u32 %q, %a, 32;
    @%q bra CONSUMER;
    add.u32 %d, %a, 10;
    st.shared.u32 [%s], %d;
    bar.arrive 1, 64;
    bar.sync 2, 64;
    add.u32 %d, %a, 20;
    st.shared.u32 [%s], %d;
    bar.arrive 1, 64;
    bra END;
CONSUMER:
    setp.ge.u32 %q, %a, 64;
    @%q bra END;
    bar.sync 1, 64;
    ld.shared.u32 %d, [%s];
    bar.arrive 2, 64;
    bar.sync 1, 64;
    ld.shared.u32 %l, [%s];
    mad.lo.u32 %d, %d, 1000, %l;
END:
    """
    got = vectors("mov.u32 %d, 0;" + template, "u32", "u32", range(THREADS))
    assert got[32:64] == [1000 * (lane + 10) + lane + 20 for lane in range(32)]


@pytest.mark.parametrize("how", ["ret", "bra END"])
def test_threads_that_have_left_are_not_waited_for(how):
    """As the CUDA programming guide says of __syncthreads: all threads that have not exited."""
    body = f"""
    .shared .align 4 .b8 box[256];
    .reg .b32 %t, %s, %v;
    .reg .b64 %q;
    .reg .pred %p;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    setp.ge.u32 %p, %t, 45;
    @%p {how};
    mov.u32 %s, box;
    mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %t;
    bar.sync 0;
    mov.u32 %s, box;
    sub.u32 %v, 44, %t;
    mad.lo.u32 %s, %v, 4, %s;
    ld.shared.u32 %v, [%s];
    mad.wide.u32 %q, %t, 4, %q;
    st.global.u32 [%q], %v;
END:
    """
    out = np.full(64, 77, np.uint32)
    run_body(body, "u64 out", 1, 64, [out])
    assert out.tolist() == [44 - t if t < 45 else 77 for t in range(64)]


def test_barrier_reductions():
    flags = [int(t % 5 == 0) for t in range(THREADS)]
    for op, kind, want in (("popc.u32", "u32", sum(flags)), ("and.pred", "pred", 0),
                           ("or.pred", "pred", 1)):  # fmt: skip
        got = vectors(f"bar.red.{op} %d, 0, %a;", kind, "pred", flags)
        assert got == [want] * THREADS
    got = vectors(f"bar.red.popc.u32 %d, 1, {THREADS}, !%a;", "u32", "pred", flags)
    assert got == [THREADS - sum(flags)] * THREADS
    got = vectors("barrier.cta.red.and.pred.aligned %d, 0, %a;", "pred", "pred", [1] * THREADS)
    assert got == [1] * THREADS


@pytest.mark.parametrize(
    "op, kind", [("popc.u32", "u32"), ("and.pred", "pred"), ("or.pred", "pred")]
)
def test_a_barrier_reduction_at_two_places_is_of_all_votes(op, kind):
    """In three blocks; each place has a predicate of its own."""
    template = f"""
    .reg .pred %q, %r, %s;
    and.b32 %c, %a, 32;
    setp.ne.u32 %q, %c, 0;
    setp.ne.u32 %r, %b, 0;
    setp.eq.u32 %s, %b, 0;
    @%q bra UPPER;
    bar.red.{op} %d, 0, %r;
    bra END;
UPPER:
    bar.red.{op} %d, 0, %s;
END:
    """
    # all vote yes in the first block, none in the second, some in the third
    yes = [*[1] * THREADS, *[0] * THREADS, *(t % 3 == 0 for t in range(THREADS))]
    rows = [(t, int(y != (t % 64 > 31)), 0) for t, y in enumerate(yes)]
    votes = np.reshape(yes, (3, THREADS))
    want = {"popc.u32": votes.sum(1), "and.pred": votes.all(1), "or.pred": votes.any(1)}[op]
    assert vectors(template, kind, "u32 u32 u32", rows) == np.repeat(want, THREADS).tolist()


def test_each_block_has_its_own_count():
    """Blocks 1 and 3 wait for 128 threads, in two branches; the others for 64 in each."""
    template = """
    .shared .align 4 .b8 box[512];
    .reg .b32 %s, %n;
    .reg .pred %q;
    mov.u32 %s, box;
    and.b32 %n, %a, 127;
    mad.lo.u32 %s, %n, 4, %s;
    setp.ge.u32 %q, %n, 64;
    @%q bra UPPER;
    st.shared.u32 [%s], %a;
    bar.sync %c, %b;
    bra READ;
UPPER:
    mul.lo.u32 %d, %a, 3;
    st.shared.u32 [%s], %d;
    bar.sync %c, %b;
READ:
    mov.u32 %s, box;
    xor.b32 %n, %n, 127;
    setp.eq.u32 %q, %b, 128;
    @%q bra LOAD;
    xor.b32 %n, %n, 64;
LOAD:
    mad.lo.u32 %s, %n, 4, %s;
    ld.shared.u32 %d, [%s];
    """
    rows, want = [], []
    for t in range(4 * THREADS):
        whole = t // THREADS % 2
        rows.append((t, 128 if whole else 64, 2 if whole else 1 + t // 64 % 2))
        other = t ^ (127 if whole else 63)
        want.append(other * (3 if other & 64 else 1))
    assert vectors(template, "u32", "u32 u32 u32", rows) == want


def test_unaligned_barrier_in_both_branches():
    template = """
    .shared .align 4 .b8 box[512];
    .reg .b32 %s;
    .reg .pred %q;
    mov.u32 %s, box;
    mad.lo.u32 %s, %a, 4, %s;
    st.shared.u32 [%s], %a;
    and.b32 %d, %a, 1;
    setp.eq.u32 %q, %d, 0;
    @%q bra EVEN;
    barrier.sync 0;
    bra READ;
EVEN:
    barrier.sync 0;
READ:
    mov.u32 %s, box;
    xor.b32 %a, %a, 127;
    mad.lo.u32 %s, %a, 4, %s;
    ld.shared.u32 %d, [%s];
    """
    got = vectors(template, "u32", "u32", range(THREADS))
    assert got == [t ^ 127 for t in range(THREADS)]


DEADLOCKS = {
    "two barriers": "bar.sync 1; // first\nbra END;\nUPPER:\nbar.sync 2; // second\nEND:",
    "too few": "bar.sync 1, 96; // first\nbra END;\nUPPER:\nbar.sync 2, 96; // second\nEND:",
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_deadlock_names_a_thread_and_its_line(name):
    from anywarp import ptx

    body = """
    .reg .b32 %t;
    .reg .pred %q;
    mov.u32 %t, %tid.x;
    setp.ge.u32 %q, %t, 32;
    @%q bra UPPER;
    """
    text = entry(body + "\n" * 600 + DEADLOCKS[name])
    with pytest.raises(ptx.Deadlock) as caught:
        launch(text, "k", 2, 64, [])
    message = str(caught.value)
    assert isinstance(caught.value, ptx.PTXError)
    waiting = [line_of(text, "// first"), line_of(text, "// second")]
    assert any(number_occurs(line, message) for line in waiting), message
    assert re.search(r"thread\D*\d", message)


def spin(wait: str, signal: str) -> str:
    """Threads 0 to 31 wait for a flag that thread 32 sets after them in program order."""
    return f"""
    .shared .align 4 .u32 flag;
    .reg .b32 %f;
    .reg .pred %q;
    setp.ne.u32 %q, %a, 0;
    @%q bra START;
    st.shared.u32 [flag], 0;
START:
    bar.sync 0;
    setp.ge.u32 %q, %a, 32;
    @%q bra UPPER;
SPIN:
    {wait}
    setp.eq.u32 %q, %f, 0;
    @%q bra SPIN;
    bra END;
UPPER:
    setp.ne.u32 %q, %a, 32;
    @%q bra END;
    {signal}
END:
    mov.u32 %d, 5;
    """


def test_a_warp_may_spin_until_another_signals():
    """Volta and later let every thread make progress; so must a scheduler of threads."""
    template = spin("ld.volatile.shared.u32 %f, [flag];", "st.volatile.shared.u32 [flag], 1;")
    got = vectors(template, "u32", "u32", range(THREADS), step_limit=50_000)
    assert got == [5] * THREADS


def test_a_thread_between_two_that_spin_runs():
    """Thread 64 comes after the first spinning warp and before the second one."""
    template = """
    .shared .align 4 .u32 flag;
    .reg .b32 %f;
    .reg .pred %q;
    setp.eq.u32 %q, %a, 0;
    @%q st.shared.u32 [flag], 0;
    bar.sync 0;
    setp.ge.u32 %q, %a, 32;
    @%q bra OTHERS;
LOW:
    ld.volatile.shared.u32 %f, [flag];
    setp.eq.u32 %q, %f, 0;
    @%q bra LOW;
    bra END;
OTHERS:
    setp.lt.u32 %q, %a, 64;
    @%q bra HIGH;
    setp.ne.u32 %q, %a, 64;
    @%q bra END;
    mov.u32 %f, 0;
WORK:
    add.u32 %f, %f, 1;
    setp.lt.u32 %q, %f, 10;
    @%q bra WORK;
    st.volatile.shared.u32 [flag], 1;
    bra END;
HIGH:
    ld.volatile.shared.u32 %f, [flag];
    setp.eq.u32 %q, %f, 0;
    @%q bra HIGH;
END:
    mov.u32 %d, 6;
    """
    got = vectors(template, "u32", "u32", range(THREADS), step_limit=500_000)
    assert got == [6] * THREADS


def test_a_block_may_spin_until_another_signals():
    """Each block waits for the one before it, as serial split-K reductions do."""
    body = """
    .reg .b32 %b, %f;
    .reg .b64 %p;
    .reg .pred %q;
    ld.param.u64 %p, [counter];
    mov.u32 %b, %ctaid.x;
SPIN:
    ld.volatile.global.u32 %f, [%p];
    setp.ne.u32 %q, %f, %b;
    @%q bra SPIN;
    red.global.add.u32 [%p], 1;
    """
    counter = np.zeros(1, np.uint32)
    run_body(body, "u64 counter", 6, 1, [counter], step_limit=50_000)
    assert counter.tolist() == [6]


def test_arrivals_of_one_block_do_not_count_for_another_nor_twice():
    """Block 1 comes late to the first round; its arrivals must stay when block 0's are used up."""
    body = """
    .shared .align 4 .u32 box;
    .reg .b32 %t, %b, %n, %x, %sum;
    .reg .b64 %p;
    .reg .pred %q, %late;
    ld.param.u64 %p, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, 0;
    mov.u32 %sum, 0;
    setp.ge.u32 %q, %t, 32;
    setp.eq.u32 %late, %b, 1;
    @%q bra PRODUCE;
CONSUME:
    @%late bra DELAY;
NEXT:
    bar.sync 1, 64;
    ld.shared.u32 %x, [box];
    mad.lo.u32 %sum, %sum, 10, %x;
    bar.sync 2, 64;
    add.u32 %n, %n, 1;
    setp.lt.u32 %q, %n, 3;
    @%q bra CONSUME;
    mad.lo.u32 %b, %b, 32, %t;
    mad.wide.u32 %p, %b, 4, %p;
    st.global.u32 [%p], %sum;
    ret;
PRODUCE:
    st.shared.u32 [box], %n;
    bar.arrive 1, 64;
    bar.sync 2, 64;
    add.u32 %n, %n, 1;
    setp.lt.u32 %q, %n, 3;
    @%q bra PRODUCE;
    ret;
DELAY:
    mov.u32 %x, 0;
    bra NEXT;
    """
    out = np.full(96, 9999, np.uint32)
    run_body(body, "u64 out", 3, 64, [out])
    assert out.tolist() == [12] * 96
