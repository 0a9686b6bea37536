"""mbarrier objects: arrivals, bytes and phases, the forms of the instructions, what is wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
from harness import run_body

from anywarp import ptx
from anywarp.ptx.memory.events import Fault, MemoryBarrier

MOST = (1 << 20) - 1
DECLARED = """
    .shared .align 16 .b8 before[24];
    .shared .align 8 .b64 bar[2];
    .reg .b32 %t, %a, %n<9>;
    .reg .b64 %g, %q, %s<9>;
    .reg .pred %p<9>;
    ld.param.u64 %g, [given];
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %g, %t, 4, %g;
    mad.wide.u32 %q, %t, 16, %q;
    mov.u32 %a, bar;
    mov.u32 %n0, 0;
    mov.u32 %n1, 0;
    mov.u32 %n2, 0;
    mov.u32 %n3, 0;
    ld.global.u32 %n8, [%g];
"""
STORED = "st.global.v4.u32 [%q], {%n0, %n1, %n2, %n3};"


def run(body: str, threads: int = 32, given=None, init: int | str | None = 1, **keywords):
    """Run the body with an mbarrier at [bar] ([%a]) that expects so many arrivals, and %n8 given.
    Returns what is in %n0 to %n3 of each thread then."""
    given = np.zeros(threads, np.uint32) if given is None else np.asarray(given, np.uint32)
    out = np.zeros((threads, 4), np.uint32)
    first = "setp.eq.u32 %p8, %t, 0;\n"
    if init is not None:
        first += f"@%p8 mbarrier.init.shared::cta.b64 [%a], {init};\n"
    text = DECLARED + first + "bar.sync 0;\n" + body + STORED
    run_body(text, "u64 given, u64 out", 1, threads, [given, out], **keywords)
    return out


def test_parity(parity: int, to: str = "%n0") -> str:
    return (
        f"mbarrier.test_wait.parity.shared::cta.b64 %p7, [%a], {parity};\n"
        f"selp.u32 {to}, 1, 0, %p7;\n"
    )


test_parity.__test__ = False  # type: ignore[attr-defined]


class Model:
    """An mbarrier as PTX describes it, one arrival after another."""

    def __init__(self, expected: int):
        self.phase, self.pending, self.expected, self.missing = 0, expected, expected, 0

    def arrive(self, count: int = 1, size: int = 0, drop: bool = False) -> int:
        """Returns what was pending."""
        self.missing += size
        pending = self.pending
        assert count <= pending
        self.pending -= count
        self.expected -= count * drop
        self.turn()
        return pending

    def complete(self, size: int) -> None:
        self.missing -= size
        self.turn()

    def turn(self) -> None:
        if self.pending == 0 and self.missing == 0:
            self.phase, self.pending = self.phase + 1, self.expected


def test_nobody_passes_before_the_last_has_arrived():
    body = test_parity(0, "%n0") + "bar.sync 0;\n"
    body += (
        "setp.lt.u32 %p1, %t, 31;\n@%p1 mbarrier.arrive.shared::cta.b64 %s0, [%a];\nbar.sync 0;\n"
    )
    body += test_parity(0, "%n1") + test_parity(1, "%n2") + "bar.sync 0;\n"
    body += "@!%p1 mbarrier.arrive.shared::cta.b64 %s0, [%a];\nbar.sync 0;\n" + test_parity(
        0, "%n3"
    )
    assert (run(body, init=32) == [0, 0, 1, 1]).all()


@pytest.mark.parametrize("seed", range(12))
def test_threads_of_one_instruction_arrive_one_after_another(seed):
    """Each sees what was pending before it; phases may end in the middle of the threads."""
    rng = random.Random(seed)
    threads, model = rng.choice([1, 7, 32, 100]), Model(expected := rng.choice([1, 2, 5, 33, 400]))
    counts, pending = [], []
    for _ in range(threads):
        counts.append(rng.randint(1, min(model.pending, 9)))
        pending.append(model.arrive(counts[-1]))
    body = """
    mbarrier.arrive.shared::cta.b64 %s0, [%a], %n8;
    mbarrier.pending_count.b64 %n0, %s0;
    bar.sync 0;
    """
    body += test_parity(0, "%n1") + test_parity(1, "%n2")
    body += "mbarrier.test_wait.shared::cta.b64 %p7, [%a], %s0;\nselp.u32 %n3, 1, 0, %p7;\n"
    found = run(body, threads, counts, init=expected)
    assert found[:, 0].tolist() == pending
    assert set(found[:, 1]) == {model.phase % 2} and set(found[:, 2]) == {1 - model.phase % 2}
    again, phases = Model(expected), []
    for count in counts:
        phases.append(again.phase)
        again.arrive(count)
    # a state is of this phase or of the one before: older ones are asked for in vain
    assert found[:, 3].tolist() == [int(phase % 2 != model.phase % 2) for phase in phases]


def test_an_object_of_its_own_for_each_block_and_each_half_of_a_block():
    out = np.zeros((3, 64, 4), np.uint32)
    body = """
    and.b32 %n7, %t, 31;
    setp.eq.u32 %p8, %n7, 0;
    shr.u32 %n6, %t, 5;
    mad.lo.u32 %a, %n6, 8, %a;
    mov.u32 %n5, %ctaid.x;
    mad.wide.u32 %q, %n5, 1024, %q;
    add.u32 %n4, %n5, %n6;
    add.u32 %n4, %n4, 1;
    @%p8 mbarrier.init.shared::cta.b64 [%a], %n4;
    bar.sync 0;
    @%p8 mbarrier.arrive.shared::cta.b64 %s0, [%a];
    bar.sync 0;
    """
    body = DECLARED + body + test_parity(0) + STORED
    run_body(body, "u64 given, u64 out", 3, 64, [np.zeros(64, np.uint32), out])
    expected = np.add.outer(np.arange(3), np.arange(64) // 32) + 1
    assert (out[..., 0] == (expected == 1)).all()


def test_dropped_arrivals_are_not_expected_again():
    body = """
    setp.lt.u32 %p1, %t, 12;
    @%p1 mbarrier.arrive_drop.shared::cta.b64 %s0, [%a];
    @!%p1 mbarrier.arrive.shared::cta.b64 %s0, [%a];
    mbarrier.pending_count.b64 %n3, %s0;
    bar.sync 0;
    """
    body += test_parity(0, "%n0") + "bar.sync 0;\n"
    body += (
        "setp.lt.u32 %p1, %t, 19;\n@%p1 mbarrier.arrive.shared::cta.b64 %s0, [%a];\nbar.sync 0;\n"
    )
    body += test_parity(1, "%n1")
    body += (
        "setp.eq.u32 %p1, %t, 31;\n@%p1 mbarrier.arrive.shared::cta.b64 %s0, [%a];\nbar.sync 0;\n"
    )
    body += test_parity(1, "%n2")
    found = run(body, init=32)
    assert (found[:, :3] == [1, 0, 1]).all()
    assert found[:, 3].tolist() == list(range(32, 0, -1))


def test_a_drop_of_several():
    body = "@%p8 mbarrier.arrive_drop.shared::cta.b64 _, [%a], 5;\n" + test_parity(0, "%n0")
    body += "@%p8 mbarrier.arrive.shared::cta.b64 _, [%a], 2;\n" + test_parity(0, "%n1")
    body += "@%p8 mbarrier.arrive.shared::cta.b64 _, [%a], 2;\n" + test_parity(1, "%n2")
    assert run(body, 1, init=7).tolist() == [[0, 1, 1, 0]]


def test_a_drop_that_ends_the_phase():
    body = "@%p8 mbarrier.arrive.shared::cta.b64 _, [%a];\n"
    body += "@%p8 mbarrier.arrive_drop.shared::cta.b64 _, [%a], 2;\n" + test_parity(0, "%n0")
    body += test_parity(1, "%n1") + "@%p8 mbarrier.arrive.shared::cta.b64 _, [%a];\n"
    assert run(body + test_parity(1, "%n2"), 1, init=3).tolist() == [[1, 0, 1, 0]]


@pytest.mark.parametrize("order", ["expect first", "complete first", "arrive first"])
def test_a_phase_is_over_when_all_have_arrived_and_all_bytes_are_there(order):
    steps = {
        "expect": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%a], 640;",
        "complete": "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%a], 640;",
        "arrive": "mbarrier.arrive.shared::cta.b64 _, [%a];",
    }
    first = order.split()[0]
    if first == "arrive":  # bytes are missing when it comes
        names = ["expect", "arrive", "complete"]
    else:
        names = [first, *({"expect", "complete"} - {first}), "arrive"]
    body = ""
    for n, name in enumerate(names):
        body += steps[name] + "\n" + test_parity(0, f"%n{n}")
    assert run(body, 1).tolist() == [[0, 0, 1, 0]]


def test_bytes_of_several_threads_add_up():
    body = """
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %s0, [%a], %n8;
    mbarrier.pending_count.b64 %n3, %s0;
    bar.sync 0;
    @%p8 mbarrier.complete_tx.shared::cta.b64 [%a], 495;
    """
    sizes = np.arange(32)
    found = run(body + test_parity(0, "%n0") + "bar.sync 0;\n"
                "@%p8 mbarrier.complete_tx.shared::cta.b64 [%a], 1;\nbar.sync 0;\n"
                + test_parity(0, "%n1"), 32, sizes, init=32)  # fmt: skip
    assert sizes.sum() == 496 and (found[:, :2] == [0, 1]).all()
    assert found[:, 3].tolist() == list(range(32, 0, -1))


def test_an_arrival_may_complete_nothing():
    body = "@%p8 mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %s0, [%a], 2;\n"
    body += test_parity(0, "%n0") + "@%p8 mbarrier.arrive.shared::cta.b64 _, [%a];\n"
    assert run(body + test_parity(0, "%n1"), 1, init=3).tolist() == [[0, 1, 0, 0]]
    with pytest.raises(ptx.PTXError, match=r"is completed by an arrival with \.noComplete"):
        run(body, 1, init=2)


ARRIVALS = [
    "mbarrier.arrive.b64 %s0, [%s1];",
    "mbarrier.arrive.b64 _, [%s1];",
    "mbarrier.arrive.release.cluster.b64 _, [%s1], 1;",
    "mbarrier.arrive.shared.b64 %s0, [bar];",
    "mbarrier.arrive.shared.b64 %s0, [%a];",
    "mbarrier.arrive.shared::cta.b64 %s0, [%a+0];",
    "mbarrier.arrive.release.cta.shared::cta.b64 %s0, [%a], 1;",
    "mbarrier.arrive.release.cluster.shared::cta.b64 %s0, [%a];",
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 %s0, [%a];",
    "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%a];",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a], 1;",
    "mbarrier.arrive.expect_tx.b64 %s0, [%s1], 0;",
    "mbarrier.arrive.expect_tx.shared.b64 _, [%a], 0;",
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %s0, [%a], 0;",
    "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%a], 0;",
    "mbarrier.arrive_drop.b64 %s0, [%s1];",
    "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [%a], 1;",
    "mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cta.b64 %s0, [%a], 0;",
    "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%a];",
]
GENERIC = "cvt.u64.u32 %s1, %a;\ncvta.shared.u64 %s1, %s1;\n"


@pytest.mark.parametrize("text", ARRIVALS)
def test_forms_of_arrivals(text):
    body = GENERIC + "mov.b64 %s0, 0;\n" + test_parity(0, "%n0")
    body += text + "\nmbarrier.pending_count.b64 %n2, %s0;\n" + test_parity(0, "%n1")
    pending = 0 if "_," in text else 1
    assert run(body, 1).tolist() == [[0, 1, pending, 0]]


@pytest.mark.parametrize("name", ["expect_tx", "complete_tx"])
@pytest.mark.parametrize(
    "words, address",
    [("", "%s1"), (".shared", "%a"), (".relaxed.cta.shared::cta", "%a"),
     (".relaxed.cluster.shared::cluster", "%a"), (".relaxed.cluster", "%s1")],
)  # fmt: skip
def test_forms_of_transactions(name, words, address):
    other = "complete_tx" if name == "expect_tx" else "expect_tx"
    body = GENERIC + f"mbarrier.{name}{words}.b64 [{address}], %n8;\n"
    body += "mbarrier.arrive.shared.b64 _, [%a];\n" + test_parity(0, "%n0")
    body += f"mbarrier.{other}.shared.b64 [%a], 77;\n" + test_parity(0, "%n1")
    assert run(body, 1, [77]).tolist() == [[0, 1, 0, 0]]


WAITS = [
    "mbarrier.{}{}.b64 %p1, [%s1], {};",
    "mbarrier.{}{}.shared.b64 %p1, [%a], {};",
    "mbarrier.{}{}.shared::cta.b64 %p1, [bar], {};",
    "mbarrier.{}{}.acquire.cta.shared::cta.b64 %p1, [%a], {};",
    "mbarrier.{}{}.acquire.cluster.shared::cta.b64 %p1, [%a], {};",
    "mbarrier.{}{}.relaxed.cluster.b64 %p1, [%s1], {};",
]


@pytest.mark.parametrize("text", WAITS)
@pytest.mark.parametrize("name", ["test_wait", "try_wait", "try_wait with a time"])
@pytest.mark.parametrize("parity", [False, True])
def test_forms_of_waits(text, name, parity):
    word, *timed = name.split(" ", 1)
    text = text.format(word, ".parity" if parity else "", "%n8" if parity else "%s0")
    if timed:
        text = text.replace(";", ", 1000;")
    look = text + "\nselp.u32 {}, 1, 0, %p1;\n"
    body = GENERIC + "mbarrier.arrive.shared.b64 %s0, [%a];\n" + look.format("%n0")
    body += "mbarrier.arrive.shared.b64 %s2, [%a];\n" + look.format("%n1")
    body += "mbarrier.arrive.shared.b64 %s0, [%a];\nmov.u32 %n8, 1;\n" + look.format("%n2")
    body += "mbarrier.arrive.shared.b64 %s0, [%a];\n" + look.format("%n3")
    assert run(body, 1, init=2).tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "mbarrier.init.shared.b32 [%a], 1;",
        "mbarrier.arrive.sys.shared.b64 _, [%a];",
        "mbarrier.arrive.noComplete.shared.b64 %s0, [%a];",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 %s0, [%a];",
        "mbarrier.arrive.noComplete.expect_tx.shared.b64 %s0, [%a], 1;",
        "mbarrier.test_wait.sleepy.shared.b64 %p1, [%a], %s0;",
        "mbarrier.swap.shared.b64 %s0, [%a];",
        "mbarrier.init.global.b64 [%a], 1;",
    ],
)
def test_what_is_no_form_is_refused(text):
    with pytest.raises(ptx.UnknownOpcode, match="mbarrier"):
        run(text, 1)


USES = {
    "arrive": "mbarrier.arrive.shared::cta.b64 _, [%a];",
    "drop": "mbarrier.arrive_drop.shared::cta.b64 _, [%a];",
    "expect": "mbarrier.expect_tx.shared::cta.b64 [%a], 16;",
    "complete": "mbarrier.complete_tx.shared::cta.b64 [%a], 16;",
    "test": "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%a], 0;",
    "try": "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%a], 0;",
    "inval": "mbarrier.inval.shared::cta.b64 [%a];",
    "cp.async": "cp.async.mbarrier.arrive.shared::cta.b64 [%a];",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("before", ["nothing", "zeros", "inval"])
def test_an_object_must_be_initialised(use, before):
    init = None
    if before == "zeros":
        body = "mov.b64 %s0, 0;\nst.shared.b64 [%a], %s0;\n"
    elif before == "inval":
        init, body = 1, "mbarrier.inval.shared.b64 [%a];\n"
    else:
        body = ""
    with pytest.raises(ptx.PTXError) as caught:
        run(body + USES[use], 1, init=init)
    message = str(caught.value)
    assert "byte 0 of bar (16 bytes), is not initialised: mbarrier.init comes first" in message
    assert "thread (0, 0, 0)" in message


def test_an_object_may_be_initialised_again():
    body = "@%p8 mbarrier.arrive.shared.b64 _, [%a];\n@%p8 mbarrier.inval.shared.b64 [%a];\n"
    body += "@%p8 mbarrier.init.shared.b64 [%a], 2;\n" + test_parity(0, "%n0")
    body += "@%p8 mbarrier.arrive.shared.b64 _, [%a], 2;\n" + test_parity(0, "%n1")
    assert run(body, 1).tolist() == [[0, 1, 0, 0]]


@pytest.mark.parametrize("count", [0, MOST + 1, 2**32 - 1])
@pytest.mark.parametrize(
    "text, what",
    [
        ("mbarrier.init.shared.b64 [%a], %n8;", "an mbarrier expects 1 to 1048575 arrivals, not "),
        ("mbarrier.arrive.shared.b64 _, [%a], %n8;", "may make 1 to 1048575 arrivals, not "),
        ("mbarrier.arrive_drop.shared.b64 _, [%a], %n8;", "1 to 1048575 arrivals, not "),
    ],
)  # fmt: skip
def test_counts_out_of_range(text, what, count):
    with pytest.raises(ptx.PTXError) as caught:
        run(text, 3, [1, count, count], init=9)
    assert f"{what}{count}" in str(caught.value) and "thread (1, 0, 0)" in str(caught.value)


def test_the_largest_counts():
    body = "mbarrier.arrive.shared.b64 %s0, [%a], %n8;\nmbarrier.pending_count.b64 %n3, %s0;\n"
    body = "mbarrier.expect_tx.shared.b64 [%a], %n8;\n" + body + test_parity(0, "%n0")
    body += "mbarrier.complete_tx.shared.b64 [%a], %n8;\n" + test_parity(0, "%n1")
    body += "mbarrier.complete_tx.shared.b64 [%a], %n8;\nmbarrier.expect_tx.shared.b64 [%a], %n8;\n"
    body += "mbarrier.arrive.shared.b64 %s0, [%a], %n8;\n" + test_parity(1, "%n2")
    assert run(body, 1, [MOST], init=MOST).tolist() == [[0, 1, 1, MOST]]


@pytest.mark.parametrize("text, given, init, message", [
    ("mbarrier.arrive.shared.b64 _, [%a], %n8;", [1, 2, 5, 1], 7,
     r"gets 5 arrivals when 4 are pending in its phase: there would be fewer(.*\n)*.*"
     r"thread \(2, 0, 0\)"),
    ("mbarrier.arrive.expect_tx.shared.b64 _, [%a], 48;\nmbarrier.arrive.shared.b64 _, [%a];\n",
     [0], 1, "0 are pending in its phase, and 48 bytes are missing"),
    ("mbarrier.expect_tx.shared.b64 [%a], %n8;\n", [MOST, 1], 1, "cannot miss 1048576 bytes: at "),
    ("mbarrier.complete_tx.shared.b64 [%a], %n8;\n", [MOST, 1], 1, "cannot miss -1048576 bytes: "),
    ("mov.b64 %s0, 5;\nmbarrier.test_wait.shared.b64 %p1, [%a], %s0;\n", [0], 1,
     "is asked for 0x5: no mbarrier.arrive gave this state"),
    ("cp.async.mbarrier.arrive.shared.b64 [%a];\n", [0], MOST,
     "cannot await 1048576 arrivals: at most 1048575"),
])  # fmt: skip
def test_what_an_object_cannot_do(text, given, init, message):
    with pytest.raises(ptx.PTXError, match=message):
        run(text, len(given), given, init=init)


def test_what_a_wait_may_be_asked_for():
    body = "mbarrier.test_wait.parity.shared.b64 %p1, [%a], %n8;\n"
    body += "selp.u32 %n0, 1, 0, %p1;\n"  # the lowest bit: in phase 0, that of parity 1 is over
    assert run(body, 8, [0, 1, 2, 3, 254, 255, 1 << 31, 2**32 - 1])[:, 0].tolist() == [0, 1] * 4


@pytest.mark.parametrize("use", USES)
def test_where_an_object_may_lie(use):
    text = USES[use].replace("[%a]", "[%a+4]")
    with pytest.raises(ptx.MemoryFault, match="misaligned 8-byte access to shared memory"):
        run(text, 1)
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):
        run(USES[use].replace("[%a]", "[%a+4096]"), 1)
    generic = USES[use].replace("::cta", "").replace(".shared", "").replace("[%a]", "[%g]")
    with pytest.raises(ptx.PTXError, match="the generic address 0x.* is not one of shared memory"):
        run(generic, 1)


def test_a_tolerant_run_goes_on_without_those_who_miss():
    events: list = []
    body = "mad.lo.u32 %a, %n8, 4, %a;\nmbarrier.arrive.shared.b64 _, [%a];\n"
    body += "bar.sync 0;\nmov.u32 %a, bar;\n" + test_parity(0)
    found = run(body, 4, [0, 1, 0, 0], init=3, sink=events.append, tolerant=True)
    (fault,) = [event for event in events if isinstance(event, Fault)]
    assert fault.mask.tolist() == [[False, True, False, False]] and fault.align == 8
    assert (found[:, 0] == 1).all()


def seen(body: str, threads: int, **keywords):
    """What the sink is told: (what, thread, address, count) in order."""
    found = []

    def sink(event):
        if isinstance(event, MemoryBarrier):
            assert (event.row == 0).all() and (event.block == 0).all()
            fields = event.thread.tolist(), event.address.tolist(), event.count.tolist()
            found.extend((event.what, *each) for each in zip(*fields))

    run(body, threads, sink=sink, **keywords)
    return found


def test_what_the_sink_is_told():
    body = test_parity(0) + "mbarrier.arrive.expect_tx.shared.b64 _, [%a], %n8;\n"
    body += "mbarrier.complete_tx.shared.b64 [%a], %n8;\nbar.sync 0;\n" + test_parity(0)
    body += "@%p8 mbarrier.arrive_drop.shared.b64 _, [%a];\nmbarrier.inval.shared.b64 [%a];\n"
    body = body.replace("mbarrier.inval", "@%p8 mbarrier.inval")
    at = 24
    assert seen(body, 2, given=[16, 32], init=2) == [
        ("init", 0, at, 2),
        ("look", 0, at, 0),
        ("look", 1, at, 0),
        ("expect", 0, at, 16),
        ("expect", 1, at, 32),
        ("arrive", 0, at, 1),
        ("arrive", 1, at, 1),
        ("complete", -1, at, 16),
        ("complete", -1, at, 32),
        ("phase", -1, at, 0),
        ("wait", 0, at, 0),
        ("wait", 1, at, 0),
        ("arrive", 0, at, 1),
        ("inval", 0, at, 0),
    ]


COPIES = """
    .shared .align 16 .b8 box[512];
    .reg .b32 %b, %x;
    .reg .b64 %h;
    mov.u32 %b, box;
    mad.lo.u32 %b, %t, 4, %b;
    mov.u32 %x, 5;
    st.shared.u32 [%b], %x;
    cp.async.ca.shared.global [%b], [%g], 4;
