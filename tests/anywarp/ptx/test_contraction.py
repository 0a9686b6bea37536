"""Which products go into sums: what ptxas made of the same PTX, `tests/data/contraction.json`."""

from __future__ import annotations

import gc
import json
import random
import re
import weakref
from pathlib import Path

import exact
import numpy as np
import pytest
from exact import F32, f32
from harness import entry, run_body, run_cuda

from anywarp import ptx
from anywarp.ptx.text import contraction
from anywarp.ptx.text.contraction import contract, explicit, fused

CASES = json.loads((Path(__file__).parents[2] / "data/contraction.json").read_text())["straight"]
NAMES = "abcdef"
ONE, ZERO = f32(1.0), 0


def evaluate(text: str, values: dict[str, int]) -> int:
    """`fma.FTZ(-a,b,mul(c,d))`, every operation rounded once, of float32 bit patterns."""
    tokens = re.findall(r"[a-z]+(?:\.[A-Z]+)?|[-(),|]|[\d.]+", text)

    def term():
        token = tokens.pop(0)
        if token == "-":
            return exact.negate(term(), F32)
        if token == "|":
            inside = exact.magnitude(term(), F32)
            assert tokens.pop(0) == "|"
            return inside
        if token in values:
            return values[token]
        if token[0].isdigit():
            return f32(float(token))
        assert tokens.pop(0) == "("
        arguments = [term()]
        while tokens.pop(0) == ",":
            arguments.append(term())
        name, _, flag = token.partition(".")
        operation = {"fma": exact.fma, "mul": exact.mul, "add": exact.add}[name]
        result = operation(*arguments, F32, "rz" if flag == "RZ" else "rn")
        if flag == "SAT":
            result = 0 if exact.sign_of(result, F32) else min(result, ONE)
        return result

    return term()


def inputs(count: int) -> np.ndarray:
    """Numbers about one whose products need rounding: (count, 6) bit patterns."""
    rng = random.Random(6)
    draw = lambda: f32(rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randrange(-1, 2))
    return np.array([[draw() for _ in NAMES] for _ in range(count)], np.uint32)


