"""Reading PTX text: entries, parameters, literals, scopes, directives, and what is no PTX."""

from __future__ import annotations

import re

import numpy as np
import pytest
from harness import HEADER, check, entry, launch, number_occurs, run_body, vectors


def parse(text: str):
    from anywarp import ptx

    return ptx.parse(text)


def test_entries_and_parameters():
    text = (
        HEADER
        + """
.visible .entry first(
    .param .u64 first_param_0,
    .param .u32 first_param_1,
    .param .f32 first_param_2,
    .param .align 8 .b8 first_param_3[24]
)
.maxntid 256, 1, 1
.minnctapersm 2
{
    ret;
}
.entry second() { ret; }
.weak .entry _Z3gemILi4EEvPf ( .param .u64 .ptr .global .align 16 pointer, .param .s16 h )
{
    ret;
}
"""
    )
    entries = parse(text).entries
    assert list(entries) == ["first", "second", "_Z3gemILi4EEvPf"]
    assert all(entries[name].name == name for name in entries)
    params = entries["first"].params
    assert [p.name for p in params] == [f"first_param_{i}" for i in range(4)]
    assert [p.type.partition("[")[0] for p in params] == ["u64", "u32", "f32", "b8"]
    assert [p.size for p in params] == [8, 4, 4, 24]
    assert len(entries["second"].params) == 0
    template = entries["_Z3gemILi4EEvPf"].params
    assert [(p.name, p.type, p.size) for p in template] == [("pointer", "u64", 8), ("h", "s16", 2)]


def test_two_entry_points_share_the_module():
    text = (
        HEADER
        + """
.const .align 4 .u32 base = 40;
.visible .entry one(.param .u64 out) {
    .reg .b64 %p; .reg .b32 %r;
    ld.param.u64 %p, [out];
    ld.const.u32 %r, [base];
    add.u32 %r, %r, 1;
    st.global.u32 [%p], %r;
    ret;
}
.visible .entry two(.param .u64 out) {
    .reg .b64 %p; .reg .f32 %r;
    ld.param.u64 %p, [out];
    mov.f32 %r, 0f40000000;
    st.global.f32 [%p+4], %r;
    ret;
}
"""
    )
    out = np.zeros(2, np.uint32)
    launch(text, "one", 1, 1, [out])
    launch(text, "two", 1, 1, [out])
    assert out.tolist() == [41, 0x40000000]


@pytest.mark.parametrize(
    "literal, value",
    [("10", 10), ("-10", -10), ("0x1F", 31), ("0X1f", 31), ("017", 15), ("0b101", 5), ("7U", 7),
     ("0xFFFFFFFFU", -1), ("0x80000000", -(2**31)), ("-2147483648", -(2**31)), ("4294967295", -1)],
)  # fmt: skip
def test_integer_literals(literal, value):
    check(f"mov.b32 %d, {literal};", "s32", "s32", [0], lambda a: value)


@pytest.mark.parametrize(
    "kind, literal, bits",
    [("f32", "0f3F800000", 0x3F800000), ("f32", "0FBF800000", 0xBF800000),
     ("f32", "0f7fc00000", 0x7FC00000), ("f64", "0d3FF0000000000000", 0x3FF0000000000000),
     ("f64", "0D7FF0000000000000", 0x7FF0000000000000), ("f32", "1.5", 0x3FC00000),
     ("f64", "-2.5e-1", 0xBFD0000000000000), ("f64", "0d8000000000000001", 1 << 63 | 1)],
)  # fmt: skip
def test_float_literals(kind, literal, bits):
    check(f"mov.{kind} %d, {literal};", kind, kind, [0], lambda a: bits)


def test_layout_and_comments_do_not_matter():
    template = """
    /* a comment; with bra END; over
       two lines */ add.u32
        %d ,  %a,// the rest: mov.u32 %d, 0;
        %b ; { add.u32 %d,%d,1;add.u32\t%d,%d,1; }
    """
    check(template, "u32", "u32 u32", [(1, 2), (30, 40)], lambda a, b: a + b + 2)


