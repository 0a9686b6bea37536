"""Out-of-bounds and misaligned accesses stop the run and say who, where and what."""

from __future__ import annotations

import re

import numpy as np
import pytest
from harness import cuda, entry, launch, line_of, number_occurs, run_body

from anywarp import ptx
from anywarp.kernel import Kernel

PREAMBLE = """
    .shared .align 16 .b8 tile[64];
    .local .align 16 .b8 depot[64];
    .reg .b32 %t, %c, %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %g, %s, %l, %k, %q, %rd<2>;
    .reg .pred %p;
    ld.param.u64 %g, [numbers];
    mov.u64 %s, tile;
    mov.u64 %l, depot;
    mov.u64 %k, table;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %r0, 1;
    mov.u64 %rd0, 1;
"""
MODULE = ".const .align 16 .u32 table[16] = {1, 2, 3};"

BAD = {
    "global load past the end": "ld.global.u32 %r0, [%g+64];",
    "global load before the start": "ld.global.u32 %r0, [%g+-4];",
    "global load far away": "add.s64 %g, %g, 1099511627776; ld.global.u32 %r0, [%g];",
    "global load at null": "mov.u64 %g, 0; ld.global.u32 %r0, [%g];",
    "global load across the end": "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%g+56];",
    "global load.nc past the end": "ld.global.nc.f32 %f0, [%g+64];",
    "generic load past the end": "ld.u32 %r0, [%g+64];",
    "global store past the end": "st.global.u32 [%g+64], %r0;",
    "global byte store past the end": "st.global.u8 [%g+64], %r0;",
    "global misaligned load": "ld.global.u32 %r0, [%g+2];",
    "global misaligned v2": "ld.global.v2.u32 {%r0, %r1}, [%g+4];",
    "global misaligned v4": "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%g+8];",
    "global misaligned store": "st.global.u16 [%g+1], %r0;",
    "global misaligned 64 bits": "st.global.u64 [%g+4], %rd0;",
    "global atom past the end": "atom.global.add.u32 %r1, [%g+64], %r0;",
    "global atom misaligned": "atom.global.add.u32 %r1, [%g+2], %r0;",
    "global red past the end": "red.global.add.u32 [%g+64], %r0;",
    "shared load past the end": "ld.shared.u32 %r0, [%s+64];",
    "shared load across the end": "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%s+56];",
    "shared store past the end": "st.shared.f32 [tile+64], 0f00000000;",
    "shared misaligned load": "ld.shared.v2.u32 {%r0, %r1}, [%s+4];",
    "shared misaligned store": "st.shared.u32 [%s+1], %r0;",
    "shared atom past the end": "atom.shared.add.u32 %r1, [%s+64], %r0;",
    "local load past the end": "ld.local.u32 %r0, [%l+64];",
    "local store before the start": "st.local.u32 [%l+-4], %r0;",
    "local misaligned load": "ld.local.u64 %rd0, [%l+4];",
    "constant past the end": "ld.const.u32 %r0, [%k+64];",
    "constant misaligned": "ld.const.u32 %r0, [table+2];",
    "copy past the end": "cp.async.ca.shared.global [%s], [%g+64], 4;",
    "copy misaligned source": "cp.async.cg.shared.global [%s], [%g+8], 16;",
    "copy past the shared end": "cp.async.ca.shared.global [%s+64], [%g], 4;",
    "copy misaligned target": "cp.async.ca.shared.global [%s+4], [%g], 8;",
}  # fmt: skip


