"""The sanitizer: every planted fault on its line, and nothing on correct kernels."""

from __future__ import annotations

import re

import numpy as np
import planted
import planted_async
import planted_clusters
import planted_order
import planted_wgmma
import pytest
from planted import Planted

from anywarp import Kernel, ptx
from anywarp.ptx.text.syntax import Position
from anywarp.sanitizer import Finding, merged, sanitizer, shadow
from anywarp.sanitizer.static_facts import facts_of
from anywarp.sanitizer.undefined import used_cells

MODULES = planted, planted_async, planted_clusters, planted_order, planted_wgmma
PLANTED = {one.name: one for m in MODULES for one in planted.read(m.TABLE, vars(planted) | vars(m))}
CORRECT = [one for one in PLANTED.values() if not one.kinds]
FAULTY = [one for one in PLANTED.values() if one.kinds]
TYPES = {"float": np.float32, "double": np.float64, "int": np.int32, "unsigned": np.uint32}


def arguments(one: Planted) -> tuple[list, list[int]]:
    """The arguments, and which of them nobody has written."""
    stream, args = np.random.RandomState(0), []
    for text in one.args.split():
        start, dtype, shape = re.fullmatch(r"(?:(\w+):)?([-\w.]+)(?:\[(.*)\])?", text).groups()
        if shape is None:
            args.append(float(text) if "." in text else int(text))
            continue
        shape, dtype = tuple(map(int, shape.split(","))), np.dtype(TYPES[dtype])
        draw = stream.uniform(-1, 1, shape) if dtype.kind == "f" else stream.randint(0, 10, shape)
        args.append(np.zeros(shape, dtype) if start else draw.astype(dtype))
    return args, [n for n, text in enumerate(one.args.split()) if text.startswith("out:")]


def sanitize(one: Planted):
    args, uninitialised = arguments(one)
    kernel = Kernel(one.source, one.kernel)
    return kernel.sanitize(one.grid, one.block, args, one.shared_mem, uninitialised)


@pytest.mark.parametrize("one", CORRECT, ids=lambda one: one.name)
def test_nothing_is_found_in_a_correct_kernel(one):
    assert sanitize(one) == ()


@pytest.mark.parametrize("one", FAULTY, ids=lambda one: one.name)
def test_a_planted_fault_is_found_on_its_line(one):
    found = sanitize(one)
    assert {f.kind for f in found} == one.kinds
    assert one.lines("(other )?fault( other)?") <= {f.position.line for f in found} | {
        f.other_position.line for f in found if f.other_position
    }
    here, there = one.lines("fault( other)?"), one.lines("(fault )?other")
    for f in found:
        assert f.position.line in here, f
        if there and f.kind in ("race", "asynchronous copy") and f.other_position:
            assert f.other_position.line in there | here, f


def only(name: str):
    (finding,) = sanitize(PLANTED[name])
    return finding


def test_a_race_names_both_threads_lines_and_the_element():
    one = PLANTED["no first barrier"]
    by_array = {f.address.partition("[")[0]: f for f in sanitize(one)}
    assert set(by_array) == {"tile_a", "tile_b"}
    a = by_array["tile_a"]
    (line,), store = one.lines("fault"), min(one.lines("other"))
    # thread (0, 0) wrote what it reads; (1, 0) is the first to read another's element
    assert (a.address, a.thread, a.other_thread) == (
        "tile_a[0][0]",
        "block (0, 0, 0), thread (1, 0, 0)",
        "block (0, 0, 0), thread (0, 0, 0)",
    )
    assert (a.position.line, a.other_position.line) == (line, store)
    # 16 blocks, 4 tiles, 256 threads, 16 k; one of 16 elements of a row is the thread's own
    assert a.count == 16 * 4 * 256 * 15
    assert str(a) == (
        f"kernel.cu:{line}: race: block (0, 0, 0), thread (1, 0, 0) reads tile_a[0][0], which "
        f"block (0, 0, 0), thread (0, 0, 0) writes at kernel.cu:{store}, with no barrier in "
        f"between ({a.count} times)"
    )


