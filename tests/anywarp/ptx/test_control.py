"""Predicates, selection, divergence, loops, switches, thread coordinates, the step limit."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from exact import wrap
from harness import (
    check,
    entry,
    integers,
    launch,
    line_of,
    number_occurs,
    pairs,
    run_body,
    vectors,
)

RELATIONS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}


INTEGERS = ["u16", "s16", "u32", "s32", "u64", "s64"]


@pytest.mark.parametrize(
    "op, kind",
    [(op, kind) for kind in INTEGERS for op in RELATIONS]
    + [(op, kind) for kind in INTEGERS[::2] for op in UNSIGNED],
)
def test_compare_integers(op, kind):
    rows, types = pairs(integers, kind, extra=100), f"{kind} {kind}"
    relation = (RELATIONS | UNSIGNED)[op]
    holds = lambda a, b: int(relation(a, b))
    check(f"setp.{op}.{kind} %d, %a, %b;", "pred", types, rows, holds)
    check(f"set.{op}.u32.{kind} %d, %a, %b;", "s32", types, rows, lambda a, b: -holds(a, b))
    select = f".reg .pred %q; setp.{op}.{kind} %q, %a, %b; selp.b{kind[1:]} %d, %a, %b, %q;"
    check(select, kind, types, rows, lambda a, b: a if relation(a, b) else b)


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
def test_compare_bits(kind):
    rows = pairs(integers, kind, extra=100)
    check(f"setp.eq.{kind} %d, %a, %b;", "pred", f"{kind} {kind}", rows, lambda a, b: int(a == b))
    check(f"setp.ne.{kind} %d, %a, %b;", "pred", f"{kind} {kind}", rows, lambda a, b: int(a != b))


BOOLEAN = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


@pytest.mark.parametrize("op", BOOLEAN)
def test_combined_comparison(op):
    """setp.CMP.BOOL d|q: d = (a < b) BOOL c, q = !(a < b) BOOL c; c may be negated."""
    rows = [(a, b, c) for a, b in pairs(integers, "s32", extra=20) for c in (0, 1)]
    types, boolean = "s32 s32 pred", BOOLEAN[op]
    plain = lambda a, b, c: boolean(int(a < b), c)
    check(f"setp.lt.{op}.s32 %d, %a, %b, %c;", "pred", types, rows, plain)
    negated = lambda a, b, c: boolean(int(a < b), 1 - c)
    check(f"setp.lt.{op}.s32 %d, %a, %b, !%c;", "pred", types, rows, negated)
    got = vectors(f"setp.lt.{op}.s32 %d|%d1, %a, %b, %c;", "pred pred", types, rows)
    assert got == [(plain(*row), boolean(int(not row[0] < row[1]), row[2])) for row in rows]
    words = lambda a, b, c: -boolean(int(a < b), c)
    check(f"set.lt.{op}.u32.s32 %d, %a, %b, %c;", "s32", types, rows, words)


def test_two_predicates_of_one_comparison():
    rows = pairs(integers, "u32", extra=20)
    got = vectors("setp.ge.u32 %d|%d1, %a, %b;", "pred pred", "u32 u32", rows)
    assert got == [(int(a >= b), int(a < b)) for a, b in rows]


def test_logic_on_predicates():
    rows, types = [(a, b) for a in (0, 1) for b in (0, 1)], "pred pred"
    check("and.pred %d, %a, %b;", "pred", types, rows, lambda a, b: a & b)
    check("or.pred %d, %a, %b;", "pred", types, rows, lambda a, b: a | b)
    check("xor.pred %d, %a, %b;", "pred", types, rows, lambda a, b: a ^ b)
    check("not.pred %d, %a;", "pred", "pred", [0, 1], lambda a: 1 - a)
    check("mov.pred %d, %a;", "pred", "pred", [0, 1], lambda a: a)


@pytest.mark.parametrize("kind", ["u16", "s32", "b32", "u64", "b64", "f32", "f64"])
def test_select(kind):
    rows = [(a, b, c) for a in range(3, 9) for b in (1 << 15, 12) for c in (0, 1)]
    types = f"{kind} {kind} pred"
    check(f"selp.{kind} %d, %a, %b, %c;", kind, types, rows, lambda a, b, c: a if c else b)


def test_predicated_instructions_leave_the_others_alone():
    template = """
    mov.u32 %d, 1;
    @%b mov.u32 %d, 2;
    @!%b add.u32 %d, %d, %a;
    @%b add.u32 %a, %a, 40;
    add.u32 %d, %d, %a;
    """
    expected = lambda a, b: 2 + a + 40 if b else 1 + a + a
    rows = [(a, b) for a in range(50) for b in (0, 1)]
    check(template, "u32", "u32 pred", rows, expected)


# --- divergence -------------------------------------------------------------------------


def test_nested_if_else():
    template = """
    .reg .pred %q, %s;
    and.b32 %d, %a, 1;
    setp.eq.u32 %q, %d, 0;
    and.b32 %d, %a, 2;
    setp.eq.u32 %s, %d, 0;
    mov.u32 %d, 0;
    @%q bra EVEN;
    @%s bra ODD_LOW;
    add.u32 %d, %d, 1000;
    bra ODD_JOIN;
