"""The arithmetic of tensor cores: against rational arithmetic, plain products, and an H200."""

from __future__ import annotations

import doctest
import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from anywarp.analysis import tensor_core
from anywarp.ptx.arithmetic import tensor_core as module

DATA = Path(__file__).parents[2] / "data/nvidia_h200_tensor_cores.npz"
FLOATS = ("f16", "f16.f16", "bf16", "tf32")
BLOCK = {"f16": 16, "f16.f16": 16, "bf16": 16, "tf32": 8}
LEAST = {"f16": -14, "f16.f16": -14, "bf16": -126, "tf32": -126}  # exponent of a normal number
NAN = {np.dtype(np.float16): 0x7FFF, np.dtype(np.float32): 0x7FFFFFFF}


def bits(x):
    return x.view(f"u{x.itemsize}")


def encoded(x, kind: str):
    """float64 -> the array that tensor_core takes for a and b, cut to the format."""
    if kind.startswith("f16"):
        return x.astype(np.float16)
    keep = 0xFFFF0000 if kind == "bf16" else 0xFFFFE000
    return (x.astype(np.float32).view(np.uint32) & np.uint32(keep)).view(np.float32)


def sums(x, kind: str):
    return x.astype(np.float16 if kind == "f16.f16" else np.float32)


def random_operands(kind: str, m: int, n: int, k: int, spread: int, seed: int = 0):
    """Numbers whose exponents differ by up to twice the spread."""
    random = np.random.default_rng(seed)
    draw = lambda *size: np.ldexp(
        random.uniform(-2, 2, size), random.integers(-spread, spread + 1, size)
    )
    return encoded(draw(m, k), kind), encoded(draw(k, n), kind), sums(draw(m, n), kind)


# -- the rule, in rational arithmetic -----------------------------------------------------------