def test_declarations_as_hands_write_them():
    """Types of two halves, variables of the module in a body, directives without a space."""
    template = """
    .global.u32 four[2] = {0, 4};
    .reg.f16x2 x;
    .reg .bf16x2 y;
    .shared.align 8 .b64 unused;
    mov.b32 x, %a;
    mov.b32 y, x;
    mov.b32 %d, y;
    ld.global.u32 %b, [four+4];
    add.u32 %d, %d, %b;
    """
    check(template, "u32", "u32 u32", [(1, 2), (30, 40)], lambda a, b: a + 4)


def test_inner_scopes_hide_registers_and_labels():
    """Inline assembly declares its own registers and labels in braces, often the same twice."""
    template = """
    .reg .pred %q;
    setp.gt.u32 %q, %a, 5;
    mov.u32 %d, 0;
    {
        .reg .b32 %d, tmp;
        .reg .pred %q;
        setp.lt.u32 %q, %a, 5;
        mov.u32 %d, 99;
        add.u32 tmp, %a, 1;
        @%q bra LAB;
        add.u32 tmp, tmp, 1000;
        LAB:
        mov.u32 %b, tmp;
    }
    {
        .reg .b64 tmp;
        .reg .pred p;
        mov.u64 tmp, 7;
        setp.eq.u32 p, %a, 5;
        @p bra LAB;
        cvt.u32.u64 %c, tmp;
        LAB:
    }
    @%q add.u32 %d, %d, 1;
    mad.lo.u32 %d, %d, 100000, %b;
    add.u32 %d, %d, %c;
    """

    def expected(a, b, c):
        inner = a + 1 if a < 5 else a + 1001
        return (a > 5) * 100000 + inner + (c if a == 5 else 7)

    rows = [(a, 0, 50) for a in range(12)]
    check(template, "u32", "u32 u32 u32", rows, expected)


def test_register_declarations():
    template = """
    .reg .u32 %counter;
    .reg .s32 %pair<2>, single;
    .reg .v4 .b32 %unused;
    mov.u32 %counter, %a;
    add.s32 %pair0, %counter, 1;
    add.s32 %pair1, %pair0, 1;
    add.s32 single, %pair1, 1;
    mov.u32 %d, single;
    """
    check(template.replace(".reg .v4 .b32 %unused;", ""), "u32", "u32", [1, 2], lambda a: a + 3)


def test_debug_and_other_directives_are_passed_over():
    text = (
        HEADER
        + """
.file 1 "/some/where/kernel.cu", 1700000000, 1234
.extern .func (.param .b32 result) vprintf ( .param .b64 format, .param .b64 arguments ) ;
.visible .entry k(.param .u64 out)
.reqntid 4, 1, 1
.maxnreg 64
{
    .reg .b64 %p; .reg .b32 %t;
    .loc 1 10 5
    ld.param.u64 %p, [out];
    .pragma "nounroll";
    .loc 1 11 5, function_name $L__info_string0, inlined_at 1 10 5
    mov.u32 %t, %tid.x;
    mad.wide.u32 %p, %t, 4, %p;
$L__tmp0:
    st.global.u32 [%p], %t;
    ret;
$L__func_end0:
}
.section .debug_str
{
$L__info_string0:
.b8 107
.b8 0
}
"""
    )
    out = np.full(4, 9, np.uint32)
    launch(text, "k", 1, 4, [out])
    assert out.tolist() == [0, 1, 2, 3]


def test_an_assembly_of_several_lines_has_the_line_of_its_first():
    """Triton's load without a mask: LLVM counts the line of the source on with each."""
    text = (
        HEADER
        + """
.file 1 "/some/where/sums.py"
.visible .entry k(.param .u64 x)
{
    .reg .b64 %p; .reg .b32 %t;
    ld.param.u64 %p, [x];
    .loc 1 11 18                    // sums.py:11:18
    // begin inline asm
    .loc 1 11 18                    // sums.py:11:18
    mov.u32 %t, 0x0;
    .loc 1 12 18                    // sums.py:12:18
    ld.global.b32 { %t }, [ %p + 0 ];
    // end inline asm
    .loc 1 13 5                     // sums.py:13:5
    st.global.b32 [%p], %t;
}
"""
    )
    _, *others = parse(text).entries["k"].instructions
    assert [i.position.line for i in others][:3] == [11, 11, 13]


