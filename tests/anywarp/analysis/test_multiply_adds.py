"""How many FFMAs an instruction becomes, against the machine code of sm_90."""

import numpy as np
import pytest

import kernels
from anywarp.analysis import multiply_adds as module
from anywarp.analysis.folding import fold
from anywarp.sass import elf, hot_loop
from anywarp.trace.trace import FFMA

EXIT = 0x94D

SOURCE = """
extern "C" __global__ void k(const TYPE* in, TYPE* out, int n)
{
    int t = threadIdx.x;
    out[t] = EXPRESSION;
}
"""
CASES = [
    ("float", "in[t] / in[t + 1]", 5),
    ("float", "in[t] / n", 5),
    ("float", "1 / in[t]", 2),
    ("float", "__frcp_rn(in[t])", 2),
    ("float", "sqrtf(in[t])", 2),
    ("float", "in[t] / sqrtf(in[t + 1])", 7),
    ("float", "rsqrtf(in[t])", 0),
    ("float", "__fdividef(in[t], in[t + 1])", 0),
    ("float", "fmaf(in[t], in[t + 1], in[t + 2])", 1),
    ("float", "__fadd_rn(in[t], __fmul_rn(in[t], in[t + 1]))", 0),
    ("double", "in[t] / in[t + 1]", 1),
    ("double", "sqrt(in[t])", 0),
    ("double", "1 / in[t]", 0),
]


@pytest.mark.parametrize("kind, expression, count", CASES)
def test_the_usual_path(kind, expression, count):
    source = SOURCE.replace("TYPE", kind).replace("EXPRESSION", expression)
    one = kernels.Kernel(source, "k")
    codes = [word & 0xFFF for word in elf.words(one.cubin("sm_90"))]
    usual = codes[: codes.index(EXIT)]  # the slow paths stand behind the end
    assert sum(hot_loop.CODES.get(code) == "fma" for code in usual) == count
    assert sum(module.multiply_adds(one.entry, fold(one.entry)).values()) == count
    dtype = {"float": np.float32, "double": np.float64}[kind]
    args = np.linspace(1, 2, 66).astype(dtype), np.zeros(64, dtype), 3
    assert one.trace(1, 64, args).counters[FFMA] == 64 * count


def test_a_sum_that_takes_a_product_in_is_one(monkeypatch):
    """The rule for which is not this module's; the sum counts where its lanes are active."""
    one = kernels.Kernel(
        'extern "C" __global__ void k(float* x) { float y = x[threadIdx.x];'
        'asm volatile("{ .reg .f32 p; mul.f32 p, %0, %0; add.f32 %0, p, 0f3F800000; }" : "+f"(y));'
        "x[threadIdx.x] = y; }",
        "k",
    )
    product, total = (
        next(i.index for i in one.entry.instructions if i.opcode == op and "f32" in i.modifiers)
        for op in ("mul", "add")
    )
    monkeypatch.setattr(module, "fused", lambda entry: {total: product})
    assert module.multiply_adds(one.entry, fold(one.entry)) == {total: 1}
    assert module.multiply_adds(one.entry, None) == {}
    assert one.trace(1, 40, (np.ones(40, np.float32),)).counters[FFMA] == 40