def test_out_of_bounds_says_how_far_and_of_what():
    found = sanitize(PLANTED["<= in the tile loop"])
    texts = {f.address: f.message for f in found}
    assert texts["tile_b[16][0]"] == (
        "block (0, 0, 0), thread (0, 0, 0) reads 4 bytes at tile_b[16][0] in shared memory, "
        "0 bytes past the end of tile_b (1024 bytes)"
    )
    assert texts["tile_a[16][0]"].startswith("block (0, 0, 0), thread (0, 15, 0) reads")
    guard = only("no guard for A")
    assert guard.address == "A[67][0]" and guard.thread == "block (0, 4, 0), thread (0, 3, 0)"


def test_misaligned_says_what_is_needed():
    finding = only("misaligned float4")
    assert finding.message == (
        "block (0, 0, 0), thread (0, 0, 0) reads 16 bytes at in[1] in global memory, which is "
        "not a multiple of 16 bytes"
    )
    assert finding.count == 32
    assert only("misaligned float4 in a padded tile").address == "tile[1][0]"


def test_other_messages():
    unset = only("local element nobody set")
    assert (unset.address, unset.count) == ("seen[9]", 6)  # of those who tell it
    assert only("C is read although beta is 0").address == "C[0][0]"
    assert only("blocks write one place").message.endswith(
        "writes out[3], which block (3, 0, 0), thread (0, 0, 0) writes at kernel.cu:4, and blocks "
        "are not ordered"
    )
    early = only("barrier under an if")
    assert (early.thread, early.other_thread, early.address) == (
        "block (0, 0, 0), thread (0, 0, 0)",
        "block (0, 0, 0), thread (16, 0, 0)",
        None,
    )
    assert early.message == (
        "16 of 32 threads of the block wait at the barrier, block (0, 0, 0), thread (16, 0, 0) "
        "among the others has passed it by and exited"
    )
    assert (
        "to which block (0, 0, 0), thread (0, 0, 0) has a copy under way since kernel.cu:5"
        in only("copy overwritten in flight").message
    )


