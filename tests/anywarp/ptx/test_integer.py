"""Integer arithmetic and bit operations, compared with Python's unbounded integers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from exact import clamp, least, quotient, width_of, wrap
from harness import check, integers, pairs, run_body, triples, vectors

KINDS = ["u16", "s16", "u32", "s32", "u64", "s64"]
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def high(product: int, kind: str) -> int:
    return wrap(product >> width_of(kind), kind)


BINARY = {
    "add": lambda a, b, kind: wrap(a + b, kind),
    "sub": lambda a, b, kind: wrap(a - b, kind),
    "mul.lo": lambda a, b, kind: wrap(a * b, kind),
    "mul.hi": lambda a, b, kind: high(a * b, kind),
    "min": lambda a, b, kind: min(a, b),
    "max": lambda a, b, kind: max(a, b),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", BINARY)
def test_binary(op, kind):
    expected = lambda a, b: BINARY[op](a, b, kind)
    check(f"{op}.{kind} %d, %a, %b;", kind, f"{kind} {kind}", pairs(integers, kind), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_division_truncates(kind):
    rows = [(a, b) for a, b in pairs(integers, kind) if b]
    types = f"{kind} {kind}"
    # The only quotient that overflows, least / -1, wraps around.
    check(f"div.{kind} %d, %a, %b;", kind, types, rows, lambda a, b: wrap(quotient(a, b), kind))
    check(f"rem.{kind} %d, %a, %b;", kind, types, rows, lambda a, b: a - b * quotient(a, b))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["div", "rem"])
def test_division_by_zero_harms_no_other_thread(op, kind):
    # PTX leaves the value of x / 0 open; the other lanes must still be right.
    rows = [(17, 0), (17, 5), (0, 0), (100, 7)]
    got = vectors(f"{op}.{kind} %d, %a, %b;", kind, f"{kind} {kind}", rows)
    assert [got[1], got[3]] == ([3, 14] if op == "div" else [2, 2])


@pytest.mark.parametrize("kind", WIDE)
def test_multiply_wide(kind):
    rows, wide = pairs(integers, kind), WIDE[kind]
    check(f"mul.wide.{kind} %d, %a, %b;", wide, f"{kind} {kind}", rows, lambda a, b: a * b)
    rows = triples(integers, f"{kind} {kind} {wide}", 400)
    types = f"{kind} {kind} {wide}"
    check(
        f"mad.wide.{kind} %d, %a, %b, %c;", wide, types, rows, lambda a, b, c: wrap(a * b + c, wide)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_multiply_add(kind):
    rows = triples(integers, f"{kind} {kind} {kind}", 400)
    types = f"{kind} {kind} {kind}"
    check(
        f"mad.lo.{kind} %d, %a, %b, %c;", kind, types, rows, lambda a, b, c: wrap(a * b + c, kind)
    )
    check(
        f"mad.hi.{kind} %d, %a, %b, %c;",
        kind,
        types,
        rows,
        lambda a, b, c: wrap(high(a * b, kind) + c, kind),
    )


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_absolute_and_negative(kind):
    rows = integers(kind, 200)
    check(f"abs.{kind} %d, %a;", kind, kind, rows, lambda a: wrap(abs(a), kind))
    check(f"neg.{kind} %d, %a;", kind, kind, rows, lambda a: wrap(-a, kind))


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
def test_bitwise(kind):
    rows, types = pairs(integers, kind), f"{kind} {kind}"
    check(f"and.{kind} %d, %a, %b;", kind, types, rows, lambda a, b: a & b)
    check(f"or.{kind} %d, %a, %b;", kind, types, rows, lambda a, b: a | b)
    check(f"xor.{kind} %d, %a, %b;", kind, types, rows, lambda a, b: a ^ b)
    rows = integers(kind, 100)
    check(f"not.{kind} %d, %a;", kind, kind, rows, lambda a: wrap(~a, kind))


def shifts(kind: str) -> list[tuple]:
    """Every value with amounts below, at and far above the width."""
    width = width_of(kind)
    amounts = [0, 1, 3, width // 2, width - 1, width, width + 1, 2 * width, 255, 256, 257]
    amounts += [1 << 16, 1 << 31, (1 << 32) - 1, (1 << 32) - 3]
    return [(x, n) for x in integers(kind, 8) for n in amounts]


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"])
def test_shift_amounts_are_clamped(kind):
    rows, width = shifts(kind), width_of(kind)
    check(f"shr.{kind} %d, %a, %b;", kind, f"{kind} u32", rows, lambda a, n: a >> min(n, 2 * width))
    if kind[0] == "b":
        check(
            f"shl.{kind} %d, %a, %b;",
            kind,
            f"{kind} u32",
            rows,
            lambda a, n: wrap(a << min(n, width), kind),
        )


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shift(mode):
    rng = random.Random(mode)
    amounts = [0, 1, 7, 31, 32, 33, 40, 64, 1 << 31, (1 << 32) - 1]
    rows = [(rng.getrandbits(32), rng.getrandbits(32), n) for n in amounts for _ in range(10)]

    def amount(n):
        return n & 31 if mode == "wrap" else min(n, 32)

    def left(low, up, n):
        return ((up << 32 | low) << amount(n)) >> 32 & 0xFFFFFFFF

    def right(low, up, n):
        return (up << 32 | low) >> amount(n) & 0xFFFFFFFF

    check(f"shf.l.{mode}.b32 %d, %a, %b, %c;", "b32", "b32 b32 u32", rows, left)
    check(f"shf.r.{mode}.b32 %d, %a, %b, %c;", "b32", "b32 b32 u32", rows, right)


def test_lop3_every_table():
    inputs = [0b11110000, 0b11001100, 0b10101010]
    rng = random.Random(3)
    inputs = [x | rng.getrandbits(24) << 8 for x in inputs]
    body = [".reg .b32 %r<4>;", ".reg .b64 %p;", "ld.param.u64 %p, [out];"]
    body += [f"mov.b32 %r{i}, {x:#x};" for i, x in enumerate(inputs)]
    for table in range(256):
        body.append(f"lop3.b32 %r3, %r0, %r1, %r2, {table:#x};")
        body.append(f"st.global.u32 [%p+{4 * table}], %r3;")
    out = np.zeros(256, np.uint32)
    run_body("\n".join(body), "u64 out", 1, 1, [out])
    for table, got in enumerate(out.tolist()):
        bits = [sum((x >> i & 1) << (2 - j) for j, x in enumerate(inputs)) for i in range(32)]
        assert got == sum((table >> b & 1) << i for i, b in enumerate(bits)), hex(table)


def permuted(a: int, b: int, selector: int) -> int:
    data, result = (b << 32 | a).to_bytes(8, "little"), []
    for i in range(4):
        control = selector >> (4 * i) & 0xF
        byte = data[control & 7]
        result.append((0xFF if byte & 0x80 else 0) if control & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def test_prmt():
    rng = random.Random(4)
    rows = [(rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(32)) for _ in range(400)]
    rows += [(0x80FF7F00, 0x01FE8123, s) for s in (0x3210, 0x7654, 0x0123, 0x5410, 0xFEDC, 0x8888)]
    check("prmt.b32 %d, %a, %b, %c;", "b32", "b32 b32 b32", rows, permuted)


def fields(kind: str) -> list[tuple]:
    rng = random.Random(kind)
    width = width_of(kind)
    edges = [0, 1, width // 2, width - 1, width, 255]
    places = [(p, n) for p in edges for n in edges]
    places += [(rng.randrange(256), rng.randrange(256)) for _ in range(60)]
    places += [(rng.randrange(width), rng.randrange(width)) for _ in range(60)]
    return [(wrap(rng.getrandbits(width), kind), p, n) for p, n in places for _ in range(2)]


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_field_extract(kind):
    # Position and length are from 0 to 255. Bits beyond the top are zero for u types and
    # repeat the sign for s types, as a Python integer's do.
    def extracted(a, position, length):
        field = (a >> position) & ((1 << length) - 1)
        negative = kind[0] == "s" and length and field >> (length - 1)
        return wrap(field - (1 << length) if negative else field, kind)

    check(f"bfe.{kind} %d, %a, %b, %c;", kind, f"{kind} u32 u32", fields(kind), extracted)


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_bit_field_insert(kind):
    rng = random.Random(kind)
    rows = [(a, rng.getrandbits(width_of(kind)), p, n) for a, p, n in fields(kind)]

    def inserted(a, b, position, length):
        field = ((1 << length) - 1) << position
        return wrap((b & ~field) | ((a << position) & field), kind)

    check(f"bfi.{kind} %d, %a, %b, %c, %e;", kind, f"{kind} {kind} u32 u32", rows, inserted)


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_counting_and_reversing(kind):
    rows, width = integers(kind, 200), width_of(kind)
    check(f"popc.{kind} %d, %a;", "u32", kind, rows, int.bit_count)
    check(f"clz.{kind} %d, %a;", "u32", kind, rows, lambda a: width - a.bit_length())
    check(f"brev.{kind} %d, %a;", kind, kind, rows, lambda a: int(f"{a:0{width}b}"[::-1], 2))


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_find_leading_bit(kind):
    width = width_of(kind)

    def position(a):
        significant = ~a if a < 0 else a
        return significant.bit_length() - 1 if significant else 0xFFFFFFFF

    def amount(a):
        return position(a) if position(a) == 0xFFFFFFFF else width - 1 - position(a)

    rows = integers(kind, 200)
    check(f"bfind.{kind} %d, %a;", "u32", kind, rows, position)
    check(f"bfind.shiftamt.{kind} %d, %a;", "u32", kind, rows, amount)


@pytest.mark.parametrize(
    "name, expected",
    [("lo", int.__lt__), ("ls", int.__le__), ("hi", int.__gt__), ("hs", int.__ge__)],
)
def test_comparisons_of_unsigned_numbers_by_their_own_names(name, expected):
    rows = pairs(integers, "u32", extra=40)
    check(f"setp.{name}.u32 %d, %a, %b;", "pred", "u32 u32", rows, expected)


def test_immediate_operands():
    rows = integers("s32", 60)
    check("add.s32 %d, %a, -7;", "s32", "s32", rows, lambda a: wrap(a - 7, "s32"))
    check("sub.s32 %d, 5, %a;", "s32", "s32", rows, lambda a: wrap(5 - a, "s32"))
    check("and.b32 %d, %a, 0xfffffff0;", "s32", "s32", rows, lambda a: a & ~15)
    check("shl.b32 %d, 1, %a;", "u32", "u32", range(40), lambda a: wrap(1 << a, "u32"))
    check("mul.wide.u32 %d, %a, 4294967295;", "u64", "u32", [3, 1 << 31], lambda a: a * 0xFFFFFFFF)
    check("add.s64 %d, %a, -8;", "s64", "s64", [0, 9, least("s64")], lambda a: wrap(a - 8, "s64"))
    check("mul.lo.s16 %d, %a, -3;", "s16", "s16", [7, 20000], lambda a: wrap(a * -3, "s16"))


def test_the_destination_may_be_a_source():
    rows = pairs(integers, "u32", extra=50)
    check(
        "sub.u32 %a, %b, %a; mov.u32 %d, %a;",
        "u32",
        "u32 u32",
        rows,
        lambda a, b: wrap(b - a, "u32"),
    )


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_bmsk(mode):
    """As the ISA's page has it, word by word; CUB 3 sorts with it."""
    every = (1 << 32) - 1

    def expected(a, b):
        first, size = (a & 31, b & 31) if mode == "wrap" else (a, b)
        ones = every << first & every if first < 32 else 0
        end = first + size
        return ones & ~(every << end & every) if end < 32 else ones

    rows = [(a, b) for a in (0, 1, 5, 31, 32, 40, every) for b in (0, 1, 26, 27, 31, 32, 33, every)]
    check(f"bmsk.{mode}.b32 %d, %a, %b;", "u32", "u32 u32", rows, expected)


