"""The table of opcodes and the control flow graph, against PTX written by hand."""

import pytest

from anywarp import ptx
from anywarp.ptx.machine import control
from anywarp.ptx.text import flow, isa


def entry(body):
    return ptx.parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f(.param .u64 a)\n{"
        ".reg .pred %p<9>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" + body + "\n}"
    ).entries["f"]


def one(text):
    return entry(text).instructions[0]


@pytest.mark.parametrize(
    "text, key",
    [
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", "cp.async"),
        ("cp.async.commit_group;", "cp.async.commit_group"),
        ("cp.async.bulk.commit_group;", "cp.async.bulk.commit_group"),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%r1], [%rd1], 512, [%r2];",
            "cp.async.bulk",
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];",
            "cp.async.bulk.tensor",
        ),
        ("bar.warp.sync %r1;", "bar.warp"),
        ("bar.sync 0;", "bar"),
        ("bar.red.popc.u32 %r1, 0, %p1;", "bar.red"),
        ("mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd1;", "mbarrier.try_wait"),
        ("ld.param.u64 %rd1, [a];", "ld.param"),
        ("ld.global.nc.f32 %f1, [%rd1];", "ld"),
        ("fence.proxy.async.shared::cta;", "fence.proxy"),
        ("fence.acq_rel.gpu;", "fence"),
        ("wgmma.fence.sync.aligned;", "wgmma.fence"),
    ],
)
def test_the_longest_key_counts(text, key):
    assert isa.lookup(one(text)) is isa.TABLE[key]


@pytest.mark.parametrize(
    "text, writes, reads",
    [
        ("add.s32 %r1, %r2, 4;", ["%r1"], ["%r2"]),
        ("@!%p1 add.s32 %r1, %r2, %r3;", ["%r1"], ["%p1", "%r2", "%r3"]),
        ("add.cc.u32 %r1, %r2, %r3;", ["%r1", isa.CARRY], ["%r2", "%r3"]),
        ("addc.cc.u32 %r1, %r2, %r3;", ["%r1", isa.CARRY], ["%r2", "%r3", isa.CARRY]),
        ("madc.hi.u32 %r1, %r2, %r3, %r4;", ["%r1"], ["%r2", "%r3", "%r4", isa.CARRY]),
        ("ld.shared.v2.f32 {%f1, %f2}, [%r1+8];", ["%f1", "%f2"], ["%r1"]),
        ("st.shared.f32 [%r1], %f1;", [], ["%r1", "%f1"]),
        ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", ["%p1", "%p2"], ["%r1", "%r2", "%p3"]),
        ("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;", ["%r1", "%p1"], ["%r2"]),
        ("atom.global.add.u32 %r1, [%rd1], %r2;", ["%r1"], ["%rd1", "%r2"]),
        ("red.global.add.u32 [%rd1], %r2;", [], ["%rd1", "%r2"]),
        ("bar.red.popc.u32 %r1, 0, %p1;", ["%r1"], ["%p1"]),
        ("bar.sync 0, %r1;", [], ["%r1"]),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", [], ["%r1", "%r2"]),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1];", ["%rd1"], ["%r1"]),
        ("mbarrier.arrive.shared::cluster.b64 _, [%r1];", [], ["%r1"]),
        ("mbarrier.init.shared.b64 [%r1], %r2;", [], ["%r1", "%r2"]),
        ("call.uni (%r1), g, (%r2, %r3);", ["%r1"], ["%r2", "%r3"]),
        ("call.uni g, (%r2);", [], ["%r2"]),
        ("call %rd1, (%r2), table;", [], ["%rd1", "%r2"]),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd1}, {%rd2}, {%rd3}, {%rd4};",
            ["%rd1"],
            ["%rd2", "%rd3", "%rd4"],
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, 1, 1, 1;",
            ["%f1", "%f2"],
            ["%f1", "%f2", "%rd1", "%rd2"],
        ),
    ],
)
def test_registers(text, writes, reads):
    assert isa.written(one(text)) == tuple(writes)
    assert isa.read(one(text)) == tuple(reads)