MESSAGES = {
    "full not waited for": (
        "thread (0, 0, 0) reads stage[0][127], to which block (0, 0, 0), thread (128, 0, 0) has a "
        "copy under way since LINE and has not waited for it"
    ),
    "one thread waits for itself alone": (
        "thread (0, 0, 0) reads stage[0][63], which a copy that block (0, 0, 0), thread (0, 0, 0) "
        "issued at LINE has filled, and nothing orders this after a wait for that copy"
    ),
    "overwritten while a bulk store reads": (
        "writes box[0], from which block (0, 0, 0), thread (0, 0, 0) has a copy under way since "
        "LINE and has not waited for it"
    ),
    "no proxy fence": (
        "thread (0, 0, 0) starts a copy that reads box[0], which block (0, 0, 0), thread (0, 0, 0) "
        "writes at LINE with no fence.proxy.async before the barrier in between"
    ),
    "initialised without a barrier": (
        "uses full[0], which block (0, 0, 0), thread (0, 0, 0) initialises at LINE, with "
        "no barrier in between"
    ),
    "too few bytes expected": (
        "a phase of full[0] was over before the copy at LINE had brought its bytes: too "
        "few are expected"
    ),
    "too many bytes expected, and nobody waits": (
        "full[0] still expects 16 bytes when the kernel ends"
    ),
    "more bytes than expected": "full[0] has got 256 bytes more than it expects",
    "a copy nobody waits for": (
        "the copy to stage[1][0] that block (0, 0, 0), thread (0, 0, 0) starts is under way when "
        "the kernel ends: nobody has waited for it"
    ),
    "given back before wgmma is done": (
        "thread (256, 0, 0) starts a copy that writes stage[0][0], which the warpgroup of "
        "block (0, 0, 0), thread (0, 0, 0) multiplies with at LINE, and nothing orders "
        "this after its wgmma.wait_group"
    ),
    "accumulators read before the wait": "before it has waited for that with wgmma.wait_group",
    "no wgmma.fence": "runs wgmma without a wgmma.fence before it",
    "a block may have exited": (
        "reads part + 0 bytes in the shared memory of block (1, 0, 0), which may have exited by "
        "then: no barrier of the cluster comes after"
    ),
    "no barrier of the cluster before": (
        "reads part + 0 bytes in the shared memory of block (1, 0, 0), which may not have begun: "
        "no barrier of the cluster comes before"
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_of_what_runs_on_its_own(name):
    findings = sanitize(PLANTED[name])
    said = [re.sub(r"kernel.cu:\d+", "LINE", finding.message) for finding in findings]
    assert any(MESSAGES[name] in message for message in said), said


LOOP = """\
extern "C" __global__ void loop(int n, const int* next, int* out)
{
    int i = 0;
    while (i != n)
        i = next[i];
    *out = i;
}
"""


def test_findings_are_kept_when_the_run_breaks_off(monkeypatch):
    run = sanitizer.run
    monkeypatch.setattr(sanitizer, "run", lambda *a, **b: run(*a, **b, step_limit=2000))
    kernel, out = Kernel(LOOP, "loop"), np.zeros(1, np.int32)
    (finding,) = kernel.sanitize(1, 1, [9, np.array([1, 5], np.int32), out])
    assert finding.kind == "out of bounds" and finding.address == "next[5]"
    with pytest.raises(ptx.StepLimit):
        kernel.sanitize(1, 1, [9, np.array([1, 0], np.int32), out])


def test_a_stray_access_does_not_spoil_the_others():
    kernel = Kernel(planted.edit(planted.LOCAL, ("out[t] =", "out[2 * t] =")), "pick")
    args, _ = arguments(PLANTED["local"])
    (finding,) = kernel.sanitize(1, 64, args)
    assert finding.address == "out[64]" and finding.count == 32
    values = args[1]
    expected = [np.sum(values[(t + np.arange(20)) % 64] == values[t]) for t in range(32)]
    np.testing.assert_array_equal(args[2][::2], expected)


def test_the_same_value_by_different_instructions_is_no_race():
    source = """\
extern "C" __global__ void same(int n, int* out)
{
    __shared__ volatile int s;
    if (threadIdx.x < 5)
        s = 4;
    if (threadIdx.x > 40)
        s = n;
    __syncthreads();
    out[threadIdx.x] = s;
}
"""
    kernel, out = Kernel(source, "same"), np.zeros(64, np.int32)
    assert kernel.sanitize(1, 64, [4, out]) == ()
    (finding,) = kernel.sanitize(1, 64, [5, out])
    assert finding.kind == "race" and (finding.position.line, finding.other_position.line) == (7, 5)


def test_bytes_are_told_apart():
    source = """\
extern "C" __global__ void bytes(const unsigned char* in, unsigned char* out)
{
    __shared__ unsigned char s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    s[threadIdx.x] += 1;
    out[threadIdx.x] = s[threadIdx.x OFFSET];
}
"""
    for offset, expected in (("", set()), ("^ 1", {"race"})):
        kernel = Kernel(source.replace("OFFSET", offset), "bytes")
        found = kernel.sanitize(1, 64, [np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)])
        assert {f.kind for f in found} == expected


def test_a_group_of_readers_in_another_warp_is_not_forgotten():
    """Warp 1 reads, then warp 0 reads, waits for its own lanes and writes."""
    source = """\
extern "C" __global__ void readers(int* out)
{
    __shared__ int s[1];
    if (threadIdx.x == 0)
        s[0] = 1;
    __syncthreads();
    if (threadIdx.x >= 32)
        out[threadIdx.x] = s[0];
    if (threadIdx.x < 32) {
        out[threadIdx.x] = s[0];
        __syncwarp();
        if (threadIdx.x == 0)
            s[0] = 2;
    }
}
"""
    (finding,) = Kernel(source, "readers").sanitize(1, 64, [np.zeros(64, np.int32)])
    assert finding.kind == "race"
    assert (finding.position.line, finding.other_position.line) == (13, 8)


def test_dimensions_of_grids_and_blocks():
    source = """\
extern "C" __global__ void cube(int* out)
{
    out[threadIdx.x] = 2 * blockIdx.z + threadIdx.z;
}
"""
    (finding,) = Kernel(source, "cube").sanitize((1, 1, 2), (2, 1, 2), [np.zeros(2, np.int32)])
    assert finding.thread == "block (0, 0, 0), thread (0, 0, 0)"
    assert finding.other_thread == "block (0, 0, 1), thread (0, 0, 1)"


def test_chunks_of_blocks_are_compared_too(monkeypatch):
    """More threads than the interpreter runs at a time, writing one place."""
    monkeypatch.setattr("anywarp.ptx.machine.machine.CHUNK_THREADS", 16 * 1024)
    source = 'extern "C" __global__ void last(int* out) { if (!threadIdx.x) *out = blockIdx.x; }'
    (finding,) = Kernel(source, "last").sanitize(40, 1024, [np.zeros(1, np.int32)])
    # in a chunk of 16, 15 lose to the last; the next chunk finds them written
    assert finding.count == 15 + 15 + 7 + 16 + 8


def test_without_line_information_the_ptx_line_stands_in():
    source = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p) {\n"
        ".reg .b64 %a;\nld.param.u64 %a, [p];\nst.global.u32 [%a+4], 1;\nret;\n}\n"
    )
    entry = ptx.parse(source).entries["f"]
    (finding,) = sanitizer.sanitize(entry, 1, 1, [np.zeros(1, np.int32)])
    assert str(finding.position) == "PTX:7" and finding.address == "arg0[1]"


