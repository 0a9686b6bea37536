"""Variables that outlive a launch, constant memory, names in errors, and a launch's limits."""

from __future__ import annotations

import numpy as np
import pytest
from harness import cuda, entry, launch, run_body, run_cuda

COUNTER = """
__device__ int launches = 100;
__device__ int* where = &launches;
__constant__ float scale[4] = {1, 2, 3, 4};
__device__ int second = 5;
extern "C" __global__ void k(int* out) { out[0] = ++launches; }
extern "C" __global__ void turn() { where = &second; }
extern "C" __global__ void other(long long* out)
{
    out[0] = (*where += 1000);
    out[1] = (long long)&launches;
    out[2] = scale[out[2]];
}"""


def test_variables_live_as_long_as_their_statics():
    from anywarp import ptx

    module = ptx.parse(cuda(COUNTER).ptx)
    keep, out = ptx.statics(module), np.zeros(1, np.int32)
    for expected in (101, 102, 103):
        ptx.run(module.entries["k"], 1, 1, [out], statics=keep)
        assert out[0] == expected
    ptx.run(module.entries["k"], 1, 1, [out])
    assert out[0] == 101
    first, second = np.zeros(3, np.int64), np.zeros(300, np.int64)
    ptx.run(module.entries["other"], 1, 1, [first], statics=keep)
    ptx.run(module.entries["other"], 1, 1, [second], statics=keep, tolerant=True, sink=len_of)
    assert (first[0], second[0]) == (1103, 2103)
    assert first[1] == second[1]  # the address does not change
    ptx.run(module.entries["turn"], 1, 1, [], statics=keep)
    ptx.run(module.entries["other"], 1, 1, [first], statics=keep)
    assert first[0] == 1005


def len_of(event):
    return None


def test_constant_memory_is_a_space_of_its_own_with_bounds():
    from anywarp import ptx

    module, seen = ptx.parse(cuda(COUNTER).ptx), []
    out = np.zeros(3, np.int64)
    ptx.run(module.entries["other"], 1, 1, [out], sink=seen.append)
    spaces = [(e.space, e.kind) for e in seen if isinstance(e, ptx.Access)]
    assert ("const", "load") in spaces and out[2] == 1
    (begun,) = [e for e in seen if isinstance(e, ptx.Launched)]
    assert [a.name for a in begun.allocations["const"]] == ["scale"]
    out[2] = 4
    with pytest.raises(ptx.MemoryFault, match="const memory.*0 bytes past the end of scale"):
        ptx.run(module.entries["other"], 1, 1, [out])
    text = entry(
        ".reg .b64 %p; .reg .b32 %x; mov.u64 %p, cell; ld.const.u32 %x, [%p];",
        module=".global .u32 cell;\n.const .u32 fixed = 1;",
    )
    with pytest.raises(ptx.MemoryFault, match="const memory"):
        launch(text, "k", 1, 1, [])


def test_errors_call_places_by_the_readers_names():
    from anywarp import ptx

    source = """
extern "C" __global__ void k(float* out)
{
    __shared__ float tile[4][5];
    tile[threadIdx.x][0] = 1;
    out[threadIdx.x] = tile[3][1];
}"""

    def names(space, allocation, offset):
        if allocation.argument is not None:
            return f"out[{offset // 4}]" if allocation.argument == 0 else None
        return f"tile[{offset // 20}][{offset // 4 % 5}]" if space == "shared" else None

    for size, threads, expected in ((9, 5, "tile[4][0]"), (2, 3, "out[2]")):
        with pytest.raises(ptx.MemoryFault) as caught:
            run_cuda(source, "k", 1, threads, [np.zeros(size, np.float32)], names=names)
        message = str(caught.value)
        assert expected in message and "param" not in message and "_ZZ" not in message


