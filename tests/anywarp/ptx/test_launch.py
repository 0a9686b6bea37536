"""Launches that a GPU would refuse are refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest
from harness import entry, launch

from anywarp.ptx.memory import allocations

TEXT = entry(
    ".reg .b64 %p; ld.param.u64 %p, [out]; st.global.u32 [%p], 1;", "u64 out, .align 4 .b8 s[8]"
)
STRUCT = bytes(8)


@pytest.mark.parametrize(
    "grid, block",
    [(0, 1), (1, 0), ((1, -1), 1), ((1, 1, 1, 1), 1), ((), 1), (1, 1025), (1, (32, 32, 2)),
     (1.5, 1), (1, "8")],
)  # fmt: skip
def test_impossible_sizes(grid, block):
    out = np.zeros(1, np.uint32)
    with pytest.raises((ValueError, TypeError)):
        launch(TEXT, "k", grid, block, [out, STRUCT])
    assert not out.any()


@pytest.mark.parametrize("extra", [[], [STRUCT, STRUCT], [bytes(7)], [bytes(12)], [np.float32(1)]])
def test_wrong_arguments(extra):
    out = np.zeros(1, np.uint32)
    with pytest.raises((ValueError, TypeError)):
        launch(TEXT, "k", 1, 1, [out, *extra])
    assert not out.any()


def test_more_threads_than_the_kernel_allows():
    text = TEXT.replace(")\n{", ")\n.maxntid 64, 1, 1\n{")
    out = np.zeros(1, np.uint32)
    with pytest.raises(ValueError, match="64"):
        launch(text, "k", 1, 65, [out, STRUCT])
    launch(text, "k", 1, 64, [out, STRUCT])
    assert out.tolist() == [1]


def test_grids_and_blocks_may_be_numpy_integers_or_lists():
    out = np.zeros(1, np.uint32)
    launch(TEXT, "k", [np.int64(2), 1], np.int32(3), [out, STRUCT])
    assert out.tolist() == [1]


def test_inputs_may_be_read_only_but_a_store_to_one_is_not_lost_silently():
    text = entry(
        ".reg .b64 %p, %q; .reg .b32 %x; ld.param.u64 %p, [source]; ld.param.u64 %q, [out];"
        "ld.global.u32 %x, [%p]; st.global.u32 [%q], %x;",
        "u64 source, u64 out",
    )
    source, out = np.full(4, 5, np.uint32), np.zeros(4, np.uint32)
    source.flags.writeable = False
    launch(text, "k", 1, 1, [source, out])
    assert out.tolist() == [5, 0, 0, 0]
    with pytest.raises(Exception, match="(?i)read.?only|writ"):
        launch(text, "k", 1, 1, [out, source])


def test_what_is_no_view_is_not_compared_with_every_other_array():
    """A module that includes libcu++ has a thousand variables: a launch took seconds."""

    def arguments():
        raise AssertionError("asked for")
        yield

    assert allocations.lead(np.zeros(4), arguments()).size == 0
    whole = np.zeros(4)
    assert allocations.lead(whole[2:], [whole[:1]]).size == 8
