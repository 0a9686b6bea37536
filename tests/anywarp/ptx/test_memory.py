"""Loads, stores and state spaces: widths, extension, vectors, initialisers, isolation."""

from __future__ import annotations

import numpy as np
import pytest
from exact import wrap
from harness import check, integers, run_body, vectors

from anywarp import ptx


def pattern(count: int, seed: int = 1) -> np.ndarray:
    """Distinct-looking bytes from a linear congruence."""
    return np.array([(seed + 37 * i + (i >> 3)) & 0xFF for i in range(count)], np.uint8)


# --- widths and vectors -----------------------------------------------------------------


SUFFIXES = {
    "u8": ("b16", 1, 1), "s8": ("b16", 1, 1), "b8": ("b16", 1, 1), "u16": ("b16", 1, 2),
    "b16": ("b16", 1, 2), "s32": ("b32", 1, 4), "b32": ("b32", 1, 4), "f32": ("f32", 1, 4),
    "u64": ("b64", 1, 8), "f64": ("f64", 1, 8), "v2.u8": ("b16", 2, 1), "v4.u8": ("b16", 4, 1),
    "v2.u16": ("b16", 2, 2), "v4.u16": ("b16", 4, 2), "v2.u32": ("b32", 2, 4),
    "v2.f32": ("f32", 2, 4), "v4.b32": ("b32", 4, 4), "v4.f32": ("f32", 4, 4),
    "v2.u64": ("b64", 2, 8), "v2.f64": ("f64", 2, 8),
}  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_width_through_every_space(suffix):
    """Global to shared to local to global, a value per thread, at a constant offset too."""
    kind, count, size = SUFFIXES[suffix]
    bytes_each, threads = count * size, 40
    names = [f"%x{i}" for i in range(count)]
    operand = "{" + ", ".join(names) + "}" if count > 1 else names[0]
    body = f"""
    .shared .align 16 .b8 tile[{(threads + 1) * bytes_each}];
    .local .align 16 .b8 depot[64];
    .reg .{kind} %x<{count}>;
    .reg .b32 %t, %s, %l;
    .reg .b64 %p, %q;
    ld.param.u64 %p, [source];
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %p, %t, {bytes_each}, %p;
    mad.wide.u32 %q, %t, {bytes_each}, %q;
    ld.global.{suffix} {operand}, [%p+{bytes_each}];
    mov.u32 %s, tile;
    mad.lo.u32 %s, %t, {bytes_each}, %s;
    st.shared.{suffix} [%s+{bytes_each}], {operand};
    ld.shared.{suffix} {operand}, [%s+{bytes_each}];
    mov.u32 %l, depot;
    st.local.{suffix} [%l+32], {operand};
    ld.local.{suffix} {operand}, [%l+32];
    st.global.{suffix} [%q], {operand};
    """
    source = pattern((threads + 1) * bytes_each)
    target = np.zeros(threads * bytes_each, np.uint8)
    run_body(body, "u64 source, u64 target", 1, threads, [source, target])
    assert bytes(target) == bytes(source)[bytes_each:]


@pytest.mark.parametrize("kind", ["u8", "s8", "u16", "s16", "u32", "s32"])
@pytest.mark.parametrize("wide", ["u32", "s64"])
def test_loads_extend_to_the_register(kind, wide):
    if kind[1:] == "32" and wide == "u32":
        wide = "u64"
    # The operand itself is stored to local memory, so that the load under test reads it back.
    template = f"""
    .local .align 8 .b8 slot[8];
    st.local.{kind} [slot], %a;
    ld.local.{kind} %d, [slot];
    """
    check(template, wide, kind, integers(kind, 60), lambda a: wrap(a, wide))


def test_stores_truncate():
    declare = ".local .align 8 .b8 slot[8];"
    template = """
    st.local.u64 [slot], -1;
    st.local.u8 [slot+1], %a;
    st.local.u16 [slot+4], %a;
    ld.local.u64 %d, [slot];
    """
    rows = integers("u32", 60)
    got = vectors(template, "u64", "u32", rows, declare=declare)
    assert got == [0xFFFF_0000_FFFF_00FF | (a & 0xFF) << 8 | (a & 0xFFFF) << 32 for a in rows]