def exponent(x: Fraction, least: int) -> int:
    """The e with 2**e <= |x| < 2**(e + 1), but at least `least`."""
    x = abs(x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    while Fraction(2) ** e > x:
        e -= 1
    return max(e, least)


def cut(x: Fraction, e: int) -> Fraction:
    """x to a multiple of 2**e, towards zero."""
    return math.trunc(x / Fraction(2) ** e) * Fraction(2) ** e


def element(a, b, c, kind: str) -> float:
    """One element of a product, by the rule of the module's first lines."""
    a, b = ([Fraction(float(x)) for x in row] for row in (a, b))
    c, least = Fraction(float(c)), LEAST[kind]
    sum_least = -14 if kind == "f16.f16" else -126
    for first in range(0, len(a), BLOCK[kind]):
        pairs = [(x, y) for x, y in zip(a, b)][first : first + BLOCK[kind]]
        exponents = [exponent(x, least) + exponent(y, least) for x, y in pairs if x and y]
        exponents += [exponent(c, sum_least)] if c else []
        exponents += [sum_least - 7]
        unit = max(exponents) - 25
        total = sum(cut(x * y, unit) for x, y in pairs) + cut(c, unit)
        if kind == "f16.f16":  # Python rounds an integer ratio once
            c = Fraction(float(np.float16(total.numerator / total.denominator)))
        elif total:
            c = cut(total, max(exponent(total, -126) - 23, -149))
        else:
            c = total
    return float(c)


@pytest.mark.parametrize("spread", [0, 3, 7])
@pytest.mark.parametrize("kind", FLOATS)
def test_rule(kind, spread):
    a, b, c = random_operands(kind, 6, 5, 40, spread if kind[0] == "f" else 2 * spread)
    c = sums(c / 16, kind)
    got = tensor_core(a, b, c, kind)
    want = [[element(a[i], b[:, j], c[i, j], kind) for j in range(5)] for i in range(6)]
    np.testing.assert_array_equal(bits(got), bits(sums(np.array(want), kind)))


@pytest.mark.parametrize("kind", FLOATS)
def test_rule_among_subnormals(kind):
    """Numbers around the least normal one; of float32, also results there."""
    random = np.random.default_rng(3)
    low = 2.0 ** (LEAST[kind] - 3)
    draw = lambda *size: random.integers(-64, 65, size) * low / 16
    scale = 1.0 if kind[0] == "f" else 2.0**-20
    a, b = encoded(draw(6, 24), kind), encoded(draw(24, 5) / low * scale, kind)
    c = sums(draw(6, 5) * scale, kind)
    got = tensor_core(a, b, c, kind)
    want = [[element(a[i], b[:, j], c[i, j], kind) for j in range(5)] for i in range(6)]
    np.testing.assert_array_equal(bits(got), bits(sums(np.array(want), kind)))


@pytest.mark.parametrize("kind", ["bf16", "tf32"])
@pytest.mark.parametrize("size", [module.MODERATE, module.MODERATE + 1, 63])
def test_rule_at_the_ends_of_float32(kind, size):
    """Where products in float32 would do, just beyond, and where they would not: one end of the
    range in a row, both, none; with sums that are larger, smaller and 0."""
    random = np.random.default_rng(size)
    a, b = random.uniform(1, 2, (4, 16)), random.uniform(1, 2, (16, 3))
    a[0] = np.ldexp(a[0], size)
    a[1] = np.ldexp(a[1], -size)
    a[2] = np.ldexp(-a[2], random.choice([-size, size], 16))
    a[3] = 0
    b = np.ldexp(b, random.choice([-size, size], (16, 1)))
    a, b = encoded(a, kind), encoded(b, kind)
    for c in (0.0, 2.0**126, -(2.0**-126)):
        c = np.full((4, 3), c, np.float32)
        want = [[element(a[i], b[:, j], c[i, j], kind) for j in range(3)] for i in range(4)]
        with np.errstate(over="ignore"):
            want = sums(np.array(want), kind)
        many = [np.broadcast_to(x, (5, *x.shape)) for x in (a, b, c)]
        for got in (tensor_core(a, b, c, kind), *tensor_core(*many, kind)):
            np.testing.assert_array_equal(bits(got), bits(want))


# -- what follows from it -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("k", [1, 7, 16, 50])
def test_small_integers_are_exact(kind, k):
    random = np.random.default_rng(k)
    a, b, c = (
        random.integers(-5, 6, size).astype(float)
        for size in ((3, 2, 9, k), (2, k, 4), (3, 1, 9, 4))
    )
    got = tensor_core(encoded(a, kind), encoded(b, kind), sums(c, kind), kind)
    assert got.dtype == sums(c, kind).dtype
    np.testing.assert_array_equal(got, a @ b + c)


def test_sums_go_towards_zero():
    """Three quarters of the last place, once in each block: none of them counts."""
    a = np.zeros((1, 256), np.float32)
    a[0, ::8] = 1.5 * 2.0**-24
    b = np.ones((256, 1), np.float32)
    for sign in (1, -1):
        c = np.full((1, 1), sign, np.float32)
        np.testing.assert_array_equal(tensor_core(sign * a, b, c, "tf32"), c)
    a[0, 1] = 2.0**-25  # in one block with the first: the last place is full
    assert tensor_core(a, b, np.ones((1, 1), np.float32), "tf32")[0, 0] == 1 + 2.0**-23


def test_bits_below_the_kept_ones_are_lost():
    """1 - 2**-25 needs 25 bits below the leading one; 2**-26 is one bit too far."""
    one = np.ones((1, 1), np.float32)
    for far, want in ((25, 1 - 2.0**-24), (26, 1.0)):
        b = np.full((1, 1), -(2.0**-far), np.float32)
        assert tensor_core(one, b, one, "tf32")[0, 0] == want


def test_the_last_bits_of_tf32_are_not_looked_at():
    a, b, c = random_operands("tf32", 4, 4, 16, 3)
    dirty = (a.view(np.uint32) | np.uint32(0x1FFF)).view(np.float32)
    np.testing.assert_array_equal(tensor_core(dirty, b, c, "tf32"), tensor_core(a, b, c, "tf32"))


def test_bf16_as_bits_or_as_floats():
    a, b, c = random_operands("bf16", 4, 4, 16, 3)
    half = lambda x: (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    np.testing.assert_array_equal(
        tensor_core(half(a), half(b), c, "bf16"), tensor_core(a, b, c, "bf16")
    )
    with pytest.raises(ValueError, match="b holds values that are not bfloat16"):
        tensor_core(a, b + np.float32(1e-4), c, "bf16")


@pytest.mark.parametrize(
    "large, kept", [(None, 21), (-23, 21), (-22, 21), (-21, 21), (-20, 20), (-15, 15)]
)
def test_the_least_exponent_of_half_sums(large, kept):
    """Half of the smallest float16 is a tie, which a product of 2**(-25 - n) breaks if it is not
    cut: on an H200 up to n = `kept`, beside a product of 2**large."""
    for n in range(10, 24):
        a, b = np.zeros((1, 16), np.float16), np.zeros((16, 1), np.float16)
        for k, exponent in enumerate((-25, -25 - n, large)):
            if exponent is not None:
                of_a = max(-24, exponent // 2)
                a[0, k], b[k, 0] = 2.0**of_a, 2.0 ** (exponent - of_a)
        c = np.zeros((1, 1), np.float16)
        above = tensor_core(a, b, c, "f16.f16")[0, 0] - (0 if large is None else 2.0**large)
        assert above == (2.0**-24 if n <= kept else 0)


@pytest.mark.parametrize("kind", ["bf16", "tf32"])
@pytest.mark.parametrize("small, want", [(2.0**-158, 2.0**-149), (2.0**-159, 0.0)])
def test_the_least_exponent_of_float32_sums(kind, small, want):
    """What is below 2**-158 is cut from a product, although all of them are as small."""
    one, rest = 2.0**-149, 2.0**-157
    terms = [one - rest] + [small] * round(rest / small)
    a, b = np.array([terms]) * 2.0**90, np.full((len(terms), 1), 2.0**-90)
    c = np.zeros((1, 1), np.float32)
    assert tensor_core(encoded(a, kind), encoded(b, kind), c, kind)[0, 0] == want


@pytest.mark.parametrize("sign", [1, -1])
def test_a_half_sum_that_rounds_to_zero_has_no_sign(sign):
    """Half of the smallest float16 is a tie, and zero is the even one of the two."""
    half = lambda x: np.array([[x]], np.float16)
    a, b = half(sign * 2.0**-12), half(2.0**-13)
    assert bits(tensor_core(a, b, half(0), "f16.f16"))[0, 0] == 0
    above = tensor_core(half(sign * 1.5 * 2.0**-12), b, half(0), "f16.f16")
    assert above[0, 0] == sign * 2.0**-24


@pytest.mark.parametrize("kind", FLOATS)
def test_zeros_may_be_left_out_and_change_nothing(kind, monkeypatch):
    """Matrices, rows and columns of zeros, beside infinities, subnormal numbers and -0 in c."""
    random = np.random.default_rng(5)
    a, b = random.uniform(-2, 2, (2, 6, 16, 16))
    c = random.uniform(-2, 2, (6, 16, 16)) * np.where(
        random.random((6, 16, 16)) < 0.5, 2.0**-130, 1
    )
    a[:2], b[1:3], a[:, 5:], b[:, :, 9:] = 0, 0, 0, 0
    c[:, ::3, ::2], c[:, 1, 1], c[:, 2, 2], c[:, 12, 3] = -0.0, np.inf, np.nan, -np.inf
    small = 2.0**-70 if kind in ("bf16", "tf32") else 2.0**-9
    a[3], b[3] = small * a[3], small * b[3]
    operands = encoded(a, kind), encoded(b, kind), sums(c, kind)
    assert [list(x) for x in module.busy(*operands[:2])] == [[3, 4, 5], [*range(5)], [*range(9)]]
    found = tensor_core(*operands, kind)
    monkeypatch.setattr(module, "busy", lambda a, b: None)
    assert (bits(found) == bits(tensor_core(*operands, kind))).all()


@pytest.mark.parametrize("kind", FLOATS)
def test_zero_times_infinity_is_not_left_out(kind):
    a, b = np.zeros((2, 16, 16)), np.ones((2, 16, 16))
    b[1, 3, 4] = np.inf
    found = tensor_core(encoded(a, kind), encoded(b, kind), sums(np.ones((2, 16, 16)), kind), kind)
    wrong = np.argwhere(np.isnan(found))
    assert (wrong == [[1, row, 4] for row in range(16)]).all()


def test_the_examples_of_its_docstring():
    found = doctest.testmod(module)
    assert found.attempted >= 3 and found.failed == 0


SPECIAL = [  # a, b (of two terms) and c -> result
    ((1, 1), (1, -1), 0.0, 0.0),
    ((0, 0), (-1, -1), -0.0, 0.0),
    ((math.inf, 1), (1, 1), 1.0, math.inf),
    ((math.inf, 1), (-1, 1), 1.0, -math.inf),
    ((math.inf, 1), (0, 1), 1.0, math.nan),
    ((math.inf, math.inf), (1, -1), 1.0, math.nan),
    ((math.inf, 1), (1, 1), -math.inf, math.nan),
    ((1, 1), (1, 1), -math.inf, -math.inf),
    ((math.nan, 1), (1, 1), 1.0, math.nan),
    ((1, 1), (1, 1), -math.nan, math.nan),
]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("a, b, c, want", SPECIAL)
def test_special_values(kind, a, b, c, want):
    """Also beside elements that are not special."""
    a = np.array([a, (1, 1)], float)
    b = np.array([b, (2, 3)], float).T
    got = tensor_core(
        encoded(a, kind), encoded(b, kind), sums(np.array([[c, 1], [1, 1]]), kind), kind
    )
    if math.isnan(want):
        assert bits(got)[0, 0] == NAN[got.dtype]
    else:
        assert (got[0, 0], np.signbit(got[0, 0])) == (want, np.signbit(want))
    assert got[1, 1] == 6


@pytest.mark.parametrize("kind, x", [("f16.f16", 256.0), ("bf16", 2.0**64), ("tf32", -(2.0**64))])
def test_overflow_is_infinite(kind, x):
    a = encoded(np.full((1, 1), x), kind)
    c = sums(np.zeros((1, 1)), kind)
    assert tensor_core(a, abs(a), c, kind)[0, 0] == math.copysign(math.inf, x)
    below = encoded(np.full((1, 1), 0.99 * abs(x)), kind)
    assert math.isfinite(tensor_core(a, below, c, kind)[0, 0])


def test_a_whole_sum_may_pass_the_limit_on_its_way():
    """Products of 2**127 that cancel, with the accumulator at the largest float32."""
    a = np.full((1, 4), 2.0**64, np.float32)
    b = np.array([[1, 1, -1, -1]], np.float32).T * 2.0**63
    c = np.full((1, 1), np.finfo(np.float32).max)
    assert tensor_core(a, b, c, "bf16")[0, 0] == c[0, 0]


@pytest.mark.parametrize("kind", ["s8", "u8", "s8.u8", "u8.s8"])
@pytest.mark.parametrize("satfinite", [False, True])
def test_bytes(kind, satfinite):
    random = np.random.default_rng(0)
    of_a, of_b = (kind.split(".") * 2)[:2]
    a, b = (
        random.integers(-128 if t == "s8" else 0, 128 if t == "s8" else 256, size)
        for t, size in ((of_a, (2, 9, 300)), (of_b, (300, 8)))
    )
    c = random.choice([2**31 - 1, -(2**31), 0, 12345], (2, 9, 8))
    total = a @ b + c
    want = np.clip(total, -(2**31), 2**31 - 1) if satfinite else (total + 2**31) % 2**32 - 2**31
    dtype = {"s8": np.int8, "u8": np.uint8}
    got = tensor_core(
        a.astype(dtype[of_a]), b.astype(dtype[of_b]), c.astype(np.int32), kind, satfinite
    )
    np.testing.assert_array_equal(got, want)


def test_doubles_are_a_chain():
    random = np.random.default_rng(0)
    a, b, c = (random.standard_normal(size) for size in ((5, 7), (7, 3), (5, 3)))
    want = np.empty_like(c)
    for i, j in np.ndindex(c.shape):
        total = Fraction(c[i, j])
        for k in range(7):
            total = Fraction(float(Fraction(a[i, k]) * Fraction(b[k, j]) + total))
        want[i, j] = float(total)
    np.testing.assert_array_equal(tensor_core(a, b, c, "f64"), want)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    "m, n, k", [(130, 70, 20), (1, 3000, 17), (3000, 1, 8), (2, 2, 0), (0, 4, 4)]
)
def test_pieces_of_a_large_product_are_those_of_small_ones(kind, m, n, k):
    a, b, c = random_operands(kind, m, n, k, 4)
    whole = tensor_core(a, b, c, kind)
    assert whole.shape == (m, n)
    for i, j in ((0, 0), (m // 2, n // 3), (m - 1, n - 1)):
        if m:
            alone = tensor_core(a[i : i + 1], b[:, j : j + 1], c[i : i + 1, j : j + 1], kind)
            np.testing.assert_array_equal(whole[i, j], alone[0, 0])


def test_many_matrices_at_once():
    a, b, c = random_operands("bf16", 16, 8, 16, 4)
    many = np.broadcast_to(a, (7, 40, 16, 16))
    got = tensor_core(many, b, np.broadcast_to(c, (40, 16, 8)), "bf16")
    want = np.broadcast_to(tensor_core(a, b, c, "bf16"), (7, 40, 16, 8))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", FLOATS)
def test_it_is_fast_enough(kind):
    a, b, c = random_operands(kind, 128, 128, 512, 4)
    start = time.process_time()
    tensor_core(a, b, c, kind)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "change, words",
    [
        ({"kind": "f8"}, "kind 'f8'"),
        ({"satfinite": True}, "satfinite=True"),
        ({"a": np.zeros((4, 8))}, "a holds float64, not float16"),
        ({"c": np.zeros((4, 4), np.float16)}, "c holds float16, not float32"),
        ({"b": np.zeros((4, 8), np.float16)}, r"are not \(M, K\)"),
        ({"c": np.zeros((1, 4), np.float32)}, r"are not \(M, K\)"),
    ],
)
def test_wrong_operands_are_named(change, words):
    half = np.zeros((4, 8), np.float16)
    given = {"a": half, "b": half.T, "c": np.zeros((4, 4), np.float32), "kind": "f16"} | change
    with pytest.raises(ValueError, match=words):
        tensor_core(**given)


# -- an H200 ------------------------------------------------------------------------------------

with np.load(DATA) as found:
    RECORDED = dict(found)
OTHER_SHAPES = ("sat", "k4", "k8", "k16", "m8", "wmma")
RECORDED_KINDS = sorted({name.split("/")[0] for name in RECORDED})


def recorded(kind: str):
    """(a, b, c, d, kind as tensor_core names it, satfinite). "bf16.k8" and the like are other
    shapes of mma, "bf16.wmma" is wmma's m16n16k16, "s8.s8.sat" has .satfinite."""
    words = kind.split(".")
    arrays = [RECORDED[f"{kind}/{name}"] for name in "ABCD"]
    if words[0] in ("f16", "bf16", "tf32"):
        source = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32}[words[0]]
        result = np.float16 if words[1:2] == ["f16"] else np.float32
        arrays = [x.view(t) for x, t in zip(arrays, (source, source, result, result))]
    words = [word for word in words if word not in OTHER_SHAPES]
    if words[0][1:] == "8" and words[0] == words[1]:
        words.pop()
    return *arrays, ".".join(words), kind.endswith(".sat")


@pytest.mark.parametrize("kind", RECORDED_KINDS)
def test_bits_of_an_h200(kind):
    """Each kind of input has its matrices: as their names say, of wide range, subnormal, with
    infinities and NaNs, cancelling, at the edge of overflow, and so on."""
    a, b, c, d, name, satfinite = recorded(kind)
    got = bits(tensor_core(a, b, c, name, satfinite))
    wrong = [
        f"{of}: {(got[n] != bits(d)[n]).sum()}"
        for n, of in enumerate(str(RECORDED[f"{kind}/sets"]).split())
        if (got[n] != bits(d)[n]).any()
    ]
    assert not wrong


def tells(kind: str) -> bool:
    """Does the module, as it is patched, miss a bit of the record?"""
    a, b, c, d, name, _ = recorded(kind)
    return bool((bits(tensor_core(a, b, c, name)) != bits(d)).any())


def test_the_record_tells_rules_apart(monkeypatch):
    """Another rule gives other bits for some of the recorded products."""

    def own_exponents(products, largest, c, rule, block_sum=module.block_sum):
        """With the exponent of each product, not of its factors."""
        own = module.exponents(products.astype(np.float64), -1022)
        return block_sum(products, own.max(0), c, rule)

    for name, other in (("KEPT", 24), ("KEPT", 26), ("block_sum", own_exponents)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, other)
            for kind in ("f16", "f16.k8", "f16.f16", "bf16", "bf16.k8", "tf32", "tf32.k4"):
                assert tells(kind), (name, other, kind)


def with_sign(cut):
    """A last step that keeps the sign of a sum that becomes zero."""
    return lambda x: np.copysign(cut(x), x)


def test_the_record_tells_that_there_is_no_negative_zero(monkeypatch):
    monkeypatch.setattr(module, "to_half", with_sign(module.to_half))
    assert tells("f16.f16")


@pytest.mark.parametrize("kind", ["f16.f16", "f16.f16.k8", "tf32", "tf32.k4", "bf16"])
@pytest.mark.parametrize("further", [np.int16(-1), np.int16(1)])
def test_the_record_tells_the_exponent_of_a_subnormal_accumulator(monkeypatch, kind, further):
    """It is that of the smallest normal number, not the next."""
    exponents = module.exponents

    def other(x, least):
        found = exponents(x, least)
        if x.ndim != 3:  # of a and of b
            return found
        return np.where((x != 0) & (abs(x) < 2.0**least), found + further, found)

    monkeypatch.setattr(module, "exponents", other)
    assert tells(kind)
