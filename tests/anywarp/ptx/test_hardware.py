"""Every arithmetic instruction against an H200: `tests/data/nvidia_h200_arithmetic.json`.

A row holds the operands and then the results, as the GPU stored them. Approximate functions must
lie within their documented error, here and there; all else has the same bits, NaNs included.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest
from exact import FORMATS, is_inf, is_nan, value
from harness import storage, vectors

DATA = json.loads((Path(__file__).parents[2] / "data/nvidia_h200_arithmetic.json").read_text())


# opcode -> (kind of error, largest, where). "ulp" of the exact value, "relative", "absolute".
ERRORS = {
    "rcp.approx.f32": ("ulp", 1.0, "all"),
    "sqrt.approx.f32": ("relative", 2.0**-23, "all"),
    "rsqrt.approx.f32": ("relative", 2.0**-22.9, "all"),
    "div.approx.f32": ("ulp", 2.0, "divisor between 2**-126 and 2**126"),
    "div.full.f32": ("ulp", 2.0, "all"),
    "ex2.approx.f32": ("ulp", 2.0, "all"),
    "lg2.approx.f32": ("absolute", 2.0**-22, "between 0.5 and 2; elsewhere 2 ulp"),
    "sin.approx.f32": ("absolute", 2.0**-20.5, "between -2 pi and 2 pi"),
    "cos.approx.f32": ("absolute", 2.0**-20.5, "between -2 pi and 2 pi"),
    "tanh.approx.f32": ("relative", 2.0**-11, "all"),
    "tanh.approx.f16": ("absolute", 2.0**-10.987, "all"),
    "tanh.approx.bf16": ("absolute", 2.0**-8, "all"),
    "ex2.approx.f16": ("relative", 2.0**-9.9, "all"),
    "ex2.approx.ftz.bf16": ("relative", 2.0**-7, "all"),
    # float64: bounds that an H200 keeps
    "rcp.approx.ftz.f64": ("relative", 2.0**-19, "upper word of the operand and of the result"),
    "rsqrt.approx.ftz.f64": ("relative", 2.0**-19, "upper word of the operand and of the result"),
    "rsqrt.approx.f64": ("ulp", 2.0, "all"),
}


def is_approximate(name: str) -> bool:
    return "approx" in name or "div.full" in name


FAMILIES = defaultdict(list)
for name in DATA["operations"]:
    FAMILIES[name.split()[0].rstrip(",").split(".")[0]].append(name)


def run(case: dict) -> list[tuple[tuple, tuple, tuple]]:
    """(operands, results here, results there) of each row."""
    count, outs = len(case["ins"].split()), case["out"].split()
    rows = [tuple(int(x, 16) for x in row.split()) for row in case["rows"]]
    operands = [row[:count] for row in rows]
    got = vectors(case["template"], case["out"], case["ins"], operands)
    if len(outs) == 1:
        got = [(x,) for x in got]
    masks = [(1 << int(storage(kind))) - 1 for kind in outs]
    got = [tuple(x & m for x, m in zip(results, masks)) for results in got]
    return [(o, g, row[count:]) for o, g, row in zip(operands, got, rows)]


def hexadecimal(numbers: tuple) -> str:
    return " ".join(map(hex, numbers))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_bits_of_an_h200(family):
    wrong = [
        f"{name}: {hexadecimal(operands)} -> {hexadecimal(got)}, GPU {hexadecimal(want)}"
        for name in FAMILIES[family]
        if not is_approximate(name)
        for operands, got, want in run(DATA["operations"][name])
        if got != want
    ]
    assert not wrong, f"{len(wrong)} rows: " + "; ".join(wrong[:5])


EXACT = {
    "rcp": lambda x: 1 / x,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "ex2": lambda x: 2.0**x,
    "lg2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "div": lambda x, y: x / y,
}


def allowed(form: str, operands: list[float], exact: float, fmt) -> float | None:
    """The documented error as a distance; None where there is none."""
    kind, bound, _ = ERRORS[form]
    opcode = form.split(".")[0]
    if opcode in ("sin", "cos") and abs(operands[0]) > 2 * math.pi:
        return None
    if form == "div.approx.f32" and not 2.0**-126 <= abs(operands[1]) <= 2.0**126:
        return None
    if opcode == "lg2" and not 0.5 <= operands[0] <= 2:
        kind, bound = "ulp", 2.0
    if kind == "absolute":
        return bound
    scale = abs(exact)
    if kind == "ulp":
        scale = 2.0 ** (math.frexp(exact)[1] - 1 - fmt.fraction)
    return bound * scale


APPROXIMATE = [n for n in DATA["operations"] if is_approximate(n) and "x2" not in n]


@pytest.mark.parametrize("name", APPROXIMATE)
def test_within_the_documented_error(name):
    form = name.split()[0]
    kind = form.split(".")[-1]
    fmt = FORMATS[kind]
    form = form if form in ERRORS else form.replace(".ftz", "")
    least_normal = 2.0 ** (2 - (1 << fmt.exponent - 1))
    compared = 0
    for operands, (got,), (want,) in run(DATA["operations"][name]):
        assert is_nan(got, fmt) == is_nan(want, fmt), [hex(x) for x in (*operands, got, want)]
        if is_nan(got, fmt) or any(is_nan(x, fmt) or is_inf(x, fmt) for x in operands):
            assert got == want or is_nan(got, fmt) or not is_inf(got, fmt)
            continue
        if is_inf(got, fmt) or is_inf(want, fmt):
            assert got == want, [hex(x) for x in (*operands, got, want)]
            continue
        inputs = [float(value(x, fmt)) for x in operands]
        if any(abs(x) < least_normal for x in inputs) or not inputs[-1]:
            continue  # zeros and subnormals: flushed or not, see the bits below
        exact = EXACT[form.split(".")[0]](*inputs)
        limit = allowed(form, inputs, exact, fmt)
        if limit is None or abs(exact) < least_normal:
            continue
        # a half of the result's last place more: the result itself is rounded
        limit += 2.0 ** (math.frexp(exact)[1] - 2 - fmt.fraction)
        for bits in (got, want):
            error = abs(float(value(bits, fmt)) - exact)
            assert error <= limit, ([hex(x) for x in (*operands, got, want)], error / limit)
        compared += 1
    assert compared or "f321" in name or "tiny" in name


def test_the_sine_of_small_and_huge_angles():
    """In fixed point: zero below 2**-25 turns, and every large angle has the GPU's sign."""
    for operands, (got,), (want,) in run(DATA["operations"]["sin.approx.f32 tiny_angles"]):
        assert (got == 0) == (want == 0), hex(operands[0])


def test_every_approximate_form_has_its_bound():
    forms = {n.split()[0].replace("x2", "") for n in APPROXIMATE}
    assert {f for f in forms if f not in ERRORS and f.replace(".ftz", "") not in ERRORS} == set()
