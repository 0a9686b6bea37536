"""Warp instructions: shuffles, votes, active masks, matches, the warp barrier."""

from __future__ import annotations

import operator
from functools import partial, reduce

import numpy as np
import pytest
from exact import wrap
from harness import BLOCK, run_body, run_cuda, vectors

from anywarp import ptx

LANES = 64  # two warps, so that a shuffle must stay in its own


# --- shfl.sync --------------------------------------------------------------------------


def shuffled(mode: str, operand: int, width: int, values: list[int]) -> list[tuple]:
    """What each lane receives and its predicate, as __shfl_*_sync(…, width) is documented."""
    result = []
    for thread in range(len(values)):
        lane, warp = thread % 32, thread // 32 * 32
        first = lane // width * width
        source = {
            "idx": first + operand % width,
            "up": lane - operand,
            "down": lane + operand,
            "bfly": lane ^ operand,
        }[mode]
        # bfly may read a lower segment, not a higher one.
        inside = first <= source < first + width or (mode == "bfly" and source < first)
        result.append((values[warp + (source if inside else lane)], int(inside)))
    return result


@pytest.mark.parametrize("width", [32, 16, 8, 4, 2, 1])
@pytest.mark.parametrize("mode", ["idx", "up", "down", "bfly"])
def test_shuffle(mode, width):
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    values = [1000 + 7 * t for t in range(LANES)]
    for operand in (0, 1, 2, 5, 8, 15, 16, 31):
        got = vectors(
            f"shfl.sync.{mode}.b32 %d|%d1, %a, {operand}, {clamp}, 0xffffffff;",
            "u32 pred",
            "u32",
            values,
        )
        assert got == shuffled(mode, operand, width, values), operand


