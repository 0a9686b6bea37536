"""What ptxas joins, drops and leaves, as counted by a GPU for kernels made to tell."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import kernels
from anywarp import ptx
from anywarp.analysis.folding import Part, fold
from anywarp.trace.metrics import METRICS, PIPE
from kernels.ladder import step as ladder

DATA = json.loads((Path(__file__).parents[2] / "data" / "nvidia_h200_folding.json").read_text())


@pytest.mark.parametrize("one", DATA["kernels"], ids=lambda one: one["name"])
def test_counters_are_those_of_the_gpu(one):
    kernel = kernels.Kernel(one["source"], "k")
    args = np.ones(16384, np.float32), np.zeros(16384, np.float32), 3, 2
    found = kernel.trace(4, 64, args, shared_mem=32768 * ("extern __shared" in one["source"]))
    recorded = set(METRICS) - {PIPE}  # measured before it was counted
    differ = {m for m in recorded if found.counters[m] != one["counters"].get(m, 0)}
    assert not differ


def parts(body, declarations=".shared .align 4 .b8 s[8192];", before=""):
    """What is made of the ld and st after the marker, in order, of a body that knows %r8
    (any number), %r16 (a multiple of 16 after s), %rd1 (a pointer)."""
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    {before}
    .visible .entry k(.param .u64 p, .param .u32 n)
    {{
        .reg .pred %p<9>; .reg .f32 %f<99>; .reg .b32 %r<99>; .reg .b64 %rd<99>;
        {declarations}
        ld.param.u64 %rd0, [p]; cvta.to.global.u64 %rd1, %rd0; ld.param.u32 %r8, [n];
        mov.u32 %r9, s; shl.b32 %r10, %r8, 4; add.s32 %r16, %r9, %r10;
        {body}
        st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+8], %f2; st.global.f32 [%rd1+16], %f3;
        st.global.f32 [%rd1+24], %f4;
        ret;
    }}"""
    entry = ptx.parse(text).entries["k"]
    folding = fold(entry)
    touched = [i for i in entry.instructions[6:-5] if i.opcode in ("ld", "st")]
    return [folding.parts.get(i.index) for i in touched]


def loads(*offsets, base="%r16"):
    return "".join(
        f"ld.shared.f32 %f{n}, [{base}+{offset}];" for n, offset in enumerate(offsets, 1)
    )


@pytest.mark.parametrize("offsets, expected", [
    ((0, 4), [(Part(0, 8),), ()]),
    ((4, 0), [(Part(-4, 8),), ()]),
    ((4, 8), [(Part(0, 4),), (Part(0, 4),)]),
    ((0, 8), [(Part(0, 4),), (Part(0, 4),)]),
    ((8, 0, 4), [(Part(-8, 16),), (), ()]),
    ((0, 12, 4, 8), [(Part(0, 16),), (), (), ()]),
    ((0, 16, 4, 20), [(Part(0, 8),), (Part(0, 8),), (), ()]),
    ((0, 0), [(Part(0, 4),), ()]),
])  # fmt: skip
def test_loads(offsets, expected):
    assert parts(loads(*offsets)) == expected


@pytest.mark.parametrize("offsets, expected", [
    ((0, 4), [(Part(0, 8),), ()]),
    ((0, 4, 0), [(Part(0, 8),), (), (Part(0, 4),)]),                # a word again
    ((12, 4, 8, 0), [(Part(-12, 16),), (), (), ()]),
    ((0, 4, 8), [(Part(0, 8),), (), (Part(0, 4),)]),               # stores fill nothing up
    ((0, 64, 4), [(Part(0, 4),), (Part(0, 4),), (Part(0, 4),)]),    # another window in between
])  # fmt: skip
def test_stores(offsets, expected):
    assert parts("".join(f"st.shared.f32 [%r16+{o}], %f1;" for o in offsets)) == expected