@pytest.mark.parametrize(
    "broken",
    [
        "add.u32 %d, %a",
        "add.u32 %d, %a, %undeclared;",
        "bra NOWHERE;",
        "ld.global.u32 %d, [%a;",
        "this is not ptx;",
        "add %d, %a, %a;",
        "mul.f32;",
        "mov.u32 %d;",
        "bra 5;",
        "brx.idx %d, 5;",
        "bra;",
        "call;",
        "mov.b32 %d, %a, %a;",
        ".global .u64 t = nobody(t); mov.u64 %a, t;",
    ],
)
def test_broken_text_is_an_error(broken):
    from anywarp import ptx

    text = entry(".reg .b32 %a, %d;" + "\n" * 800 + broken)
    with pytest.raises(ptx.PTXError) as caught:
        launch(text, "k", 1, 1, [])
    message = str(caught.value)
    line = next(n for n, s in enumerate(text.splitlines(), 1) if broken in s)
    # An unfinished statement shows only on the line after it.
    assert any(number_occurs(line + d, message) for d in (0, 1)) or "NOWHERE" in message


@pytest.mark.parametrize(
    "instruction",
    ["add.foo.s32 %d, %a, %a;", "mul.u32 %d, %a, %a;", "and.u32 %d, %a, %a;",
     "shl.foo.b32 %d, %a, %a;", "shf.l.b32 %d, %a, %a, %a;", "prmt.b32.foo %d, %a, %a, %a;",
     "cvt.foo.u32.f32 %d, %a;", "cvt.u32.f32 %d, %a;", "setp.lt.foo.s32 %p, %a, %a;",
     "setp.foo.s32 %p, %a, %a;", "selp.foo.b32 %d, %a, %a, %p;", "mov.u32 %d, %foo;",
     "mov.foo %d, %a;", "bra.foo END;", "bar.foo 0;", "ret.foo;", "ld.foo.u32 %d, [%w];",
     "ld.global.foo.u32 %d, [%w];", "ld.global.v3.u32 {%d,%d,%d}, [%w];",
     "st.global.foo.u32 [%w], %a;", "atom.global.foo.u32 %d, [%w], %a;",
     "shfl.sync.foo.b32 %d, %a, 1, 31, -1;", "shfl.bfly.b32 %d, %a, 1, 31;",
     "vote.sync.foo.pred %p, %p, -1;", "cp.async.foo.shared.global [%a], [%w], 4;",
     "cp.async.cg.shared.global [%a], [%w], 12;", "mma.sync.aligned %d, %a;",
     # instructions that no compiler writes
     "slct.s32.s32 %d, %a, %a, %a;", "szext.wrap.u32 %d, %a, %a;",
     "bmsk.b32 %d, %a, %a;", "cnot.b32 %d, %a;", "testp.finite.f32 %p, %a;",
     "vadd.s32.s32.s32 %d.b0, %a, %a, %a;", "vadd.u32.u32.u32.min %d, %a, %a, %a;",
     "vshl.u32.u32.u32.sat.clamp %d, %a, %a;", "vadd.u32.u32.u32 %d, %a.b0, %a;",
     "vshl.u32.u32.u32 %d, %a, %a;", "vshl.u32.u32.s32.wrap %d, %a, %a;",
     "vadd.u32.u32.u32 %d, %a, %a, %a;", "vset4.s32.s32.lo %d, %a, %a, %a;",
     "vadd4.s32.s32.s32 %d.b0, %a, %a, %a;", "vadd4.u32.u32.u32.sat.add %d, %a, %a, %a;",
     "vadd4.u32.u32.u32.add %d, %a, %a;", "atom.global.v2.f32.add {%d}, [%w], {%a, %a};",
     "add.s32 %d, %a, %a, %a;", "min.s32 %d, %a, %a, %a;", "add.rn.f16x2.f32x2 %w, %w, %w;",
     "div.rn.f32x2 %w, %w, %w;", "mov.v4.b32 {%d, %d, %d, %d}, %tid;",
     "prmt.b32.f4e %d, %a, %a, %a;", "mad.hi.sat.s32 %d, %a, %a, %a;"],
)  # fmt: skip
def test_unknown_modifiers_are_refused(instruction):
    """A modifier that the interpreter does not know is never ignored."""
    from anywarp import ptx

    body = ".reg .b32 %a, %d; .reg .b64 %w; .reg .pred %p;\n" + instruction + "\nEND:"
    with pytest.raises(ptx.PTXError) as caught:
        launch(entry(body), "k", 1, 1, [])
    assert not isinstance(caught.value, ptx.MemoryFault), caught.value
    assert instruction.split(".")[0].split()[0] in str(caught.value)