def test_shuffle_with_operands_of_each_lane():
    values = [(100 + t, (t * 5 + 3) % 32, 0x1F) for t in range(LANES)]
    got = vectors("shfl.sync.idx.b32 %d, %a, %b, %c, -1;", "u32", "u32 u32 u32", values)
    assert got == [100 + t // 32 * 32 + (t * 5 + 3) % 32 for t in range(LANES)]


def test_shuffle_needs_only_the_lanes_of_its_mask():
    template = """
    .reg .pred %q;
    mov.u32 %d, 0;
    setp.ge.u32 %q, %b, 16;
    @%q bra SKIP;
    shfl.sync.bfly.b32 %d, %a, 3, 31, 0x0000ffff;
SKIP:
    """
    rows = [(50 + t, t % 32) for t in range(LANES)]
    got = vectors(template, "u32", "u32 u32", rows)
    assert got == [(50 + (t ^ 3)) if t % 32 < 16 else 0 for t in range(LANES)]


def test_groups_of_lanes_shuffle_by_themselves():
    """Four groups of a warp, each with its own mask, come to one shuffle at different times."""
    template = """
    .reg .pred %q;
    mov.u32 %d, %b;
LOOP:
    sub.u32 %d, %d, 1;
    setp.ne.u32 %q, %d, 0;
    @%q bra LOOP;
    shfl.sync.bfly.b32 %d, %a, 5, 31, %c;
    """
    rows = [(900 + t, 1 + 9 * (t // 8 % 4), 0xFF << (t // 8 % 4 * 8)) for t in range(BLOCK)]
    got = vectors(template, "u32", "u32 u32 u32", rows)
    assert got == [900 + (t ^ 5) for t in range(BLOCK)]


@pytest.mark.parametrize("longest", [16, 4000])
def test_shuffle_waits_for_diverged_lanes(longest):
    """Lanes reach the shuffle after loops of different length; it pairs them all the same."""
    template = """
    .reg .pred %q;
    .reg .b32 %n;
    mov.u32 %n, 0;
LOOP:
    setp.ge.u32 %q, %n, %a;
    @%q bra JOIN;
    add.u32 %n, %n, 1;
    bra LOOP;
JOIN:
    shfl.sync.down.b32 %d, %n, 1, 31, -1;
    """
    counts = [t * 11 % 17 * longest // 16 for t in range(LANES)]
    got = vectors(template, "u32", "u32", counts)
    assert got == [counts[t + 1 if t % 32 != 31 else t] for t in range(LANES)]


def test_shuffle_reduction():
    steps = "".join(
        f"shfl.sync.bfly.b32 %d, %a, {n}, 31, -1; add.u32 %a, %a, %d;" for n in (16, 8, 4, 2, 1)
    )
    values = [3 * t * t for t in range(LANES)]
    got = vectors(steps + "mov.u32 %d, %a;", "u32", "u32", values)
    assert got == [sum(values[t // 32 * 32 :][:32]) for t in range(LANES)]


@pytest.mark.parametrize("leave, how", [(40, "ret"), (37, "ret"), (37, "bra END"), (33, "exit")])
def test_lanes_that_do_not_exist_or_have_left_are_not_waited_for(leave, how):
    """A full mask in a block of 8 x 5 threads, of which those from `leave` on exit first."""
    body = f"""
    .reg .b32 %t, %v, %w, %x;
    .reg .b64 %q;
    .reg .pred %p;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.y;
    mov.u32 %x, %tid.x;
    mad.lo.u32 %t, %t, 8, %x;
    setp.ge.u32 %p, %t, {leave};
    @%p {how};
    add.u32 %v, %t, 500;
    shfl.sync.bfly.b32 %v, %v, 1, 31, -1;
    setp.ge.u32 %p, %t, 5;
    vote.sync.ballot.b32 %w, %p, -1;
    mad.wide.u32 %q, %t, 8, %q;
    st.global.v2.u32 [%q], {{%v, %w}};
END:
    """
    out = np.zeros((40, 2), np.uint32)
    run_body(body, "u64 out", 1, (8, 5), [out])
    there = range(leave)
    for t in there:
        if t ^ 1 in there:
            assert out[t, 0] == 500 + (t ^ 1)
        first = t // 32 * 32
        assert out[t, 1] == sum(1 << i for i in range(32) if first + i in there and first + i >= 5)


# --- votes, masks, matches --------------------------------------------------------------


# Four warps: some lanes, all, none, one.
FLAGS = [int(t % 3 == 0 if t < 32 else t < 64 or t == 101) for t in range(128)]


def per_warp(function) -> list:
    return [function(FLAGS[t // 32 * 32 :][:32]) for t in range(len(FLAGS))]


def test_votes():
    got = vectors("vote.sync.all.pred %d, %a, -1;", "pred", "pred", FLAGS)
    assert got == per_warp(lambda flags: int(all(flags)))
    got = vectors("vote.sync.any.pred %d, %a, -1;", "pred", "pred", FLAGS)
    assert got == per_warp(lambda flags: int(any(flags)))
    got = vectors("vote.sync.ballot.b32 %d, %a, -1;", "u32", "pred", FLAGS)
    ballots = per_warp(lambda flags: sum(f << i for i, f in enumerate(flags)))
    assert got == ballots
    got = vectors("vote.sync.ballot.b32 %d, !%a, -1;", "u32", "pred", FLAGS)
    assert got == [b ^ 0xFFFFFFFF for b in ballots]


def test_uniform_vote():
    got = vectors("vote.sync.uni.pred %d, %a, -1;", "pred", "pred", FLAGS)
    assert got == per_warp(lambda flags: int(len(set(flags)) == 1))


def test_vote_of_some_lanes():
    """Lanes outside the mask count neither for all nor for the ballot."""
    template = """
    .reg .pred %q, %r;
    mov.u32 %d, 0;
    setp.lt.u32 %q, %a, 20;
    @!%q bra SKIP;
    setp.lt.u32 %r, %a, 9;
    vote.sync.ballot.b32 %d, %r, 0x000fffff;
SKIP:
    """
    got = vectors(template, "u32", "u32", [t % 32 for t in range(LANES)])
    assert got == [0x1FF if t % 32 < 20 else 0 for t in range(LANES)]


def test_active_mask():
    template = """
    .reg .pred %q;
    mov.u32 %d, 7;
    setp.lt.u32 %q, %a, 10;
    @!%q bra SKIP;
    activemask.b32 %d;
SKIP:
    """
    got = vectors(template, "u32", "u32", [t % 32 for t in range(LANES)])
    assert got == [0x3FF if t % 32 < 10 else 7 for t in range(LANES)]


def test_a_partial_warp_is_active_where_it_exists():
    body = """
    .reg .b32 %t, %m;
    .reg .b64 %q;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %q, %t, 4, %q;
    activemask.b32 %m;
    st.global.u32 [%q], %m;
    """
    out = np.zeros(40, np.uint32)
    run_body(body, "u64 out", 1, 40, [out])
    assert out.tolist() == [0xFFFFFFFF] * 32 + [0xFF] * 8


VALUES = [t * t % 7 for t in range(LANES)]


def test_match():
    got = vectors("match.any.sync.b32 %d, %a, -1;", "u32", "u32", VALUES)
    warps = [VALUES[t // 32 * 32 :][:32] for t in range(LANES)]
    assert got == [sum((v == x) << i for i, v in enumerate(w)) for x, w in zip(VALUES, warps)]


@pytest.mark.parametrize(
    "op, kind, function",
    [("add", "s32", sum), ("min", "s32", min), ("max", "s32", max), ("add", "u32", sum),
     ("min", "u32", min), ("max", "u32", max), ("and", "b32", partial(reduce, operator.and_)),
     ("or", "b32", partial(reduce, operator.or_)), ("xor", "b32", partial(reduce, operator.xor))],
)  # fmt: skip
def test_warp_reduction(op, kind, function):
    values = [wrap(0x9E3779B1 * (t + 3) | 0x4100, kind) for t in range(LANES)]
    got = vectors(f"redux.sync.{op}.{kind} %d, %a, -1;", kind, kind, values)
    want = [function(values[t // 32 * 32 :][:32]) for t in range(LANES)]
    assert got == [wrap(x, kind) for x in want]


def test_groups_of_lanes_reduce_by_themselves():
    """Four groups of a warp, each with its own mask, come to one redux together or one by one."""
    loop = "LOOP: sub.u32 %d, %d, 1; setp.ne.u32 %q, %d, 0; @%q bra LOOP;"
    template = ".reg .pred %q; mov.u32 %d, %b; LOOP redux.sync.OP %d, %a, %c;"
    rows = [(t * 77 % 64, 1 + 9 * (t % 4), 0x11111111 << t % 4) for t in range(3 * BLOCK)]
    for op, fold in (
        ("max.u32", max),
        ("add.s32", sum),
        ("xor.b32", partial(reduce, operator.xor)),
    ):
        want = [
            fold([rows[t // 32 * 32 + t % 4 + n][0] for n in range(0, 32, 4)])
            for t in range(3 * BLOCK)
        ]
        for text in ("", loop):
            ptx_ = template.replace("LOOP", text).replace("OP", op)
            assert vectors(ptx_, "u32", "u32 u32 u32", rows) == want


GROUPS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct Results { unsigned size, rank, sum, least, all, first, up, ballot, any, before, counted; };
template <class Group>
__device__ Results ask(Group group, unsigned v, unsigned* count)
{
    unsigned size = group.size(), rank = group.thread_rank(), seen = 0;
    for (unsigned n = 0; n < v % 3; ++n) __nanosleep(v);  // lanes come at different times
    group.sync();
    if (rank == 0) seen = atomicAdd(count, size);
    return {size, rank, cg::reduce(group, v, cg::plus<unsigned>()),
            cg::reduce(group, v, cg::less<unsigned>()),
            cg::reduce(group, v, cg::bit_and<unsigned>()), group.shfl(v, 0), group.shfl_up(v, 1),
            group.ballot(v & 1), (unsigned)group.any(v & 2),
            cg::exclusive_scan(group, v, cg::plus<unsigned>()), group.shfl(seen, 0)};
}
extern "C" __global__ void k(const unsigned* values, Results* out, unsigned* counts)
{
    unsigned b = blockIdx.x, t = threadIdx.x, at = b * blockDim.x + t, v = values[at];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    unsigned* count = counts + at / 32 * 32;
    out += 4 * at;
    out[0] = ask(cg::labeled_partition(warp, v / 16), v, count + v / 16);
    out[1] = ask(cg::tiled_partition<8>(warp), v, count + 4 + t % 32 / 8);
    out[2] = ask(cg::binary_partition(warp, v & 4), v, count + 8 + v / 4 % 2);
    if ((v + b) % 3 == 0) out[3] = ask(cg::coalesced_threads(), v, count + 10);
    else if (v % 2) out[3] = ask(cg::coalesced_threads(), v + 1, count + 11);
}"""


def test_cooperative_groups_of_a_warp():
    """In three blocks, each group has what its own lanes have, whatever the others do."""
    threads, blocks = 64, 3
    values = np.random.default_rng(3).integers(0, 64, (blocks, threads), np.uint32)
    out = np.full((blocks, threads, 4, 11), 77, np.uint32)
    counts = np.zeros((blocks, threads), np.uint32)
    run_cuda(GROUPS, "k", blocks, threads, [values, out, counts])
    way = lambda b, v: 0 if (v + b) % 3 == 0 else 1 if v % 2 else None
    labels = (
        lambda b, t, v: v // 16, lambda b, t, v: t // 8, lambda b, t, v: v // 4 % 2,
        lambda b, t, v: way(b, v),
    )  # fmt: skip
    for b, t, n in np.ndindex(blocks, threads, 4):
        mine = [labels[n](b, u, int(values[b, u])) for u in range(threads)]
        if mine[t] is None:
            assert (out[b, t, n] == 77).all()
            continue
        lanes = [u for u in range(t // 32 * 32, t // 32 * 32 + 32) if mine[u] == mine[t]]
        vs = [int(values[b, u]) + (n == 3 and mine[t] == 1) for u in lanes]
        rank = lanes.index(t)
        got = dict(zip("size rank sum least all first up ballot any before counted".split(),
                       out[b, t, n].tolist()))  # fmt: skip
        assert got == {
            "size": len(lanes), "rank": rank, "sum": sum(vs), "least": min(vs),
            "all": reduce(operator.and_, vs), "first": vs[0], "up": vs[max(rank - 1, 0)],
            "ballot": sum((v & 1) << i for i, v in enumerate(vs)),
            "any": int(any(v & 2 for v in vs)), "before": sum(vs[:rank]), "counted": 0,
        }, (b, t, n)  # fmt: skip


@pytest.mark.parametrize("longest", [1, 4000])
def test_warp_barrier_orders_shared_memory(longest):
    """Lanes store after loops of different length, meet, and read each other's values."""
    template = """
    .shared .align 4 .b8 box[512];
    .reg .b32 %s, %t0;
    .reg .pred %q;
LOOP:
    sub.u32 %b, %b, 1;
    setp.ne.u32 %q, %b, 0;
    @%q bra LOOP;
    mov.u32 %t0, %tid.x;
    shl.b32 %s, %t0, 2;
    mov.u32 %d, box;
    add.u32 %s, %s, %d;
    st.shared.u32 [%s], %a;
    bar.warp.sync 0xffffffff;
    mov.u32 %d, box;
    xor.b32 %t0, %t0, 31;
    mad.lo.u32 %s, %t0, 4, %d;
    ld.shared.u32 %d, [%s];
    """
    rows = [(t + 5, 1 + t % 32 * longest // 32) for t in range(LANES)]
    got = vectors(template, "u32", "u32 u32", rows)
    assert got == [(t ^ 31) + 5 for t in range(LANES)]


@pytest.mark.parametrize("text", [
    "shfl.sync.up %r, %r, 1, 0, -1;", "shfl.sync.left.b32 %r, %r, 1, 0, -1;",
    "vote.sync.most.pred %p, %p, -1;", "redux.sync.add.u64 %r, %r, -1;",
    "match.any.b32 %r, %r, -1;", "elect.sync.b32 %r|%p, -1;",
])  # fmt: skip
def test_what_is_no_form_is_refused(text):
    with pytest.raises(ptx.UnknownOpcode):
        run_body(f".reg .b32 %r;\n.reg .pred %p;\n{text}", "", 1, 32, [])
