"""The arithmetic of PTX: a table from opcode to what it computes.

`OPS[opcode](instruction)` reads the modifiers and returns an `Op`: a function of NumPy arrays,
the types it wants its operands viewed as, and the type of its result. The functions know
nothing of registers, masks or threads. Semantics: PTX ISA, chapter 9.7.

A modifier that an opcode does not list raises `Unsupported`: never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import floats, integers
from .comparison import COMPARE
from .forms import BITS, DTYPES, FLOATS, INTEGERS, Op, Unsupported, bits, modifiers_of
from .syntax import Instruction, Vector

# -- builders: how a NumPy function becomes an opcode -----------------------------------------


def with_float_flags(function: Callable, flags: set[str], exact: Callable | None = None):
    """Apply `.ftz` (subnormals are zeros, in and out) and `.sat` (clamp to [0, 1], NaN to 0).

    `exact` is the function in float64, as far as it rounds there otherwise than `function`."""

    def run(*arrays):
        if "ftz" in flags:
            arrays = [floats.flush_subnormals(x) for x in arrays]
        result = function(*arrays)
        if "ftz" in flags:
            # the smallest normal number may be a subnormal rounded up, and is then flushed too
            least = np.abs(result) == floats.LEAST_NORMAL
            if least.any():
                size = np.abs((exact or function)(*(x.astype(np.float64) for x in arrays)))
                result = np.where(least & (size < floats.LEAST_NORMAL), result * 0, result)
            result = floats.flush_subnormals(result)
        if "sat" in flags:
            result = np.fmin(np.fmax(result, result.dtype.type(0)), result.dtype.type(1))
        return result

    return run if flags & {"ftz", "sat"} else function


def float_op(function: Callable, count: int, types=FLOATS, flags="rn ftz sat"):
    """A float-only opcode."""

    def build(i):
        kind, given = modifiers_of(i, types, flags)
        if kind == "f64" and given - {"rn"}:  # approximate float64 has rules of its own
            raise Unsupported(".".join(i.modifiers))
        dtype = DTYPES[kind]
        return Op(with_float_flags(function, given), (dtype,) * count, dtype)

    return build


def rounded_op(nearest: Callable, as_fma: Callable, count: int):
    """add, sub, mul, fma: `.rn` as NumPy does it, other roundings of float32 by way of fma."""

    def build(i):
        if i.modifiers[-1] == "f64":
            return float_op(nearest, count)(i)
        rounding = next((m for m in i.modifiers if m in ("rz", "rm", "rp")), "rn")
        _, flags = modifiers_of(i, {"f32"}, f"{rounding} ftz sat")
        function = nearest
        if rounding != "rn":
            directed = floats.directed(rounding)
            function = lambda *x: directed(*as_fma(*x))

        def exact(*x):
            a, b, c = as_fma(*x)
            return a * b + c

        return Op(with_float_flags(function, flags, exact), (np.float32,) * count, np.float32)

    return build


def number_op(integer: Callable, floating: Callable | None, count: int):
    """An opcode with integer and float forms."""

    def build(i):
        if floating and i.modifiers[-1] in FLOATS:
            return floating(i)
        kind, _ = modifiers_of(i, INTEGERS)
        return Op(integer, (DTYPES[kind],) * count, DTYPES[kind])

    return build


def bit_op(function: Callable, count: int, types=BITS | {"pred"}):
    """An opcode on bit patterns."""

    def build(i):
        kind, _ = modifiers_of(i, types)
        return Op(function, (DTYPES[kind],) * count, DTYPES[kind])

    return build


# -- integers ---------------------------------------------------------------------------------


def product(i: Instruction) -> tuple[Callable, type, type]:
    """The product of mul and mad: (function, operand type, result type)."""
    kind, flags = modifiers_of(i, INTEGERS, "lo hi wide")
    dtype = DTYPES[kind]
    if flags == {"lo"}:
        return np.multiply, dtype, dtype
    if flags == {"hi"}:
        return integers.multiply_high, dtype, dtype
    if flags == {"wide"} and bits(kind) < 64:
        return integers.multiply_wide, dtype, DTYPES[f"{kind[0]}{2 * bits(kind)}"]
    raise Unsupported(".".join(i.modifiers))


def mul(i):
    if i.modifiers[-1] in FLOATS:
        return MULTIPLY(i)
    function, dtype, result = product(i)
    return Op(function, (dtype, dtype), result)


def mad(i):
    if i.modifiers[-1] in FLOATS:
        return fma(i)
    function, dtype, result = product(i)
    return Op(lambda a, b, c: function(a, b) + c, (dtype, dtype, result), result)


def shift(function: Callable, types: set[str]):
    def build(i):
        kind, _ = modifiers_of(i, types)
        return Op(function, (DTYPES[kind], np.uint32), DTYPES[kind])

    return build


def shf(i):
    _, flags = modifiers_of(i, {"b32"}, "l r clamp wrap")
    if len(flags & {"l", "r"}) != 1 or len(flags & {"clamp", "wrap"}) != 1:
        raise Unsupported(".".join(i.modifiers))
    return Op(
        lambda low, high, n: integers.funnel_shift(low, high, n, "l" in flags, "wrap" in flags),
        (np.uint32,) * 3,
        np.uint32,
    )


def lop3(i):
    modifiers_of(i, {"b32"})
    table = i.operands[4].value
    return Op(
        lambda a, b, c: integers.bitwise_function(a, b, c, table), (np.uint32,) * 3, np.uint32
    )


def bfe(i):
    kind, _ = modifiers_of(i, INTEGERS - {"u16", "s16"})
    return Op(integers.extract_bits, (DTYPES[kind], np.uint32, np.uint32), DTYPES[kind])


def bfi(i):
    kind, _ = modifiers_of(i, {"b32", "b64"})
    dtype = DTYPES[kind]
    return Op(integers.insert_bits, (dtype, dtype, np.uint32, np.uint32), dtype)


def bfind(i):
    kind, flags = modifiers_of(i, INTEGERS - {"u16", "s16"}, "shiftamt")
    return Op(lambda x: integers.highest_bit(x, "shiftamt" in flags), (DTYPES[kind],), np.uint32)


def count_op(function: Callable):
    """popc and clz: a 32-bit count of a 32- or 64-bit value."""

    def build(i):
        kind, _ = modifiers_of(i, {"b32", "b64"})
        return Op(lambda x: function(x).astype(np.uint32), (DTYPES[kind],), np.uint32)

    return build


# -- floats -----------------------------------------------------------------------------------

ONE = np.ones((1, 1), np.float32)

ADD = rounded_op(np.add, lambda a, b: (a, ONE, b), 2)
SUBTRACT = rounded_op(np.subtract, lambda a, b: (a, ONE, -b), 2)
MULTIPLY = rounded_op(np.multiply, lambda a, b: (a, b, np.copysign(np.float32(0), a * b)), 2)


def fma(i):
    if i.modifiers[-1] == "f64":
        return float_op(floats.fma64, 3)(i)
    return rounded_op(floats.fma32, lambda a, b, c: (a, b, c), 3)(i)


def div(i):
    if i.modifiers[-1] in FLOATS:
        return float_op(np.divide, 2, flags="rn full approx ftz")(i)
    return number_op(integers.divide, None, 2)(i)


def sign_op(floating: Callable, integer: Callable):
    """abs and neg. `.ftz` aside, they only touch the sign bit."""

    def build(i):
        if i.modifiers[-1] in FLOATS:
            return float_op(floating, 1, flags="ftz")(i)
        kind, _ = modifiers_of(i, {"s16", "s32", "s64"})
        return Op(integer, (DTYPES[kind],), DTYPES[kind])

    return build


APPROXIMATE = "approx ftz"  # results of these may differ from a GPU's in the last bits


# -- conversion ---------------------------------------------------------------------------

INTEGER_ROUNDING = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def cvt(i):
    *flags, result, source = i.modifiers
    flags = set(flags)
    if (result, source) == ("tf32", "f32") and flags == {"rna"}:
        return Op(floats.to_tf32, (np.float32,), np.uint32)
    known = DTYPES.keys() - {"pred"} - {"b8", "b16", "b32", "b64"}
    roundings = flags & INTEGER_ROUNDING.keys()
    if (
        not {result, source} <= known
        or flags - {"rn", "ftz", "sat"} - roundings
        or len(roundings) > 1
    ):
        raise Unsupported(".".join(i.modifiers))
    from_dtype, to_dtype = DTYPES[source], DTYPES[result]
    rounding = INTEGER_ROUNDING[roundings.pop()] if roundings else None
    if source[0] == "f" and result[0] != "f":
        if rounding is None:
            raise Unsupported(".".join(i.modifiers))
        convert = lambda x: floats.to_integer(x, to_dtype, rounding)
    elif source[0] == "f" and rounding:
        convert = lambda x: rounding(x).astype(to_dtype)
    elif "sat" in flags and result[0] != "f":
        convert = saturate(from_dtype, to_dtype)
        flags = set()
    else:
        convert = lambda x: x.astype(to_dtype)
    return Op(convert_with_flags(convert, flags, from_dtype, to_dtype), (from_dtype,), to_dtype)


def convert_with_flags(convert, flags, from_dtype, to_dtype):
    def run(x):
        if "ftz" in flags and from_dtype is np.float32:
            x = floats.flush_subnormals(x)
        result = convert(x)
        if "ftz" in flags and to_dtype is np.float32:
            result = floats.flush_subnormals(result)
        if "sat" in flags and np.issubdtype(to_dtype, np.floating):
            result = np.fmin(np.fmax(result, to_dtype(0)), to_dtype(1))
        return result

    return run if flags & {"ftz", "sat"} else convert


def saturate(from_dtype, to_dtype):
    """Integer to integer, clamped to the result's range."""
    source, target = np.iinfo(from_dtype), np.iinfo(to_dtype)
    low, high = max(source.min, target.min), min(source.max, target.max)
    return lambda x: np.clip(x, from_dtype(low), from_dtype(high)).astype(to_dtype)