@pytest.mark.parametrize(
    "load",
    ["ld.global.nc", "ld.global.ca", "ld.global.cg", "ld.global.cs", "ld.global.lu",
     "ld.global.cv", "ld.volatile.global", "ld.relaxed.gpu.global", "ld.acquire.gpu.global",
     "ld.global.nc.L1::no_allocate", "ld.global.L2::128B", "ldu.global", "ld.weak.global",
     "ld.mmio.relaxed.sys.global", "ld"],
)  # fmt: skip
def test_load_qualifiers(load):
    body = f"""
    .reg .b32 %t, %x;
    .reg .b64 %p, %q;
    ld.param.u64 %p, [source];
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %p, %t, 4, %p;
    mad.wide.u32 %q, %t, 4, %q;
    {load}.u32 %x, [%p];
    st.global.u32 [%q], %x;
    """
    source, target = pattern(256).view(np.uint32), np.zeros(64, np.uint32)
    run_body(body, "u64 source, u64 target", 1, 64, [source, target])
    assert target.tolist() == source.tolist()


@pytest.mark.parametrize(
    "store",
    ["st.global.wb", "st.global.cg", "st.global.cs", "st.global.wt", "st.volatile.global",
     "st.relaxed.gpu.global", "st.release.gpu.global", "st.weak.global",
     "st.mmio.relaxed.sys.global", "st"],
)  # fmt: skip
def test_store_qualifiers(store):
    body = f"""
    .reg .b32 %t;
    .reg .b64 %q;
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %q, %t, 4, %q;
    {store}.u32 [%q], %t;
    """
    target = np.zeros(64, np.uint32)
    run_body(body, "u64 target", 1, 64, [target])
    assert target.tolist() == list(range(64))


# --- spaces -----------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["shared", "local"])
def test_an_address_of_32_bits_wraps(space):
    """As the PTX of NVRTC 13.5 has it: what stands in the register lies before the memory."""
    body = f"""
    .{space} .align 8 .b8 first[256];
    .reg .b32 %t, %s, %v, %w;
    .reg .b64 %q;
    mov.u32 %t, %tid.x;
    mov.u32 %s, first;
    mad.lo.s32 %s, %t, -4, %s;
    st.{space}.u32 [%s+252], %t;
    mov.u32 %w, 5;
    st.{space}.u32 [%s+128], %w;
    ld.{space}.u32 %v, [%s+252];
    ld.param.u64 %q, [target];
    mad.wide.u32 %q, %t, 4, %q;
    st.global.u32 [%q], %v;
    """
    target = np.zeros(30, np.uint32)
    run_body(body, "u64 target", 1, 30, [target])
    assert target.tolist() == list(range(30))


def test_shared_variables_do_not_overlap_and_belong_to_a_block():
    """Two static arrays and the dynamic one, in three blocks that run side by side."""
    module = ".extern .shared .align 16 .b8 dynamic[];"
    body = """
    .shared .align 4 .b8 first[132];
    .shared .align 8 .f64 second[33];
    .reg .b32 %t, %b, %x, %y, %a<4>;
    .reg .b64 %q, %z;
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mad.lo.u32 %x, %b, 1000, %t;
    mov.u32 %a0, first;
    mov.u32 %a1, second;
    mov.u32 %a2, dynamic;
    mad.lo.u32 %a0, %t, 4, %a0;
    mad.lo.u32 %a1, %t, 8, %a1;
    mad.lo.u32 %a2, %t, 4, %a2;
    st.shared.u32 [%a0], %x;
    add.u32 %y, %x, 100;
    cvt.u64.u32 %z, %y;
    st.shared.u64 [%a1], %z;
    add.u32 %y, %x, 200;
    st.shared.u32 [%a2], %y;
    bar.sync 0;
    ld.shared.u32 %x, [%a0];
    ld.shared.u64 %z, [%a1];
    cvt.u32.u64 %y, %z;
    add.u32 %x, %x, %y;
    ld.shared.u32 %y, [%a2];
    add.u32 %x, %x, %y;
    mad.lo.u32 %b, %b, 33, %t;
    mad.wide.u32 %q, %b, 4, %q;
    st.global.u32 [%q], %x;
    """
    target = np.zeros(99, np.uint32)
    run_body(body, "u64 target", 3, 33, [target], module=module, shared_mem=132)
    assert target.tolist() == [3 * (1000 * b + t) + 300 for b in range(3) for t in range(33)]