@pytest.mark.parametrize(
    "uninitialised, error, message",
    [
        ([4], ValueError, "no argument 4, only 0 to 2"),
        ([0], ValueError, "argument 0 is not an array"),
        (["out"], TypeError, "indices of arguments, not 'out'"),
        ([True], TypeError, "not True"),
    ],
)
def test_wrong_uninitialised(uninitialised, error, message):
    args, _ = arguments(PLANTED["local"])
    kernel = Kernel(planted.LOCAL, "pick")
    with pytest.raises(error, match=message):
        kernel.sanitize(1, 64, args, uninitialised=uninitialised)
    with pytest.raises(ValueError, match="2048 threads"):
        kernel.sanitize(1, (64, 32), args)


def test_defines_of_the_command_line_give_shapes():
    changes = ("k < BK", "k <= BK"), ("tile_b[BK][BN]", "tile_b[BK][BN + PAD]")
    kernel, one = Kernel(planted.edit(planted.TILED, *changes), "sgemm", ["-DPAD=3"]), CORRECT[0]
    assert one.name == "tiled"
    finding = kernel.sanitize(one.grid, one.block, arguments(one)[0])[0]
    assert finding.address.startswith("tile_b[16][") and finding.kind == "out of bounds"


# Names of bodies, the lines of the race that each has, from 1, and its lines.
BODIES = r"""
all lanes read, the last writes: 2 3
    s[threadIdx.x] = 1; __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = s[0];
    if (threadIdx.x == 31) s[0] = 2;
one reads, another reads and writes: 2 4
    s[threadIdx.x] = 1; __syncthreads();
    if (threadIdx.x == 3) out[0] = s[0];
    if (threadIdx.x == 5) { out[1] = s[0];
    s[0] = 2; }
a store after an atomic: 2 3
    s[threadIdx.x] = 1; __syncthreads();
    if (threadIdx.x == 3) atomicAdd((int*)&s[0], 1);
    if (threadIdx.x == 5) s[0] = 7;
an atomic after a load: 2 3
    s[threadIdx.x] = 1; __syncthreads();
    if (threadIdx.x == 3) out[0] = s[0];
    if (threadIdx.x == 5) atomicAdd((int*)&s[0], 1);
a copy after a store: 1 2
    s[threadIdx.x] = 1;
    COPY(s[threadIdx.x ^ 1], &out[threadIdx.x]); asm volatile("cp.async.wait_all;");
a copy after a load: 2 3
    s[threadIdx.x] = 1; __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
    COPY(s[threadIdx.x ^ 1], &out[threadIdx.x]); asm volatile("cp.async.wait_all;");
a copy after an atomic: 1 2
    if (threadIdx.x == 3) atomicAdd((int*)&s[0], 1);
    if (threadIdx.x == 5) COPY(s[0], &out[5]); asm volatile("cp.async.wait_all;");
two copies to one place: 1
    COPY(s[threadIdx.x / 2], &out[threadIdx.x]); asm volatile("cp.async.wait_all;");
volatile in shared memory: 1
    s[5] = threadIdx.x;
volatile in global memory:
    ((volatile int*)out)[0] = threadIdx.x; out[1] = ((volatile int*)out)[0];
relaxed stores:
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(out), "r"(threadIdx.x));
blocks wait at different barriers:
    __syncwarp(); s[threadIdx.x] = 1;
    if (blockIdx.x == 0) __syncthreads(); else { out[99] = 1; __syncthreads(); }
    s[threadIdx.x ^ 32] += 1;
the same in global memory:
    __syncwarp(); int* mine = out + 128 * blockIdx.x; mine[threadIdx.x] = 1;
    if (blockIdx.x == 0) __syncthreads(); else { mine[99] = 1; __syncthreads(); }
    mine[threadIdx.x ^ 32] += 1;
"""


