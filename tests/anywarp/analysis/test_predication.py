"""Which branches become predicates, against the machine code that ptxas makes for sm_90; and
what is counted of them."""

import numpy as np
import pytest

from anywarp import Kernel, ptx
from anywarp.analysis.folding import fold
from anywarp.analysis.predication import predicated
from anywarp.ptx.text import isa
from anywarp.sass import elf

SHARED = {0x984, 0x388, 0x988}  # codes of LDS and STS
LDGSTS = 0xFAE  # cp.async
NONE = 7  # the predicate that is always true

SOURCE = """
extern "C" __global__ void k(const float* in, float* out, int n)
{
    __shared__ float s[2048];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    BODY
    __syncthreads();
    out[t] = s[t ^ 1];
}
"""


def kernel(body):
    return Kernel(SOURCE.replace("BODY", body), "k")


def in_machine_code(one) -> int:
    """Shared accesses under a predicate."""
    words = elf.words(one.cubin("sm_90"))
    return sum(w & 0xFFF in SHARED and w >> 12 & 15 != NONE for w in words)


def in_model(one) -> int:
    folding = fold(one.entry)
    body = [n for found in predicated(one.entry, folding) for n in found.body]
    accesses = [n for n in body if isa.space(one.entry.instructions[n]) == "shared"]
    return sum(len(folding.parts.get(n, (0,))) for n in accesses)


def chain(sums, start=0):
    """A load, so many additions and a store."""
    steps = "".join(f"x = __fadd_rn(x, {n + start}.25f);" for n in range(sums))
    return f"float x = s[t + {start}]; {steps} s[t + {start}] = x;"


def stores(count):
    return "".join(f"s[t + {64 * n}] = {n + 1}.f;" for n in range(count))


ALONE = [
    *(("t < n", chain(n), n <= 6) for n in range(1, 10)),
    *(("n > 3", chain(n), n <= 4) for n in range(1, 8)),
    *(("blockIdx.x > 2", chain(n), n <= 4) for n in (4, 5)),
    *(("in[n] > 2", chain(n), n <= 4) for n in (4, 5)),
    *(("in[t ^ 3] > 2", chain(n), n <= 6) for n in (6, 7)),
    *(("t < n", stores(n), n <= 4) for n in range(1, 7)),
    *(("n > 3", stores(n), n <= 3) for n in range(1, 6)),
    *(("t < n", f"{chain(n)} out[t * 2 + 1] = x;", n <= 2) for n in range(5)),
    *(("t < n", f"{chain(n)} out[blockIdx.x * 64 + t] = x;", n <= 1) for n in range(4)),
    *(("t < n", f"{chain(n)} out[n + t] = x;", n <= 2) for n in range(5)),
    ("t < n", "volatile float* v = s; v[t] += v[t + 32]; v[t] += v[t + 16];", True),
    ("n > 3", "volatile float* v = s; v[t] += v[t + 32]; v[t] += v[t + 16];", False),
    ("t < n", "s[t] = __shfl_sync(-1u, s[t], 3);", False),
    ("t < n", "s[t] = 1; __syncwarp();", False),
    ("t < n", "s[t] = __any_sync(-1u, s[t] > 3);", False),
    ("t < n", "s[t] = 1; atomicAdd(out, 1.f);", False),
    ("t < n", "s[t] = 1; __threadfence_block(); s[t + 64] = 2;", False),
    ("t < n", "s[t] = s[t] / s[t + 1];", False),
    ("t < n", "s[t] = t / n;", False),
    ("t < n", "s[t] = sqrtf(s[t]);", False),
]


@pytest.mark.parametrize("condition, body, gone", ALONE)
def test_an_if(condition, body, gone):
    one = kernel(f"if ({condition}) {{ {body} }}")
    assert in_model(one) == in_machine_code(one)
    assert (in_model(one) > 0) == gone


@pytest.mark.parametrize("condition, then, other, gone", [
    ("t < n", 1, 5, True), ("t < n", 1, 6, False), ("t < n", 6, 1, True), ("t < n", 6, 5, True),
    ("n > 3", 3, 3, True), ("n > 3", 4, 4, False), ("n > 3", 1, 5, False), ("n > 3", 3, 1, True),
])  # fmt: skip
def test_an_if_with_an_else(condition, then, other, gone):
    one = kernel(f"if ({condition}) {{ {chain(then, 64)} }} else {{ {chain(other, 555)} }}")
    assert (in_machine_code(one) > 0) == gone == (in_model(one) > 0)


COPY = """asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(
    (unsigned)__cvta_generic_to_shared(s + (at & 1023))), "l"(in + 4 * t) : "memory");"""


PART = COPY.replace("4;", "4, %2;").replace("4 * t)", '4 * t), "r"(at & 3)')


