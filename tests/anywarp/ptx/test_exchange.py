"""match.sync and elect.sync, atomics of half types and vectors, carries through several words."""

from __future__ import annotations

import random

import exact
import numpy as np
import pytest
from exact import BF16, F16, FORMATS
from harness import check, floats, pairs, run_body, triples, vectors

LANES = 32


def warp_body(exchange: str, count: int) -> str:
    stores = " ".join(f"st.global.u32 [%o+{4 * n}], %r{n};" for n in range(count))
    return f"""
    .reg .b32 %v, %i, %r<4>; .reg .b64 %w, %p, %o; .reg .pred %q;
    mov.u32 %i, %tid.x; ld.param.u64 %p, [in]; mad.wide.u32 %p, %i, 8, %p; ld.global.u64 %w, [%p];
    cvt.u32.u64 %v, %w; ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, {4 * count}, %o;
    {exchange}
    {stores}"""


@pytest.mark.parametrize("kind", ["b32", "b64"])
@pytest.mark.parametrize("threads", [64, 40])
def test_match_any(kind, threads):
    rng = random.Random(kind)
    values = [rng.choice([1, 2, 3, 1 << 40, (1 << 40) + 1]) for _ in range(threads)]
    source = "%v" if kind == "b32" else "%w"
    body = warp_body(f"activemask.b32 %r1; match.any.sync.{kind} %r0, {source}, %r1;", 2)
    out = np.zeros((threads, 2), np.uint32)
    run_body(body, "u64 in, u64 out", 1, threads, [np.array(values, np.uint64), out])
    width = (1 << 32) - 1 if kind == "b32" else (1 << 64) - 1
    for t in range(threads):
        warp = range(t // LANES * LANES, min(t // LANES * LANES + LANES, threads))
        same = sum(1 << n % LANES for n in warp if values[n] & width == values[t] & width)
        assert int(out[t, 0]) == same


def test_match_all():
    values = np.array([7] * 32 + [7] * 31 + [8], np.uint64)
    exchange = "match.all.sync.b32 %r0|%q, %v, -1; selp.u32 %r1, 1, 0, %q;"
    out = np.full((64, 2), 9, np.uint32)
    run_body(warp_body(exchange, 2), "u64 in, u64 out", 1, 64, [values, out])
    assert (out[:32] == [0xFFFFFFFF, 1]).all() and (out[32:] == [0, 0]).all()


def test_match_in_a_branch_of_some_lanes():
    exchange = """mov.u32 %r0, 0; setp.ge.u32 %q, %i, 12; @%q bra L;
    match.any.sync.b32 %r0, %v, 0xfff; L:"""
    out = np.zeros((32, 1), np.uint32)
    values = np.arange(32, dtype=np.uint64) % 5
    run_body(warp_body(exchange, 1), "u64 in, u64 out", 1, 32, [values, out])
    for t in range(32):
        want = sum(1 << n for n in range(12) if n % 5 == t % 5) if t < 12 else 0
        assert int(out[t, 0]) == want


def test_elect():
    exchange = """mov.u32 %r0, 99; mov.u32 %r1, 2; setp.lt.u32 %q, %i, 5; @%q bra L;
    elect.sync %r0|%q, 0xffffffe0; selp.u32 %r1, 1, 0, %q; L:"""
    out = np.zeros((32, 2), np.uint32)
    run_body(warp_body(exchange, 2), "u64 in, u64 out", 1, 32, [np.zeros(32, np.uint64), out])
    assert out[:5].tolist() == [[99, 2]] * 5
    assert out[5:].tolist() == [[5, 1]] + [[5, 0]] * 26


@pytest.mark.parametrize("kind, fmt", [("f16", F16), ("bf16", BF16)])
def test_packed_atomic_addition(kind, fmt):
    """Every thread adds a word of two halves; ones and twos, so that any order gives the same."""
    one, two = exact.encode(1, fmt), exact.encode(2, fmt)
    body = f"""
    .reg .b32 %x, %d; .reg .b64 %p; ld.param.u64 %p, [out];
    mov.b32 %x, {one << 16 | two}; atom.global.add.noftz.{kind}x2 %d, [%p], %x;
    red.global.add.noftz.{kind}x2 [%p], %x;"""
    out = np.zeros(1, np.uint32)
    run_body(body, "u64 out", 1, 16, [out])
    assert int(out[0]) == exact.encode(32, fmt) << 16 | exact.encode(64, fmt)


def test_vector_atomic_addition():
    body = """
    .reg .f32 %a<2>, %d<2>; .reg .b32 %i; .reg .b64 %p; ld.param.u64 %p, [out]; mov.u32 %i, %tid.x;
    cvt.rn.f32.u32 %a0, %i; mov.f32 %a1, 0f3F800000;
    atom.global.add.v2.f32 {%d0, %d1}, [%p], {%a0, %a1};"""
    out = np.zeros(2, np.float32)
    run_body(body, "u64 out", 1, 40, [out])
    assert out.tolist() == [sum(range(40)), 40.0]


def wide_rows() -> list[tuple]:
    rng = random.Random(3)
    edges = [0, 1, (1 << 64) - 1, 1 << 63, (1 << 32) - 1, 1 << 32]
    draw = lambda: rng.choice(edges) if rng.random() < 0.4 else rng.getrandbits(64)
    return [tuple(draw() for _ in range(4)) for _ in range(200)]


@pytest.mark.parametrize("op, sign", [("add", 1), ("sub", -1)])
def test_128_bits_by_carry(op, sign):
    template = f"{op}.cc.u64 %d, %a, %c; {op}c.u64 %d1, %b, %e;"
    rows = wide_rows()
    got = vectors(template, "u64 u64", "u64 u64 u64 u64", rows)
    for (a, b, c, e), (low, high) in zip(rows, got):
        want = ((b << 64 | a) + sign * (e << 64 | c)) % (1 << 128)
        assert (high << 64 | low) == want


def test_64_bit_product_by_carry():
    """mad.lo.cc and madc.hi: a 32-bit product added to 64 bits."""
    template = "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d1, %a, %b, %e;"
    rows = [tuple(x & 0xFFFFFFFF for x in row) for row in wide_rows()]
    got = vectors(template, "u32 u32", "u32 u32 u32 u32", rows)
    for (a, b, c, e), (low, high) in zip(rows, got):
        assert (high << 32 | low) == (a * b + (e << 32 | c)) % (1 << 64)


def test_the_carry_flag_of_threads_that_diverge():
    """A thread keeps its own flag while others run another branch."""
    body = """
    .reg .b32 %i, %x, %y; .reg .b64 %o; .reg .pred %q;
    mov.u32 %i, %tid.x; ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 4, %o;
    add.cc.u32 %x, %i, 0xfffffff0;
    setp.lt.u32 %q, %i, 8; @%q bra L; add.u32 %y, %i, 1; L:
    addc.u32 %y, 0, 0; st.global.u32 [%o], %y;"""
    out = np.zeros(32, np.uint32)
    run_body(body, "u64 out", 1, 32, [out])
    assert out.tolist() == [int(i >= 16) for i in range(32)]


def strict(want: int, kind: str) -> int:
    return 0x7FFF if exact.is_nan(want, FORMATS[kind]) else want


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_half_arithmetic_rounds_once(op, kind):
    operation = {"add": exact.add, "sub": exact.sub, "mul": exact.mul}[op]
    rows = pairs(floats, kind)
    expected = lambda a, b: strict(operation(a, b, FORMATS[kind]), kind)
    check(f"{op}.rn.{kind} %d, %a, %b;", kind, f"{kind} {kind}", rows, expected)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_fma_rounds_once(kind):
    rows = triples(floats, f"{kind} {kind} {kind}", 600)
    expected = lambda *x: strict(exact.fma(*x, FORMATS[kind]), kind)
    check(f"fma.rn.{kind} %d, %a, %b, %c;", kind, f"{kind} {kind} {kind}", rows, expected)


def test_relu_of_integers():
    rows = [(a & 0xFFFFFFFF, b & 0xFFFFFFFF) for a in (-5, 0, 7) for b in (-9, -1, 3)]
    wrap = lambda x: exact.wrap(x, "s32")
    got = vectors("max.s32.relu %d, %a, %b;", "s32", "s32 s32", rows)
    assert got == [max(wrap(a), wrap(b), 0) for a, b in rows]
    got = vectors("min.s32.relu %d, %a, %b;", "s32", "s32 s32", rows)
    assert got == [max(min(wrap(a), wrap(b)), 0) for a, b in rows]


def test_registers_declared_without_a_blank():
    """`.reg.b16 x` as the assembly in cuda_fp16.hpp has it, in blocks that hide each other's."""
    template = "{.reg.b16 h; mov.b16 h, %a; {.reg.b16 h; mov.b16 h, 3;} mov.b16 %d, h;}"
    assert vectors(template, "u16", "u16", [5, 6]) == [5, 6]