def test_unbalanced_text_is_a_parse_error():
    from anywarp import ptx

    for text in (HEADER + ".visible .entry k() { ret;", HEADER + "}", HEADER + "entry k() {}"):
        with pytest.raises(ptx.ParseError):
            ptx.parse(text)


@pytest.mark.parametrize(
    "text, place",
    [
        (".global .align 8 .u64 t[2] = {generic(t)+4, -5}", r"\d+: "),
        (
            """.entry k(.param .u64 p) .maxntid 32, 1, 1 { .loc 1 7 0, function_name $L
            { ld.global.v2.u32 {%r1, %r2}, [%rd1+-4]; add.f32 %f1, %f1, 0f00000000; }""",
            r"\d+ \(k\.cu:7\): ",
        ),
    ],
)
def test_a_text_may_end_nowhere_in_a_declaration(text, place):
    from anywarp import ptx
    from anywarp.ptx.text.lexer import tokenize

    tokens, _ = tokenize(text)
    for end in range(1, len(tokens) + 1):
        with pytest.raises(ptx.ParseError) as error:
            ptx.parse(HEADER + '.file 1 "k.cu"\n' + " ".join(tokens[:end]))
    assert re.match("PTX line " + place, str(error.value))


def test_a_program_of_nothing_runs():
    run_body("", "", 3, 7, [])
    run_body("ret.uni;", "", 3, 7, [])


def test_calls_of_functions_are_right_or_refused():
    from anywarp import ptx

    module = """
.func (.param .b32 result) triple(.param .b32 given)
{
    .reg .b32 %r;
    ld.param.b32 %r, [given];
    mul.lo.u32 %r, %r, 3;
    st.param.b32 [result], %r;
    ret;
}
"""
    template = """
    {
    .param .b32 argument;
    .param .b32 outcome;
    st.param.b32 [argument], %a;
    call.uni (outcome), triple, (argument);
    ld.param.b32 %d, [outcome];
    }
    """
    try:
        got = vectors(template, "u32", "u32", range(50), module=module)
    except ptx.PTXError as error:
        assert "call" in str(error)
    else:
        assert got == [3 * a for a in range(50)]


def test_parse_is_repeatable():
    text = entry(".reg .b32 %r; mov.u32 %r, 1;")
    first, second = parse(text), parse(text)
    assert [i.opcode for i in first.entries["k"].instructions] == [
        i.opcode for i in second.entries["k"].instructions
    ]


# -- what hands write -------------------------------------------------------------------------


def values_of(body: str, count: int, module: str = "", **keywords) -> list[int]:
    """What one thread stores at %o, as uint32."""
    declare = ".reg .b64 %o, %x<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; ld.param.u64 %o, [out];"
    out = np.zeros(count, np.uint32)
    run_body(declare + body, "u64 out", 1, 1, [out], module=module, **keywords)
    return out.tolist()