@pytest.mark.parametrize("condition", ["t < n", "n > 3"])
@pytest.mark.parametrize("before, steps, copy, gone", [
    *(("", steps, COPY, steps < 9) for steps in (0, 4, 8, 16, 24)),
    ("s[t] = 1;", 0, COPY, True),
    *(("", steps, PART, steps < 4) for steps in (0, 2, 12)),
])  # fmt: skip
def test_a_longer_body_goes_with_a_copy_at_its_end(condition, before, steps, copy, gone):
    long = "".join(f"at = at * n ^ {n};" for n in range(steps // 2))
    one = kernel(f"if ({condition}) {{ {before} int at = t; {long} {copy} }}")
    copies = [w for w in elf.words(one.cubin("sm_90")) if w & 0xFFF == LDGSTS]
    assert [w >> 12 & 15 != NONE for w in copies] == [gone]
    assert bool(predicated(one.entry, fold(one.entry))) == gone


def test_of_nested_branches_the_inner_one_goes():
    one = kernel("if (t < n) { s[t + 512] = 3; if (s[t] > 2) s[t] = 1; }")
    found = predicated(one.entry, fold(one.entry))
    assert len(found) == 1 and in_model(one) == in_machine_code(one) == 1


def test_a_body_that_jumps_over_another_stays():
    swap = "{ float v = s[t]; s[t] = s[x]; s[x] = v; }"  # of a bitonic sort, in both directions
    up, down = "(t & n) == 0 && s[t] > s[x]", "(t & n) != 0 && s[t] < s[x]"
    one = kernel(f"int x = t ^ n; if (x > t) {{ if ({up}) {swap} if ({down}) {swap} }}")
    assert in_model(one) == in_machine_code(one) == 2


def test_a_branch_to_the_end_stays():
    one = Kernel(
        'extern "C" __global__ void k(float* out, int n) { __shared__ float s[64];'
        "s[threadIdx.x] = out[threadIdx.x]; __syncthreads();"
        "if (threadIdx.x < n) out[threadIdx.x] = s[threadIdx.x ^ 3]; }",
        "k",
    )
    assert in_model(one) == in_machine_code(one) == 0


def test_a_loop_stays():
    one = kernel(
        "if (t < n) { s[t] = 1;\n#pragma unroll 1\nfor (int i = 0; i < n; ++i) s[i] += 2; }"
    )
    assert in_model(one) == 0


OUT_OF_LINE = """.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .shared .align 4 .b8 s[64];
    mov.u32 %r1, s; ld.param.u32 %r2, [n]; setp.eq.s32 %p1, %r2, 3;
    FIRST
TEST:
    @%p1 bra BODY;
    SECOND
END:
    st.shared.u32 [%r1+4], %r2; ret; }"""
BODY = "BODY:\n st.shared.u32 [%r1], %r2; bra.uni END;"


@pytest.mark.parametrize("first, second, count", [
    (f"bra.uni TEST;\n{BODY}", "", 0),                       # the body stands before its branch
    ("", f"bra.uni END;\n{BODY}", 1),
])  # fmt: skip
def test_only_a_body_behind_its_branch_goes(first, second, count):
    text = OUT_OF_LINE.replace("FIRST", first).replace("SECOND", second)
    entry = ptx.parse(text).entries["k"]
    assert len(predicated(entry, fold(entry))) == count


REDUCTION = "for (int o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }"
SHARED_OPS = [f"smsp__inst_executed_op_shared_{op}.sum" for op in ("ld", "st")]
WAVEFRONTS = [f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st")]


def test_each_warp_that_comes_by_is_counted():
    """A reduction of 256: 8 halvings by 8 warps, 2 loads and a store each; but only warps with
    an active lane, 4 + 2 + 6 * 1, take a wavefront."""
    one = kernel(REDUCTION)
    args = np.ones(256, np.float32), np.zeros(256, np.float32), 0
    found = one.trace(1, 256, args)
    assert [found.counters[m] for m in SHARED_OPS] == [8 * 8 * 2 + 8, 8 * 8 + 8]
    assert [found.counters[m] for m in WAVEFRONTS] == [12 * 2 + 8, 12 + 8]
    apart = one.trace(1, 256, args, folded=False)  # as the PTX has it
    assert [apart.counters[m] for m in SHARED_OPS] == [12 * 2 + 8, 12 + 8]


def test_warps_that_do_not_come_by_are_not():
    """The branch is inside one that stays: only its warps come to it, whole or in part."""
    one = kernel("if (t >= n) { atomicAdd(out, 1.f); if (s[t] > 5) s[t] = 1; }")
    found = one.trace(1, 256, (np.ones(256, np.float32), np.zeros(256, np.float32), 100))
    warps = 8 - 100 // 32
    assert found.counters[SHARED_OPS[1]] == 8 + warps
    assert found.counters[WAVEFRONTS[1]] == 8


GUARDED = """
extern "C" __global__ void k(float* out)
{
    __shared__ float s[64];
    s[threadIdx.x] = 0;
    unsigned at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 5; @p st.shared.f32 [%0], 0f3F800000; }"
                 :: "r"(at), "r"(threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x];
}
"""


def test_predicates_of_the_ptx_count_in_the_same_way():
    out = np.zeros(64, np.float32)
    one = Kernel(GUARDED, "k")
    found = one.trace(1, 64, (out,))
    assert out.sum() == 5
    assert found.counters[SHARED_OPS[1]] == 4 and found.counters[WAVEFRONTS[1]] == 3