ODD_LOW:
    add.u32 %d, %d, 2000;
ODD_JOIN:
    add.u32 %d, %d, %a;
    bra.uni JOIN;
EVEN:
    @!%s bra JOIN;
    add.u32 %d, %d, 4000;
JOIN:
    add.u32 %d, %d, 7;
    """

    def expected(a):
        if a & 1:
            return (2000 if a & 2 == 0 else 1000) + a + 7
        return (4000 if a & 2 == 0 else 0) + 7

    check(template, "u32", "u32", range(300), expected)


def test_nested_loops_with_trip_counts_of_their_own():
    template = """
    .reg .b32 %n, %m;
    .reg .pred %q;
    mov.u32 %d, 0;
    mov.u32 %n, 0;
OUTER:
    setp.ge.u32 %q, %n, %a;
    @%q bra DONE;
    mov.u32 %m, %n;
INNER:
    setp.eq.u32 %q, %m, 0;
    @%q bra NEXT;
    mad.lo.u32 %d, %d, 3, %m;
    sub.u32 %m, %m, 1;
    bra.uni INNER;
NEXT:
    add.u32 %n, %n, %b;
    bra.uni OUTER;
DONE:
    """

    def expected(a, b):
        d = 0
        for n in range(0, a, b):
            for m in range(n, 0, -1):
                d = wrap(3 * d + m, "u32")
        return d

    check(template, "u32", "u32 u32", [(a, b) for a in range(20) for b in (1, 2, 7)], expected)


def test_collatz_lengths():
    template = """
    .reg .pred %q;
    .reg .b32 %n;
    mov.u32 %d, 0;
LOOP:
    setp.le.u32 %q, %a, 1;
    @%q bra OUT;
    add.u32 %d, %d, 1;
    and.b32 %n, %a, 1;
    setp.ne.u32 %q, %n, 0;
    @%q mad.lo.u32 %a, %a, 3, 1;
    @!%q shr.u32 %a, %a, 1;
    bra LOOP;
OUT:
    """

    def expected(a):
        steps = 0
        while a > 1:
            a, steps = (3 * a + 1 if a % 2 else a // 2), steps + 1
        return steps

    check(template, "u32", "u32", range(200), expected)


def test_backward_code_layout():
    """The branch that is taken first lies behind the one that is taken second."""
    template = """
    .reg .pred %q;
    mov.u32 %d, 0;
    setp.gt.u32 %q, %a, 10;
    @%q bra LATE;
    bra EARLY_START;
BACK:
    add.u32 %d, %d, 100;
    bra END;
