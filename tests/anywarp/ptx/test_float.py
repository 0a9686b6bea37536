"""f32 and f64 arithmetic against exact rational arithmetic rounded once."""

from __future__ import annotations

import functools
import math
import random
from fractions import Fraction

import exact
import pytest
from exact import F32, F64, FORMATS, as_float, f32, f64, is_inf, is_nan, is_zero
from harness import check, compare, floats, pairs, right_or_refused, triples, vectors

KINDS = ["f32", "f64"]
MODES = ["rn", "rz", "rm", "rp"]
ARITHMETIC = {"add": exact.add, "sub": exact.sub, "mul": exact.mul, "div": exact.div}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "add.rn", "sub.rn", "mul.rn", "div.rn"])
def test_binary(op, kind):
    fmt, operation = FORMATS[kind], ARITHMETIC[op.split(".")[0]]
    rows = pairs(floats, kind, extra=500)
    check(
        f"{op}.{kind} %d, %a, %b;", kind, f"{kind} {kind}", rows, lambda a, b: operation(a, b, fmt)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_unary(kind):
    fmt, rows = FORMATS[kind], floats(kind, 400)
    one = exact.encode(Fraction(1), fmt)
    sign = 1 << (fmt.width - 1)
    check(f"sqrt.rn.{kind} %d, %a;", kind, kind, rows, lambda a: exact.sqrt(a, fmt))
    check(f"rcp.rn.{kind} %d, %a;", kind, kind, rows, lambda a: exact.div(one, a, fmt))
    check(f"abs.{kind} %d, %a;", kind, kind, rows, lambda a: a & ~sign)
    check(f"neg.{kind} %d, %a;", kind, kind, rows, lambda a: a ^ sign)
    check(f"mov.{kind} %d, %a;", kind, kind, rows, lambda a: a)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["min", "max"])
def test_minimum_and_maximum(op, kind):
    rows = pairs(floats, kind)
    expected = lambda a, b: exact.pick(a, b, FORMATS[kind], op == "max")
    check(f"{op}.{kind} %d, %a, %b;", kind, f"{kind} {kind}", rows, expected)


def nan_wins(a: int, b: int, larger: bool) -> int:
    return exact.nan(F32) if is_nan(a, F32) or is_nan(b, F32) else exact.pick(a, b, F32, larger)


@pytest.mark.parametrize("op", ["min", "max"])
def test_minimum_with_nan_propagation(op):
    rows = pairs(floats, "f32")
    expected = lambda a, b: nan_wins(a, b, op == "max")
    template = f"{op}.NaN.f32 %d, %a, %b;"
    right_or_refused(op, check, template, "f32", "f32 f32", rows, expected)


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize("op", ARITHMETIC)
def test_directed_rounding_is_right_or_refused(op, mode, kind):
    fmt, rows = FORMATS[kind], pairs(floats, kind)
    expected = lambda a, b: ARITHMETIC[op](a, b, fmt, mode)
    template = f"{op}.{mode}.{kind} %d, %a, %b;"
    right_or_refused(op, check, template, kind, f"{kind} {kind}", rows, expected)


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


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "fma", "min", "max", "abs", "neg"])
def test_flush_to_zero_is_right_or_refused(op):
    operations = {
        "div": (exact.div, "div.rn.ftz", 2),
        "fma": (exact.fma, "fma.rn.ftz", 3),
        "min": (lambda a, b, f: exact.pick(a, b, f, False), "min.ftz", 2),
        "max": (lambda a, b, f: exact.pick(a, b, f, True), "max.ftz", 2),
        "abs": (lambda a, f: exact.magnitude(a, f), "abs.ftz", 1),
        "neg": (exact.negate, "neg.ftz", 1),
    }
    operation, name, count = operations.get(op, (ARITHMETIC.get(op), f"{op}.ftz", 2))
    rows = triples(floats, " ".join(["f32"] * count), 600)
    if op in ("mul", "fma"):
        rows += [(*row, 0)[:count] for row in products_just_below_normal()]
    operands = ", ".join(["%a", "%b", "%c"][:count])
    types = " ".join(["f32"] * count)
    template = f"{name}.f32 %d, {operands};"
    right_or_refused(op, check, template, "f32", types, rows, flushed(operation))


def saturated(bits: int) -> int:
    """.sat clamps to [+0, 1] and turns a NaN into +0."""
    if is_nan(bits, F32) or exact.sign_of(bits, F32) or is_zero(bits, F32):
        return 0
    return min(bits, f32(1.0))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma.rn"])
def test_saturation_is_right_or_refused(op):
    count = 3 if op == "fma.rn" else 2
    operation = exact.fma if op == "fma.rn" else ARITHMETIC[op]
    rows = triples(floats, " ".join(["f32"] * count), 600)
    template = f"{op}.sat.f32 %d, %a, %b{', %c' if count == 3 else ''};"
    expected = lambda *x: saturated(operation(*x, F32))
    right_or_refused(op, check, template, "f32", " ".join(["f32"] * count), rows, expected)


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
def test_compare_with_flush_to_zero_is_right_or_refused(op):
    def holds(a, b):
        if is_nan(a, F32) or is_nan(b, F32):
            return int(op.endswith("u"))
        x, y = (as_float(exact.flush(v, F32), F32) for v in (a, b))
        return int(ORDERED[op.rstrip("u")](x, y))

    rows = pairs(floats, "f32", extra=100)
    template = f"setp.{op}.ftz.f32 %d, %a, %b;"
    right_or_refused("setp", check, template, "pred", "f32 f32", rows, holds)


