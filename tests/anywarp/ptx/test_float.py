"""Roundings that are easy to miss, and comparisons, against exact rational arithmetic. What every
float instruction gives elsewhere is in test_hardware.py."""

from __future__ import annotations

import functools
import math
import random
from fractions import Fraction

import exact
import pytest
from exact import F32, F64, FORMATS, as_float, f32, f64, is_inf, is_nan
from harness import check, floats, pairs, triples, vectors

KINDS = ["f32", "f64"]


# --- fma: one rounding ------------------------------------------------------------------


def double_rounds(a: int, b: int, c: int) -> bool:
    """Whether rounding a * b + c to float64 first gives another float32 than rounding once."""
    value = exact.value(a, F32) * exact.value(b, F32) + exact.value(c, F32)
    through = exact.convert(exact.encode(value, F64), F64, F32)
    return through != exact.fma(a, b, c, F32)


@functools.cache
def halfway_triples(count: int, subnormal: bool) -> list[tuple]:
    """float32 triples whose a * b + c lies so close to a tie that float64 rounds onto the tie.

    The product of two 24-bit integers is made congruent to a tiny delta modulo 2**s, where 2**s
    is half the last place of the sum: that leaves a tie plus delta, and more than 53 bits.
    """
    rng = random.Random(f"ties {subnormal}")
    found = []
    while len(found) < count:
        a = rng.getrandbits(23) | 1 << 23 | 1
        inverse = pow(a, -1, 1 << 34)
        near = [(s, delta * inverse % (1 << s)) for s in range(30, 35) for delta in (-3, -1, 1, 3)]
        near = [(s, b) for s, b in near if b < 1 << 24]
        if not near:
            continue
        s, b = rng.choice(near)
        # In a normal result half the last place is 2**s units and c has 24 bits above it.
        unit = -150 - s if subnormal else rng.randrange(-80, 40)
        bits = rng.randrange(20, 24) if subnormal else 24
        c = rng.getrandbits(bits - 1) | 1 << (bits - 1)
        signs = [rng.choice([1, -1]) for _ in range(2)]
        low = rng.randrange(-70, -20)
        values = (
            signs[0] * a * Fraction(2) ** low,
            b * Fraction(2) ** (unit - low),
            signs[1] * c * Fraction(2) ** (unit + s + 1),
        )
        row = tuple(exact.encode(v, F32) for v in values)
        if any(exact.value(x, F32) != v for x, v in zip(row, values)):
            continue
        tiny = exact.is_subnormal(exact.fma(*row, F32), F32)
        if double_rounds(*row) and tiny == subnormal:
            found.append(row)
    return found


@pytest.mark.parametrize("subnormal", [False, True], ids=["normal", "subnormal"])
def test_fma_f32_near_ties(subnormal):
    rows = halfway_triples(200, subnormal)
    fused = lambda *x: exact.fma(*x, F32)
    check("fma.rn.f32 %d, %a, %b, %c;", "f32", "f32 f32 f32", rows, fused)


def cancelling(kind: str, count: int = 400) -> list[tuple]:
    """c is the rounded -a * b or one of its neighbours: the sum is what the product lost."""
    fmt, rng = FORMATS[kind], random.Random(kind)
    pool = [x for x in floats(kind, 300) if not is_nan(x, fmt) and not is_inf(x, fmt)]
    rows = []
    for _ in range(count):
        a, b = rng.choice(pool), rng.choice(pool)
        c = exact.negate(exact.mul(a, b, fmt), fmt)
        if exact.magnitude(c, fmt) > 2 and not is_inf(c, fmt):
            c += rng.randrange(-1, 2)
        rows.append((a, b, c))
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_fma(kind):
    rows = triples(floats, f"{kind} {kind} {kind}") + cancelling(kind)
    types = f"{kind} {kind} {kind}"
    check(
        f"fma.rn.{kind} %d, %a, %b, %c;", kind, types, rows, lambda *x: exact.fma(*x, FORMATS[kind])
    )


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_fma_directed(mode):
    # fma.rm is part of expf as the compiler writes it.
    rows = triples(floats, "f32 f32 f32", 600) + halfway_triples(60, False) + cancelling("f32", 100)
    check(
        f"fma.{mode}.f32 %d, %a, %b, %c;",
        "f32",
        "f32 f32 f32",
        rows,
        lambda *x: exact.fma(*x, F32, mode),
    )


# float32 with room below: a result is subnormal when it is too small after rounding to 24 bits.
ROOMY = exact.Format(40, 23, 16)


def flushed(operation):
    """A .ftz operation: subnormal inputs and results become zeros of their sign."""

    def result(*x):
        wide = [exact.convert(exact.flush(v, F32), F32, ROOMY) for v in x]
        rounded = operation(*wide, ROOMY)
        tiny = exact.magnitude(rounded, ROOMY) < exact.convert(1 << 23, F32, ROOMY)
        sign = exact.sign_of(rounded, ROOMY)
        return sign << 31 if tiny else exact.convert(rounded, ROOMY, F32)

    return result


