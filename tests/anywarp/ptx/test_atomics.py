"""atom and red on global and shared memory, with many threads on few cells."""

from __future__ import annotations

from collections import Counter

import exact
import numpy as np
import pytest
from exact import F32, F64, f32, wrap
from harness import entry, launch, run_body, vectors

from anywarp import ptx
from anywarp.kernel import Kernel

BLOCKS, THREADS, CELLS = 3, 50, 7


def contended(space: str, op: str, kind: str, values: list[int], start: int, second: str = ""):
    """All threads update CELLS cells; returns the final cells and what each thread got back.

    For shared memory there is one block, which copies the cells in and out.
    """
    size = exact.width_of(kind) // 8
    blocks = BLOCKS if space == "global" else 1
    reg = f"b{8 * size}"
    move = (
        ""
        if space == "global"
        else f"""
    setp.ge.u32 %p, %t, {CELLS};
    @%p bra READY;
    st.shared.{reg} [%s], %k;
READY:
    bar.sync 0;
    """
    )
    out = (
        ""
        if space == "global"
        else f"""
    bar.sync 0;
    @%p bra END;
    ld.shared.{reg} %x, [%s];
    st.global.{reg} [%c], %x;
END:
    """
    )
    body = f"""
    .shared .align 8 .b8 box[{CELLS * size}];
    .reg .pred %p;
    .reg .b32 %t, %i, %b;
    .reg .{reg} %v, %x, %k;
    .reg .b64 %c, %g, %r, %s, %m;
    ld.param.u64 %g, [values];
    ld.param.u64 %c, [cells];
    ld.param.u64 %r, [returned];
    ld.param.{reg} %k, [start];
    mov.u64 %s, box;
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mad.lo.u32 %i, %b, {THREADS}, %t;
    mad.wide.u32 %g, %i, {size}, %g;
    mad.wide.u32 %r, %i, {size}, %r;
    rem.u32 %b, %i, {CELLS};
    mul.wide.u32 %m, %b, {size};
    mad.wide.u32 %s, %t, {size}, %s;
    mad.wide.u32 %c, %t, {size}, %c;
    {move}
    mov.u64 %s, box;
    add.u64 %s, %s, %m;
    ld.global.{reg} %v, [%g];
    """
    target = "%s"
    if space == "global":
        body += "ld.param.u64 %c, [cells]; add.u64 %c, %c, %m;"
        target = "%c"
    if op.startswith("red."):
        body += f"{op.replace('red', f'red.{space}', 1)}.{kind} [{target}], %v;"
    else:
        body += f"atom.{space}.{op}.{kind} %x, [{target}], {second}%v; st.global.{reg} [%r], %x;"
    if space == "shared":
        body += f"""
    mov.u64 %s, box;
    mad.wide.u32 %s, %t, {size}, %s;
    {out}"""
    count, dtype = blocks * THREADS, f"uint{8 * size}"
    mask = (1 << 8 * size) - 1
    given = np.array([v & mask for v in values[:count]], dtype)
    cells, returned = np.full(CELLS, start & mask, dtype), np.zeros(count, dtype)
    text = entry(body, f"u64 values, u64 cells, u64 returned, {reg} start")
    scalar = np.array([start & mask], dtype)[0]
    launch(text, "k", blocks, THREADS, [given, cells, returned, scalar])
    return cells.tolist(), returned.tolist(), given.tolist()


OPERATIONS = {
    "add": lambda a, b, kind: wrap(a + b, kind),
    "min": lambda a, b, kind: min(a, b),
    "max": lambda a, b, kind: max(a, b),
    "and": lambda a, b, kind: a & b,
    "or": lambda a, b, kind: a | b,
    "xor": lambda a, b, kind: a ^ b,
    "exch": lambda a, b, kind: b,
    "inc": lambda a, b, kind: 0 if a >= b else a + 1,
    "dec": lambda a, b, kind: b if a == 0 or a > b else a - 1,
}
ATOMS = [
    ("add", "u32"), ("add", "s32"), ("add", "u64"), ("min", "u32"), ("min", "s32"), ("max", "u32"),
    ("max", "s32"), ("max", "u64"), ("min", "s64"), ("and", "b32"), ("or", "b32"), ("xor", "b32"),
    ("xor", "b64"), ("exch", "b32"), ("exch", "b64"), ("inc", "u32"), ("dec", "u32"),
]  # fmt: skip


