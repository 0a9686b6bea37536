"""cvt of integers and at ties, and mov with vector packing. All forms of cvt are in
test_hardware.py, with the bits of an H200."""

from __future__ import annotations

import random
from fractions import Fraction

import exact
import pytest
from exact import F16, F32, F64, FORMATS, f32, f64, wrap
from harness import check, floats, integers, vectors

SMALL = ["u8", "s8", "u16", "s16"]
INTEGERS = SMALL + ["u32", "s32", "u64", "s64"]
MODES = ["rn", "rz", "rm", "rp"]


# --- integer to integer -----------------------------------------------------------------


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_between_integers(target, source):
    rows = integers(source, 100)
    check(f"cvt.{target}.{source} %d, %a;", target, source, rows, lambda a: wrap(a, target))
    if exact.least(source) < exact.least(target) or exact.greatest(source) > exact.greatest(target):
        clamped = lambda a: exact.clamp(a, target)
        check(f"cvt.sat.{target}.{source} %d, %a;", target, source, rows, clamped)


@pytest.mark.parametrize("kind", SMALL)
def test_a_narrow_type_in_a_wide_register(kind):
    # Only the low bits of the source count; the result is extended to the whole register.
    rows = integers("u32", 100)
    check(f"cvt.u32.{kind} %d, %a;", "u32", "u32", rows, lambda a: wrap(wrap(a, kind), "u32"))
    check(f"cvt.s64.{kind} %d, %a;", "s64", "u32", rows, lambda a: wrap(a, kind))
    check(f"cvt.{kind}.u32 %d, %a;", "s32", "u32", rows, lambda a: wrap(a, kind))
    check(f"cvt.{kind}.u32 %d, %a;", "s64", "u32", rows, lambda a: wrap(a, kind))


# --- integer to float -------------------------------------------------------------------


