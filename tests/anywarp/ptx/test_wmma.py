"""wmma.load, wmma.mma and wmma.store: whole matrices in memory, in every layout."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from harness import run_body

from anywarp import ptx
from anywarp.ptx.warps import matrix, wmma

WARPS = 3  # of a block; there are two blocks
DTYPES = {"f16": np.float16, "tf32": np.float32, "f32": np.float32, "s32": np.int32}
DTYPES |= {"s8": np.int8, "u8": np.uint8, "f64": np.float64}
WIDE = ("m16n16k16", "m32n8k16", "m8n32k16")
PRODUCTS = [
    *[(shape, "f16", result) for shape in WIDE for result in ("f16", "f32")],
    *[(shape, "bf16", "f32") for shape in WIDE],
    *[(shape, kind, "s32") for shape in WIDE for kind in ("s8", "u8")],
    ("m16n16k8", "tf32", "f32"),
    ("m8n8k4", "f64", "f64"),
]


def in_memory(values, kind: str, layout: str, stride: int):
    """Matrices (warps, rows, columns) as they lie in memory, with unused elements behind every
    line."""
    if layout == "col":
        values = values.swapaxes(1, 2)
    if kind == "bf16":
        values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        values = values.astype(DTYPES[kind])
    lines = np.full((*values.shape[:2], stride), 77, values.dtype)
    lines[:, :, : values.shape[2]] = values
    return lines


def body(
    shape: str,
    kind: str,
    result: str,
    layouts: tuple[str, ...],
    strides,
    space="global",
    rounding="",
):
    """Every warp multiplies its own matrices."""
    lines = [
        ".reg .b32 %w, %t; .reg .b64 %p<4>, %x;",
        f"mov.u32 %w, %ctaid.x; mul.lo.u32 %w, %w, {WARPS};",
        "mov.u32 %t, %tid.x; shr.u32 %t, %t, 5; add.u32 %w, %w, %t;",
    ]
    m, n, k = matrix.sizes(shape)
    types = {"a": kind, "b": kind, "c": result, "d": result}
    vectors = {}
    for number, (name, layout) in enumerate(zip("abcd", layouts)):
        height, width = {"a": (m, k), "b": (k, n)}.get(name, (m, n))
        size = matrix.BITS[types[name]] // 8
        tile = (height if layout == "row" else width) * strides[number] * size
        lines += [f"ld.param.u64 %p{number}, [{name}];"]
        lines += [f"mul.wide.u32 %x, %w, {tile};", f"add.u64 %p{number}, %p{number}, %x;"]
        count = wmma.registers_for(name, shape, types[name])
        registers = [f"%{name}{r}" for r in range(count)]
        lines.append(f".reg .b{max(32, 8 * size)} {', '.join(registers)};")
        vectors[name] = "{" + ", ".join(registers) + "}"
    for number, (name, layout) in enumerate(zip("abc", layouts)):
        lines.append(
            f"wmma.load.{name}.sync.aligned.{layout}.{shape}{space}.{types[name]} "
            f"{vectors[name]}, [%p{number}], {strides[number]};"
        )
    words = f"{result}.{result}" if kind == "f16" else f"{result}.{kind}.{kind}.{result}"
    lines.append(
        f"wmma.mma.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{words}{rounding} "
        + ", ".join(vectors[name] for name in "dabc")
        + ";"
    )
    lines.append(
        f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}{space}.{result} "
        f"[%p3], {vectors['d']}, {strides[3]};"
    )
    return "\n".join(lines)


def multiply(
    shape, kind, result, layouts, extra: int = 0, space: str = ".global", rounding: str = ""
):
    """(d in memory, what should be there)"""
    m, n, k = matrix.sizes(shape)
    random = np.random.default_rng(m + n)
    low = 0 if kind == "u8" else -4
    a, b, c = (
        random.integers(low, 5, (2 * WARPS, *size)).astype(float)
        for size in ((m, k), (k, n), (m, n))
    )
    types = (kind, kind, result, result)
    matrices = (a, b, c, np.full_like(c, 9))
    strides = [
        (x.shape[2] if layout == "row" else x.shape[1]) + extra
        for x, layout in zip(matrices, layouts)
    ]
    args = [in_memory(*given) for given in zip(matrices, types, layouts, strides)]
    want = in_memory(a @ b + c, result, layouts[3], strides[3])
    text = body(shape, kind, result, layouts, strides, space, rounding)
    run_body(text, "u64 a, u64 b, u64 c, u64 d", (2,), (32 * WARPS,), args)
    return args[3], want


@pytest.mark.parametrize("shape, kind, result", PRODUCTS)
def test_product(shape, kind, result):
    for layouts in itertools.product(("row", "col"), repeat=4):
        got, want = multiply(shape, kind, result, layouts)
        np.testing.assert_array_equal(got, want)


def test_doubles_may_say_how_they_round():
    """As the compiler writes it."""
    got, want = multiply("m8n8k4", "f64", "f64", ("row",) * 4, rounding=".rn")
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("space", ["", ".global"])
def test_lines_with_room_behind_them(space):
    for layouts in itertools.product(("row", "col"), repeat=4):
        got, want = multiply("m16n16k16", "f16", "f16", layouts, 8, space)
        np.testing.assert_array_equal(got, want)


def test_without_a_stride_lines_are_whole():
    """a of 32 x 16 and of 16 x 32, as they are read."""
    for layout, length in (("row", 16), ("col", 32)):
        text = f"""
        .reg .b64 %p, %q; .reg .b32 %a<8>;
        ld.param.u64 %p, [a]; ld.param.u64 %q, [b];
        .reg .b32 %l; mov.u32 %l, %tid.x; mad.wide.u32 %q, %l, 32, %q;
        wmma.load.a.sync.aligned.{layout}.m32n8k16.f16 {{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}}, [%p];
        """ + "\n".join(f"st.global.b32 [%q+{4 * n}], %a{n};" for n in range(8))
        a, b = np.arange(512).astype(np.float16), np.zeros((32, 16), np.float16)
        run_body(text, "u64 a, u64 b", (1,), (32,), [a, b])
        rows, columns = matrix.fragment("a", "m32n8k16", "f16")
        where = rows * length + columns if layout == "row" else columns * length + rows
        np.testing.assert_array_equal(b.reshape(32, 8, 2), where.swapaxes(0, 1))


def test_shared_memory_and_registers_that_stand_for_the_same():
    """A fragment of float16 has eight registers, whatever the shape."""
    shape = "m8n32k16"
    assert wmma.registers_for("a", shape, "f16") == wmma.registers_for("b", shape, "f16") == 8
    text = f"""
    .shared .align 32 .b8 tile[{WARPS * 256}];
    .reg .b32 %w, %s, %a<8>; .reg .b64 %p, %x;
    mov.u32 %w, %tid.x; shr.u32 %w, %w, 5;
    ld.param.u64 %p, [a]; mul.wide.u32 %x, %w, 256; add.u64 %p, %p, %x;
    mov.u32 %s, tile; mad.lo.u32 %s, %w, 256, %s;
    .reg .b32 %i, %v; .reg .b64 %q;
    and.b32 %i, %tid.x, 31; mul.wide.u32 %q, %i, 8; add.u64 %q, %q, %p; mad.lo.u32 %i, %i, 8, %s;
    ld.global.b32 %v, [%q]; st.shared.b32 [%i], %v;
    ld.global.b32 %v, [%q+4]; st.shared.b32 [%i+4], %v;
    bar.sync 0;
    wmma.load.a.sync.aligned.row.{shape}.shared.f16 {{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}}, [%s], 16;
    ld.param.u64 %q, [b]; mov.u32 %i, %tid.x; mad.wide.u32 %q, %i, 32, %q;
    """ + "\n".join(f"st.global.b32 [%q+{4 * n}], %a{n};" for n in range(8))
    a = np.arange(WARPS * 128).astype(np.float16)
    b = np.zeros((WARPS, 32, 8, 2), np.float16)
    run_body(text, "u64 a, u64 b", (1,), (32 * WARPS,), [a, b])
    rows, columns = matrix.fragment("a", shape, "f16")
    one = (rows * 16 + columns).swapaxes(0, 1)
    for warp in range(WARPS):
        np.testing.assert_array_equal(b[warp], np.concatenate([one] * 4, axis=1) + 128 * warp)


def test_a_line_out_of_bounds():
    text = """
    .reg .b64 %p; .reg .b32 %a<4>;
    ld.param.u64 %p, [a];
    wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%a0, %a1, %a2, %a3}, [%p], 12;
    """
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):
        run_body(text, "u64 a", (1,), (32,), [np.zeros((16, 8), np.float32)])


@pytest.mark.parametrize("offset, stride, fails", [(0, 24, False), (16, 16, False), (8, 16, True)])
def test_lines_begin_at_multiples_of_16_bytes(offset, stride, fails):
    text = f"""
    .reg .b64 %p; .reg .b32 %a<8>;
    ld.param.u64 %p, [a];
    add.u64 %p, %p, {offset};
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16
        {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}}, [%p], {stride};
    """
    run = lambda text: run_body(text, "u64 a", (1,), (32,), [np.zeros((20, 24), np.float16)])
    if not fails:
        run(text)
        text = text.replace(f"[%p], {stride}", "[%p], 20")
    with pytest.raises(ptx.MemoryFault, match="misaligned matrix.*multiples of 16") as caught:
        run(text)
    assert caught.value.thread == "block (0, 0, 0), thread (0, 0, 0)"


@pytest.mark.parametrize(
    "text",
    [
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32 {%a0}, [%p];",
        "wmma.load.d.sync.aligned.row.m16n16k16.global.f32 {%a0}, [%p];",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%a0}, [%p];",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%a0}, {%a0}, {%a0}, {%a0};",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%a0, %a1}, [%p];",
    ],
)
def test_unknown_forms_are_named(text):
    body = ".reg .b32 %a<4>; .reg .b64 %p; ld.param.u64 %p, [a];\n" + text
    with pytest.raises(ptx.UnknownOpcode, match=re.escape(text.split()[0])):
        run_body(body, "u64 a", (1,), (32,), [np.zeros(4, np.uint32)])