@pytest.mark.parametrize(
    "text, spaces",
    [
        ("ld.f32 %f1, [%rd1];", ("generic",)),
        ("ld.const.f32 %f1, [%rd1];", ("const",)),
        ("ld.shared::cta.f32 %f1, [%r1];", ("shared",)),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", ("shared", "global")),
        ("cvta.to.global.u64 %rd1, %rd2;", ()),
        ("st.async.b32 [%r1], %r2, [%r3];", ("shared",)),
        ("add.s32 %r1, %r2, 4;", ()),
    ],
)
def test_spaces(text, spaces):
    assert isa.spaces(one(text)) == spaces
    assert isa.space(one(text)) == (spaces[0] if spaces else "")


def test_what_is_in_no_row_is_kept_and_may_do_anything():
    unknown = one("frobnicate.sync.b32 %r1, %r2;")
    assert isa.lookup(unknown) is isa.UNKNOWN and isa.kept(unknown)
    assert isa.written(unknown) == ("%r1",) and isa.spaces(unknown) == ("generic",)
    assert isa.kept(one("ld.volatile.shared.f32 %f1, [%r1];"))
    assert not isa.kept(one("ld.shared.f32 %f1, [%r1];"))


def test_what_decides_where_threads_go_on_ends_a_block():
    for opcode in control.CONTROL:
        assert isa.TABLE[opcode].ends
    for opcode in control.SIMPLE:
        assert not isa.lookup(ptx.Instruction(opcode, (), (), None, False, 0, None)).ends


def test_instructions_know_their_place():
    found = entry("{ add.s32 %r1, %r1, 1; L: bra L; }\nret;")
    assert [i.index for i in found.instructions] == [0, 1, 2]


GRAPH = """
    @%p1 bra RIGHT;
    mov.u32 %r1, 1;
    call.uni g, (%r1);
    bra JOIN;
NOBODY:
RIGHT:
    mov.u32 %r1, 2;
    bar.sync 0;
    @%p2 exit;
JOIN:
    add.s32 %r1, %r1, 1;
    brx.idx %r1, table;
table: .branchtargets RIGHT, JOIN, DONE;
UNREACHED:
    bra JOIN;
DONE:
"""


def test_blocks_and_their_order():
    found = entry(GRAPH)
    blocks = flow.blocks(found)
    assert [(b.start, b.stop) for b in blocks] == [
        (0, 1), (1, 3), (3, 4), (4, 7), (7, 9), (9, 10)
    ]  # fmt: skip
    after = flow.successors(found, blocks)
    assert after == [[3, 1], [2], [4], [4], [3, 4], [4]]
    assert flow.predecessors(after) == [[], [0], [1], [0, 4], [2, 3, 4], []]
    assert flow.reached([1], after) == {1, 2, 3, 4}
    assert flow.back_edges(after) == [(4, 4)]


def test_instructions_that_wait_are_alone_where_asked():
    found = entry(GRAPH)
    assert [(b.start, b.stop) for b in flow.blocks(found, waits=True)][3:6] == [
        (4, 5), (5, 6), (6, 7)
    ]  # fmt: skip


def test_an_empty_body():
    found = entry("")
    assert flow.blocks(found) == [] == flow.back_edges([])


def test_back_edges_of_loops_with_two_entries_and_deep_chains():
    # 0 -> 1, 2; 1 <-> 2 (no natural loop); then a chain
    after = [[1, 2], [2], [1, 3], *([n + 1] for n in range(3, 5000)), [3]]
    assert flow.back_edges(after) == [(5000, 3)]
    assert flow.back_edges([[1, 0], [0], [0]]) == [(0, 0), (1, 0)]  # nothing reaches block 2