def fault_message(text: str, grid, block, args, **keywords) -> str:
    with pytest.raises(ptx.MemoryFault) as caught:
        launch(text, "k", grid, block, args, **keywords)
    assert isinstance(caught.value, ptx.PTXError)
    return str(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_fault_names_address_line_and_thread(name):
    """One thread of one block goes wrong, on a line far from any other number here."""
    guard = """
    setp.ne.u32 %p, %t, 37;
    @%p bra END;
    setp.ne.u32 %p, %c, 11;
    @%p bra END;
    """
    padding = "\n" * 700
    text = entry(
        f"{PREAMBLE}{guard}{padding}{BAD[name]} // fault\nEND:", "u64 numbers", module=MODULE
    )
    numbers = np.zeros(16, np.uint32)
    message = fault_message(text, 13, 48, [numbers])
    assert number_occurs(line_of(text, "// fault"), message)
    assert re.search(r"0x[0-9a-fA-F]+", message)
    assert number_occurs(37, message) and number_occurs(11, message)
    assert not numbers.any()


def test_fault_names_three_coordinates():
    guard = """
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %tid.z;
    mad.lo.u32 %t, %r1, 10, %t;
    mad.lo.u32 %t, %r2, 100, %t;
    mov.u32 %r1, %ctaid.y;
    mov.u32 %r2, %ctaid.z;
    mad.lo.u32 %c, %r1, 10, %c;
    mad.lo.u32 %c, %r2, 100, %c;
    mad.lo.u32 %t, %c, 1000, %t;
    setp.ne.u32 %p, %t, 321102;
    @%p ret;
    """
    text = entry(PREAMBLE + guard + "st.global.u32 [%g+-8], %t;", "u64 numbers", module=MODULE)
    message = fault_message(text, (2, 3, 5), (4, 3, 2), [np.zeros(16, np.uint32)])
    assert re.search(r"1\D+2\D+3\b", message) and re.search(r"2\D+0\D+1\b", message)


@pytest.mark.parametrize(
    "access, allocation",
    [
        ("ld.global.u32 %r0, [%g+64];", "numbers"),
        ("st.shared.u32 [%s+64], %r0;", "tile"),
        ("ld.const.u32 %r0, [%k+64];", "table"),
        ("ld.global.u32 %r0, [cells+12];", "cells"),
    ],
)
def test_fault_names_the_nearest_allocation(access, allocation):
    module = MODULE + "\n.global .align 4 .u32 cells[3];"
    text = entry(PREAMBLE + access, "u64 numbers", module=module)
    message = fault_message(text, 1, 1, [np.zeros(16, np.uint32)])
    assert allocation in message, message


@pytest.mark.parametrize("space", ["global", "shared", "local", "const"])
def test_the_last_element_is_in_bounds(space):
    register = {"global": "%g", "shared": "%s", "local": "%l", "const": "%k"}[space]
    for access in (
        "u32 %r0, [{}+60];",
        "v4.u32 {{%r0, %r1, %r2, %r3}}, [{}+48];",
        "u8 %r0, [{}+63];",
        "u64 %rd0, [{}+56];",
    ):
        body = PREAMBLE + f"ld.{space}." + access.format(register)
        run_body(body, "u64 numbers", 1, 3, [np.zeros(16, np.uint32)], module=MODULE)


def test_shared_memory_ends_with_the_dynamic_part():
    module = ".extern .shared .align 16 .b8 dynamic[];"
    body = ".reg .b32 %x; ld.shared.u32 %x, [dynamic+{}];"
    run_body(body.format(28), "", 1, 1, [], module=module, shared_mem=32)
    text = entry(body.format(32), module=module)
    assert "0x" in fault_message(text, 1, 1, [], shared_mem=32)


def test_an_empty_array_may_be_passed_but_not_read():
    empty = np.zeros(0, np.float32)
    ok = ".reg .b64 %p; ld.param.u64 %p, [nothing];"
    run_body(ok, "u64 nothing", 1, 1, [empty])
    text = entry(ok + ".reg .b32 %x; ld.global.u32 %x, [%p];", "u64 nothing")
    fault_message(text, 1, 1, [empty])


def test_one_array_does_not_run_into_the_next():
    """No offset from one argument, up to the size of both, reaches the other."""
    body = """
    .reg .b64 %p;
    .reg .b32 %x, %i;
    ld.param.u64 %p, [first];
    ld.param.u32 %i, [index];
    mad.wide.s32 %p, %i, 4, %p;
    ld.global.u32 %x, [%p];
    """
    text = entry(body, "u64 first, u64 second, u32 index")
    first, second = np.zeros(8, np.uint32), np.zeros(8, np.uint32)
    for index in (-16, -9, -1, 8, 9, 16, 24):
        fault_message(text, 1, 1, [first, second, np.int32(index)])


def test_a_predicated_access_that_is_off_does_not_fault():
    body = (
        PREAMBLE
        + """
    setp.gt.u32 %p, %t, 100;
    @%p ld.global.u32 %r0, [%g+64];
    @%p st.shared.u32 [%s+1024], %r0;
    @%p atom.global.add.u32 %r1, [%g+2], %r0;
    @!%p ld.global.u32 %r0, [%g+60];
    """
    )
    run_body(body, "u64 numbers", 1, 8, [np.zeros(16, np.uint32)], module=MODULE)


def test_a_store_before_the_fault_by_another_thread_is_kept_and_the_arguments_stay_usable():
    body = (
        PREAMBLE
        + """
    shl.b32 %r1, %t, 2;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %g, %g, %rd1;
    ld.global.u32 %r0, [%g];
    """
    )
    text = entry(body, "u64 numbers", module=MODULE)
    numbers = np.arange(16, dtype=np.uint32)
    message = fault_message(text, 1, 17, [numbers])
    assert number_occurs(16, message)
    assert numbers.tolist() == list(range(16))
    run_body(body, "u64 numbers", 1, 16, [numbers], module=MODULE)


SOURCE = (
    "\n" * 210
    + """
extern "C" __global__ void reader(const float* x, float* y, int n) {
    __shared__ float tile[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % 32] = 1.0f;
    __syncthreads();
    if (i <= n)
        y[i] = 2.0f;  // fault
    y[0] = tile[0];
}
"""
)


def test_fault_names_the_cuda_line():
    built = cuda(SOURCE)
    x, y = np.zeros(70, np.float32), np.zeros(70, np.float32)
    with pytest.raises(ptx.MemoryFault) as caught:
        ptx.run(ptx.parse(built.ptx).entries["reader"], 3, 32, [x, y, np.int32(70)])
    message = str(caught.value)
    assert "test.cu" in message
    assert number_occurs(line_of(SOURCE, "// fault"), message)
    # Element 70 belongs to thread 6 of block 2.
    assert number_occurs(6, message) and number_occurs(2, message)


HEADER = """
__device__ inline void put(float* x, int n) { x[n] = 2.0f; }
template <class F> __device__ void each(F f) { f(); }
__device__ __noinline__ float deep(const float* x, int n) { return x[n]; }
__device__ __noinline__ float through(const float* x, int n) { return deep(x, n) + 1.0f; }
"""
CALLS = """#include <put.h>
__device__ void own(float* x, int n) { x[n] = 3.0f; }
extern "C" __global__ void k(float* x, int n) {
    x[0] = 1.0f;
    %s
    x[2] = 1.0f;
}
"""


@pytest.fixture
def faulty(tmp_path):
    """A function: a kernel with this line 5, beside headers that are not the reader's."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "put.h").write_text(HEADER)
    return lambda line: Kernel(CALLS % line, "k", [f"-I{tmp_path / 'include'}"])


@pytest.mark.parametrize(
    ("line", "where"),
    {
        "own(x, n);": "kernel.cu:2",
        "put(x, n);": "kernel.cu:5 (put.h:2)",
        "each([&] { put(x, n); });": "kernel.cu:5 (put.h:2)",
        "each([&] { own(x, n); });": "kernel.cu:2",
        "x[1] = through(x, n);": "kernel.cu:5 (put.h:5, put.h:4)",
        "x[1] = through(x, n); x[3] = deep(x, 1);": "near kernel.cu:5 (put.h:4)",
        "memcpy(x + n, x, n);": "near kernel.cu:5",
    }.items(),
)
def test_fault_names_the_readers_own_line(faulty, line, where):
    """And after it those of headers, be their functions inlined or called; where the code of a loop
    that the compiler wrote has no line, the last before it."""
    kernel = faulty(line)
    args = np.zeros(8, np.float32), np.int32(70)
    with pytest.raises(ptx.MemoryFault) as caught:
        kernel(1, 1, args, device="interpreter")
    assert f"\n  at {where}\n" in str(caught.value)
    (finding,) = kernel.sanitize(1, 1, args)
    assert str(finding).startswith(f"{where}: out of bounds: ")


def test_trace_counts_what_headers_do_at_the_readers_line(faulty):
    trace = faulty("put(x, n);").trace(1, 1, [np.zeros(8, np.float32), np.int32(7)])
    assert [place.line for place in trace.costs] == [4, 5, 6]


def test_refusal_names_the_readers_own_line():
    launches = """__global__ void g(float* x) { x[0] = 1.0f; }
extern "C" __global__ void k(float* x) {
    g<<<1, 1>>>(x);
}"""
    kernel = Kernel(launches, "k", ["-rdc=true"])
    with pytest.raises(ptx.UnknownOpcode, match="launches another: launch both yourself") as caught:
        kernel(1, 1, [np.zeros(8, np.float32)], device="interpreter")
    assert "\n  at kernel.cu:3 (__nv_nvrtc_builtin_header.h:" in str(caught.value)