def products_just_below_normal() -> list[tuple]:
    """Pairs whose product is within an ulp below 2**-126; some of them round up to it."""
    rows = []
    for a in range(1 << 23, (1 << 23) + 3000, 97):
        b = ((1 << 47) - 1) // a
        rows += [(0x3F800000 | a & 0x7FFFFF, exact.encode(Fraction(b) * Fraction(2) ** -150, F32))]
    return rows + [(0x3F7FFFFF, 0x00800000), (0x3F7FFFFF, 0x80800000)]


@pytest.mark.parametrize("name, count", [("mul", 2), ("fma.rn", 3)])
def test_flush_to_zero_after_rounding(name, count):
    rows = [(*row, 0)[:count] for row in products_just_below_normal()]
    operands, types = ", ".join(["%a", "%b", "%c"][:count]), " ".join(["f32"] * count)
    check(f"{name}.ftz.f32 %d, {operands};", "f32", types, rows, flushed(getattr(exact, name[:3])))


# --- comparison -------------------------------------------------------------------------


ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", [*ORDERED, *(x + "u" for x in ORDERED), "num", "nan"])
def test_compare(op, kind):
    fmt, rows = FORMATS[kind], pairs(floats, kind, extra=100)

    def holds(a, b):
        unordered = is_nan(a, fmt) or is_nan(b, fmt)
        if op in ("num", "nan"):
            return int(unordered == (op == "nan"))
        if unordered:
            return int(op.endswith("u"))
        x, y = (
            math.inf * (1 - 2 * exact.sign_of(v, fmt)) if is_inf(v, fmt) else exact.value(v, fmt)
            for v in (a, b)
        )
        return int(ORDERED[op.rstrip("u")](x, y))

    types = f"{kind} {kind}"
    check(f"setp.{op}.{kind} %d, %a, %b;", "pred", types, rows, holds)
    check(f"set.{op}.u32.{kind} %d, %a, %b;", "s32", types, rows, lambda a, b: -holds(a, b))
    check(
        f"set.{op}.f32.{kind} %d, %a, %b;",
        "f32",
        types,
        rows,
        lambda a, b: f32(1.0) if holds(a, b) else 0,
    )


@pytest.mark.parametrize("op", ["eq", "lt", "geu"])
def test_compare_with_flush_to_zero(op):
    def holds(a, b):
        if is_nan(a, F32) or is_nan(b, F32):
            return int(op.endswith("u"))
        x, y = (as_float(exact.flush(v, F32), F32) for v in (a, b))
        return int(ORDERED[op.rstrip("u")](x, y))

    rows = pairs(floats, "f32", extra=100)
    template = f"setp.{op}.ftz.f32 %d, %a, %b;"
    check(template, "pred", "f32 f32", rows, holds)


def test_float_immediates():
    check("add.f32 %d, %a, 0f3F800000;", "f32", "f32", [f32(2.5)], lambda a: f32(3.5))
    check(
        "fma.rn.f64 %d, %a, 0d4000000000000000, 0dBFF0000000000000;",
        "f64",
        "f64",
        [f64(2.5)],
        lambda a: f64(4.0),
    )
    check("mov.f32 %d, 0f7F800000;", "f32", "f32", [0], lambda a: f32(math.inf))


def test_mad_rounds_once():
    rows = halfway_triples(50, False)
    fused = lambda *x: exact.fma(*x, F32)
    check("mad.rn.f32 %d, %a, %b, %c;", "f32", "f32 f32 f32", rows, fused)


# --- forms that only some compilers write -----------------------------------------------


@pytest.mark.parametrize("op", ["min", "max"])
def test_extremes_of_three(op):
    """sm_100: the third operand counts, too."""
    rows = triples(floats, "f32 f32 f32", 200)
    of_three = vectors(f"{op}.f32 %d, %a, %b, %c;", "f32", "f32 f32 f32", rows)
    of_two = f"{op}.f32 %d, %a, %b; {op}.f32 %d, %d, %c;"
    assert of_three == vectors(of_two, "f32", "f32 f32 f32", rows)


@pytest.mark.parametrize("op", ["add", "mul", "fma"])
def test_two_floats_in_a_register(op):
    """f32x2, which NVRTC writes for sm_100: each half is what the instruction of f32 gives."""
    words = floats("f32", 60)
    rows = [tuple(words[n + k] << 32 | words[n + 5 + k] for k in range(3)) for n in range(60)]
    names = ", ".join(["%a", "%b", "%c"][: 3 if op == "fma" else 2])
    kinds = " ".join(["f64"] * (3 if op == "fma" else 2))
    rows = [row[: len(kinds.split())] for row in rows]
    both = vectors(f"{op}.rn.f32x2 %d, {names};", "u64", kinds, rows)
    for shift in (0, 32):
        half = [tuple(x >> shift & 0xFFFFFFFF for x in row) for row in rows]
        one = vectors(f"{op}.rn.f32 %d, {names};", "f32", kinds.replace("f64", "f32"), half)
        assert [x >> shift & 0xFFFFFFFF for x in both] == one