def test_local_arrays_belong_to_a_thread_and_take_run_time_indices():
    body = """
    .local .align 4 .b8 array[32];
    .reg .b32 %t, %b, %x, %l, %i;
    .reg .b64 %q;
    .reg .pred %p;
    ld.param.u64 %q, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mad.lo.u32 %b, %b, 50, %t;
    mov.u32 %i, 0;
    mov.u32 %l, array;
FILL:
    mad.lo.u32 %x, %b, 10, %i;
    st.local.u32 [%l], %x;
    add.u32 %l, %l, 4;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, 8;
    @%p bra FILL;
    mul.lo.u32 %i, %b, 5;
    and.b32 %i, %i, 7;
    shl.b32 %i, %i, 2;
    mov.u32 %l, array;
    add.u32 %l, %l, %i;
    ld.local.u32 %x, [%l];
    mad.wide.u32 %q, %b, 4, %q;
    st.global.u32 [%q], %x;
    """
    target = np.zeros(150, np.uint32)
    run_body(body, "u64 target", 3, 50, [target])
    assert target.tolist() == [10 * i + 5 * i % 8 for i in range(150)]


MODULE_VARIABLES = """
.const .align 4 .u32 table[4] = {11, 0x16, 33, 44};
.global .align 4 .f32 floats[3] = {0f3FC00000, 2.0, 0f40400000};
.const .align 8 .b8 bytes[8] = {1, 2, 255};
.global .align 4 .s32 matrix[2][2] = {{-1, 2}, {3, -4}};
.global .align 8 .u64 single = 81985529216486895;
.global .align 4 .u32 zeros[2];
"""


@pytest.mark.parametrize(
    "load, expected",
    [
        ("ld.const.u32 %x, [table+8];", 33),
        ("ld.const.u32 %x, [table+4];", 22),
        ("ld.global.u32 %x, [floats];", 0x3FC00000),
        ("ld.global.u32 %x, [floats+4];", 0x40000000),
        ("ld.const.u32 %x, [bytes];", 0x00FF0201),
        ("ld.const.u32 %x, [bytes+4];", 0),
        ("ld.global.u32 %x, [matrix+12];", 0xFFFFFFFC),
        ("ld.global.u32 %x, [matrix+8];", 3),
        ("ld.global.u32 %x, [single+4];", 0x01234567),
        ("ld.global.u32 %x, [zeros+4];", 0),
        ("mov.u64 %p, table; add.u64 %p, %p, 12; ld.const.u32 %x, [%p];", 44),
        ("mov.u64 %p, table; cvta.const.u64 %p, %p; ld.u32 %x, [%p+4];", 22),
        ("mov.u64 %p, matrix; ld.global.u32 %x, [%p];", 0xFFFFFFFF),
        ("st.global.u32 [zeros], 9; ld.global.u32 %x, [zeros];", 9),
    ],
)
def test_module_variables(load, expected):
    body = f"""
    .reg .b32 %x;
    .reg .b64 %p, %q;
    ld.param.u64 %q, [target];
    {load}
    st.global.u32 [%q], %x;
    """
    target = np.zeros(1, np.uint32)
    run_body(body, "u64 target", 1, 1, [target], module=MODULE_VARIABLES)
    assert int(target[0]) == expected


@pytest.mark.parametrize("space", ["shared", "local", "global"])
@pytest.mark.parametrize("bits", [32, 64])
def test_generic_addresses(space, bits):
    """cvta there and back, and loads and stores that name no space."""
    if space == "global":
        module, declare, bits = ".global .align 4 .b8 cell[64];", "", 64
    else:
        module, declare = "", f".{space} .align 4 .b8 cell[64];"
    widen = f"cvt.u64.u{bits} %g, %x;" if bits == 32 else "mov.b64 %g, %x;"
    back = f"cvt.u{bits}.u64 %x, %g;" if bits == 32 else "mov.b64 %x, %g;"
    body = f"""
    {declare}
    .reg .b32 %u, %v;
    .reg .b{bits} %x;
    .reg .b64 %g, %q;
    ld.param.u64 %q, [target];
    mov.u{bits} %x, cell;
    {widen}
    cvta.{space}.u64 %g, %g;
    st.u32 [%g+8], 77;
    ld.{space}.u32 %u, [cell+8];
    cvta.to.{space}.u64 %g, %g;
    {back}
    st.{space}.u32 [%x+12], 88;
    ld.{space}.u32 %v, [cell+12];
    st.u32 [%q], %u;
    st.global.u32 [%q+4], %v;
    """
    target = np.zeros(2, np.uint32)
    run_body(body, "u64 target", 1, 1, [target], module=module)
    assert target.tolist() == [77, 88]