def around_ties(kind: str) -> list[int]:
    """Integers whose bits end in a half, a little more or a little less, at many sizes."""
    rng, width, rows = random.Random(kind), exact.width_of(kind), []
    for bits in range(2, width):
        for kept in (11, 24, 53):
            if bits > kept:
                tie = (rng.getrandbits(kept - 1) | 1 << (kept - 1)) << (bits - kept)
                rows += [tie + (1 << (bits - kept - 1)) + delta for delta in (-1, 0, 1)]
    rows += [-x for x in rows] if kind[0] == "s" else []
    return [x for x in rows if exact.least(kind) <= x <= exact.greatest(kind)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("target", ["f32", "f64"])
def test_integer_to_float(target, source, mode):
    rows = integers(source, 100) + around_ties(source)
    expected = lambda a: exact.encode(Fraction(a), FORMATS[target], mode)
    check(f"cvt.{mode}.{target}.{source} %d, %a;", target, source, rows, expected)


# --- float to float ---------------------------------------------------------------------


def narrowing_rows(target: exact.Format) -> list[int]:
    """float64 values at ties of a narrower format, one bit beside them, and at its ends."""
    rng, rows = random.Random(f"{target}"), []
    for _ in range(150):
        pattern = rng.getrandbits(target.width - 1)
        if rng.random() < 0.4:
            pattern %= 1 << (target.fraction + 1)
        if not pattern < exact.infinity(target) - 1:
            continue
        tie = (exact.value(pattern, target) + exact.value(pattern + 1, target)) / 2
        bits = exact.encode(tie, F64) | rng.getrandbits(1) << 63
        rows += [bits - 1, bits, bits + 1]
    end = exact.encode(exact.value(exact.largest(target), target), F64)
    half = exact.encode(Fraction(2) ** ((1 << (target.exponent - 1)) - target.fraction - 2), F64)
    past = exact.add(end, half, F64)
    return rows + [end, past - 1, past, past + 1] + floats("f64", 300)


@pytest.mark.parametrize("mode", MODES)
def test_f64_to_f32(mode):
    expected = lambda a: exact.convert(a, F64, F32, mode)
    check(f"cvt.{mode}.f32.f64 %d, %a;", "f32", "f64", narrowing_rows(F32), expected)


def test_to_half():
    wide = narrowing_rows(F16)
    # float32 holds every tie of float16 exactly; neighbours are made in float32 itself.
    ties = [exact.convert(a, F64, F32) for a in wide]
    rows = ties + [x + d for x in ties for d in (-1, 1) if 0 < exact.magnitude(x, F32) < 0x7F000000]
    check("cvt.rn.f16.f32 %d, %a;", "f16", "f32", rows, lambda a: exact.convert(a, F32, F16))
    check("cvt.rn.f16.f64 %d, %a;", "f16", "f64", wide, lambda a: exact.convert(a, F64, F16))
    expected = lambda a: exact.convert(a, F32, F16, "rz")
    check("cvt.rz.f16.f32 %d, %a;", "f16", "f32", rows, expected)


def test_flush_to_zero():
    rows = floats("f32", 200)
    widened = lambda a: exact.convert(exact.flush(a, F32), F32, F64)
    check("cvt.ftz.f64.f32 %d, %a;", "f64", "f32", rows, widened)
    narrowed = lambda a: exact.flush(exact.convert(a, F64, F32), F32)
    rows = floats("f64", 200) + [f64(2.0**-130), f64(-(2.0**-127)), f64(2.0**-126)]
    check("cvt.rn.ftz.f32.f64 %d, %a;", "f32", "f64", rows, narrowed)
    rounded_up = lambda a: exact.round_integer(exact.value(exact.flush(a, F32), F32), "rp")
    rows = [f32(x) for x in (1e-40, -1e-40, 1e-30, 0.5)]
    check("cvt.rpi.ftz.s32.f32 %d, %a;", "s32", "f32", rows, rounded_up)


# --- mov with packing -------------------------------------------------------------------


def test_packing():
    pairs32 = [(a, b) for a in integers("u32", 6) for b in integers("u32", 3)]
    check("mov.b64 %d, {%a, %b};", "u64", "u32 u32", pairs32, lambda a, b: b << 32 | a)
    pairs16 = [(a, b) for a in integers("u16", 6) for b in integers("u16", 3)]
    check("mov.b32 %d, {%a, %b};", "u32", "u16 u16", pairs16, lambda a, b: b << 16 | a)
    rng = random.Random(6)
    fours = [tuple(rng.getrandbits(16) for _ in range(4)) for _ in range(50)]
    check(
        "mov.b64 %d, {%a, %b, %c, %e};",
        "u64",
        "u16 u16 u16 u16",
        fours,
        lambda a, b, c, e: e << 48 | c << 32 | b << 16 | a,
    )


def test_unpacking():
    rows = integers("u64", 40)
    halves = [(x & 0xFFFFFFFF, x >> 32) for x in rows]
    assert vectors("mov.b64 {%d, %d1}, %a;", "u32 u32", "u64", rows) == halves
    quarters = [tuple(x >> n & 0xFFFF for n in (0, 16, 32, 48)) for x in rows]
    outs = "u16 u16 u16 u16"
    assert vectors("mov.b64 {%d, %d1, %d2, %d3}, %a;", outs, "u64", rows) == quarters
    rows = integers("u32", 40)
    halves = [(x & 0xFFFF, x >> 16) for x in rows]
    assert vectors("mov.b32 {%d, %d1}, %a;", "u16 u16", "u32", rows) == halves


def test_bits_move_between_float_and_integer_registers():
    declare = ".reg .f32 %f; .reg .f64 %fd;"
    rows = floats("f32", 50)
    got = vectors("mov.b32 %f, %a; mov.b32 %d, %f;", "u32", "u32", rows, declare=declare)
    assert got == rows
    rows = floats("f64", 50)
    got = vectors("mov.b64 %fd, %a; mov.b64 %d, %fd;", "u64", "u64", rows, declare=declare)
    assert got == rows


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_finite_results(kind):
    """`.satfinite`: what is beyond the largest number becomes that; a NaN stays one."""
    target = FORMATS[kind]

    def expected(a):
        narrow = exact.convert(a, F32, target)
        return exact.largest(target, narrow >> 15) if exact.is_inf(narrow, target) else narrow

    rows = floats("f32", 60) + [f32(x) for x in (65504.0, 65519.0, 65520.0, -1e30, 3.4e38)]
    check(f"cvt.rn.satfinite.{kind}.f32 %d, %a;", kind, "f32", rows, expected)
    pair = lambda a, b: expected(a) << 16 | expected(b)
    good = [
        (a, b) for a in rows for b in rows[:9] if not exact.is_nan(a, F32) | exact.is_nan(b, F32)
    ]
    check(f"cvt.rn.satfinite.{kind}x2.f32 %d, %a, %b;", "b32", "f32 f32", good, pair)
