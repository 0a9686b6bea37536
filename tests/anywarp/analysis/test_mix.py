"""Loops and instruction mixes, against PTX written and counted by hand."""

import pytest

import kernels
from anywarp import analysis, ptx
from anywarp.analysis.loops import loops, own
from anywarp.analysis.mix import CLASSES, instruction_class


def entry(body):
    return ptx.parse(
        """.version 8.0
    .target sm_75
    .address_size 64
    .visible .entry f(.param .u64 f_param_0)
    {
    .reg .pred %p<4>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    """
        + body
        + "\n}"
    ).entries["f"]


NEST = """
$outer: add.s32 %r1, %r1, 1; mov.u32 %r2, 0;
$inner: add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 4; @%p1 bra $inner;
setp.lt.s32 %p2, %r1, 4; @%p2 bra $outer;
ret;"""
ELSEWHERE = """
$head: setp.lt.s32 %p1, %r1, 4; @%p1 bra $body; bra $done;
$exit_work: add.s32 %r2, %r2, 2; ret;
$body: add.s32 %r1, %r1, 1; bra $head;
$done: @%p2 bra $exit_work;"""
SWITCH = """
$head: brx.idx %r1, table;
table: .branchtargets $one, $two;
$one: add.s32 %r1, %r1, 1; bra $head;
$two: ret;"""
ADD = "add.s32 %r1, %r1, 1;"


@pytest.mark.parametrize("body, indices", [
    ("mov.u32 %r1, 0;" + NEST, [{*range(1, 8)}, {3, 4, 5}]),
    # laid out of line, as compilers do: the text goes back, the control flow does not
    (f"bra $far; $near: {ADD} ret; $far: {ADD} bra $near;", []),
    (ELSEWHERE, [{0, 1, 5, 6}]),
    (f"$head: {ADD} @%p1 bra $head; {ADD} @%p2 bra $head; @%p3 ret;", [{0, 1, 2, 3}]),  # one loop
    (f"ret; $dead: {ADD} bra $dead;", []),  # nothing reaches it
    (SWITCH, [{0, 1, 2}]),
])  # fmt: skip
def test_loops(body, indices):
    assert loops(entry(body)) == indices


def test_instructions_of_the_outer_loop_alone():
    assert own(loops(entry(NEST))) == [{0, 1, 5, 6}, {2, 3, 4}]


