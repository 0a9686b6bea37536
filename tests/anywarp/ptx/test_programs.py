"""Small programs, drawn at random, of what threads do together and what each does alone, run in
several blocks and compared with a model in which a thread is one generator.

The lanes of a warp are in groups, each with its own member mask, which take ways of their own
through branches and loops. `v` is what a thread computes.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial, reduce
from io import StringIO
from types import SimpleNamespace

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from anywarp.kernel import Kernel

BLOCKS = 3
HEAD = r"""
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))
__device__ __noinline__ unsigned twist(unsigned v, unsigned* cell)
{
    cell[v % 2] = v * 3;
    return v ^ 0x55;
}
extern "C" __global__ void k(unsigned* out, unsigned* sums, const unsigned* groups,
                             const unsigned* masks, const unsigned* peers)
{
    __shared__ unsigned box[128];
    unsigned t = threadIdx.x, b = blockIdx.x, at = b * blockDim.x + t;
    unsigned g = groups[at], m = masks[at], peer = peers[at], cell[2] = {1, 2};
    unsigned v = at * 2654435761u >> 9;
    int same;
"""


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


def mask(lanes: dict[int, int], chosen) -> int:
    return sum(1 << lane for lane, v in lanes.items() if chosen(v))


def agree(values) -> bool:
    return len(set(values)) == 1


# What the lanes of a group do together: C, and what is added to v, a function of the thread and of
# all their v's by lane.
TOGETHER = {
    "v += __shfl_sync(m, v, peer);": lambda s, all_: all_[s.peer],
    "v += __ballot_sync(m, v & 4);": lambda s, all_: mask(all_, lambda v: v & 4),
    "v += 3 * __any_sync(m, v & 8);": lambda s, all_: 3 * any(v & 8 for v in all_.values()),
    "v += 5 * __all_sync(m, v & 1);": lambda s, all_: 5 * all(v & 1 for v in all_.values()),
    "v += 7 * __uni_sync(m, v & 2);": lambda s, all_: 7 * agree(v & 2 for v in all_.values()),
    "v += __match_any_sync(m, v & 3);": lambda s, all_: mask(all_, lambda v: (v ^ s.v) & 3 == 0),
    "v += __match_all_sync(m, v & 1, &same); v += same;": lambda s, all_: (
        agree(v & 1 for v in all_.values()) and mask(all_, lambda v: True) + 1
    ),
    "box[t] = v; __syncwarp(m); v += box[t / 32 * 32 + peer]; __syncwarp(m);": (
        lambda s, all_: all_[s.peer]
    ),
}
FOLDS = {"add": sum, "min": min, "max": max} | {
    name: partial(reduce, getattr(operator, name + "_" * (name != "xor")))
    for name in ("and", "or", "xor")
}
for name, fold in FOLDS.items():
    TOGETHER[f"v += __reduce_{name}_sync(m, v);"] = lambda s, all_, fold=fold: fold(all_.values())
    if name in ("add", "min", "max"):
        TOGETHER[f"v += __reduce_{name}_sync(m, (int)v);"] = lambda s, all_, fold=fold: fold(
            map(signed, all_.values())
        )
# What all threads of a block do together.
BLOCKWIDE = {
    "v += __syncthreads_count(v & 4);": lambda votes: sum(map(bool, votes)),
    "v += 9 * __syncthreads_or(v & 4);": lambda votes: 9 * any(votes),
    "v += 11 * __syncthreads_and(v & 4);": lambda votes: 11 * all(votes),
}


def twist(s) -> None:
    s.cell[s.v % 2] = s.v * 3 & 0xFFFFFFFF
    s.v = (s.v ^ 0x55) + s.cell[0]


def change(s, v: int) -> None:
    s.v = v


# What a thread does alone.
ALONE = {
    "v = v * 5 + 3;": lambda s: change(s, s.v * 5 + 3),
    "v = twist(v, cell); v += cell[0];": twist,
    r'printf("%u %u %u\n", b, t, v);': lambda s: s.said.append(s.v),
    "{ volatile unsigned* p = (unsigned*)malloc(4 + v % 9 * 4); p[v % 9] = v; v += p[v % 9] + t;"
    " free((void*)p); }": lambda s: change(s, 2 * s.v + s.t),
    "{ volatile unsigned* p = new unsigned[2]; p[t % 2] = v; v += p[t % 2]; }": (
        lambda s: change(s, 2 * s.v)
    ),
    "atomicAdd(sums + b, v % 7);": lambda s: s.sums.append(s.v % 7),
    "assert(v != t || t < 128);": lambda s: None,
    "if (t > 128) __trap();": lambda s: None,
}
APART = {  # conditions in which the lanes of a group may differ
    "t % 3 == 1": lambda s: s.t % 3 == 1,
    "t < 5": lambda s: s.t < 5,
    "v & 16": lambda s: s.v & 16,
    "b * 8 > v % 32": lambda s: s.b * 8 > s.v % 32,
    "(t + b) % 2": lambda s: (s.t + s.b) % 2,
}
AS_ONE = {  # and others
    "g & 1": lambda s: s.g & 1,
    "g == 2": lambda s: s.g == 2,
    "b == 1": lambda s: s.b == 1,
    "(t / 32 + b) % 2": lambda s: (s.t // 32 + s.b) % 2,
    "g + b > 2": lambda s: s.g + s.b > 2,
}
BY_WARP = {"t / 32 % 2": lambda s: s.t // 32 % 2, "(t / 32 + b) % 2": AS_ONE["(t / 32 + b) % 2"]}

# A statement is a C text of one of the tables; or (condition, statements, statements); or (number,
# statements), a loop of (g * number + b) % 3 rounds.
alone = st.sampled_from(sorted(ALONE))
apart = st.recursive(
    alone,
    lambda inner: st.tuples(st.sampled_from(sorted(APART)), *[st.lists(inner, max_size=3)] * 2),
)
as_one = st.recursive(
    st.sampled_from(sorted(TOGETHER)) | apart,
    lambda inner: (
        st.tuples(st.sampled_from(sorted(AS_ONE)), *[st.lists(inner, max_size=3)] * 2)
        | st.tuples(st.integers(1, 2), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=8,
)
blockwide = st.sampled_from(sorted(BLOCKWIDE))
both_ways = blockwide.flatmap(
    lambda text: st.sampled_from(sorted(BY_WARP)).map(
        lambda condition: (condition, [text], [text.replace("v & 4", "v & 1")])
    )
)
programs = st.lists(as_one | blockwide | both_ways, min_size=2, max_size=6)


def in_c(statements, level: int = 0) -> Iterator[str]:
    for each in statements:
        if isinstance(each, str):
            yield each
        elif len(each) == 2:
            yield f"for (unsigned n{level} = 0; n{level} < (g * {each[0]} + b) % 3; ++n{level}) {{"
            yield from in_c(each[1], level + 1)
            yield "}"
        else:
            yield f"if ({each[0]}) {{"
            yield from in_c(each[1], level + 1)
            yield "} else {"
            yield from in_c(each[2], level + 1)
            yield "}"


def thread(statements, s):
    """Runs a thread; yields "group" or "block" where it waits, and its vote there, and gets what
    its group, by lane, or its block have given."""
    for each in statements:
        if isinstance(each, tuple) and len(each) == 2:
            for _ in range((s.g * each[0] + s.b) % 3):
                yield from thread(each[1], s)
        elif isinstance(each, tuple):
            condition = (APART | AS_ONE | BY_WARP)[each[0]]
            yield from thread(each[1] if condition(s) else each[2], s)
        elif each in ALONE:
            ALONE[each](s)
        elif each in TOGETHER:
            s.v += TOGETHER[each](s, (yield "group", s.v))
        else:
            vote = s.v & (4 if "v & 4" in each else 1)
            s.v += BLOCKWIDE[each.replace("v & 1", "v & 4")]((yield "block", vote))
        s.v &= 0xFFFFFFFF


def model(statements, groups, peers):
    """Runs all threads; gives their states by block."""
    blocks = []
    for b, (labels, others) in enumerate(zip(groups.tolist(), peers.tolist())):
        states = [
            SimpleNamespace(t=t, b=b, g=g, peer=peer, cell=[1, 2], said=[], sums=[],
                            v=((b * len(labels) + t) * 2654435761 & 0xFFFFFFFF) >> 9)
            for t, (g, peer) in enumerate(zip(labels, others))
        ]  # fmt: skip
        runs = [thread(statements, s) for s in states]
        waiting = {t: next(run, None) for t, run in enumerate(runs)}
        while any(waiting.values()):
            meeting = defaultdict(list)
            for s in states:
                if waiting[s.t]:
                    what = waiting[s.t][0]
                    meeting[(s.t // 32, s.g) if what == "group" else what].append(s)
            for key, those in meeting.items():
                if key != "block":
                    there = {s.t % 32: waiting[s.t][1] for s in those}
                elif len(those) == len(states):
                    there = [waiting[s.t][1] for s in those]
                else:
                    continue
                before = [(s, there) for s in those]
                for s, given_ in before:
                    try:
                        waiting[s.t] = runs[s.t].send(given_)
                    except StopIteration:
                        waiting[s.t] = None
        blocks.append(states)
    return blocks


@settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(programs, st.sampled_from([32, 40, 64, 96]), st.integers(0, 10**6))
def test_programs_do_as_threads_one_by_one(program, threads, seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, rng.integers(1, 5), (BLOCKS, threads), np.uint32)
    masks, peers = np.zeros_like(groups), np.zeros_like(groups)
    for b, t in np.ndindex(groups.shape):
        warp = range(t // 32 * 32, min(t // 32 * 32 + 32, threads))
        lanes = [n % 32 for n in warp if groups[b, n] == groups[b, t]]
        masks[b, t], peers[b, t] = sum(1 << n for n in lanes), rng.choice(lanes)
    source = "\n".join([HEAD, *in_c(program), "out[at] = v;\n}"])
    kernel = Kernel(source, "k")
    states = model(program, groups, peers)
    for run in (partial(kernel, device="interpreter"), kernel.trace, kernel.sanitize):
        out, sums = np.zeros_like(groups), np.zeros(BLOCKS, np.uint32)
        with redirect_stdout(StringIO()) as printed:
            found = run((BLOCKS,), (threads,), (out, sums, groups, masks, peers))
        assert out.tolist() == [[s.v for s in block] for block in states]
        assert sums.tolist() == [sum(n for s in block for n in s.sums) for block in states]
        said = [line.split() for line in printed.getvalue().splitlines()]
        assert [int(b) for b, *_ in said] == sorted(int(b) for b, *_ in said)
        for block in states:
            for s in block:
                mine = [int(v) for b, t, v in said if (int(b), int(t)) == (s.b, s.t)]
                assert mine == s.said
        if run == kernel.sanitize:  # to which a barrier at two places is a fault
            assert {finding.kind for finding in found} <= {"barrier"}