@pytest.mark.parametrize("between, joined", [
    ("st.global.f32 [%rd1], %f7;", True),
    ("add.f32 %f1, %f1, %f7;", True),
    ("st.shared.f32 [%r9], %f7;", False),
    ("bar.sync 0;", False),
    ("membar.cta;", False),
    ("setp.eq.s32 %p1, %r8, 3; @%p1 bra L; L:", True),
    ("M:", True),                                                   # nobody jumps there
])  # fmt: skip
def test_what_may_stand_between(between, joined):
    found = parts("ld.shared.f32 %f1, [%r16];" + between + "ld.shared.f32 %f2, [%r16+4];")
    assert (() in found) == joined


@pytest.mark.parametrize("used, expected", [  # read off machine code
    ("xw", Part(0, 4)), ("xz", Part(0, 4)), ("yz", Part(0, 4)), ("xyw", Part(0, 4)),
    ("yzw", Part(0, 4)), ("xyz", Part(0, 4)), ("xy", Part(0, 2)), ("zw", Part(2, 2)),
    ("y", Part(1, 1)),
])  # fmt: skip
@pytest.mark.parametrize("base", ["%r16", "%r8"])
def test_a_vector_of_bytes_of_which_some_are_used_is_one_load(base, used, expected):
    names = ",".join(f"%f{n if c in used else 9}" for n, c in enumerate("xyzw", 1))
    assert parts(f"ld.shared.v4.u8 {{{names}}}, [{base}];") == [(expected,)]


LONG = "mul.f32 %f4, %f4, %f3;" * 24


@pytest.mark.parametrize("body, widths", [  # read off machine code
    (f"A; @%p1 bra L; {LONG} B; {LONG} L:", [8]),
    ("A; @%p1 bra L; B; @%p2 bra L; C; L:", [16]),
    (f"A; @%p1 bra L; {LONG} L: B;", [8]),
    (f"A; @%p1 bra M; B; bra L; M: {LONG} B; L:", [8]),
    (f"@%p1 bra M; A; {LONG} bra L; M: B; L:", [4, 4]),
    ("B; @%p1 bra L; C; L:", [4, 4]),
    (f"A; @%p1 bra L; st.shared.f32 [%r9], %f4; B; {LONG} L:", [4, 4]),
    (f"A; @%p1 bra L; st.shared.f32 [%r9], %f4; {LONG} L: B;", [4, 4]),
    (f"A; @%p1 bra L; add.s32 %r16, %r16, %r8; {LONG} L: B;", [4, 4]),
    ("M: A; add.s32 %r8, %r8, 1; setp.lt.s32 %p1, %r8, 9; @%p1 bra M; B;", [4, 4]),
    (f"mov.u32 %r16, %r9; A; @%p1 bra L; add.s32 %r16, %r16, %r8; {LONG} L: B;", [4, 4]),
])  # fmt: skip
def test_loads_of_shared_memory_in_blocks_that_follow(body, widths):
    for n, name in enumerate("ABC", 1):
        body = body.replace(f"{name};", f"ld.shared.f32 %f{n}, [%r16+{4 * n - 4}];")
    made = [part.width for found in parts(body) for part in found or ()]
    assert made[: len(widths)] == widths and set(made[len(widths) :]) <= {4}


def test_loads_of_global_memory_in_blocks_that_follow_stay():
    found = parts("ld.global.f32 %f1, [v]; @%p1 bra L; ld.global.f32 %f2, [v+4]; L:",
                  before=".global .align 16 .b8 v[64];")  # fmt: skip
    assert found == [(Part(0, 4),)] * 2


def test_a_store_that_completes_elsewhere_ends_loads_of_both_spaces():  # read off machine code
    again = "ld.global.f32 %f1, [%rd1];", "ld.global.f32 %f2, [%rd1];"
    remote = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %r8, [%r10];"
    assert () in parts("".join(again))
    assert () not in parts(remote.join(again))