def some_order_explains(op, kind, start, values, returned, final) -> bool:
    """Whether the updates of one cell can be lined up so that each got the previous state."""
    state, left = start, Counter(zip(returned, values))
    while +left:
        options = [(old, new) for (old, new), n in left.items() if n and old == state]
        if not options:
            return False
        # Updates that leave the state as it is (min of a larger value, say) come first.
        update = min(options, key=lambda o: OPERATIONS[op](*o, kind) != state)
        left[update] -= 1
        state = OPERATIONS[op](*update, kind)
    return state == final


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("op, kind", ATOMS)
def test_atomics_under_contention(op, kind, space):
    """Every old value was the state of the cell once, and the chain of states ends in the cell."""
    limit = 23 if op in ("inc", "dec") else None
    values = [limit or wrap(2654435761 * (t + 1) ** 3, kind) for t in range(BLOCKS * THREADS)]
    start = wrap(0 if limit else 0x5A5A5A5A5A5A5A5A, kind)
    cells, returned, given = contended(space, op, kind, values, start)
    for cell in range(CELLS):
        mine = slice(cell, None, CELLS)
        old = [wrap(x, kind) for x in returned[mine]]
        new = [wrap(x, kind) for x in given[mine]]
        assert some_order_explains(op, kind, start, new, old, wrap(cells[cell], kind)), cell


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("op, kind", [x for x in ATOMS if x[0] != "exch"])
def test_reductions_under_contention(op, kind, space):
    limit = 23 if op in ("inc", "dec") else None
    values = [limit or wrap(2654435761 * (t + 1) ** 3, kind) for t in range(BLOCKS * THREADS)]
    start = wrap(0 if limit else 0x5A5A5A5A5A5A5A5A, kind)
    cells, _, given = contended(space, f"red.{op}", kind, values, start)
    for cell in range(CELLS):
        state = start
        for value in given[cell::CELLS]:
            state = OPERATIONS[op](state, wrap(value, kind), kind)
        assert wrap(cells[cell], kind) == state


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("kind, fmt", [("f32", F32), ("f64", F64)])
def test_float_add_under_contention(kind, fmt, space):
    """Sums of small integers are exact in any order; old values are states of some order."""
    values = [exact.encode(exact.Fraction(t % 13 - 5), fmt) for t in range(BLOCKS * THREADS)]
    for op in ("add", "red.add"):
        cells, _, given = contended(space, op, kind, values, 0)
        for cell in range(CELLS):
            total = sum(exact.value(v, fmt) for v in given[cell::CELLS])
            assert exact.value(cells[cell], fmt) == total


def test_float_add_rounds_in_the_order_of_the_old_values():
    values = [f32((t + 1) / 3) for t in range(THREADS)]
    cells, returned, given = contended("shared", "add", "f32", values, f32(0.1))
    for cell in range(CELLS):
        state = f32(0.1)
        for old, value in sorted(zip(returned[cell::CELLS], given[cell::CELLS])):
            assert old == state
            state = exact.add(state, value, F32)
        assert cells[cell] == state


@pytest.mark.parametrize("space", ["global", "shared"])
def test_float_add_of_subnormals(space):
    """PTX ISA, atom: .add.f32 flushes subnormals to zero on global memory, not on shared."""
    keep = (lambda x: x) if space == "shared" else (lambda x: exact.flush(x, F32))
    # A least normal number for each cell, else subnormals: few enough for exact sums.
    values = [0x00800000 if t < CELLS else [3, 0x80000005][t % 2] for t in range(200)]
    cells, _, given = contended(space, "add", "f32", values, 0x00000010)
    for cell in range(CELLS):
        total = exact.value(keep(0x00000010), F32)
        total += sum(exact.value(keep(v), F32) for v in given[cell::CELLS])
        assert exact.value(cells[cell], F32) == total


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_compare_and_swap(kind, space):
    """Only one thread per cell finds the start value there; the others see the winner's."""
    values = list(range(100, 100 + BLOCKS * THREADS))
    cells, returned, given = contended(space, "cas", kind, values, 9, second="9, ")
    for cell in range(CELLS):
        old, new = returned[cell::CELLS], given[cell::CELLS]
        assert old.count(9) == 1
        winner = new[old.index(9)]
        assert cells[cell] == winner and set(old) == {9, winner}