@pytest.mark.parametrize(
    "template, kind, expected",
    [
        ("add.sat.s32 %d, %a, %b;", "s32", lambda a, b: clamp(a + b, "s32")),
        ("sub.sat.s32 %d, %a, %b;", "s32", lambda a, b: clamp(a - b, "s32")),
        ("mul24.lo.u32 %d, %a, %b;", "u32", lambda a, b: wrap((a & M24) * (b & M24), "u32")),
        ("min.relu.s32 %d, %a, %b;", "s32", lambda a, b: max(0, min(a, b))),
        ("add.u16x2 %d, %a, %b;", "b32", lambda a, b: both(a, b)),
    ],
    ids=lambda x: x.split()[0] if isinstance(x, str) else "",
)
def test_rare_variants(template, kind, expected):
    check(template, kind, f"{kind} {kind}", pairs(integers, kind, extra=100), expected)


M24 = 0xFFFFFF


def both(a: int, b: int) -> int:
    return ((a >> 16) + (b >> 16) & 0xFFFF) << 16 | (a + b & 0xFFFF)


SIMD = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: a + b + (a + b >= 0) >> 1,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


def of_fields(word: int, width: int, sign: str) -> list[int]:
    """The fields of a word, the lowest first, in the range of s32's or u32's field."""
    return [wrap(word >> at, f"{sign}{width}") for at in range(0, 32, width)]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("types", ["u32.u32.u32", "s32.s32.s32", "s32.u32.s32"])