"""
ENOUGH = "mbarrier.try_wait.parity.shared.b64 %p1, [%a], {0};\n@!%p1 bra WAIT{1};\n"


@pytest.mark.parametrize("noinc", [False, True])
def test_cp_async_arrives_when_it_has_landed(noinc):
    """With .noinc the arrival is one of those expected, without it comes and goes."""
    body = COPIES + f"cp.async.mbarrier.arrive{'.noinc' * noinc}.shared::cta.b64 [%a];\n"
    body += "ld.shared.u32 %n0, [%b];\n"
    body += "" if noinc else "mbarrier.arrive.shared.b64 _, [%a];\n"
    body += "WAIT0:\n" + ENOUGH.format(0, 0) + "xor.b32 %n7, %t, 31;\nmov.u32 %b, box;\n"
    body += "mad.lo.u32 %b, %n7, 4, %b;\nld.shared.u32 %n1, [%b];\n"
    given = np.arange(100, 132)
    found = run(body, 32, given, init=32)
    assert (found[:, 0] == 5).all() and (found[:, 1] == given[::-1]).all()


def test_cp_async_arrives_for_the_copies_before_it_alone():
    body = COPIES + "cp.async.mbarrier.arrive.noinc.shared.b64 [%a];\n"
    body += "cp.async.ca.shared.global [%b+128], [%g], 4;\nmov.u32 %x, 9;\n"
    body += "st.shared.u32 [%b+128], %x;\nWAIT0:\n" + ENOUGH.format(0, 0)
    body += "ld.shared.u32 %n0, [%b];\nld.shared.u32 %n1, [%b+128];\ncp.async.wait_all;\n"
    body += "ld.shared.u32 %n2, [%b+128];\n"
    assert run(body, 1, [77]).tolist() == [[77, 9, 77, 0]]


def test_cp_async_may_be_waited_for_in_both_ways():
    body = COPIES + "cp.async.mbarrier.arrive.noinc.shared.b64 [%a];\ncp.async.wait_all;\n"
    body += "ld.shared.u32 %n0, [%b];\nst.shared.u32 [%b], %x;\n" + test_parity(0, "%n1")
    body += "ld.shared.u32 %n2, [%b];\n"
    assert run(body, 1, [77]).tolist() == [[77, 1, 5, 0]]