@pytest.mark.parametrize("text", re.split(r"\n(?=\S)", BODIES.strip()))
def test_bodies(text):
    head, _, body = text.partition("\n")
    lines = set(map(int, head.partition(":")[2].split()))
    copy = 'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: '
    copy += '"r"((unsigned)__cvta_generic_to_shared((void*)&to)), "l"(from))'
    source = f"#define COPY(to, from) {copy}\n"
    source += 'extern "C" __global__ void f(int* out) {\n__shared__ volatile int s[64];\n'
    found = Kernel(source + body + "\n}\n", "f").sanitize(2, 64, [np.zeros(256, np.int32)])
    races = [
        {f.position.line - 3, f.other_position.line - 3}
        for f in found
        if f.kind == "race" and f.address.startswith("s[")
    ]
    assert races == ([lines] if lines else []), found
    assert lines or found == ()


def test_arrays_of_one_name_have_shapes_of_their_own():
    source = """\
extern "C" __global__ void f(int* out)
{
    {
        __shared__ int s[4];
        s[threadIdx.x] = 1;
        __syncthreads();
        out[0] = s[1];
    }
    {
        __shared__ double s[4][2];
        s[threadIdx.x][1] = 2;
        __syncthreads();
        out[1] = s[1][1];
    }
}
"""
    found = Kernel(source, "f").sanitize(1, 6, [np.zeros(2, np.int32)])
    bad = {f.position.line: f.address for f in found if f.kind == "out of bounds"}
    assert bad == {5: "s[4]", 11: "s[4][1]"}


def test_findings_of_several_runs():
    """Equal ones are one, with their counts added; arrays on the same lines are told apart."""
    one = Finding("race", "", Position("a.cu", 4), None, "tile_a[3]", Position("a.cu", 7))
    turned = Finding("race", "", Position("a.cu", 7), None, "tile_a[5]", Position("a.cu", 4))
    other = Finding("race", "", Position("a.cu", 4), None, "tile_b[3]", Position("a.cu", 7))
    first, second = merged([one, other, turned])
    assert (first.address, first.count) == ("tile_a[3]", 2)
    assert (second.address, second.count) == ("tile_b[3]", 1)


def test_the_lanes_that_do_not_come_are_named():
    finding = only("full mask in a branch")
    assert finding.message == (
        "the member mask 0xffffffff names lanes that do not come here: "
        + ", ".join(map(str, range(16, 32)))
    )
    assert finding.thread == "block (0, 0, 0), thread (0, 0, 0)" and finding.count == 32
    assert only("tree of too many steps").message.endswith(
        "with a value that comes from a lane which takes no part in this, such as 8"
    )


def test_what_is_read_early_is_told_once_with_where_it_matters():
    finding = only("computed with first")
    assert finding.message.endswith(
        "in local memory, which nobody has written, and what comes of it matters at kernel.cu:23"
    )
    args, _ = arguments(next(one for one in FAULTY if one.name == "computed with first"))
    assert finding.count == (args[0] <= 4).sum()


def test_faults_in_functions_have_their_own_lines():
    source = """\
struct Tile { float at[8]; };
__device__ float& element(Tile& tile, int i)
{
    return tile.at[i];
}
__device__ void put(Tile& tile, int i, float x)
{
    element(tile, i) = x;
}
extern "C" __global__ void f(float* out)
{
    __shared__ Tile tile;
    put(tile, threadIdx.x, 1.0f);
    __syncthreads();
    out[threadIdx.x] = element(tile, 7 - threadIdx.x);
}
"""
    found = Kernel(source, "f").sanitize(1, 9, [np.zeros(9, np.float32)])
    assert {(f.kind, f.position.line) for f in found} == {
        ("out of bounds", 8),
        ("out of bounds", 15),
    }


