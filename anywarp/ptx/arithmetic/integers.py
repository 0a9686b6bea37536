"""Integer operations that NumPy lacks or defines otherwise than PTX.

Arrays in, arrays out; the width and signedness are those of the arrays' type. Addition,
subtraction and the low half of a product are NumPy's own, which wrap around as PTX does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliases import Array, DType


def width_of(dtype: DType) -> int:
    """Bits of a type."""
    return 8 * np.dtype(dtype).itemsize


def magnitude(x: Array) -> Array:
    """|x| of a signed array as unsigned, right for the most negative number too."""
    unsigned = x.view(f"u{x.dtype.itemsize}")
    return np.where(x < 0, ~unsigned + unsigned.dtype.type(1), unsigned)


def divide(a: Array, b: Array) -> Array:
    """Truncating division. PTX leaves a division by zero open; here it gives all ones."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        quotient = a // divisor
    else:
        size = magnitude(a) // magnitude(divisor)
        quotient = np.where((a < 0) != (b < 0), ~size + size.dtype.type(1), size).view(a.dtype)
    return np.where(b == 0, ~b, quotient)


def remainder(a: Array, b: Array) -> Array:
    """Remainder with the sign of the dividend; by zero it gives all ones, as an H200 does."""
    return np.where(b == 0, ~b, a - divide(a, b) * b)


def multiply_wide(a: Array, b: Array) -> Array:
    """The whole product, in the type twice as wide."""
    return np.multiply(a, b, dtype=f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the product."""
    if a.dtype.itemsize < 8:
        wide = multiply_wide(a, b)
        return (wide >> wide.dtype.type(width_of(a.dtype))).astype(a.dtype)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    upper = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        upper = upper - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return upper.view(a.dtype)


def shift_left(x: Array, count: Array) -> Array:
    """By any uint32 count: from the width on, every bit has left, with NumPy too."""
    return x << np.minimum(count, np.uint32(width_of(x.dtype))).astype(x.dtype)


def shift_right(x: Array, count: Array) -> Array:
    """By any uint32 count; the sign of a signed type fills up."""
    return x >> np.minimum(count, np.uint32(width_of(x.dtype))).astype(x.dtype)


def pair(low: Array, high: Array) -> Array:
    """Two uint32 as one uint64."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def funnel_shift(low: Array, high: Array, count: Array, left: bool, wrap: bool) -> Array:
    """shf: a 32-bit window on {high, low}; the count wraps around at 32 or stops there."""
    n = count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))
    n = n.astype(np.uint64)
    both = pair(low, high)
    return (both << n >> np.uint64(32) if left else both >> n).astype(np.uint32)


def bitwise_function(a: Array, b: Array, c: Array, table: Array) -> Any:
    """lop3: any function of three bits, from its truth table, a number."""
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
    for row in range(8):
        if int(table.flat[0]) >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def permute_bytes(a: Array, b: Array, selector: Array) -> Array:
    """prmt: four of the eight bytes of {b, a}; bit 3 of a selector spreads the byte's sign."""
    both = pair(a, b)
    result: Any = np.uint32(0)
    for byte in range(4):
        pick = selector >> np.uint32(4 * byte)
        shift = (pick & np.uint32(7)) * np.uint32(8)
        value = (both >> shift.astype(np.uint64)).astype(np.uint8)
        sign = np.where(value & np.uint8(128), np.uint8(255), np.uint8(0))
        value = np.where(pick & np.uint32(8), sign, value)
        result = result | value.astype(np.uint32) << np.uint32(8 * byte)
    return result


def low_ones(count: Array, dtype: DType) -> Array:
    """`count` ones in the low bits (all of them from the width on)."""
    nothing: Array = np.zeros((1, 1), dtype)
    return ~shift_left(~nothing, count)