def module(body: str) -> str:
    loads = " ".join(f"ld.global.f32 %{c}, [%q+{4 * n}];" for n, c in enumerate(NAMES))
    registers = ".reg .f32 %a,%b,%c,%d,%e,%f, %x<40>; .reg .b32 %i; .reg .b64 %o, %q;"
    place = (
        "mov.u32 %i, %tid.x; ld.param.u64 %q, [in]; mad.wide.u32 %q, %i, 24, %q; "
        "ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 64, %o;"
    )
    return entry("\n".join((registers, place, loads, body)), "u64 in, u64 out")


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_as_ptxas_does_it(case):
    given, out = inputs(8), np.zeros((8, 16), np.uint32)
    parsed = ptx.parse(module(case["ptx"])).entries["k"]
    ptx.run(parsed, 1, 8, [given, out])
    for row, result in zip(given, out):
        values = dict(zip(NAMES, map(int, row)))
        for offset, expression in case["stores"].items():
            want = evaluate(expression, values)
            assert int(result[int(offset) // 4]) == want, (offset, expression)


def body(*lines: str) -> ptx.Entry:
    """An entry of these lines, with registers for all of them."""
    registers = ".reg .f32 %a,%b,%c,%d,%e,%x,%y,%z; .reg .f64 %A,%B,%C,%X,%Y; .reg .pred %p;"
    registers += ".reg .b16 %h<8>; .reg .b32 %n,%w<8>; .reg .b64 %o;"
    return ptx.parse(entry("\n".join((registers, *lines)))).entries["k"]


def pairs(*lines: str) -> list[tuple[str, str]]:
    """The fused sums and their products, by the registers they define."""
    parsed = body(*lines)
    name = lambda n: parsed.instructions[n].operands[0].name.lstrip("%")
    return [(name(n), name(m)) for n, m in fused(parsed).items()]


MUL = "mul.f32 %x, %a, %b;"


ADD = "add.f32 %y, %x, %c;"


@pytest.mark.parametrize(
    "between, after",
    [
        (("@%p bra L;",), ("L:",)),  # into a body
        (("@%p bra L;", "st.volatile.global.f32 [%o], %c;", "L:"), ()),  # where paths join
        (("L:",), ("@%p bra L;",)),  # into a loop
        (("K:", "st.volatile.global.f32 [%o], %c;", "@%p bra K;"), ()),  # over one
        (("div.rn.f32 %d, %c, %c;",), ()),
        (("sqrt.rn.f32 %d, %c;",), ()),
        (("membar.gl;",), ()),
    ],
)
def test_not_across_branches(between, after):
    assert pairs(MUL, *between, ADD, *after) == []


@pytest.mark.parametrize(
    "between",
    [
        "bar.sync 0;",
        "bar.warp.sync 3;",
        "shfl.sync.bfly.b32 %d, %c, 1, 31, -1;",
        "@%p mov.f32 %d, %c;",
        "rem.u32 %i, %i, %i;",
        "atom.global.add.f32 %d, [%o], %c;",
        "div.full.f32 %d, %c, %c;",
    ],
)
def test_across_what_is_no_branch(between):
    assert pairs(MUL, between, ADD) == [("y", "x")]


def test_a_product_of_a_constant_goes_farther():
    by_constant = "mul.f32 %x, %a, 0f3F99999A;"
    assert pairs(by_constant, "@%p bra L;", ADD, "L:") == [("y", "x")]
    assert pairs(by_constant, "div.rn.f32 %d, %c, %c;", ADD) == [("y", "x")]
    assert pairs("L:", by_constant, "@%p bra L;", ADD) == []


def test_in_and_out_of_a_loop():
    assert pairs("L:", MUL, "@%p bra L;", ADD) == []
    assert pairs("L:", MUL, "sub.f32 %y, %y, %x;", "@%p bra L;") == [("y", "x")]


@pytest.mark.parametrize("flags", ["", ".sat", ".ftz", ".ftz.sat"])
def test_sums_may_saturate_and_flush(flags):
    product = MUL.replace("mul", "mul.ftz") if "ftz" in flags else MUL
    assert pairs(product, f"add{flags}.f32 %y, %x, %c;") == [("y", "x")]


def test_guards_and_several_assignments():
    assert pairs(MUL, "@%p add.f32 %y, %x, %c;") == [("y", "x")]
    assert pairs("@%p " + MUL, "@%p add.f32 %y, %x, %c;") == []
    assert pairs("@%p bra L;", MUL, "L:", "mul.f32 %x, %c, %d;", "add.f32 %y, %x, %e;") == []
    phi = ("mov.f32 %y, %a;", "L:", MUL, "add.f32 %z, %x, %c;", "mov.f32 %y, %x;", "@%p bra L;")
    assert pairs(*phi) == []  # the product is carried around the loop


@pytest.mark.parametrize("kind, r", [("f16", "h"), ("bf16", "h"), ("f16x2", "w"), ("bf16x2", "w")])
def test_half_types(kind, r):
    product = f"mul.{kind} %{r}3, %{r}1, %{r}2;"
    assert pairs(product, f"sub.{kind} %{r}4, %{r}5, %{r}3;") == [(f"{r}4", f"{r}3")]
    assert pairs(product.replace("mul.", "mul.rn."), f"add.{kind} %{r}4, %{r}5, %{r}3;") == []


def test_double_and_types_that_do_not_fit():
    assert pairs("mul.f64 %X, %A, %B;", "add.f64 %Y, %X, %C;") == [("Y", "X")]
    assert pairs("mul.lo.u32 %w3, %w1, %w2;", "add.u32 %w4, %w3, %w2;") == []


def test_approximate_quotients_are_products():
    assert pairs("div.full.f32 %x, %a, %b;", "add.f32 %y, %x, %c;") == [("y", "x")]
    assert pairs("div.approx.ftz.f32 %x, %a, %b;", "add.ftz.f32 %y, %x, %c;") == [("y", "x")]
    assert pairs("div.rn.f32 %x, %a, %b;", "add.f32 %y, %x, %c;") == []


def test_an_entry_keeps_its_length_and_lines():
    parsed = body(MUL, "add.f32 %a, %a, %d;", "add.f32 %y, %x, %c;")
    changed = contract(parsed)
    assert [i.line for i in changed.instructions] == [i.line for i in parsed.instructions]
    assert [i.opcode for i in changed.instructions] == ["hold", "add", "contracted", "ret"]
    unfused = body(MUL, "mul.f32 %y, %x, %c;")
    assert contract(unfused) is unfused


def test_a_kernel_is_written_out_once():
    """Who counts knows instructions by id(), those of other kernels notwithstanding."""
    fuses = "mul.f32 %a, %x, %y;", "add.f32 %z, %a, %c;"
    several = [body(*fuses) for _ in range(100)]
    first = [explicit(one) for one in several]
    assert all(new is not old for new, old in zip(first, several))
    assert all(explicit(one) is made for one, made in zip(several, first))
    alone = body("add.f32 %z, %x, %y;")
    assert explicit(alone) is alone
    gone = weakref.ref(alone)
    contraction._plan.cache_clear()
    contraction._products.cache_clear()
    del alone
    gc.collect()
    assert gone() is None


def test_a_factor_that_changes_before_the_sum_under_a_mask():
    """Threads of both sides of a branch keep their own factors."""
    out, x = np.zeros(64, np.float32), np.float32(1 + 2.0**-12)
    lines = """
    .reg .f32 %a, %x, %y; .reg .u32 %i; .reg .u64 %o; .reg .pred %p;
    ld.param.u64 %o, [out]; mov.u32 %i, %tid.x; mad.wide.u32 %o, %i, 4, %o;
    ld.param.f32 %a, [x]; setp.gt.u32 %p, %i, 40;
    mul.f32 %x, %a, %a;
    @%p mov.f32 %a, 0f40000000;
    sub.f32 %y, %x, 0f3F800000;
    st.global.f32 [%o], %y;"""
    run_body(lines, "u64 out, f32 x", 1, 64, [out, x])
    assert (out == np.float32(2.0**-11 + 2.0**-24)).all()


def test_from_cuda():
    """x - a * b is one rounding, as on a GPU; with -fmad=false it is two."""
    source = """extern "C" __global__ void f(float* out, float a, float b, float x) {
        out[0] = x - a * b; }"""
    a, b = np.float32(1 + 2.0**-12), np.float32(1 - 2.0**-13)
    x = np.float32(a * b)
    error = float(x) - float(a) * float(b)
    assert error != 0
    for options, want in (((), error), (("-fmad=false",), 0.0)):
        out = np.ones(1, np.float32)
        run_cuda(source, "f", 1, 1, [out, a, b, x], options)
        assert out[0] == np.float32(want)
