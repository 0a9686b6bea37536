"""What the rewriter finds in a loop, what it makes of it, and what it refuses."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

import kernels
from anywarp.sass import elf
from anywarp.sass.flow import Block
from kernels import Kernel, analysis
from kernels.machine import Plan, Refused, Unknown, instructions, main_loops, prove, rewrite, shape
from kernels.machine.list_schedule import Product, order

from .code import STEP, original, rewritten

SMALL = """
extern "C" __global__ void sgemm(const float* A, float* C)
{
    float sum = 0;
    for (int i = 0; i < 1024; ++i)
        sum += A[i] * A[i + 7];
    C[threadIdx.x] = sum;
}
"""


def loops(cubin):
    code = instructions(cubin)
    return [(code, shape.loop(code, part)) for part in main_loops(code)]


def test_the_outer_products_are_those_of_the_source():
    for code, loop in loops(original()):
        assert len(loop.steps) == 8
        for step in loop.steps:
            assert (len(step.rows), len(step.columns)) == (8, 16)
            elements = {*step.rows, *step.columns}
            assert len(elements) == 24 and {one.load for one in elements} - {-1} == {*step.loads}
        sums = [r for line in loop.sums for r in line]
        assert len(sums) == len(set(sums)) == 128
        assert {code[n].name for n in loop.next} == {"LDS"} and len(loop.next) == 6
        assert code[loop.others[-1]].name == "BRA"


def test_the_new_loop_is_the_same_outer_products():
    for (_, before), (_, after) in zip(loops(original()), loops(rewritten())):
        assert before.sums == after.sums and before.block == after.block
        assert before.steps[0] == after.steps[0]
        assert sorted(before.next.values()) == sorted(after.next.values())


def test_the_order_is_a_snake_with_loads_between():
    code, loop = loops(original())[0]
    made = order(code, loop, Plan())
    assert sorted(n for n in made if not isinstance(n, Product)) == sorted(
        [*loop.others, *loop.next, *(n for step in loop.steps for n in step.loads)]
    )
    products = [n for n in made if isinstance(n, Product)]
    assert len(products) == len(set(products)) == 1024
    for one, other in pairwise(products):
        if one.step == other.step:
            assert one.row == other.row or one.column == other.column
    at = {n: place for place, n in enumerate(made)}
    for k, step in enumerate(loop.steps[1:], start=1):
        assert all(at[n] < at[Product(k, 0, 0)] for n in step.loads)


def test_only_the_loops_change():
    before, after = instructions(original()), instructions(rewritten())
    inside = {n for part in main_loops(before) for n in range(part.first, part.end)}
    changed = {n for n, (one, other) in enumerate(zip(before, after)) if one is not other}
    assert changed and changed <= inside
    assert elf.outside(original()) == elf.outside(rewritten())


def test_the_code_of_another_compiler():
    """What NVRTC 13.0 makes of the step, recorded, since there is one NVRTC in an environment."""
    path = Path(__file__).parents[2] / "data/machine_code_nvrtc_13_0.cubin.gz"
    compiled = gzip.decompress(path.read_bytes())
    new = rewrite(compiled)
    assert new != compiled and elf.registers(new) <= 255
    prove(compiled, new)


def test_operands_take_fewer_cycles():
    kernel = kernels.step(STEP).kernel

    class Compiled:
        symbol = kernel.symbol

        def cubin(self, arch):
            return kernel.compiled(arch)

    before, after = analysis.operand_cycles(Compiled()), analysis.operand_cycles(kernel)
    slots = len(analysis.machine_loop(kernel))
    assert slots == len(analysis.machine_loop(Compiled()))
    assert slots <= after < 1.01 * slots < 1.04 * slots < before


@pytest.mark.parametrize(
    "cubin, reason",
    [
        (lambda: Kernel(SMALL, "sgemm").cubin(), "no loop of one block"),
        (lambda: kernels.step("12_warp_tiling").kernel.cubin(), "not loaded by the pass before"),
        (lambda: kernels.step("14_double_buffering").kernel.cubin(), "what is not a sum"),
    ],
)
def test_refused(cubin, reason):
    with pytest.raises((Refused, Unknown), match=reason):
        rewrite(cubin())


def test_products_that_are_not_all_of_a_row_and_a_column():
    a, b, c, d = (shape.Element(load, n) for load in range(2) for n in range(2))
    outer = {0: [(a, c)], 1: [(b, c)], 2: [(a, d)], 3: [(b, d)]}
    assert shape._steps(outer)[1] == ((0, 1), (2, 3))
    with pytest.raises(Refused, match="no outer products"):
        shape._steps({0: [(a, c)], 3: [(b, d)]})


def test_a_loop_that_is_something_else():
    code = instructions(original())
    part = main_loops(code)[0]
    with pytest.raises(Refused, match="does not end in the register where it began"):
        shape.loop(code, Block(part.first, part.first + 400, (part.first,)))


def test_the_step_is_the_one_before_in_another_order():
    before, after = kernels.step("17_tile_space"), kernels.step(STEP)
    A, B, C = kernels.inputs(130, 260, 20)
    one, other = (step(A, B, C.copy(), 1.5, -0.5) for step in (before, after))
    assert one.tobytes() == other.tobytes()
    assert not before.file.reordered and after.file.reordered
    assert before.region("copy") == after.region("copy")


def test_registers_that_would_cost_a_block():
    """512 threads have 128 registers each, or none of their blocks can be launched."""
    kernel = kernels.step("19 TN=8 WN=32").kernel
    compiled = kernel.compiled("sm_90")
    assert (elf.registers(compiled), elf.most_threads(compiled)) == (128, 512)
    with pytest.raises(Refused, match="134 registers for 128: an SM has room for fewer blocks"):
        rewrite(compiled)
    assert kernel.cubin("sm_90") == compiled and "fewer blocks" in kernel.why_not_rewritten("sm_90")