def extract_bits(a: Array, position: Array, length: Array) -> Array:
    """bfe: `length` bits from `position` on; a signed type copies the field's top bit upwards."""
    start, size = position & np.uint32(255), length & np.uint32(255)
    if a.dtype.kind == "u":
        return shift_right(a, start) & low_ones(size, a.dtype)
    last = np.uint32(width_of(a.dtype) - 1)
    left = last - np.minimum(start + size - np.uint32(1), last)  # bits above the field
    return np.where(size == 0, a.dtype.type(0), shift_right(shift_left(a, left), start + left))


def insert_bits(a: Array, b: Array, position: Array, length: Array) -> Array:
    """bfi: b with `length` bits from `position` on replaced by the low bits of a."""
    start, size = position & np.uint32(255), length & np.uint32(255)
    field = low_ones(size, a.dtype)
    return (b & ~shift_left(field, start)) | shift_left(a & field, start)


def leading_zeros(x: Array) -> Array:
    """Of unsigned integers, as uint32: smear the top bit down, then count."""
    width, step = width_of(x.dtype), 1
    while step < width:
        x = x | x >> x.dtype.type(step)
        step *= 2
    return np.uint32(width) - np.bitwise_count(x).astype(np.uint32)


def highest_bit(x: Array, from_top: bool) -> Any:
    """bfind: position of the highest bit that differs from the sign; all ones if none does."""
    x = np.where(x < 0, ~x, x)
    zeros = leading_zeros(x.view(f"u{x.dtype.itemsize}"))
    position = zeros if from_top else np.uint32(width_of(x.dtype) - 1) - zeros
    return np.where(x == 0, np.uint32(0xFFFFFFFF), position)


def reverse_bits(x: Array) -> Array:
    """The bits of each byte, and the bytes, in the opposite order."""
    bits = np.unpackbits(np.ascontiguousarray(x).view(np.uint8), bitorder="little")
    return np.packbits(bits).view(x.dtype).reshape(x.shape).byteswap()


def absolute_difference(a: Array, b: Array, c: Array) -> Array:
    """sad: c + |a - b|, in the width of the operands."""
    larger = a > b
    return c + np.where(larger, a - b, b - a)


def multiply_24(a: Array, b: Array, high: bool) -> Array:
    """mul24: the lower 32 bits, or bits 16 to 47, of the product of the low 24 bits of each."""
    eight = np.int64(40)
    if a.dtype.kind == "i":
        x, y = ((v.astype(np.int64) << eight) >> eight for v in (a, b))
    else:
        x, y = (v.astype(np.int64) & np.int64(0xFFFFFF) for v in (a, b))
    product = x * y
    return (product >> np.int64(16) if high else product).astype(a.dtype)


def find_nth_set(mask: Array, base: Array, offset: Array) -> Any:
    """fns: where the |offset|-th set bit lies, from `base` on upwards, or downwards for a negative
    offset; offset 0 asks for bit `base` itself. All ones if there is none."""
    lanes = np.arange(32, dtype=np.int64)
    mask, base, offset = (np.asarray(x)[..., None] for x in (mask, base, offset))
    bits = (mask >> lanes.astype(np.uint32) & np.uint32(1)).astype(bool)
    base, offset = base.astype(np.int64), offset.view(np.int32).astype(np.int64)
    back = np.where(offset, lanes <= base, lanes == base)
    ahead = bits & np.where(offset > 0, lanes >= base, back)
    up = np.cumsum(ahead, axis=-1)
    down = np.cumsum(ahead[..., ::-1], axis=-1)[..., ::-1]
    rank = np.where(offset < 0, down, up)
    hit = ahead & (rank == np.maximum(np.abs(offset), 1))
    return np.where(hit.any(-1), hit.argmax(-1), 0xFFFFFFFF).astype(np.uint32)


def add_with_carry(a: Array, b: Array, carry: Array) -> Any:
    """Unsigned (sum, carry out)."""
    s = a + b
    total = s + carry
    return total, ((s < a) | (total < s)).astype(a.dtype)


def subtract_with_carry(a: Array, b: Array, carry: Array) -> Array:
    """Unsigned (a + ~b + carry, carry out): on the hardware the flag says that nothing was
    borrowed, whatever the PTX ISA calls it; a following `addc` shows it."""
    return add_with_carry(a, ~b, carry)