EARLY_START:
    add.u32 %d, %d, 1;
    bra BACK;
LATE:
    add.u32 %d, %d, 5;
    bra BACK;
END:
    """
    check(template, "u32", "u32", range(30), lambda a: 105 if a > 10 else 101)


@pytest.mark.parametrize("last", ["ret", "exit"])
def test_early_exit(last):
    body = f"""
    .reg .pred %p;
    .reg .b32 %t, %m;
    .reg .b64 %q;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %q, %t, 4, %q;
    and.b32 %m, %t, 3;
    setp.eq.u32 %p, %m, 1;
    @%p {last};
    st.global.u32 [%q], %t;
    setp.eq.u32 %p, %m, 2;
    @%p bra STOP;
    add.u32 %t, %t, 100;
    st.global.u32 [%q], %t;
    {last};
STOP:
    """
    out = np.full(70, 9999, np.uint32)
    run_body(body, "u64 out", 1, 70, [out])
    assert out.tolist() == [{1: 9999, 2: t}.get(t & 3, t + 100) for t in range(70)]


def test_indexed_branch():
    template = """
    TARGETS: .branchtargets ONE, TWO, THREE;
    brx.idx %a, TARGETS;
THREE:
    mov.u32 %d, 333;
    bra END;
ONE:
    mov.u32 %d, 111;
    bra END;
TWO:
    mov.u32 %d, 222;
END:
    """
    check(template, "u32", "u32", [t * 7 % 3 for t in range(99)], lambda a: 111 * (a + 1))


# --- thread coordinates -----------------------------------------------------------------


COORDINATES = """
    .reg .b32 %x<13>, %i, %j;
    .reg .b64 %q;
    ld.param.u64 %q, [out];
    mov.u32 %x0, %tid.x;     mov.u32 %x1, %tid.y;     mov.u32 %x2, %tid.z;
    mov.u32 %x3, %ctaid.x;   mov.u32 %x4, %ctaid.y;   mov.u32 %x5, %ctaid.z;
    mov.u32 %x6, %ntid.x;    mov.u32 %x7, %ntid.y;    mov.u32 %x8, %ntid.z;
    mov.u32 %x9, %nctaid.x;  mov.u32 %x10, %nctaid.y; mov.u32 %x11, %nctaid.z;
    mov.u32 %x12, %laneid;
    mad.lo.u32 %i, %x5, %x10, %x4;
    mad.lo.u32 %i, %i, %x9, %x3;
    mul.lo.u32 %j, %x6, %x7;
    mul.lo.u32 %j, %j, %x8;
    mul.lo.u32 %i, %i, %j;
    mad.lo.u32 %j, %x2, %x7, %x1;
    mad.lo.u32 %j, %j, %x6, %x0;
    add.u32 %i, %i, %j;
    mad.wide.u32 %q, %i, 52, %q;
"""


@pytest.mark.parametrize(
    "grid, block",
    [(1, 1), ((3,), (33,)), ((2, 3), (5, 7)), ((3, 2, 4), (5, 3, 2)), ((1, 1, 5), (1, 1, 40)),
     ((40, 25), (1,)), ((1,), (1024,))],
)  # fmt: skip
def test_coordinates(grid, block):
    stores = "\n".join(f"    st.global.u32 [%q+{4 * i}], %x{i};" for i in range(13))
    full = [(d if isinstance(d, tuple) else (d,)) + (1, 1) for d in (grid, block)]
    (gx, gy, gz), (bx, by, bz) = full[0][:3], full[1][:3]
    out = np.zeros((gx * gy * gz * bx * by * bz, 13), np.uint32)
    run_body(COORDINATES + stores, "u64 out", grid, block, [out])
    expected = [
        [tx, ty, tz, cx, cy, cz, bx, by, bz, gx, gy, gz, ((tz * by + ty) * bx + tx) % 32]
        for cz in range(gz) for cy in range(gy) for cx in range(gx)
        for tz in range(bz) for ty in range(by) for tx in range(bx)
    ]  # fmt: skip
    assert out.tolist() == expected


def test_lane_masks():
    names = ["eq", "lt", "le", "gt", "ge"]
    template = "".join(f"mov.u32 %d{i or ''}, %lanemask_{n};" for i, n in enumerate(names))
    got = vectors(template, " ".join(["u32"] * 5), "u32", range(64))
    for t, masks in enumerate(got):
        lane = t % 32
        below, own = (1 << lane) - 1, 1 << lane
        assert masks == (own, below, below | own, ~(below | own) & 0xFFFFFFFF,
                         ~below & 0xFFFFFFFF)  # fmt: skip


# --- limits -----------------------------------------------------------------------------


ENDLESS = """
    .reg .pred %p;
    .reg .b32 %t;
    mov.u32 %t, %tid.x;
    setp.ne.u32 %p, %t, 3;
    @%p ret;
