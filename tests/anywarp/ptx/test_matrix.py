"""mma, ldmatrix, stmatrix and movmatrix: where elements lie, what comes out, what is refused."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from harness import run_body, run_cuda

from anywarp import ptx
from anywarp.ptx.memory.events import WarpSync
from anywarp.ptx.warps import matrix

THREADS = 64  # two warps a block, two blocks
GRID = 2
TILES = GRID * THREADS // 32
TYPES = {
    "f16": np.float16,
    "tf32": np.float32,
    "f32": np.float32,
    "s32": np.int32,
    "s8": np.int8,
    "u8": np.uint8,
    "f64": np.float64,
}
PRODUCTS = [
    *[(shape, f"{t}.f16.f16.{t}") for shape in ("m16n8k8", "m16n8k16") for t in ("f16", "f32")],
    *[(shape, "f32.bf16.bf16.f32") for shape in ("m16n8k8", "m16n8k16")],
    *[(shape, "f32.tf32.tf32.f32") for shape in ("m16n8k4", "m16n8k8")],
    *[
        (shape, f"s32.{a}.{b}.s32")
        for shape in ("m8n8k16", "m16n8k16", "m16n8k32")
        for a, b in itertools.product(("s8", "u8"), repeat=2)
    ],
    *[(f"m{m}n8k{k}", "f64.f64.f64.f64") for m, k in ((8, 4), (16, 4), (16, 8), (16, 16))],
]


def element(name: str, m: int, bits: int, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of the i-th element that a lane holds, written out from the PTX ISA's figures:
    chapter 9.7.14.5, "Matrix Fragments for mma"."""
    group, member = lane >> 2, lane % 4
    each = max(1, 32 // bits)  # elements side by side in a register
    place, register = i % each, i // each
    if name == "a" and m == 16:
        below, right = register & 1, register >> 1
        return group + 8 * below, 4 * each * right + each * member + place
    if name == "a":
        return group, 4 * each * register + each * member + place
    if name == "b":
        return 4 * each * register + each * member + place, group
    return group + (8 if i >= 2 else 0), member * 2 + (i & 1)


def bits_of(kind: str) -> int:
    return int(re.search(r"\d+", kind)[0]) if kind != "tf32" else 32


def encoded(values, kind: str):
    """Small integers in the type's format."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(TYPES[kind])


def to_registers(matrices, name: str, m: int, kind: str):
    """Matrices (TILES, rows, columns) -> words (registers, threads)."""
    bits, (_, rows, columns) = bits_of(kind), matrices.shape
    each = max(1, 32 // bits)
    count = rows * columns // 32
    held = np.zeros((count // each, TILES, 32, each), matrices.dtype)
    for lane, i in itertools.product(range(32), range(count)):
        row, column = element(name, m, bits, lane, i)
        held[i // each, :, lane, i % each] = matrices[:, row, column]
    word = np.uint64 if bits == 64 else np.uint32
    return np.ascontiguousarray(held).view(word).reshape(count // each, -1)


def warp_body(instruction: str, counts: dict[str, int], word: int = 32) -> str:
    """PTX: load the operands' registers, run the instruction, store d. `{a}` stands for the
    registers of operand a, in braces."""
    lines = [
        ".reg .b32 %i, %t; .reg .b64 %p;",
        "mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mul.lo.u32 %i, %i, %t;",
        "mov.u32 %t, %tid.x; add.u32 %i, %i, %t;",
    ]
    names = {}
    for name, count in counts.items():
        registers = [f"%{name}{n}" for n in range(count)]
        lines.append(f".reg .b{word} {', '.join(registers)};")
        names[name] = "{" + ", ".join(registers) + "}"
        lines += [f"ld.param.u64 %p, [{name}];", f"mad.wide.u32 %p, %i, {word // 8}, %p;"]
        step = GRID * THREADS * word // 8
        if name != "d":
            lines += [f"ld.global.b{word} {r}, [%p+{n * step}];" for n, r in enumerate(registers)]
    lines.append(re.sub(r"\{(\w)\}", lambda found: names[found[1]], instruction))
    lines += [f"st.global.b{word} [%p+{n * step}], %d{n};" for n in range(counts["d"])]
    return "\n".join(lines)


def multiply(shape: str, types: str, a, b, c, satfinite: str = "", **keywords):
    """d as registers (count, threads), from matrices in their types."""
    m = matrix.sizes(shape)[0]
    kinds = dict(zip("dabc", types.split(".")))
    held = {name: to_registers(x, name, m, kinds[name]) for name, x in zip("abc", (a, b, c))}
    d = np.zeros_like(held["c"])
    counts = {name: len(x) for name, x in {**held, "d": d}.items()}
    word = 64 if kinds["a"] == "f64" else 32
    body = warp_body(
        f"mma.sync.aligned.{shape}.row.col{satfinite}.{types} {{d}}, {{a}}, {{b}}, {{c}};",
        counts,
        word,
    )
    args = (*held.values(), d)
    run_body(body, "u64 a, u64 b, u64 c, u64 d", (GRID,), (THREADS,), args, **keywords)
    return d


def small(shape: str, types: str, seed: int):
    """Matrices of small integers, whose products every type holds exactly."""
    m, n, k = matrix.sizes(shape)
    random = np.random.default_rng(seed)
    low = 0 if "u8" in types else -4
    return [
        random.integers(low, 5, (TILES, *size)).astype(np.int64)
        for size in ((m, k), (k, n), (m, n))
    ]


@pytest.mark.parametrize("shape, types", PRODUCTS)
def test_product(shape, types):
    m, _, _ = matrix.sizes(shape)
    kinds = types.split(".")
    a, b, c = small(shape, types, len(types) + m)
    operands = [encoded(x, kind) for x, kind in zip((a, b, c), kinds[1:])]
    got = multiply(shape, types, *operands)
    want = to_registers(encoded(a @ b + c, kinds[0]), "d", m, kinds[0])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("satfinite", ["", ".satfinite"])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_bytes_wrap_or_stay_at_the_limit(satfinite, sign):
    a = np.full((TILES, 16, 32), 127, np.int8)
    b = np.full((TILES, 32, 8), 127 * sign, np.int8)
    c = np.full((TILES, 16, 8), sign * (2**31 - 1 - 1000), np.int32)
    d = multiply("m16n8k32", "s32.s8.s8.s32", a, b, c, satfinite).view(np.int32)
    total = sign * (32 * 127 * 127 + 2**31 - 1 - 1000)
    limit = 2**31 - 1 if sign > 0 else -(2**31)
    assert np.unique(d) == (limit if satfinite else (total + 2**31) % 2**32 - 2**31)


@pytest.mark.parametrize("shape, types", PRODUCTS)
def test_fragment_says_where_elements_are(shape, types):
    m, n, k = matrix.sizes(shape)
    for name, kind in zip("dabc", types.split(".")):
        rows, columns = matrix.fragment(name, shape, kind)
        each = max(1, 32 // bits_of(kind))
        for register, lane, place in np.ndindex(rows.shape):
            here = rows[register, lane, place], columns[register, lane, place]
            assert here == element(name, m, bits_of(kind), lane, register * each + place)
        height, width = {"a": (m, k), "b": (k, n)}.get(name, (m, n))
        assert sorted((rows * width + columns).flat) == list(range(height * width))


@pytest.mark.parametrize(
    "words",
    [
        "m16n8k16.row.row.f32.f16.f16.f32",
        "m16n8k16.row.col.f32.f16.f16.f16",
        "m16n8k32.row.col.f32.f16.f16.f32",
        "m8n8k4.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.satfinite.f32.f16.f16.f32",
        "m16n8k8.row.col.f32.f16.bf16.f32",
    ],
)
def test_unknown_products_are_named(words):
    body = warp_body(
        f"mma.sync.aligned.{words} {{d}}, {{a}}, {{b}}, {{c}};", {"a": 4, "b": 2, "c": 4, "d": 4}
    )
    args = [np.zeros((4, GRID * THREADS), np.uint32) for _ in range(4)]
    with pytest.raises(ptx.UnknownOpcode, match=re.escape(words)):
        run_body(body, "u64 a, u64 b, u64 c, u64 d", (GRID,), (THREADS,), args)


def test_a_wrong_number_of_registers_is_an_error():
    body = warp_body(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};",
        {"a": 4, "b": 1, "c": 4, "d": 4},
    )
    args = [np.zeros((4, GRID * THREADS), np.uint32) for _ in range(4)]
    with pytest.raises(ptx.UnknownOpcode, match="4 registers where the shape has 2"):
        run_body(body, "u64 a, u64 b, u64 c, u64 d", (GRID,), (THREADS,), args)


# -- who takes part -----------------------------------------------------------------------------

MMA = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
ONES = (
    """
    .reg .b32 %d<4>, %t, %i; .reg .b64 %p; .reg .pred %q;
    mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;
    .reg .b32 %o; mov.b32 %o, 0f3F800000;
    mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x; mad.lo.u32 %i, %i, 64, %t;
    BEFORE
    """
    + MMA
    + """ {%d0, %d1, %d2, %d3}, {%o, %o, %o, %o}, {%o, %o}, {%d0, %d1, %d2, %d3};
SKIP:
    ld.param.u64 %p, [out]; mad.wide.u32 %p, %i, 4, %p;
    st.global.b32 [%p], %d3;
"""
)


def ones(before: str, threads: int = 64):
    out = np.full((2, threads), np.nan, np.float32)
    run_body(ONES.replace("BEFORE", before), "u64 out", (2,), (threads,), [out])
    return out


def test_lanes_that_diverged_come_together():
    """Lane n goes round a loop n times before it comes to the product."""
    loop = """
    .reg .b32 %n; and.b32 %n, %t, 31;
LOOP:
    sub.s32 %n, %n, 1; setp.ge.s32 %q, %n, 0;
    @%q bra LOOP;
    """
    np.testing.assert_array_equal(ones(loop), np.full((2, 64), 8, np.float32))


def test_a_warp_that_takes_no_part_is_left_alone():
    out = ones("setp.ge.u32 %q, %t, 32; @%q bra SKIP;")
    np.testing.assert_array_equal(out, np.repeat([[8, 0]], 32, axis=1).repeat(2, axis=0))


def test_lanes_that_never_come():
    """Odd lanes wait at a barrier for the even ones."""
    before = ".reg .b32 %n; and.b32 %n, %t, 1; setp.eq.u32 %q, %n, 1; @%q bar.sync 1;"
    with pytest.raises(ptx.Deadlock, match=re.escape(MMA)):
        ones(before)


def test_lanes_that_have_exited():
    with pytest.raises(ptx.PTXError, match="needs all 32 lanes of a warp: here are 24") as caught:
        ones("setp.ge.u32 %q, %t, 56; @%q exit;")
    assert caught.value.thread == "block (0, 0, 0), thread (32, 0, 0)"


def test_a_block_without_a_whole_warp():
    with pytest.raises(ptx.PTXError, match="needs all 32 lanes of a warp: here are 16"):
        ones("", 48)


RUN = """
    .reg .b32 %d<4>, %e<4>, %f<4>, %t, %o, %n; .reg .b64 %p; .reg .pred %q;
    mov.u32 %t, %tid.x; cvt.rn.f32.u32 %o, %t; mov.b32 %n, %t;
    mov.b32 %d0, %o; mov.b32 %d1, 0; mov.b32 %d2, %o; mov.b32 %d3, 0f3F800000;
    mov.b32 %e0, 0; mov.b32 %e1, %o; mov.b32 %e2, 0; mov.b32 %e3, 0f40000000;
LOOP:
    sub.s32 %n, %n, 9; setp.ge.s32 %q, %n, 0;
    @%q bra LOOP;
    ONE {%f0, %f1, %f2, %f3}, {%o, %d1, %d0, %e1}, {%d0, %e3}, {%d0, %d1, %d2, %d3};
    ONE {%d0, %d1, %d2, %d3}, {%o, %o, %e0, %e1}, {%o, %d3}, {%d0, %d1, %d2, %d3};
    ONE {%e0, %e1, %e2, %e3}, {%o, %d1, %d0, %o}, {%o, %e3}, {%d0, %d1, %d2, %d3};
    ONE {%d0, %d1, %d2, %d3}, {%f0, %f1, %f2, %f3}, {%e0, %e2}, {%d0, %d1, %d2, %d3};
    ONE {%f0, %f1, %f2, %f3}, {%o, %o, %o, %o}, {%o, %o}, {%f0, %f1, %f2, %f3};
    ld.param.u64 %p, [out]; mad.wide.u32 %p, %t, 16, %p;
    st.global.v4.b32 [%p], {%d0, %d1, %e2, %f3};
"""


def test_products_that_follow_each_other_are_as_if_apart():
    """Some need what others write, some change what others read."""

    def run(between: str):
        out, heard = np.zeros((64, 4), np.float32), []
        body = RUN.replace("ONE", between + MMA)
        run_body(body, "u64 out", (1,), (64,), [out], sink=heard.append)
        met = [event for event in heard if isinstance(event, WarpSync)]
        return out, [(event.instruction.line, event.step) for event in met]

    (apart, order), (together, same) = run("mov.b32 %n, 0; "), run("")
    assert apart.tobytes() == together.tobytes() and len(np.unique(together)) > 100
    assert [line for line, _ in order] == [line for line, _ in same]
    (first, step), *_ = same
    assert same == [(first + n, step + n) for n in range(5)]


# -- ldmatrix, stmatrix, movmatrix --------------------------------------------------------------

MOVE = """
extern "C" __global__ void move(const unsigned* in, unsigned* out, unsigned* memory) {
    __shared__ __align__(16) unsigned tile[2][32 * STRIDE];
    int t = threadIdx.x, lane = t % 32;
    unsigned* mine = tile[t / 32];
    for (int n = lane; n < 32 * STRIDE; n += 32)
        mine[n] = in ? in[(blockIdx.x * 2 + t / 32) * 32 * STRIDE + n] : 0;
    __syncwarp();
    unsigned d[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        d[i] = out[(blockIdx.x * 64 + t) * 4 + i];
    unsigned row = ROW;
    INSTRUCTION
    for (int i = 0; i < 4; i++)
        out[(blockIdx.x * 64 + t) * 4 + i] = d[i];
    __syncwarp();
    for (int n = lane; n < 32 * STRIDE; n += 32)
        memory[(blockIdx.x * 2 + t / 32) * 32 * STRIDE + n] = mine[n];
}
"""
ROW = "(unsigned)__cvta_generic_to_shared(&mine[lane * STRIDE])"
LOAD = {
    1: 'asm volatile("ldmatrix.sync.aligned.m8n8.x1{} {{%0}}, [%1];" : "=r"(d[0]) : "r"(row));',
    2: 'asm volatile("ldmatrix.sync.aligned.m8n8.x2{} {{%0, %1}}, [%2];"'
    ' : "=r"(d[0]), "=r"(d[1]) : "r"(row));',
    4: 'asm volatile("ldmatrix.sync.aligned.m8n8.x4{} {{%0, %1, %2, %3}}, [%4];"'
    ' : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(row));',
}
STORE = {
    1: 'asm volatile("stmatrix.sync.aligned.m8n8.x1{} [%0], {{%1}};" :: "r"(row), "r"(d[0]));',
    2: 'asm volatile("stmatrix.sync.aligned.m8n8.x2{} [%0], {{%1, %2}};"'
    ' :: "r"(row), "r"(d[0]), "r"(d[1]));',
    4: 'asm volatile("stmatrix.sync.aligned.m8n8.x4{} [%0], {{%1, %2, %3, %4}};"'
    ' :: "r"(row), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]));',
}


def move(instruction: str, stride: int = 4, row: str = ROW, fill=None, **keywords):
    """(what is in shared memory before, registers before and after, shared memory after): words
    (warps, 32, stride) and (warps, 32, 4)."""
    random = np.random.default_rng(stride)
    before = random.integers(0, 2**32, (4, 32, stride), dtype=np.uint32)
    held = random.integers(0, 2**32, (4, 32, 4), dtype=np.uint32)
    out, memory = held.copy(), np.zeros_like(before)
    source = MOVE.replace("INSTRUCTION", instruction).replace("ROW", row)
    source = source.replace("STRIDE", str(stride))
    run_cuda(source, "move", (2,), (64,), (before, out, memory), **keywords)
    return before, held, out, memory


def as_fragment(rows, trans: bool):
    """Rows (8, 8) of halves -> the word of each lane."""
    return [
        int(rows[2 * (n % 4), n // 4]) | int(rows[2 * (n % 4) + 1, n // 4]) << 16
        if trans
        else int(rows[n // 4, 2 * (n % 4)]) | int(rows[n // 4, 2 * (n % 4) + 1]) << 16
        for n in range(32)
    ]


@pytest.mark.parametrize("stride", [4, 8, 20])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_load_matrix(count, trans, stride):
    words = ".trans" * trans + ".shared.b16"
    before, held, out, memory = move(LOAD[count].format(words), stride)
    np.testing.assert_array_equal(memory, before)
    for warp in range(4):
        rows = np.ascontiguousarray(before[warp, :, :4]).view(np.uint16)
        for n in range(4):
            want = as_fragment(rows[8 * n : 8 * n + 8], trans) if n < count else held[warp, :, n]
            np.testing.assert_array_equal(out[warp, :, n], want)


@pytest.mark.parametrize("stride", [4, 12])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_store_matrix(count, trans, stride):
    words = ".trans" * trans + ".shared.b16"
    before, held, out, memory = move(STORE[count].format(words), stride)
    np.testing.assert_array_equal(out, held)
    for warp in range(4):
        rows = np.ascontiguousarray(memory[warp, :, :4]).view(np.uint16)
        for n in range(count):
            got = as_fragment(rows[8 * n : 8 * n + 8], trans)
            np.testing.assert_array_equal(held[warp, :, n], got)
        untouched = before.copy()
        untouched[warp, : 8 * count, :4] = memory[warp, : 8 * count, :4]
        np.testing.assert_array_equal(memory[warp], untouched[warp])


def test_rows_in_any_order_and_more_than_once():
    row = ROW.replace("lane *", "(lane * 5 % 7) *")
    before, _, out, _ = move(LOAD[4].format(".shared.b16"), 4, row)
    for warp, n in np.ndindex(4, 4):
        halves = np.ascontiguousarray(before[warp]).view(np.uint16)
        rows = halves[[(8 * n + r) * 5 % 7 for r in range(8)]]
        np.testing.assert_array_equal(out[warp, :, n], as_fragment(rows, False))


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_generic_addresses(trans):
    row = "0; unsigned long long place = (unsigned long long)&mine[lane * STRIDE]"
    instruction = LOAD[4].format(trans + ".b16").replace('"r"(row)', '"l"(place)')
    there = move(instruction, 4, row)[2]
    np.testing.assert_array_equal(there, move(LOAD[4].format(trans + ".shared.b16"), 4)[2])


def test_a_generic_address_that_is_not_shared():
    row = "0; unsigned long long place = (unsigned long long)(in + lane * 4)"
    instruction = LOAD[4].format(".b16").replace('"r"(row)', '"l"(place)')
    with pytest.raises(ptx.MemoryFault, match="16-byte access to shared memory out of bounds"):
        move(instruction, 4, row)


@pytest.mark.parametrize("count, lane, fails", [(1, 7, True), (1, 8, False), (4, 31, True)])
@pytest.mark.parametrize("table", [LOAD, STORE])
def test_only_the_lanes_that_give_rows_may_fail(table, count, lane, fails):
    row = f"{ROW} + (t == 32 + {lane} ? 4 : 0)"
    instruction = table[count].format(".shared.b16")
    if not fails:
        move(instruction, 4, row)
        return
    with pytest.raises(ptx.MemoryFault, match="misaligned 16-byte access") as caught:
        move(instruction, 4, row)
    assert caught.value.thread == f"block (0, 0, 0), thread ({32 + lane}, 0, 0)"


def test_a_row_past_the_end():
    row = f"{ROW} + (t == 63 ? 16 : 0)"
    with pytest.raises(ptx.MemoryFault, match="16-byte access to shared memory out of bounds"):
        move(LOAD[4].format(".shared.b16"), 4, row)


@pytest.mark.parametrize("table, kind", [(LOAD, "load"), (STORE, "store")])
def test_the_sink_hears_of_the_rows(table, kind):
    heard = []
    before, held, _, memory = move(table[2].format(".shared.b16"), 8, sink=heard.append)
    (event,) = [
        e
        for e in heard
        if isinstance(e, ptx.Access) and e.instruction.opcode in ("ldmatrix", "stmatrix")
    ]
    assert (event.kind, event.space, event.width) == (kind, "shared", 16)
    np.testing.assert_array_equal(
        np.broadcast_to(event.mask, (2, 64)), np.broadcast_to(np.arange(64) % 32 < 16, (2, 64))
    )
    place = np.arange(64) * 32
    np.testing.assert_array_equal(event.address, np.broadcast_to(place, (2, 64)))
    if kind == "store":
        stored = np.stack(event.values, -1).reshape(4, 32, 4)
        np.testing.assert_array_equal(stored[:, :16], memory[:, :16, :4])


def test_a_tolerant_run_reports_the_row_and_goes_on():
    heard = []
    row = f"{ROW} + (t == 32 ? 4 : 0)"
    before, _, out, _ = move(
        LOAD[1].format(".shared.b16"), 4, row, sink=heard.append, tolerant=True
    )
    faults = [e for e in heard if type(e).__name__ == "Fault"]
    assert [np.argwhere(e.mask).tolist() for e in faults] == [[[0, 32], [1, 32]]]
    halves = np.ascontiguousarray(before[1]).view(np.uint16)[:8].copy()
    halves[0] = 0xFFFF
    np.testing.assert_array_equal(out[1, :, 0], as_fragment(halves, False))


def test_move_matrix():
    words = "movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a};".replace("{d}", "%d0")
    body = warp_body(words.replace("{a}", "%a0"), {"a": 1, "d": 1})
    random = np.random.default_rng(5)
    a = random.integers(0, 2**32, (1, TILES * 32), dtype=np.uint32)
    d = np.zeros_like(a)
    run_body(body, "u64 a, u64 d", (GRID,), (THREADS,), [a, d])
    for warp in range(TILES):
        held = a[0, 32 * warp : 32 * warp + 32].copy().view(np.uint16).reshape(8, 8)
        np.testing.assert_array_equal(
            d[0, 32 * warp : 32 * warp + 32], as_fragment(held, trans=True)
        )


@pytest.mark.parametrize(
    "text",
    [
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%d0, %d1}, [%t];",
        "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%d0, %d1, %d2}, [%t];",
        "ldmatrix.sync.aligned.m8n8.x2.global.b16 {%d0, %d1}, [%t];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%t], {%d0};",
        "movmatrix.sync.aligned.m8n8.b16 %d0, %d1;",
    ],
)
def test_unknown_forms_are_named(text):
    body = ".reg .b32 %d<4>, %t; mov.u32 %t, 0;\n" + text
    with pytest.raises(ptx.UnknownOpcode, match=re.escape(text.split()[0])):
        run_body(body, "u64 a", (1,), (32,), [np.zeros(4, np.uint32)])


# -- together -----------------------------------------------------------------------------------

SGEMM = """
extern "C" __global__ void gemm(const unsigned short* A, const unsigned short* B, float* C) {
    // 128 x 128 x 512 by 8 warps of 32 x 64, tiles of A and B in shared memory, K at a time
    const int N = 128, K = 512, BK = 32, S = BK + 8, T = N + 8;
    __shared__ __align__(16) unsigned short a[128 * S], b[BK * T];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    float c[2][8][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int n = t; n < 128 * BK; n += 256)
            a[n / BK * S + n % BK] = A[n / BK * K + k0 + n % BK];
        for (int n = t; n < BK * N; n += 256)
            b[n / N * T + n % N] = B[(k0 + n / N) * N + n % N];
        __syncthreads();
        for (int k = 0; k < BK; k += 16) {
            unsigned x[2][4], y[8][2];
            for (int i = 0; i < 2; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                    : "r"((unsigned)__cvta_generic_to_shared(
                        &a[(row + 16 * i + lane % 16) * S + k + lane / 16 * 8])));
            for (int j = 0; j < 8; j++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                    : "=r"(y[j][0]), "=r"(y[j][1])
                    : "r"((unsigned)__cvta_generic_to_shared(
                        &b[(k + lane % 16) * T + column + 8 * j])));
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 8; j++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(c[i][j][0]), "+f"(c[i][j][1]), "+f"(c[i][j][2]), "+f"(c[i][j][3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]),
                          "r"(y[j][0]), "r"(y[j][1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 8; j++)
            for (int n = 0; n < 4; n++)
                C[(row + 16 * i + lane / 4 + n / 2 * 8) * N + column + 8 * j + lane % 4 * 2 + n % 2]
                    = c[i][j][n];
}
"""


def test_a_product_through_shared_memory():
    random = np.random.default_rng(0)
    a, b = (random.integers(-8, 9, size) for size in ((128, 512), (512, 128)))
    c = np.full((128, 128), np.nan, np.float32)
    run_cuda(SGEMM, "gemm", (1,), (256,), (encoded(a, "bf16"), encoded(b, "bf16"), c))
    np.testing.assert_array_equal(c, a @ b)