DEMANDS = {
    # what is done with the loaded %r1, and the bytes of it that count as used
    "st.global.u32 [%rd1], %r1;": 0,
    "mov.u32 %r2, %r1;\nst.global.u32 [%rd1], %r2;": 0,
    "add.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;": 0b1111,
    "and.b32 %r2, %r1, 255;\nadd.u32 %r3, %r2, 1;": 0b0001,
    "shr.u32 %r2, %r1, 24;\nadd.u32 %r3, %r2, 1;": 0b1000,
    "shl.b32 %r2, %r1, 16;\nadd.u32 %r3, %r2, 1;": 0b0011,
    "cvt.u16.u32 %rs1, %r1;\nadd.u16 %rs2, %rs1, 1;": 0b0011,
    "cvt.s32.s8 %r2, %r1;\nadd.u32 %r3, %r2, 1;": 0b0001,
    "bfe.u32 %r2, %r1, 8, 8;\nadd.u32 %r3, %r2, 1;": 0b1111,
    "bfe.u32 %r2, %r1, 8, 8;\nst.global.u32 [%rd1], %r2;": 0,
    "mov.b32 {%rs1, %rs2}, %r1;\nadd.u16 %rs3, %rs2, 1;": 0b1111,
    "mov.b64 %rd2, {%r2, %r1};\nst.global.u64 [%rd1], %rd2;": 0,
    "setp.eq.u32 %p1, %r1, 0;": 0b1111,
    "st.global.u32 [%rd1+4], %r1;\nld.global.u32 %r2, [%rd1];\n@%p1 add.u32 %r2, %r1, 1;": 0b1111,
}


@pytest.mark.parametrize("text", DEMANDS)
def test_bytes_that_are_used(text):
    source = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p) {\n"
        ".reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n.reg .b16 %rs<9>;\n.reg .pred %p<2>;\n"
        f"ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n{text}\nret;\n}}\n"
    )
    entry = ptx.parse(source).entries["f"]
    used = used_cells(entry.instructions[1], facts_of(entry), 1).ravel()
    assert sum(1 << n for n in np.flatnonzero(used)) == DEMANDS[text]


TWO = """
extern "C" __global__ void first(int n, char* x) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
extern "C" __global__ void second(int n, char* x, char* y) {
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + 1;
}
"""


@pytest.mark.parametrize("written, read, found", [(5, 5, 0), (5, 4, 0), (5, 6, 1), (0, 1, 1)])
def test_a_launch_knows_what_those_before_it_wrote(written, read, found):
    first, second = (Kernel(TWO, name) for name in ("first", "second"))
    x, y = np.zeros(7, np.int8), np.zeros(7, np.int8)
    known = {1: np.zeros(7, bool)}
    assert first.sanitize(1, 32, (written, x), uninitialised=known) == ()
    assert known[1].tolist() == [n < written for n in range(7)]
    findings = second.sanitize(1, 32, (read, x, y), uninitialised={1: known[1]})
    assert [one.kind for one in findings] == found * ["uninitialised"]
    assert known[1].sum() == written  # reading writes nothing
    assert second.sanitize(1, 32, (read, x, y)) == ()


@pytest.mark.parametrize("mask", [np.zeros(6, bool), np.zeros(7, np.int8), [False] * 7])
def test_a_mask_has_a_bool_for_each_byte(mask):
    known = {1: mask}
    with pytest.raises(ValueError, match=r"uninitialised\[1\] must be an array of bool .* 7 bytes"):
        Kernel(TWO, "first").sanitize(1, 32, (7, np.zeros(7, np.int8)), uninitialised=known)


def test_an_array_of_no_bytes_is_never_written():
    first = Kernel(TWO, "first")
    nothing = {1: np.zeros(0, bool)}
    assert first.sanitize(1, 32, (0, np.zeros(0, np.int8)), uninitialised=nothing) == ()


def test_memory_that_cannot_be_had_is_said(monkeypatch):
    """In a browser, where memory is short when it is asked for."""

    def refuse(*_):
        raise OSError(48, "Out of memory")

    monkeypatch.setattr(shadow.mmap, "mmap", refuse)
    with pytest.raises(MemoryError, match="no memory for 8,000 bytes.* take a smaller product"):
        shadow.zeros(1000)


def test_one_array_as_two_arguments_is_one_allocation():
    """Whichever of them is said to hold nothing yet."""
    source = """extern "C" __global__ void k(float* to, const float* from, const float* again)
    { to[threadIdx.x] = from[threadIdx.x] + again[threadIdx.x]; }"""
    to, x = np.zeros(32, np.float32), np.ones(32, np.float32)
    for n in 1, 2:
        (finding,) = Kernel(source, "k").sanitize(1, 32, (to, x, x), uninitialised=[n])
        assert finding.kind == "uninitialised", n