@pytest.mark.parametrize("base, joined", [
    ("add.s32 %r20, %r9, %r8;", False),
    ("shl.b32 %r19, %r8, 3; add.s32 %r20, %r9, %r19;", True),
    ("mul.lo.s32 %r19, %r8, 24; add.s32 %r20, %r9, %r19;", True),
    ("mad.lo.s32 %r20, %r8, 12, %r9;", False),
    ("and.b32 %r19, %r8, 112; add.s32 %r20, %r9, %r19;", True),
    ("shl.b32 %r18, %r8, 4; shr.u32 %r19, %r18, 2; add.s32 %r20, %r9, %r19;", False),
    ("shl.b32 %r18, %r8, 2; shl.b32 %r19, %r18, %r8; add.s32 %r20, %r9, %r19;", False),
    ("mul.hi.s32 %r19, %r16, 16; add.s32 %r20, %r9, %r19;", False),
    ("add.s32 %r20, %r18, %r9; mov.u32 %r18, %r8;", False),    # known only afterwards
    ("sub.s32 %r20, %r16, 8;", True),
    ("sub.s32 %r20, %r16, 12;", False),
    ("add.s32 %r20, %r16, 8;", True),
    ("add.s32 %r20, %r16, 4;", False),
    ("mov.u32 %r20, %r16;", True),
])  # fmt: skip
def test_alignment_must_be_certain(base, joined):
    assert (() in parts(base + loads(0, 4, base="%r20"))) == joined


def test_an_array_of_odd_size_spoils_the_alignment_of_the_next():
    odd = ".shared .align 4 .b8 t[132]; .shared .align 4 .b8 s[8192];"
    assert () not in parts("st.shared.f32 [t], %f9;" + loads(0, 4), odd)
    assert () in parts("st.shared.f32 [t], %f9;" + loads(0, 4), odd.replace("132", "144"))


def test_dynamic_shared_memory_starts_at_16_bytes():
    found = parts(
        "st.shared.f32 [t], %f9;" + loads(0, 4),
        ".shared .align 4 .b8 t[132];",
        ".extern .shared .align 4 .b8 s[];",
    )
    assert () in found


def test_words_that_nobody_needs_are_not_loaded():
    vector = "ld.shared.v4.f32 {%s}, [%%r16];"
    assert parts(vector % "%f1, %f2, %f50, %f51") == [(Part(0, 8),)]
    assert parts(vector % "%f50, %f1, %f51, %f2") == [(Part(4, 4), Part(12, 4))]
    assert parts(vector % "%f50, %f51, %f52, %f53") == [()]
    assert parts(vector % "%f1, %f2, %f3, %f50") == [(Part(0, 16),)]
    assert parts("ld.shared.f32 %f50, [%r16]; add.f32 %f51, %f50, %f50;") == [()]


@pytest.mark.parametrize("access", ["ld.volatile.shared.f32", "@%p1 ld.shared.f32", "ld.f32",
                                    "ld.local.f32"])  # fmt: skip
def test_what_is_never_joined(access):
    base = "%rd1" if access in ("ld.f32", "ld.local.f32") else "%r16"
    assert parts(f"{access} %f1, [{base}]; {access} %f2, [{base}+4];") == [None, None]


def test_asynchronous_stores_are_never_joined():
    store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%r16+{}], %f1, [%r9];"
    assert parts(store.format(0) + store.format(4)) == [None, None]


def widths(kind, accesses, align=16):
    """Offset and width of what is made of loads or stores of narrow elements."""
    size, found = int(re.search(r"\d+", kind)[0]) // 8, []
    registers = [f"%r{30 + n}" for n in range(len(accesses))]
    if accesses and kind[0] == "s":  # a store
        kind = "u" + kind[1:]
        body = "".join(f"st.shared.{kind} [%r16+{size * k}], %r8;" for k in accesses)
    else:
        body = "".join(
            f"ld.shared.{kind} {r}, [%r16+{size * k}];" for k, r in zip(accesses, registers)
        )
        body += "".join(f"add.u32 %r29, %r29, {r};" for r in registers)
        body += "cvt.rn.f32.u32 %f1, %r29;"
    made = parts(body, f".shared .align {align} .b8 s[8192];")
    for k, own in zip(accesses, made):
        found += [(size * k + part.offset, part.width) for part in own]
    return sorted(found)


