"""Compute capabilities: what a source asks for, and which GPUs and names of architectures fit."""

import pytest

from anywarp import capability


@pytest.mark.parametrize(
    "source, found",
    [
        ("int a;", (0, 0)),
        ("// compute capability: 8.6\nint a;", (8, 6)),
        ("// compute capability: 10\nint a;", (10, 0)),
        ("\n\n  // title\n\n  //compute capability:9.0a  \nint a;", (9, 0, "a")),
        ("int a;\n// compute capability: 9.0a\n", (0, 0)),
        ("// it needs compute capability: 9.0a\n", (0, 0)),
    ],
)
def test_what_a_source_asks_for(source, found):
    assert capability.needed(source, "k.cu") == found


@pytest.mark.parametrize("text", ("new", "9.0b", "9.0 a", "10.0a", "8.0a", ""))
def test_what_is_not_understood(text):
    with pytest.raises(ValueError, match=r"^k\.cu:2: compute capability: .*" + text + "'?$"):
        capability.needed(f"// k\n// compute capability: {text}\nint a;", "k.cu")


def test_which_gpus_run_it():
    fits = {
        wanted: [gpu for gpu in ((8, 0), (9, 0), (10, 0)) if capability.runs_on(wanted, gpu)]
        for wanted in ((0, 0), (8, 6), (9, 0), (9, 0, "a"))
    }
    assert list(fits.values()) == [[(8, 0), (9, 0), (10, 0)], [(9, 0), (10, 0)],
                                   [(9, 0), (10, 0)], [(9, 0)]]  # fmt: skip


def test_in_words():
    assert [capability.text(one) for one in ((8, 6), (9, 0, "a"))] == ["8.6", "9.0a"]


def test_what_it_is_compiled_for():
    for arch in ("sm_90", "compute_90", "sm_90a"):
        assert capability.architecture((8, 0), arch) == arch
    assert capability.architecture((9, 0, "a"), "compute_90") == "compute_90a"
    assert capability.architecture((9, 0, "a"), "sm_90a") == "sm_90a"
    with pytest.raises(ValueError, match=r"alone, and cannot be compiled for sm_80$"):
        capability.architecture((9, 0, "a"), "sm_80")
