"""The arithmetic of the tensor cores: a @ b + c, with the bits that an H200 gives.

Each element of the result is a sum of products along k, and of an element of c. For float16,
bfloat16 and TF32 a tensor core takes k in blocks of 16, or of 8 for TF32. Its accumulator, which
holds the sum so far, begins as c. All products of a block and the accumulator are added in one
step, and the sum is the accumulator of the next block. The step is not one of IEEE 754, where each
addition would be rounded. It goes:

1. Each product is computed exactly. The exponent of a number is the e for which its absolute value
   is at least 2**e and less than 2**(e + 1). The exponent of a product is taken to be that of its a
   plus that of its b: 0 for 1.5 * 1.5, although the product is above 2. A subnormal number (one
   below the smallest normal number of its format, with fewer significant bits) counts with the
   exponent of that smallest normal number. A product or an accumulator that is zero has no
   exponent. `top` is the largest of all these exponents, but never less than -133, or than -21
   where sums are float16.
2. Each product and the accumulator are cut to a multiple of 2**(top - KEPT). Cutting drops the bits
   below; it never rounds up, so the value moves towards zero.
3. What is left is added exactly.
4. The sum is cut to the 24 significant bits of a float32, or to a multiple of the smallest
   subnormal number. Beyond the largest float32 it becomes infinite. A float16 sum is not cut but
   rounded to the nearest one, a tie to the even one. A zero is +0, whatever its sum was.

Because cutting moves every sum towards zero, the errors of many blocks add up, while those of
rounding to nearest partly cancel.

Where an infinity or a NaN takes part, the result is the one of IEEE 754, and a NaN has all bits set
but the sign. mma.sync and wgmma give the same bits, and so does wmma, of which float16 and bfloat16
were tried. Products of bytes and of float64 are simpler: see `tensor_core`.

All this was measured, and tests/data/nvidia_h200_tensor_cores.npz has products that tell it from
other rules; for the least `top`, which shows when the accumulator is zero, the tests have them. Of
float32 sums they leave -129 to -137: it is taken to lie as far below the exponent of the least
normal number, by 7, as that of float16 sums does.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array, DType
from .floats import fma64

KEPT = 25  # bits below the leading one of the largest exponent
WORKING_SET = 65536  # products at a time: their arrays stay in the L2 cache of a core


class Rule(NamedTuple):
    """How a kind of product is computed."""

    source: str  # what a and b hold
    block: int  # of k
    half: bool = False  # the sums are float16


RULES = {"f16": Rule("f16", 16), "f16.f16": Rule("f16", 16, half=True)}
RULES |= {"bf16": Rule("bf16", 16), "tf32": Rule("tf32", 8)}
BYTES = {"s8": np.int8, "u8": np.uint8}
OF_BYTES = {a if a == b else f"{a}.{b}": (a, b) for a in BYTES for b in BYTES}  # of a and of b
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126}  # exponent of a normal number
BIAS = 1023  # of the exponents of float64
NEARLY_ALL = 0.75  # of a product: where more of it is not zeros, it is computed whole
MODERATE = 50  # exponents of factors from -50 to 50: a product has -100 to 101
NONE = np.int16(-8192)  # the exponent of 0: twice it is an int16, too
SIGNIFICAND_24 = np.int64(-1 << 29)  # of a float64: its sign, exponent and first 24 bits
LEAST_TOP = {"f16": np.int16(-21), "f32": np.int16(-133)}
NAN: dict[Any, Any] = {np.float16: np.uint16(0x7FFF), np.float32: np.uint32(0x7FFFFFFF)}


@np.errstate(all="ignore")  # IEEE 754 says what happens
def tensor_core(a: Array, b: Array, c: Array, kind: str, satfinite: bool = False) -> Any:
    """a @ b + c as the tensor cores compute it, bit by bit.

    a: (…, M, K), b: (…, K, N), c: (…, M, N); the result is of c's type.
    kind: what a and b hold, and the type of the sums where that leaves it open.

    - "f16": float16, summed in float32; "f16.f16": float16, summed in float16.
    - "bf16": bfloat16, as uint16 of its bits or as float32 that have such values; summed in
      float32.
    - "tf32": float32, of which the last 13 bits are not looked at; summed in float32.
    - "s8", "u8", "s8.u8", "u8.s8": int8 and uint8; summed in int32, where the sum wraps, or with
      `satfinite` stays within the range.
    - "f64": float64, by fused multiply-adds, k by k.
    - "fp8": float16 that 8-bit floats have become. mma of these is several instructions for sm_90:
      two products of float16, of every other pair along k, and then the sum with c, rounded.

    Sums in float32 are cut, not rounded. Three numbers show it: an accumulator of 1 and products
    of 2**-24 and 2**-26. The float32 nearest to their sum is 1 + 2**-23, but the result is 1:

    >>> a, b, c = np.float32([[2**-24, 2**-26]]), np.float32([[1], [1]]), np.float32([[1]])
    >>> print(np.float32(1 + 2**-24 + 2**-26), tensor_core(a, b, c, "tf32"))
    1.0000001 [[1.]]

    A product is also cut where it is small beside the largest number of its sum, so that 2**-26 is
    lost beside 1 although 1 cancels (2**-25 would stay):

    >>> print(1 - 1 + 2**-26, tensor_core(np.float32([[-1, 2**-26]]), b, c, "tf32"))
    1.4901161193847656e-08 [[0.]]
    """
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    if a.shape[-1] != b.shape[-2] or c.shape[-2:] != (a.shape[-2], b.shape[-1]):
        raise ValueError(f"a {a.shape}, b {b.shape} and c {c.shape} are not (M, K), (K, N), (M, N)")
    if kind in OF_BYTES:
        return integers(a, b, c, kind, satfinite)
    if satfinite or kind not in (*RULES, "f64", "fp8"):
        raise ValueError(f"kind {kind!r}, satfinite={satfinite}: there is no such product")
    if kind == "f64":
        return fused(a, b, c)
    if kind == "fp8":
        check_type("c", c, np.float32)
        low = np.arange(a.shape[-1]) % 4 < 2
        first = tensor_core(a[..., low], b[..., low, :], np.zeros_like(c), "f16")
        c = c + tensor_core(a[..., ~low], b[..., ~low, :], first, "f16")
        return np.where(np.isnan(c), NAN[np.float32].view(np.float32), c)
    rule = RULES[kind]
    dtype: Any = np.float16 if rule.half else np.float32
    check_type("c", c, dtype)
    result = chunked(values("a", a, rule.source), values("b", b, rule.source), c, rule)
    numbers = result.astype(dtype)
    unsigned = NAN[dtype].dtype
    return np.where(np.isnan(result), NAN[dtype], numbers.view(unsigned)).view(dtype)


def check_type(name: str, x: Array, dtype: DType) -> None:
    """Raise ValueError unless the matrix has this element type."""
    if x.dtype != dtype:
        raise ValueError(f"{name} holds {x.dtype}, not {np.dtype(dtype)}")


def integers(a: Array, b: Array, c: Array, kind: str, satfinite: bool) -> Any:
    """Products of bytes, summed exactly, then brought into the range of int32."""
    types = (*map(BYTES.get, OF_BYTES[kind]), np.int32)
    for name, x, dtype in zip("abc", (a, b, c), types):
        check_type(name, x, dtype)
    # float64 holds every sum of up to 2**37 products
    total = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) + c
    if satfinite:
        limits = np.iinfo(np.int32)
        total = np.clip(total, limits.min, limits.max)
    return total.astype(np.int32)


def fused(a: Array, b: Array, c: Array) -> Array:
    """A chain of fused multiply-adds along k."""
    for name, x in zip("abc", (a, b, c)):
        check_type(name, x, np.float64)
    for k in range(a.shape[-1]):
        c = fma64(a[..., :, k, None], b[..., None, k, :], c)
    return c


def values(name: str, x: Array, source: str) -> Any:
    """The elements of a or b as float64."""
    if source == "f16":
        check_type(name, x, np.float16)
    elif source == "bf16" and x.dtype == np.uint16:
        x = (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        check_type(name, x, np.float32)
        bits = x.view(np.uint32)
        if source == "tf32":
            x = (bits & np.uint32(0xFFFFE000)).view(np.float32)
        elif (bits & np.uint32(0xFFFF)).any():
            raise ValueError(f"{name} holds values that are not bfloat16")
    return x.astype(np.float64)


def chunked(a: Array, b: Array, c: Array, rule: Rule) -> Any:
    """a @ b + c in float64: all matrices, or what is not 0 in them, by `chain`."""
    many = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    count = math.prod(many)
    a = np.broadcast_to(a, (*many, m, k)).reshape(count, m, k)
    b = np.broadcast_to(b, (*many, k, n)).reshape(count, k, n)
    c = np.broadcast_to(c, (*many, m, n)).reshape(count, m, n).astype(np.float64)
    used = busy(a, b)
    if used is None:
        result = in_parts(a, b, c, rule)
    else:  # tiles at the edges of a product are mostly zeros, which change no sum but -0
        matrices, rows, columns = used
        result, where = c + 0.0, np.ix_(*used)
        a, b = a[np.ix_(matrices, rows)], b[matrices][:, :, columns]
        result[where] = in_parts(a, b, c[where], rule)
    return result.reshape(*many, m, n)


def busy(a: Array, b: Array) -> Any:
    """The matrices, the rows of `a` and the columns of `b` that have products other than 0, as
    indices; None if those are nearly all, or if 0 times something is not 0."""
    matrices = np.flatnonzero(a.any((1, 2)) & b.any((1, 2)))
    rows, columns = (
        np.flatnonzero(x[matrices].any(axes)) for x, axes in ((a, (0, 2)), (b, (0, 1)))
    )
    whole = len(a) * a.shape[1] * b.shape[2]
    if len(matrices) * len(rows) * len(columns) > NEARLY_ALL * whole:
        return None
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    return matrices, rows, columns


def in_parts(a: Array, b: Array, c: Array, rule: Rule) -> Any:
    """`chain` on as many matrices, or rows of one, at a time as the cache has room for."""
    (m, _), n = a.shape[-2:], b.shape[-1]
    result = np.empty(c.shape)
    at_once = max(1, WORKING_SET // max(1, m * n * rule.block))
    rows = max(1, WORKING_SET // max(1, n * rule.block))
    for first in range(0, len(c), at_once):
        here = slice(first, first + at_once)
        for row in range(0, m, rows):
            part = here, slice(row, row + rows)
            result[part] = chain(a[part], b[here], c[part], rule)
    return result


def chain(a: Array, b: Array, c: Array, rule: Rule) -> Any:
    """The blocks of k one after another: float64 (T, M, K), (T, K, N), (T, M, N)."""
    # k first: sums of whole arrays. Of the others the longest last: NumPy's inner loop.
    if len(c) < c.shape[2]:
        order = (0, 1, 2)
        a, b = a.transpose(2, 0, 1)[..., None], b.transpose(1, 0, 2)[:, :, None]
    else:
        order = (1, 2, 0)
        a, b = a.transpose(2, 1, 0)[:, :, None], b.transpose(1, 2, 0)[:, None]
    a, b, c = map(np.ascontiguousarray, (a, b, c.transpose(order)))
    infinite = not (np.isfinite(a).all() and np.isfinite(b).all())
    finite = [np.where(np.isfinite(x), x, 0.0) if infinite else x for x in (a, b)]
    exponent_a, exponent_b = (exponents(x, LEAST[rule.source]) for x in finite)
    if moderate(exponent_a) and moderate(exponent_b):
        finite = [x.astype(np.float32) for x in finite]
    for first in range(0, len(a), rule.block):
        k = slice(first, first + rule.block)
        old = c
        whole = np.isfinite(old)
        c = block_sum(
            finite[0][k] * finite[1][k],
            (exponent_a[k] + exponent_b[k]).max(0),
            old if whole.all() else np.where(whole, old, 0.0),
            rule,
        )
        if infinite or not whole.all():
            plain = (a[k] * b[k]).sum(0) + old
            c = np.where(np.isfinite(plain), c, plain)
    return c.transpose(np.argsort(order))


def exponents(x: Array, least: int) -> Any:
    """The exponent of each float64, as int16: 2 for 5.5. Subnormal numbers of the format have that
    of its least normal one; 0 has NONE."""
    exponent = (x.view(np.int64) >> 52).astype(np.int16)
    exponent &= np.int16(0x7FF)  # without the sign
    exponent -= np.int16(BIAS)
    return np.where(exponent > -BIAS, np.maximum(exponent, np.int16(least)), NONE)


def moderate(exponent: Array) -> bool:
    """Whether float32 holds all products of numbers with such exponents: their significands have
    11 bits at most."""
    small = np.where(exponent == NONE, np.int16(0), exponent).min(initial=0)
    return small >= -MODERATE and exponent.max(initial=0) <= MODERATE


def power_of_two(exponent: Array) -> Array:
    """2.0**exponent of int16."""
    return (exponent.astype(np.int64) + BIAS << 52).view(np.float64)


def block_sum(products: Array, largest: Array, c: Array, rule: Rule) -> Any:
    """The sum of a block: products (k, …), which are lost, the largest of their exponents (…), and
    the accumulator (…), in float64; the products in float32 if they are `moderate`."""
    sums = "f16" if rule.half else "f32"
    top = np.maximum(np.maximum(largest, exponents(c, LEAST[sums])), LEAST_TOP[sums])
    per_unit = power_of_two(KEPT - top)
    if products.dtype == np.float32:  # where the unit asks for more than 2**127, all products are 0
        products *= np.minimum(per_unit, 2.0**127).astype(np.float32)
    else:
        products *= per_unit
    # as an integer, a product is cut: to 27 bits and a sign, so that 16 of them have room in 32
    units = products.astype(np.int32).sum(0, dtype=np.int32) + np.trunc(c * per_unit)
    units *= power_of_two(top - KEPT)
    return to_half(units) if rule.half else to_float(units)


def to_half(x: Array) -> Array:
    """Rounded to the nearest float16; -0 becomes +0."""
    return x.astype(np.float16).astype(np.float64) + 0.0


def to_float(x: Array) -> Array:
    """Cut to a float32, towards zero, but to infinity beyond the largest one; -0 becomes +0."""
    cut = (x.view(np.int64) & SIGNIFICAND_24).view(np.float64)
    size = np.abs(x)
    if size.min(initial=np.inf) < 2.0 ** LEAST["f32"]:
        small = np.trunc(x * 2.0**149) * 2.0**-149
        cut = np.where(size < 2.0 ** LEAST["f32"], small, cut)
    if size.max(initial=0) >= 2.0**128:
        cut = np.where(size < 2.0**128, cut, np.copysign(np.inf, cut))
    cut += 0.0
    return cut