@pytest.mark.parametrize("kind, accesses, expected", [
    ("u8", (0, 1, 2, 3), [(0, 4)]),
    ("u8", (0, 1, 2), [(0, 4)]),                        # the lower half and one of the upper
    ("u8", (1, 2, 3), [(1, 1), (2, 2)]),
    ("u8", (0, 2, 3), [(0, 1), (2, 2)]),
    ("u8", (1, 2), [(1, 1), (2, 1)]),
    ("u8", (0, 1, 4, 5), [(0, 2), (4, 2)]),
    ("u8", (0, 1, 2, 3, 4), [(0, 8)]),
    ("u8", (0, 1, 2, 3, 4, 5), [(0, 4), (4, 2)]),
    ("u8", (0, 1, 2, 3, 4, 5, 6), [(0, 8)]),
    ("u8", tuple(range(12)), [(0, 16)]),
    ("u16", (0, 1, 2), [(0, 8)]),
    ("u16", (0, 2, 3), [(0, 2), (4, 4)]),
    ("u16", (0, 1, 2, 3, 4, 5), [(0, 16)]),
    ("u16", (2, 3, 4, 5), [(4, 4), (8, 4)]),
    ("u16", (0, 1, 3, 4, 5, 6), [(0, 4), (6, 2), (8, 8)]),
    ("s8", (0, 1, 2, 3), [(0, 4)]),                     # stores fill nothing up
    ("s8", (0, 1, 2), [(0, 2), (2, 1)]),
    ("s8", (0, 1, 2, 3, 4, 5, 6), [(0, 4), (4, 2), (6, 1)]),
    ("s16", (0, 1, 2, 3, 4), [(0, 8), (8, 2)]),
    ("s16", (0, 1, 2, 3, 4, 5, 6, 7), [(0, 16)]),
])  # fmt: skip
def test_narrow_elements(kind, accesses, expected):
    """As in the machine code that ptxas 13.0 makes of such kernels."""
    assert widths(kind, accesses) == expected


@pytest.mark.parametrize("align, width", [(1, 1), (2, 2), (4, 8), (8, 8)])
def test_arrays_that_are_aligned_to_less_than_a_word(align, width):
    assert {each for _, each in widths("u8", tuple(range(8)), align)} == {width}


def test_stores_of_bytes_and_halves_mix_and_loads_do_not():
    store = "st.shared.u16 [%r16], %r8; st.shared.v2.u8 [%r16+2], {%r8, %r8};"
    assert parts(store) == [(Part(0, 4),), ()]
    load = "ld.shared.u16 %r30, [%r16]; ld.shared.v2.u8 {%r31, %r32}, [%r16+2];"
    load += "add.u32 %r30, %r30, %r31; add.u32 %r30, %r30, %r32; cvt.rn.f32.u32 %f1, %r30;"
    assert parts(load) == [(Part(0, 2),), (Part(0, 2),)]


def test_declared_alignment():
    pair = "ld.global.f32 %f1, [%rd5+8]; ld.global.f32 %f2, [%rd5+12];"
    at = "mov.u64 %rd5, table; "
    for align, joined in ((4, False), (8, True)):
        made = parts(at + pair, before=f".global .align {align} .b8 table[64];")
        assert (() in made) == joined


def test_loads_through_the_read_only_path_pass_stores():
    pair = (
        "ld.global{0}.f32 %f1, [%rd5]; st.global.f32 [%rd1], %f7; ld.global{0}.f32 %f2, [%rd5+4];"
    )
    before, at = ".global .align 8 .b8 table[64];", "mov.u64 %rd5, table; "
    assert () in parts(at + pair.format(".nc"), before=before)
    assert () not in parts(at + pair.format(""), before=before)