OF_KIND = {
    "fma": "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.ftz.f32 %f1, %f1, %f2, %f3;",
    "shared load": "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1]; ld.shared::cta.f32 %f1, [%r1];",
    "shared store": "st.shared.f32 [%r1], %f1;",
    "global load": "ld.global.nc.f32 %f1, [%rd1];",
    "global store": "st.global.f32 [%rd1], %f1;",
    "local load": "ld.local.f32 %f1, [%rd1];",
    "local store": "st.local.f32 [%rd1], %f1;",
    "async copy": "cp.async.cg.shared.global [%r1], [%rd1], 16;",
    "control": "cp.async.commit_group; bar.sync 0; @%p1 bra $here; ret;",
    "integer": "mad.lo.s32 %r1, %r2, %r3, %r4; mul.wide.s32 %rd1, %r1, 4; and.pred %p1, %p2, %p3;"
    "setp.lt.s32 %p1, %r1, %r2; cvta.to.global.u64 %rd1, %rd2;",
    "other": "fma.rn.f64 %fd1, %fd1, %fd2, %fd3; ld.param.u64 %rd1, [f_param_0];"
    "cvt.rn.f32.s32 %f1, %r1; setp.eq.f32 %p1, %f1, %f2; add.f32 %f1, %f1, %f2;"
    "mov.u32 %r1, %tid.x;",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes(kind):
    made = entry("$here:\n" + OF_KIND[kind]).instructions
    assert {instruction_class(i) for i in made} == {kind}


def test_the_hot_loop_is_the_one_with_most_fmas_of_its_own():
    """A loop over tiles with its products unrolled, and a copying loop inside it."""
    mix = analysis.instruction_mix(
        entry("""
    fma.rn.f32 %f1, %f1, %f2, %f3;
$tiles:
    mov.u32 %r3, 0;
$copy:
    ld.global.f32 %f1, [%rd1];
    st.shared.f32 [%r1], %f1;
    @%p1 bra $copy;
    bar.sync 0;
    ld.shared.f32 %f2, [%r1];
    fma.rn.f32 %f3, %f2, %f2, %f3;
    fma.rn.f32 %f3, %f2, %f2, %f3;
    add.s32 %r2, %r2, 1;
    @%p2 bra $tiles;
$rest:
    fma.rn.f32 %f3, %f2, %f2, %f3;
    @%p3 bra $rest;
    ret;
    """)
    )
    counts = {"fma": 2, "shared load": 1, "integer": 1, "control": 2, "other": 1}
    assert {name: n for name, n in mix.counts.items() if n} == counts
    assert mix.total == 7 and mix.is_loop
    assert analysis.fma_to_load_share(mix) == 2 / 3


def test_without_a_loop_the_whole_body_counts():
    mix = analysis.instruction_mix(entry("fma.rn.f32 %f1, %f1, %f2, %f3;\nret;"))
    assert not mix.is_loop and mix.total == 2
    assert "without loops" in str(mix)
    empty = analysis.instruction_mix(entry("ret;"))
    with pytest.raises(ValueError, match="no FMA"):
        analysis.fma_to_load_share(empty)


PRODUCT = """
// TM x TN outputs of a thread from shared memory, by float4 (VECTOR) or one element at a time
extern "C" __global__ void product(int K, const float* in, float* out)
{
    __shared__ float4 a[64 * TM], b[64 * TN];
    float sum[TM][TN] = {};
    for (int tile = 0; tile < K; ++tile) {
        a[threadIdx.x] = ((const float4*)in)[tile * 64 + threadIdx.x];
        b[threadIdx.x] = ((const float4*)in)[tile * 32 + threadIdx.x];
        __syncthreads();
        #pragma unroll UNROLL
        for (int k = 0; k < 16; ++k) {
            float x[TM], y[TN];
            #pragma unroll
            for (int i = 0; i < TM; i += TM % 4 ? 1 : 4)
                if (TM % 4) x[i] = ((float*)a)[k * 129 + threadIdx.x + 32 * i];
                else *(float4*)&x[i] = a[k * TM / 4 + threadIdx.x / 4 + 16 * i];
            #pragma unroll
            for (int j = 0; j < TN; j += TN % 4 ? 1 : 4)
                if (TN % 4) y[j] = ((float*)b)[k * 129 + threadIdx.x / 32 + 32 * j];
                else *(float4*)&y[j] = b[k * TN / 4 + threadIdx.x / 4 + 16 * j];
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            out[(threadIdx.x * TM + i) * TN + j] = sum[i][j];
}
"""


@pytest.mark.parametrize("unroll", [1, 4, 16])
@pytest.mark.parametrize("tm, tn, loads", [(1, 1, 2), (4, 1, 2), (4, 4, 2), (8, 8, 4)])
def test_share_of_fmas_as_the_literature_counts_it(tm, tn, loads, unroll):
    """1/3, 2/3, 8/9 and 16/17, however far the loop is unrolled."""
    kernel = kernels.Kernel(PRODUCT, "product", (f"-DTM={tm}", f"-DTN={tn}", f"-DUNROLL={unroll}"))
    mix = analysis.instruction_mix(kernel)
    assert mix.counts["fma"] == tm * tn * unroll
    assert mix.counts["shared load"] == loads * unroll
    # fully unrolled, the hot loop is the one over tiles, with its copies and barriers
    copies = (2, 2) if unroll == 16 else (0, 0)
    assert (mix.counts["global load"], mix.counts["shared store"]) == copies
    share = {(1, 1): 1 / 3, (4, 1): 2 / 3, (4, 4): 8 / 9, (8, 8): 16 / 17}[tm, tn]
    assert analysis.fma_to_load_share(mix) == pytest.approx(share)


@pytest.mark.parametrize("name", ["02_naive", "03_coalesced"])
def test_steps_without_shared_memory(name):
    step = kernels.step(name)
    mix = analysis.instruction_mix(step)
    assert mix.counts["global load"] == 2 * mix.counts["fma"] > 0
    assert analysis.fma_to_load_share(mix) == 1 / 3
    assert analysis.instruction_mix(step.kernel).counts == mix.counts
    assert analysis.instruction_mix(step.kernel.entry).counts == mix.counts


def test_it_prints_as_a_table():
    lines = str(analysis.instruction_mix(kernels.step("03_coalesced"))).splitlines()
    assert "hot loop" in lines[0] and lines[1].split()[-1] == "fma"
    assert not any("shared" in line for line in lines)