@pytest.mark.parametrize(
    "constant, value",
    [("1<<4", 16), ("(1<<4)|3", 19), ("2+3*4", 14), ("(2+3)*4", 20), ("7-2-1", 4), ("-(2+3)+7", 2),
     ("1|2&3<<1", 3), ("WARP_SZ-1", 31), ("0x10U+010+0b11", 27)],
)  # fmt: skip
def test_constant_expressions(constant, value):
    assert values_of(f"mov.u32 %r0, {constant}; st.global.u32 [%o], %r0;", 1) == [value]
    if "WARP_SZ" not in constant:
        body = f"ld.global.u32 %r0, [t]; st.global.u32 [%o+4*({constant})-4*{value}], %r0;"
        assert values_of(body, 1, module=f".global .u32 t = {constant};") == [value]


@pytest.mark.parametrize("constant", ["1e2", "100.0", "1.e+2", "100.", ".1e3", "1E2"])
def test_floats_in_decimals(constant):
    body = f"mov.f32 %f0, {constant}; cvt.rzi.u32.f32 %r0, %f0; st.global.u32 [%o], %r0;"
    assert values_of(body, 1) == [100]


@pytest.mark.parametrize("constant", ["1.5+2", "1<<1.0", "(1", "1+", "0x", "-%r1", "2*%r1"])
def test_what_is_no_constant(constant):
    from anywarp import ptx

    with pytest.raises(ptx.PTXError, match="PTX line"):
        values_of(f"mov.u32 %r0, {constant};", 1)


def test_registers_that_are_vectors():
    """Their parts are .x to .w, or .r to .a; in a nested scope they hide the outer ones."""
    body = """.reg .v4 .u32 q; .reg .v2 .u32 pair<2>;
    mov.v4.u32 q, {5, 6, 7, 8};
    { .reg .v4 .u32 q; mov.v4.u32 q, {1, 2, 3, 4}; add.u32 q.x, q.y, q.w; mov.u32 %r0, q.r; }
    st.global.v4.u32 [%o], q;
    ld.global.v2.u32 pair1, [%o];
    mov.v2.u32 pair0, pair1;
    mov.b64 %x0, pair0;
    st.global.u64 [%o+16], %x0;
    st.global.v2.u32 [%o+24], {q.a, %r0};"""
    assert values_of(body, 8) == [5, 6, 7, 8, 5, 6, 8, 6]


def test_rows_with_too_few_values_are_filled_up():
    module = ".global .u32 t[2][3] = {{1}, {2, 3}}; .global .v2 .u32 p[] = {{7, 8}, {9}};"
    loads = "".join(f"ld.global.u32 %r0, [t+{4 * n}]; st.global.u32 [%o+{4 * n}], %r0;"
                    for n in range(6))  # fmt: skip
    loads += "ld.global.v2.u32 {%r0, %r1}, [p+8]; st.global.v2.u32 [%o+24], {%r0, %r1};"
    assert values_of(loads, 8, module) == [1, 0, 0, 2, 3, 0, 9, 0]


FUNCTION = """.func (.param .b32 result) square(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, %a; st.param.b32 [result], %a; ret; }
"""


def test_addresses_before_a_variable_and_of_functions_in_32_bits():
    body = """.shared .align 4 .b8 s[64]; mov.u64 %x0, s-8; mov.u32 %r0, 7;
    st.shared.u32 [%x0+8], %r0;
    ld.shared.u32 %r1, [s]; mov.u32 %r2, square; st.global.u32 [%o], %r1;"""
    assert values_of(body, 1, FUNCTION) == [7]


def test_a_function_of_two_names():
    body = """{ .param .b32 x; .param .b32 y; st.param.b32 [x], 7; call (y), other, (x);
    ld.param.b32 %r0, [y]; st.global.u32 [%o], %r0; }"""
    assert values_of(body, 1, FUNCTION + ".alias other, square;\n") == [49]