def test_pointers_among_the_arguments_join_nothing():
    for step in ladder.steps():
        if not re.search("__shared__|float4", step.source):
            found = fold(step.kernel.entry)
            assert not found.removed
            assert set(found.parts.values()) == {(Part(0, 4),)}


def test_pairs_of_a_base_that_is_certain_to_8_bytes_only():
    """Four words in a row stay two pairs; an 8-byte boundary is not a 16-byte one."""
    base = "shl.b32 %r19, %r8, 3; add.s32 %r20, %r9, %r19;"
    found = parts(base + loads(0, 4, 8, 12, base="%r20"))
    assert found == [(Part(0, 8),), (), (Part(0, 8),), ()]
    assert parts(base + loads(0, 8, 12, base="%r20")) == [(Part(0, 4),), (Part(0, 8),), ()]


@pytest.mark.parametrize("shift, joined", [(4, [(Part(0, 16),), ()]), (3, [(Part(0, 8),)] * 2)])
def test_pairs_of_8_bytes_need_16(shift, joined):
    base = f"shl.b32 %r19, %r8, {shift}; add.s32 %r20, %r9, %r19;"
    found = parts(
        base + "ld.shared.f64 %fd1, [%r20]; ld.shared.f64 %fd2, [%r20+8];"
        "st.global.f64 [%rd1+64], %fd1; st.global.f64 [%rd1+80], %fd2;",
        ".reg .f64 %fd<9>; .shared .align 16 .b8 s[8192];",
    )
    assert found[:2] == joined


LOOP = """
    mov.u32 %r20, %r16;
    mov.u32 %r21, 0;
L:
    {before}
    ld.shared.f32 %f1, [%r20];
    {between}
    ld.shared.f32 %f2, [{second}];
    add.s32 %r20, %r20, {step};
    add.s32 %r21, %r21, 1;
    setp.lt.s32 %p1, %r21, %r8;
    @%p1 bra L;
"""


@pytest.mark.parametrize("before, between, second, step, joined", [
    ("", "", "%r20+4", 16, True),
    ("", "", "%r20+4", 8, True),
    ("", "", "%r20+4", 4, False),                            # aligned on the first turn only
    ("", "add.s32 %r20, %r20, 16;", "%r20+4", 16, False),    # not the same value of it any more
    ("", "add.s32 %r20, %r20, 16;", "%r20+-12", 16, True),   # seen through
    ("add.s32 %r22, %r20, 4;", "", "%r22", 16, True),
    ("add.s32 %r22, %r20, 4;", "add.s32 %r20, %r20, 32;", "%r22", 16, True),
])  # fmt: skip
def test_the_base_may_be_a_variable_of_a_loop(before, between, second, step, joined):
    text = LOOP.format(before=before, between=between, second=second, step=step)
    assert (() in parts(text)) == joined


def test_what_the_table_of_opcodes_does_not_know_is_not_removed():
    text = """.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .shared .align 16 .b8 s[64];
    mov.u32 %r1, s; mov.u32 %r2, 7; mov.u32 %r3, 8;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};
    mbarrier.init.shared.b64 [%r1], 1;
    frobnicate.b32 %r4, %r3;
    add.s32 %r5, %r4, 1;
    ret; }"""
    assert fold(ptx.parse(text).entries["k"]).removed == {6}


def test_a_cache_policy_is_no_address():
    load = "ld.global.L2::cache_hint.f32 %f{}, [%rd1+{}], %rd2;"
    assert parts(load.format(1, 0) + load.format(2, 8)) == [(Part(0, 4),), (Part(0, 4),)]


def test_256_bits_stay_as_they_are_written():
    eight = ", ".join(f"%f{n}" for n in range(1, 9))
    load = f"ld.global.v8.f32 {{{eight}}}, [%rd1]; st.global.v8.f32 [%rd1], {{{eight}}};"
    assert parts(load) == [None, None]