@pytest.mark.parametrize("name", [*SIMD, "vset"])
def test_video_instructions_on_all_fields(name, types, count):
    """PTX ISA, "Scalar" and "SIMD video instructions"."""
    if (name, count) == ("vavrg", 1):
        pytest.skip("there is none")
    digit = str(count).removeprefix("1")
    result, first, second = (kind[0] for kind in types.split("."))
    width = 32 // count
    rows = triples(integers, "u32 u32 u32", extra=40)
    action = SIMD.get(name, lambda a, b: a < b)

    def each(a, b):
        return [action(*x) for x in zip(of_fields(a, width, first), of_fields(b, width, second))]

    def joined(fields):
        return sum((int(x) & (1 << width) - 1) << width * n for n, x in enumerate(fields))

    def compare_with(flag, expected):
        op = f"vset{digit}.{types[4:]}.lt" if name == "vset" else f"{name}{digit}.{types}"
        last = ", %c" if digit or flag == ".add" else ""
        check(f"{op}{flag} %d, %a, %b{last};", "u32", "u32 u32 u32", rows, expected)

    compare_with("", lambda a, b, c: joined(each(a, b)))
    compare_with(".add", lambda a, b, c: wrap(c + sum(each(a, b)), "u32"))
    if name != "vset":
        limit = f"{result}{width}"
        compare_with(".sat", lambda a, b, c: joined(clamp(x, limit) for x in each(a, b)))


SHIFTS = {"vshl": lambda a, n: a << n if n < 100 else 0, "vshr": lambda a, n: a >> min(n, 100)}


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_shifts_among_video_instructions(name, kind):
    last = [(-5 if kind == "s32" else 9, n) for n in (31, 33)]
    rows = pairs(integers, kind, "u32", extra=40) + last
    for mode, count, c in (("clamp", 2**32, 0), ("wrap", 32, 0), ("clamp.add", 2**32, 7)):
        text = f"{name}.{kind}.{kind}.u32.{mode} %d, %a, %b{', 7' * (c > 0)};"
        expected = lambda a, n, count=count, c=c: wrap(SHIFTS[name](a, n % count) + c, "u32")
        check(text, "u32", f"{kind} u32", rows, expected)
