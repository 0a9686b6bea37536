"""Listings, occupancy and the explorer."""

import builtins
import re
import types

import numpy as np
import pytest
from drawn import texts

import kernels
from anywarp.analysis.occupancy import Occupancy
from anywarp.draw import listing
from anywarp.trace.counting import Cost
from kernels.draw import explorer, occupancy
from kernels.draw.steps.explorer import WIDGET, controls

# ---------------------------------------------------------------------- listing


@pytest.fixture(scope="module")
def naive():
    step = kernels.step("02_naive")
    return step, step.trace(64, 64, 64)


def rows(shown):
    """(line above, words) of each bar."""
    found, line = [], None
    for pre, words in re.findall(r"<pre.*?>(.*?)</pre>|<div (.*?)</div>", shown.body, re.DOTALL):
        if pre:
            line = int(re.findall(r">\s*(\d+)</span>", pre)[-1])
        else:
            found.append((line, re.sub(r"<.*?>", " ", words.partition(">")[2]).split()))
    return found


def test_listing_puts_the_costs_below_their_lines(naive):
    step, trace = naive
    text = step.source.splitlines()
    found = rows(listing(step, trace))
    assert [(words[0], words[1]) for _, words in found] == [
        ("load", "A"),
        ("load", "B"),
        ("store", "C"),
    ]
    assert "A[row * K + k]" in text[found[0][0] - 1] and found[1][0] == found[0][0]
    assert "*c =" in text[found[2][0] - 1]
    words = " ".join(found[0][1])
    assert f"32 wavefronts a request, 1 at best; {64 * 64 // 32 * 64 * 32:,} in all" in words
    assert "(32 sectors, 4 at best)" in words
    assert "(1 sector, 1 at best)" in " ".join(found[1][1])


def test_a_kernel_may_be_one_line():
    one = kernels.Kernel('extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 1; }', "fill")
    ((line, words),) = rows(listing(one, one.trace(1, 32, [np.zeros(32, np.int32)])))
    assert line == 1 and words[:2] == ["store", "x"]


class Sortable(types.SimpleNamespace):
    def __init__(self, place):
        super().__init__(**vars(place))

    def __hash__(self):
        return hash(self.line)


def test_listing_of_another_source_is_refused(naive):
    with pytest.raises(ValueError, match="is it the one that was traced"):
        listing("one line", naive[1])


HEADERS = """int before;

extern "C"
__global__ void
f(float* x,
  float* y)
{
    x[0] = y[0];
}

__device__ int after() { return 1; }
"""


def test_listing_begins_with_the_first_line_of_a_header_of_several():
    cost = Cost(requests=1, lines=1, sectors=4, ideal=4)
    place = types.SimpleNamespace(line=8, kind="load", array="y")
    trace = types.SimpleNamespace(costs={Sortable(place): cost})
    shown = listing(HEADERS, trace)
    numbers = [int(n) for n in re.findall(r'<span style="opacity:.7">\s*(\d+)</span>', shown.body)]
    assert numbers == list(range(3, 10))
    template = HEADERS.replace('extern "C"', "template <int N>")
    numbers = re.findall(r'<span style="opacity:.7">\s*(\d+)</span>', listing(template, trace).body)
    assert numbers[0] == "3" and numbers[-1] == "9"


# ---------------------------------------------------------------------- occupancy

FOUND = Occupancy(
    "9.0",
    2,
    16,
    64,
    "registers",
    {"threads": 8, "blocks": 32, "registers": 2, "shared memory": 40},
    {},
)


def test_occupancy_shows_what_each_resource_admits():
    figure = occupancy(FOUND)
    words = list(texts(figure).values())
    for name, count in (
        ("blocks of an SM", "32"),
        ("threads", "8"),
        ("registers", "2"),
        ("shared memory", "40"),
    ):
        assert words[words.index(name) + 1] == count
    assert "barriers" not in words
    assert (
        "Compute capability 9.0: 2 blocks at a time, 16 of 64 warps (25%), limited by registers."
    ) == figure.caption
    assert "registers 2, shared memory 40" in figure.alt


# ---------------------------------------------------------------------- explorer


@pytest.fixture
def explored(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return explorer("02_naive", (64, 64, 40))


def test_explorer_shows_its_variants_where_nobody_is_at_the_controls(explored):
    assert explored._repr_mimebundle_() == {
        "text/plain": repr(explored),
        "text/html": explored.still._repr_html_(),
    }
    assert repr(explored) == "<Explorer: <Variants of 02_naive: 1, 0 of them refused>>"


def test_explorer_is_a_stepper_without_ipywidgets(explored, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    real = builtins.__import__

    def without(name, *rest):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert WIDGET not in explored._repr_mimebundle_()


def test_explorer_has_widgets_in_a_notebook_that_is_worked_with(explored, monkeypatch):
    pytest.importorskip("ipywidgets")
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    bundle = explored._repr_mimebundle_()
    assert bundle[WIDGET]["model_id"] == explored.widget.model_id
    assert bundle["text/html"] == explored.still._repr_html_()
    assert explored._repr_mimebundle_() == bundle  # the same widget again


def test_explorer_traces_again(explored):
    pytest.importorskip("ipywidgets")
    which, shape, sizes, chosen, state, view = controls(explored).children
    access, warp, k = chosen.children
    M, N, K = shape.children
    BM, BN = sizes.children
    assert [(one.description, one.value) for one in shape.children] == [
        ("M", 64), ("N", 64), ("K", 40),
    ]  # fmt: skip
    assert k.description == "number"
    assert (BM.description, BM.value, BN.description, BN.value) == ("BM", 64, "BN", 16)
    assert (k.max, warp.max, access.value) == (39, 31, ("load", "A"))
    assert "32 sectors of" in view.value

    k.value = 39
    assert explored.trace.find("A", index=39) and "load" in view.value
    BM.value = 16  # a warp covers 16 rows of two columns
    assert "16 words of A in 16 sectors" in view.value and warp.max == 7
    BM.value = 0
    assert "BM is a size, 1 at least, not 0" in state.value
    assert view.value == ""  # no picture of something else
    BM.value = 16
    assert state.value == "" and view.value
    K.value = 24
    assert explored.shape == (64, 64, 24) and k.max == 23 and k.value == 23
    M.value = -1
    assert M.value == explored.shape[0] == 1
    M.value = 64
    access.value = "store", "C"
    assert k.max == 0 and "store 32 words of C" in view.value
    warp.value = 5
    assert "Warp 5" in view.value
    which.value = "03_coalesced"
    assert explored.step.id == "03_coalesced" and sizes.children[0].value == 16
    assert "store 32 words of C in 4 sectors" in view.value


def test_sizes_reach_to_2048_or_to_what_is_shown(explored, monkeypatch):
    monkeypatch.setattr(explored, "shape", (64, 2049, 2048))
    assert [box.max for box in controls(explored).children[1].children] == [2048, 2049, 2048]


def test_explorer_refuses_what_the_step_cannot_do():
    with pytest.raises(ValueError, match="no accesses|it has loads of A"):
        explorer("02_naive", (64, 64, 8), array="tile")
    with pytest.raises(ValueError, match="no step"):
        explorer("99_nothing")