def test_cas_loop_makes_any_update_atomic():
    template = """
    .shared .align 4 .u32 cell;
    .reg .pred %q;
    .reg .b32 %o, %n;
    mov.u32 %d, %tid.x;
    setp.ne.u32 %q, %d, 0;
    @%q bra START;
    st.shared.u32 [cell], 1;
START:
    bar.sync 0;
LOOP:
    ld.volatile.shared.u32 %o, [cell];
    add.u32 %n, %o, %a;
    atom.shared.cas.b32 %d, [cell], %o, %n;
    setp.ne.u32 %q, %d, %o;
    @%q bra LOOP;
    bar.sync 0;
    ld.shared.u32 %d, [cell];
    """
    values = list(range(128))
    assert vectors(template, "u32", "u32", values) == [1 + sum(values)] * 128


@pytest.mark.parametrize(
    "form", ["atom.add.u32 %d, [%p], 3;", "atom.relaxed.gpu.global.add.u32 %d, [%p], 3;",
             "atom.acq_rel.sys.global.add.u32 %d, [%p], 3;", "red.global.add.u32 [%p], 3;",
             "red.relaxed.gpu.global.add.u32 [%p], 3;", "atom.global.cta.add.u32 %d, [%p], 3;"],
)  # fmt: skip
def test_qualified_and_generic_atomics(form):
    body = f".reg .b64 %p; .reg .b32 %d; ld.param.u64 %p, [cell]; {form}"
    cell = np.zeros(1, np.uint32)
    run_body(body, "u64 cell", 4, 60, [cell])
    assert cell.tolist() == [3 * 240]


B128 = """
struct alignas(16) Pair { unsigned long long count, sum; };

extern "C" __global__ void add(Pair* p) {
    Pair old = *p;
    for (;;) {
        Pair next = {old.count + 1, old.sum + threadIdx.x};
        Pair seen = atomicCAS(p, old, next);
        if (seen.count == old.count && seen.sum == old.sum) break;
        old = seen;
    }
}

extern "C" __global__ void exchange(Pair* p, Pair* q) {
    q[threadIdx.x] = atomicExch(p, Pair{threadIdx.x, ~0ull - threadIdx.x});
}
"""


def test_atomics_of_128_bits():
    """Both halves count, in the comparison too, and other threads see no half of a pair."""
    add, p = Kernel(B128, "add"), np.zeros(2, np.uint64)
    assert "atom.global.cas.b128" in add.ptx
    add(4, 64, [p], device="interpreter")
    assert p.tolist() == [4 * 64, 4 * sum(range(64))]
    assert not add.sanitize(4, 64, [p])
    q = np.zeros((64, 2), np.uint64)
    Kernel(B128, "exchange")(1, 64, [p, q], device="interpreter")
    mine = [[n, 2**64 - 1 - n] for n in range(64)]
    assert sorted([*q.tolist(), p.tolist()]) == sorted([*mine, [8 * 64, 8 * sum(range(64))]])


def test_an_atomic_of_128_bits_that_finds_a_half_leaves_the_whole():
    body = """
    .reg .b64 %p, %low, %high; .reg .b128 %old, %compare, %new;
    ld.param.u64 %p, [x]; cvta.to.global.u64 %p, %p;
    mov.b128 %compare, {1, 3}; mov.b128 %new, {8, 9};
    atom.global.cas.b128 %old, [%p], %compare, %new;
    st.global.b128 [%p+16], %old;
    ld.global.b128 %new, [%p+16];
    mov.b128 {%low, _}, %new;
    st.global.u64 [%p+32], %low;
    """
    x = np.array([1, 2, 0, 0, 0, 0], np.uint64)
    run_body(body, "u64 x", 1, 1, [x])
    assert x.tolist() == [1, 2, 1, 2, 1, 0]
    with pytest.raises(ptx.MemoryFault, match="misaligned 16-byte access"):
        run_body(body.replace("[%p+16]", "[%p+8]"), "u64 x", 1, 1, [x])
    for wrong in "atom.global.add.b128 %old, [%p], %new;", "mov.u64 %low, %old;":
        with pytest.raises(ptx.UnknownOpcode):
            run_body(body + wrong, "u64 x", 1, 1, [x])