def test_parameters_that_are_registers_are_refused():
    """ptxas takes them; the interpreter must not take a register for an address."""
    from anywarp import ptx

    for call in ("call (%r0), square, (%r1);", "call (%r0), square, (3);"):
        with pytest.raises(ptx.UnknownOpcode, match=r"is to be a \.param variable"):
            values_of("mov.u32 %r1, 4;" + call, 1, FUNCTION)
    module = ".func (.reg .b32 y) square(.reg .b32 x) { mul.lo.u32 y, x, x; ret; }"
    with pytest.raises(ptx.UnknownOpcode, match=r"\.reg among parameters"):
        values_of("call (%r0), square, (%r1);", 1, module)


def test_code_without_a_line_has_the_last_one():
    """Line 0, which Rust writes, is none; a call in no line leaves that of what was inlined."""
    text = (
        HEADER
        + """
.file 1 "a.rs"
.visible .entry k()
{
    .reg .b32 %r;
    mov.u32 %r, 1;
    .loc 1 7 3
    mov.u32 %r, 2;
    .loc 1 0 0
    mov.u32 %r, 3;
    .loc 1 9 3, function_name $L__info_string0, inlined_at 1 0 0
    mov.u32 %r, 4;
    .loc 1 0 0, function_name $L__info_string0, inlined_at 1 12 4
    mov.u32 %r, 5;
}
"""
    )
    places = [i.position for i in parse(text).entries["k"].instructions]
    assert list(map(str, places)) == ["None", "a.rs:7", "near a.rs:7", "a.rs:9", "a.rs:12"]


STORE = ".reg .b64 %a; ld.param.u64 %a, [o]; st.global.u32 [%a], 7;"


@pytest.mark.parametrize(
    "body, module, why",
    [
        (".reg .b32 %p<9000000000000000000>;", "", "9000000000000000000 registers"),
        (".reg .b32 %p<-5>;", "", "-5 registers"),
        (".reg .b32 %p<1000000>;\n.reg .b32 %q<1000000>;", "", "%q are 1000000 registers"),
        (".local .b8 s[1000000000];", "", "s has 1000000000 bytes"),
        ("{ .param .b8 p[100000]; }", "", "p has 100000 bytes"),
        ("st.global.u32 [g], 7;", ".global .b8 g[9000000000] = {1};", "g has 9000000000 bytes"),
        ("st.global.u32 [g], 7;", ".global .b8 g[-4];", "g has -4 bytes"),
        ("st.global.u32 [g], 7;", ".global .align 3 .b8 g[4];", "an alignment of 3"),
        ("st.shared.u32 [g], 7;", f".shared .align {2**40} .b8 g[4];", "an alignment of 10"),
        ("{" * 5000 + "}" * 5000, "", "nested too deeply"),
        (f"mov.u64 %a, {'(' * 5000}1{')' * 5000};", "", "nested too deeply"),
        (f"ld.global.u32 %r, [%a+{10**40}];", "", "such operands"),
    ],
)
def test_what_would_exhaust_memory_or_the_stack_is_refused(body, module, why):
    from anywarp import ptx

    text = entry(f".reg .b32 %r;\n{STORE}\n{body}", "u64 o", module=module)
    with pytest.raises(ptx.PTXError, match=why) as caught:
        launch(text, "k", 1, 1, [np.zeros(1, np.uint32)])
    assert "PTX line" in str(caught.value)


def test_local_memory_of_many_blocks_is_there_for_a_part_of_them_at_a_time(monkeypatch):
    """16 KiB for each of 65536 threads at once would be 1 GiB."""
    from anywarp.ptx.memory import allocations

    made = []
    spaces = allocations.rowed_space
    watched = lambda name, *more: made.append((name, spaces(name, *more))) or made[-1][1]
    monkeypatch.setattr(allocations, "rowed_space", watched)
    body = f".local .b8 s[16384]; .reg .b32 %r; st.local.u32 [s], 1; {STORE}"
    run_body(body, "u64 o", 64, 1024, [np.zeros(1, np.uint32)])
    assert max(x.data.nbytes for name, x in made if name == "local") <= 1 << 28