SPIN:
    add.u32 %t, %t, 1; // endless
    bra SPIN;
"""


def test_an_endless_loop_hits_the_step_limit():
    from anywarp import ptx

    text = entry("\n" * 500 + ENDLESS)
    with pytest.raises(ptx.StepLimit) as caught:
        launch(text, "k", 2, 40, [], step_limit=500)
    message, line = str(caught.value), line_of(text, "// endless")
    assert isinstance(caught.value, ptx.PTXError)
    assert "500" in message
    assert number_occurs(line, message) or number_occurs(line + 1, message)


def test_a_long_loop_stays_below_the_default_limit():
    template = """
    .reg .pred %q;
    mov.u32 %d, 0;
LOOP:
    add.u32 %d, %d, 1;
    setp.lt.u32 %q, %d, %a;
    @%q bra LOOP;
    """
    check(template, "u32", "u32", [2000] * 40, lambda a: a)


def test_unknown_opcodes_are_named():
    from anywarp import ptx

    for text in ("frobnicate.rn.f32 %d, %a;", "tcgen05.fence.sync;", "add.f128 %d, %a, %a;"):
        with pytest.raises(ptx.PTXError) as caught:
            vectors(text, "u32", "u32", [1])
        assert text.split()[0].split(".")[0] in str(caught.value)
    with pytest.raises(ptx.UnknownOpcode):
        vectors("frobnicate.rn.f32 %d, %a;", "u32", "u32", [1])


def test_many_blocks():
    """More threads than any one chunk is likely to hold."""
    body = """
    .reg .b32 %x, %y;
    .reg .b64 %q;
    ld.param.u64 %q, [out];
    mov.u32 %x, %ctaid.x;
    mov.u32 %y, %tid.x;
    mad.lo.u32 %x, %x, 96, %y;
    mad.wide.u32 %q, %x, 4, %q;
    st.global.u32 [%q], %x;
    """
    out = np.zeros(96 * 5000, np.uint32)
    run_body(body, "u64 out", 5000, 96, [out])
    assert (out == np.arange(out.size)).all()


@pytest.mark.parametrize("how", ["fractional.L2::evict_last", "fractional.L2::evict_first"])
def test_a_cache_policy_changes_nothing(how):
    x, y = np.arange(4, dtype=np.uint32), np.zeros(4, np.uint32)
    run_body(
        f"""
        .reg .b64 %p<4>;
        .reg .b32 %r;
        ld.param.u64 %p1, [x];
        ld.param.u64 %p2, [y];
        createpolicy.{how}.b64 %p3, 0.5;
        ld.global.L2::cache_hint.u32 %r, [%p1+8], %p3;
        st.global.L2::cache_hint.u32 [%p2], %r, %p3;
        """,
        "u64 x, u64 y",
        1,
        1,
        [x, y],
    )
    assert y.tolist() == [2, 0, 0, 0]