def test_addresses_know_their_space():
    source = """
__constant__ int fixed[2];
__device__ int cell;
struct Two { int a, b; };
extern "C" __global__ void k(int* out, const __grid_constant__ Two two)
{
    __shared__ int tile[2];
    int mine[2] = {out[0], out[1]};
    const void* all[4] = {&cell, tile, mine, fixed};
    int found = 0;
    for (int i = 0; i < 4; ++i)
        found = found * 16 + 8 * !!__isGlobal(all[i]) + 4 * !!__isShared(all[i])
              + 2 * !!__isLocal(all[i]) + 1 * !!__isConstant(all[i]);
    out[0] = found;
    out[1] = *(&two.a + out[2]);
}"""
    out = np.array([5, 6, 1], np.int32)
    run_cuda(source, "k", 1, 1, [out, np.array([3, 4], np.int32).tobytes()])
    assert hex(out[0]) == "0x8421" and out[1] == 4


STORE = ".reg .b64 %p; ld.param.u64 %p, [out]; st.global.u32 [%p], 7;"


def test_arrays_of_no_dimension_and_of_the_wrong_order():
    one = np.array(3, np.uint32)
    run_body(STORE, "u64 out", 1, 1, [one])
    assert one == 7
    with pytest.raises(ValueError, match="contiguous"):
        run_body(STORE, "u64 out", 1, 1, [np.zeros((4, 4), np.uint32)[:, 1]])


@pytest.mark.parametrize("access", ["ld.global.u64 %x, [%p+{}];", "st.global.u64 [%p+{}], %x;"])
@pytest.mark.parametrize("size, last", [(20, 8), (4, None)])
def test_a_wide_access_must_end_before_its_allocation_does(access, size, last):
    """Also where only some threads are wrong, and where another allocation begins near it."""
    from anywarp import ptx

    body = ".reg .b64 %p, %x; ld.param.u64 %p, [first]; mov.u64 %x, 0;"
    args = [np.zeros(size, np.uint8), np.zeros(64, np.uint8)]
    for offset in range(0, size, 8):
        text = entry(body + access.format(offset), "u64 first, u64 second")
        if last is not None and offset <= last:
            launch(text, "k", 2, 33, args)
        else:
            with pytest.raises(ptx.MemoryFault, match="8-byte access"):
                launch(text, "k", 2, 33, args)
    walk = ".reg .b32 %t; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 8, %p;"
    with pytest.raises(ptx.MemoryFault, match=r"thread \(8, 0, 0\)"):
        launch(entry(body + walk + access.format(0), "u64 first"), "k", 1, 9,
               [np.zeros(68, np.uint8)])  # fmt: skip


def test_barriers_under_a_guard():
    body = """
    .shared .align 4 .u32 sum;
    .reg .b32 %t, %x;
    .reg .b64 %p;
    .reg .pred %q;
    ld.param.u64 %p, [out];
    mov.u32 %t, %tid.x;
    setp.lt.u32 %q, %t, 64;
    mov.u32 %x, 0;
    @!%q ret;
    setp.lt.u32 %q, %t, 32;
    @%q st.shared.u32 [sum], 9;
    @%q bar.sync 1, 64;
    @!%q bar.sync 1, 64;
    @%q bar.red.popc.u32 %x, 0, %q;
    @!%q bar.red.popc.u32 %x, 0, %q;
    @!%q ld.shared.u32 %x, [sum];
    mad.wide.u32 %p, %t, 4, %p;
    st.global.u32 [%p], %x;
    """
    out = np.zeros(96, np.uint32)
    run_body(body, "u64 out", 2, 96, [out])
    assert out.tolist() == [32] * 32 + [9] * 32 + [0] * 32


def test_the_first_line_of_a_kernel_has_no_line_of_the_one_before():
    from anywarp import ptx

    text = (
        entry(".loc 1 7 3\n.reg .b32 %x; mov.u32 %x, 1;", name="first")
        + entry(".reg .b32 %x; mov.u32 %x, 1;", name="second").split("64\n", 1)[1]
        + '.file 1 "a.cu"\n'
    )
    module = ptx.parse(text)
    assert [i.position and i.position.line for i in module.entries["first"].instructions] == [7, 7]
    assert [i.position for i in module.entries["second"].instructions] == [None, None]
    assert [i.index for i in module.entries["first"].instructions] == [0, 1]