def mov(i):
    """A copy; with a vector on one side it splits or joins bit patterns."""
    kind, _ = modifiers_of(i, INTEGERS | FLOATS | BITS | {"pred"})
    target, source = i.operands
    dtype = DTYPES[kind]
    if isinstance(target, Vector):
        part = DTYPES[f"b{bits(kind) // len(target.elements)}"]
        width = bits(kind) // len(target.elements)
        unsigned = DTYPES[f"b{bits(kind)}"]
        return Op(
            lambda x: tuple(
                (x >> unsigned(n * width)).astype(part) for n in range(len(target.elements))
            ),
            (unsigned,),
            part,
        )
    if isinstance(source, Vector):
        count = len(source.elements)
        part, unsigned = DTYPES[f"b{bits(kind) // count}"], DTYPES[f"b{bits(kind)}"]

        def join(*parts):
            result = unsigned(0)
            for n, each in enumerate(parts):
                result = result | each.astype(unsigned) << unsigned(n * bits(kind) // count)
            return result

        return Op(join, (part,) * count, unsigned)
    return Op(lambda x: x, (dtype,), dtype)


OPS: dict[str, Callable[[Instruction], Op]] = {
    "add": number_op(np.add, ADD, 2),
    "sub": number_op(np.subtract, SUBTRACT, 2),
    "mul": mul,
    "mad": mad,
    "fma": fma,
    "div": div,
    "rem": number_op(integers.remainder, None, 2),
    "abs": sign_op(np.abs, np.abs),
    "neg": sign_op(np.negative, np.negative),
    "min": number_op(np.minimum, float_op(floats.minimum, 2, flags="ftz"), 2),
    "max": number_op(np.maximum, float_op(floats.maximum, 2, flags="ftz"), 2),
    "sqrt": float_op(np.sqrt, 1, flags="rn approx ftz"),
    "rcp": float_op(np.reciprocal, 1, flags="rn approx ftz"),
    "rsqrt": float_op(lambda x: 1 / np.sqrt(x), 1, flags=APPROXIMATE),
    "ex2": float_op(np.exp2, 1, types={"f32"}, flags=APPROXIMATE),
    "lg2": float_op(np.log2, 1, types={"f32"}, flags=APPROXIMATE),
    "sin": float_op(np.sin, 1, types={"f32"}, flags=APPROXIMATE),
    "cos": float_op(np.cos, 1, types={"f32"}, flags=APPROXIMATE),
    "tanh": float_op(np.tanh, 1, types={"f32"}, flags=APPROXIMATE),
    "copysign": float_op(lambda a, b: np.copysign(b, a), 2, flags=""),
    "and": bit_op(np.bitwise_and, 2),
    "or": bit_op(np.bitwise_or, 2),
    "xor": bit_op(np.bitwise_xor, 2),
    "not": bit_op(np.invert, 1),
    "cnot": bit_op(lambda x: (x == 0).astype(x.dtype), 1, BITS),
    "shl": shift(integers.shift_left, BITS),
    "shr": shift(integers.shift_right, BITS | INTEGERS),
    "shf": shf,
    "lop3": lop3,
    "prmt": bit_op(integers.permute_bytes, 3, {"b32"}),
    "bfe": bfe,
    "bfi": bfi,
    "bfind": bfind,
    "popc": count_op(np.bitwise_count),
    "clz": count_op(integers.leading_zeros),
    "brev": bit_op(integers.reverse_bits, 1, {"b32", "b64"}),
    "cvt": cvt,
    "mov": mov,
    **COMPARE,
}