def test_a_cache_policy_is_no_operand():
    """It changes nothing about the value; an operand too few is refused."""
    declare = ".reg .b64 %q; .reg .b32 %o; createpolicy.fractional.L2::evict_first.b64 %q, 1.0;"
    body = """.reg .b64 %p; ld.param.u64 %p, [out]; mov.u32 %o, %tid.x;
        atom.global.add.L2::cache_hint.u32 %o, [%p], 1, %q;
        red.global.add.noftz.L2::cache_hint.f16x2 [%p+4], 0x3c003c00, %q;"""
    out = np.zeros(2, np.uint32)
    run_body(declare + body, "u64 out", 1, 4, [out])
    assert out.tolist() == [4, 0x44004400]
    with pytest.raises(ptx.UnknownOpcode, match=r"atom\.global\.cas"):
        cas = "atom.global.cas.b32 %o, [%p], 1;"
        run_body(declare + ".reg .b64 %p;" + cas, "u64 out", 1, 4, [out])


def test_vectors_of_halves():
    """sm_90: up to eight of 16 bits, and the least or largest of each."""
    halves = ", ".join(f"%h{n}" for n in range(8))
    body = f""".reg .b64 %p; .reg .b16 %h<8>; ld.param.u64 %p, [out];
        {"".join(f"mov.b16 %h{n}, {0x4000 + 256 * n};" for n in range(8))}
        red.global.v8.f16.max.noftz [%p], {{{halves}}};
        atom.global.v8.f16.min.noftz {{{halves}}}, [%p+16], {{{halves}}};
        st.global.v4.b16 [%p+32], {{%h0, %h1, %h2, %h3}};"""
    out = np.full(20, 0x4480, np.uint16)
    given = 0x4000 + 256 * np.arange(8)
    run_body(body, "u64 out", 1, 1, [out])
    assert out[:8].tolist() == np.maximum(given, 0x4480).tolist()
    assert out[8:16].tolist() == np.minimum(given, 0x4480).tolist()
    assert (out[16:] == 0x4480).all()


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    "name, kind",
    [
        *(("add", "f32"), ("add", "f64"), ("exch", "f32"), ("exch", "u64"), ("max", "s32")),
        *(("min", "u32"), ("xor", "u32"), ("and", "u64"), ("or", "u32")),
    ],
)
def test_a_busy_address_is_served_as_in_turns(name, kind, space, monkeypatch):
    """Bit by bit, and what each sees, with numbers for which the order or a mode matters."""
    from anywarp.ptx.memory import atomics

    numbers, letter = np.random.default_rng(4), {"f": "float", "u": "uint", "s": "int"}[kind[0]]
    dtype = np.dtype(letter + kind[1:])
    index = numbers.integers(0, 60, 3000)
    index[numbers.random(3000) < 0.3] = 7  # many, and then some of which there are few
    value, start = (
        numbers.integers(0, 256, (n, 8), np.uint8).view(dtype)[:, 0] for n in (3000, 64)
    )
    if kind[0] == "f":
        value = (numbers.normal(size=3000) * 10.0 ** numbers.integers(-6, 6, 3000)).astype(dtype)
        value[::50], value[::70], least = 0.0, -0.0, np.finfo(dtype).tiny
        value[np.flatnonzero(index == 3)[4]] = np.nan
        value[np.flatnonzero(index == 4)[5]] = least / 4
        start = numbers.normal(size=64).astype(dtype)
        start[[5, 6]] = -0.0, least / 2
    function, results, asked = atomics.operation(name, kind)(space), [], []
    serve = atomics.serve_busy
    monkeypatch.setattr(atomics, "serve_busy", lambda *x: asked.append(x) or serve(*x))
    for busy in (16, 10**9):
        monkeypatch.setattr(atomics, "BUSY", busy)
        held = start.copy()
        seen = atomics.take_turns(held, index, [value], function)
        results.append((held.tobytes(), seen.tobytes()))
    assert results[0] == results[1] and len(asked) == 1
