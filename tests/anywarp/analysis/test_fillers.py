"""Where ptxas writes loads before cp.async and fences, as its machine code has them."""

from __future__ import annotations

from collections import Counter

import pytest

from anywarp import ptx
from anywarp.analysis.fillers import LOADS, fillers
from anywarp.analysis.folding import fold
from anywarp.analysis.predication import predicated

COPY = "cp.async.cg.shared.global [%s], [%g], 16;"


def found(body: str) -> dict[int, int]:
    """By place among the copies, and -1 for other instructions together, the loads."""
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 p, .param .u32 n)
    {{
        .reg .pred %p; .reg .b32 %n,%t,%s,%v; .reg .b64 %g;
        .shared .align 16 .b8 s[8192];
        ld.param.u64 %g, [p]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;
        setp.lt.u32 %p, %t, %n; mov.u32 %s, s; mad.lo.u32 %s, %t, 16, %s; mov.u32 %v, 0;
        {body}
        cp.async.wait_all; ld.shared.u32 %v, [%s+4]; st.global.u32 [%g], %v; ret;
    }}"""
    entry = ptx.parse(text).entries["k"]
    copies = [i.index for i in entry.instructions if i.text.startswith("cp.async.cg")]
    made = fillers(entry, predicated(entry, fold(entry)))
    by_place: Counter = Counter()
    for n, loads in made.items():
        by_place[copies.index(n) if n in copies else -1] += loads
    return dict(by_place)


@pytest.mark.parametrize(
    "between, again",
    [
        ("", False),
        ("cp.async.commit_group; cp.async.wait_group 0;", False),
        ("st.global.u32 [%g], %t;", False),
        ("shfl.sync.bfly.b32 %v, %t, 1, 31, -1;", False),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%v,%v,%v,%v},%g,%g,1,1,1;", False),
        ("bar.sync 0;", True),
        ("bar.warp.sync -1;", True),
        ("st.shared.u32 [%s+64], %t;", True),
        ("ld.shared.u32 %v, [%s+64]; st.global.u32 [%g+8], %v;", True),
        ("st.u32 [%g], %t;", True),
        ("K: add.u32 %v, %v, 1; setp.lt.u32 %p, %v, %n; @%p bra K;", True),
        ("@%p bra K; st.global.u32 [%g], %t; K:", False),
    ],
)
def test_between_two_copies(between, again):
    assert found(COPY + between + COPY) == ({0: LOADS, 1: LOADS} if again else {0: LOADS})


def test_a_copy_under_a_predicate_has_them_before_its_branch():
    assert found(f"@%p bra K; {COPY} K: {COPY}") == {-1: LOADS}


CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
STORE = "st.shared.u32 [%s+64], %t;"


@pytest.mark.parametrize(
    "body, of_fences, of_copies",
    [
        (COPY + "membar.gl;", 1, 3),
        (COPY + STORE + "membar.gl;", 4, 3),
        (COPY + "membar.gl;" + COPY, 1, 3),
        ("membar.gl;" + COPY, 4, 0),
        (COPY + "membar.gl; membar.cta;", 1, 3),
        (COPY + "membar.gl;" + STORE + "membar.gl;" + COPY, 5, 3),
        (COPY + "fence.proxy.async;", 1, 3),
        (COPY + STORE + "fence.proxy.async.global;", 0, 3),
        (COPY + STORE + "fence.mbarrier_init.release.cluster;", 0, 3),
        (COPY + STORE + "atom.acquire.gpu.global.add.u32 %v, [%g], 1;", 0, 3),
        (COPY + STORE + "mbarrier.arrive.shared::cta.b64 _, [%s];", 0, 3),
        (COPY + CLUSTER, 1, 3),
        (COPY + CLUSTER + COPY, 1, 6),
        (COPY + CLUSTER.replace("arrive", "arrive.relaxed") + COPY, 0, 6),
        (2 * (COPY + CLUSTER), 2, 6),
    ],
)
def test_fences_where_there_are_copies(body, of_fences, of_copies):
    by_place = found(body)
    assert (by_place.pop(-1, 0), sum(by_place.values())) == (of_fences, of_copies)


def test_no_copies():
    assert found("bar.sync 0; membar.gl;" + CLUSTER) == {}