# --- approximate functions, within the errors that the PTX ISA states --------------------


def normal_inputs(low: float, high: float, count: int = 500, signed: bool = False) -> list[int]:
    rng = random.Random(f"{low} {high}")
    scales = [rng.uniform(math.log2(low), math.log2(high)) for _ in range(count)]
    return [f32(2.0**x * (rng.choice([-1, 1]) if signed else 1)) for x in scales]


def check_error(op: str, inputs: list[int], reference, relative=0.0, absolute=0.0) -> None:
    for a, got in zip(inputs, vectors(f"{op} %d, %a;", "f32", "f32", inputs)):
        want = reference(as_float(a, F32))
        error = abs(as_float(got, F32) - want)
        # A result always differs from the exact value by the rounding of the result itself.
        assert error <= max(relative * abs(want), absolute), (op, as_float(a, F32), want)


def test_approximations():
    ulp = 2.0**-23
    wide = normal_inputs(2.0**-120, 2.0**120)
    check_error(
        "rcp.approx.f32",
        normal_inputs(2.0**-120, 2.0**120, signed=True),
        lambda x: 1 / x,
        relative=ulp,
    )
    check_error("rcp.approx.ftz.f32", wide, lambda x: 1 / x, relative=ulp)
    check_error("sqrt.approx.f32", wide, math.sqrt, relative=ulp)
    check_error("rsqrt.approx.f32", wide, lambda x: 1 / math.sqrt(x), relative=2.0**-22.4)
    exponents = [f32(x / 16) for x in range(-1900, 1900, 7)]
    check_error("ex2.approx.f32", exponents, lambda x: 2.0**x, relative=2.0**-22)
    check_error("ex2.approx.ftz.f32", exponents, lambda x: 2.0**x, relative=2.0**-22)
    far = [x for x in wide if not 0.5 <= as_float(x, F32) <= 2.0]
    check_error("lg2.approx.f32", far, math.log2, relative=2.0**-22)
    check_error("lg2.approx.f32", normal_inputs(0.5, 2.0), math.log2, absolute=2.0**-22)
    angles = [f32(x / 100 * math.pi) for x in range(-200, 201, 3)]
    check_error("sin.approx.f32", angles, math.sin, absolute=2.0**-20.5)
    check_error("cos.approx.f32", angles, math.cos, absolute=2.0**-20.5)
    right_or_refused("tanh", check_error, "tanh.approx.f32", angles, math.tanh, 2.0**-10.9)


@pytest.mark.parametrize("op", ["div.approx.f32", "div.full.f32"])
def test_approximate_division(op):
    a = normal_inputs(2.0**-60, 2.0**60, signed=True)
    b = normal_inputs(2.0**-61, 2.0**61, signed=True)
    for x, y, got in zip(a, b, vectors(f"{op} %d, %a, %b;", "f32", "f32 f32", list(zip(a, b)))):
        want = as_float(x, F32) / as_float(y, F32)
        assert abs(as_float(got, F32) - want) <= 2 * 2.0**-23 * abs(want)


INF, NAN = math.inf, math.nan
SPECIAL = {
    "ex2.approx.f32": [(-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN), (3.0, 8.0)],
    "lg2.approx.f32": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN), (1.0, 0.0)],
    "rsqrt.approx.f32": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (NAN, NAN)],
    "rcp.approx.f32": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN)],
    "sqrt.approx.f32": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, NAN), (NAN, NAN)],
    "sin.approx.f32": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos.approx.f32": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
}


@pytest.mark.parametrize("op", SPECIAL)
def test_approximations_of_special_values(op):
    rows = [(f32(x),) for x, _ in SPECIAL[op]]
    compare(
        vectors(f"{op} %d, %a;", "f32", "f32", rows), [f32(y) for _, y in SPECIAL[op]], rows, "f32"
    )


def test_float_immediates():
    check("add.f32 %d, %a, 0f3F800000;", "f32", "f32", [f32(2.5)], lambda a: f32(3.5))
    check(
        "fma.rn.f64 %d, %a, 0d4000000000000000, 0dBFF0000000000000;",
        "f64",
        "f64",
        [f64(2.5)],
        lambda a: f64(4.0),
    )
    check("mov.f32 %d, 0f7F800000;", "f32", "f32", [0], lambda a: f32(INF))


def test_mad_rounds_once():
    rows = halfway_triples(50, False)
    fused = lambda *x: exact.fma(*x, F32)
    right_or_refused("mad", check, "mad.rn.f32 %d, %a, %b, %c;", "f32", "f32 f32 f32", rows, fused)