def test_a_generic_load_may_meet_several_spaces():
    """Lanes of one load read global, shared and local memory; some do not read at all."""
    template = """
    .shared .align 4 .b8 box[512];
    .local .align 4 .b8 slot[4];
    .reg .b64 %g, %s, %x;
    .reg .b32 %t0;
    .reg .pred %q;
    mov.u64 %s, box;
    mov.u32 %t0, %tid.x;
    mad.wide.u32 %s, %t0, 4, %s;
    add.u32 %d, %a, 1000;
    st.shared.u32 [%s], %d;
    add.u32 %d, %a, 2000;
    st.local.u32 [slot], %d;
    cvta.shared.u64 %s, %s;
    mov.u64 %x, slot;
    cvta.local.u64 %x, %x;
    ld.param.u64 %g, [in0];
    mad.wide.u32 %g, %i, 4, %g;
    setp.eq.u32 %q, %b, 1;
    selp.b64 %g, %s, %g, %q;
    setp.eq.u32 %q, %b, 2;
    selp.b64 %g, %x, %g, %q;
    setp.ne.u32 %q, %b, 3;
    mov.u32 %d, 7;
    @!%q mov.u64 %g, 0;
    @%q ld.u32 %d, [%g];
    @%q st.u32 [%g], 0;
    """
    rows = [(t, t * 7 % 4) for t in range(128)]
    got = vectors(template, "u32", "u32 u32", rows)
    assert got == [7 if space == 3 else t + 1000 * space for t, space in rows]


def test_two_arguments_may_be_the_same_array():
    body = """
    .reg .b32 %x;
    .reg .b64 %p, %q;
    ld.param.u64 %p, [one];
    ld.param.u64 %q, [other];
    st.global.u32 [%p], 5;
    ld.global.u32 %x, [%q];
    add.u32 %x, %x, 1;
    st.global.u32 [%q+4], %x;
    """
    array = np.zeros(2, np.uint32)
    run_body(body, "u64 one, u64 other", 1, 1, [array, array])
    assert array.tolist() == [5, 6]


def test_arguments_of_every_type():
    body = """
    .reg .b16 %h<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f;
    .reg .f64 %d;
    .reg .b64 %q, %w;
    ld.param.u64 %q, [target];
    ld.param.s8 %h0, [a];
    ld.param.u16 %h1, [b];
    ld.param.s32 %r0, [c];
    ld.param.u64 %w, [d];
    ld.param.f32 %f, [e];
    ld.param.f64 %d, [f];
    ld.param.u32 %r1, [s];
    ld.param.v2.u32 {%r2, %r3}, [s+8];
    cvt.s32.s16 %r4, %h0;
    cvt.u32.u16 %r5, %h1;
    st.global.u32 [%q], %r4;
    st.global.u32 [%q+4], %r5;
    st.global.u32 [%q+8], %r0;
    st.global.u32 [%q+12], %r1;
    st.global.v2.u32 [%q+16], {%r2, %r3};
    st.global.f32 [%q+24], %f;
    st.global.u64 [%q+32], %w;
    st.global.f64 [%q+40], %d;
    """
    params = "u64 target, u8 a, u16 b, u32 c, u64 d, f32 e, f64 f, .align 8 .b8 s[16]"
    target = np.zeros(12, np.uint32)
    struct = np.array([101, 102, 103, 104], np.uint32).tobytes()
    args = [target, np.int8(-7), np.uint16(65535), np.int32(-9), np.uint64(2**63 + 5),
            np.float32(1.5), np.float64(-0.25), struct]  # fmt: skip
    run_body(body, params, 1, 1, args)
    assert target[:6].tolist() == [2**32 - 7, 65535, 2**32 - 9, 101, 103, 104]
    assert target[6:7].view(np.float32).tolist() == [1.5]
    assert target[8:10].view(np.uint64).tolist() == [2**63 + 5]
    assert target[10:12].view(np.float64).tolist() == [-0.25]


def test_256_bits_at_once():
    """sm_100: eight words or four of 64 bits, aligned to 32 bytes."""
    body = """.reg .b64 %p, %d<4>; .reg .b32 %r<8>; ld.param.u64 %p, [out];
        ld.global.v8.b32 {%r0, %r1, %r2, %r3, _, %r5, %r6, %r7}, [%p];
        mov.b32 %r4, 99;
        st.global.v8.b32 [%p+32], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};
        ld.global.v4.b64 {%d0, %d1, %d2, %d3}, [%p+32];
        st.global.v4.b64 [%p+64], {%d3, %d2, %d1, %d0};"""
    out = np.arange(24, dtype=np.uint32)
    run_body(body, "u64 out", 1, 1, [out])
    assert out[8:16].tolist() == [7, 6, 5, 99, 3, 2, 1, 0]
    assert out[16:].tolist() == [1, 0, 3, 2, 5, 99, 7, 6]
    with pytest.raises(ptx.MemoryFault, match="must be a multiple of 32"):
        run_body(body.replace("[%p+32]", "[%p+16]"), "u64 out", 1, 1, [out])
