"""The ladder so far: its bars and numbers are the records'."""

import pytest
from drawn import elements, legible, texts

import kernels
from kernels.draw import PALETTE, ladder
from kernels.draw.records.ladder import timed
from kernels.draw.records.plots import three_digits

GPU = "NVIDIA H200"


def bars(figure):
    return [(float(r["width"]), r) for r in elements(figure, "rect")]


@pytest.mark.parametrize("number", [2, 15])
def test_a_bar_for_each_neighbour_up_to_this_one_as_long_as_its_rate(number):
    results = kernels.results(GPU)
    shown = [step for step in kernels.steps() if step.number <= number][-4:]
    rates = [results.at(step, 4096).tflops for step in shown]
    figure = ladder(kernels.step(number))
    widths = [width for width, _ in bars(figure)]
    assert len(widths) == len(rates) == min(4, number - 1)
    (line,) = elements(figure, "path")
    long = float(line["d"][1:].partition(" ")[0]) - float(bars(figure)[0][1]["x"])
    scale = long / results.at("cublas", 4096).tflops
    assert widths == pytest.approx([scale * rate for rate in rates], abs=0.01)
    words = list(texts(figure).values())
    for step, rate in zip(shown, rates):
        at = words.index(step.id.replace("_", " "))
        assert words[at + 1] == three_digits(rate)
    assert f"cuBLAS {results.at('cublas', 4096).tflops:.3g}" in words


def test_the_step_and_the_one_before_stand_out():
    figure = ladder(9)
    *rest, before, own = [rect for _, rect in bars(figure)]
    assert own["fill"] == PALETTE["blue"] and "fill-opacity" not in own
    assert before["stroke"] == PALETTE["blue"] and before["fill-opacity"] == "0.35"
    assert {rect["fill"] for rect in rest} == {"currentColor"}
    bold = [text.text for text in legible(figure) if text.get("font-weight") == "bold"]
    assert bold[0].startswith("22.2 → 32.1 TFLOPS, × 1.4")
    assert bold[1:] == ["08 vectorized", "22.2", "09 thread tile 2d", "32.1"]
    assert "63% of cuBLAS" in figure.caption and "recorded on NVIDIA H200" in figure.caption


def test_the_first_step_has_none_before():
    figure = ladder("02_naive")
    assert "02 naive: 0.497 TFLOPS" in texts(figure).values()
    assert "before" not in figure.caption


def test_steps_on_tensor_cores_are_timed_by_themselves():
    """In turns, 21 lowers the clock of cuBLAS beside it."""
    power, turns = kernels.experiments(GPU)["power"], kernels.results(GPU)
    step = power.at("21_warpgroups", 4096)
    figure = ladder(21)
    share = power.share_of_cublas(step)
    assert f"this step, {share:.0%} of cuBLAS" in figure.caption
    assert f"{share:.0%}" != f"{turns.share_of_cublas(turns.at(step.step, 4096)):.0%}"
    words = list(texts(figure).values())
    assert words[words.index("21 warpgroups*") + 1] == three_digits(step.tflops)
    note = "* tensor cores, alone"
    assert note in words and note not in texts(ladder(19)).values()


def test_the_whole_ladder():
    results = kernels.results(GPU)
    figure = ladder()
    words = list(texts(figure).values())
    shown = [step for step in kernels.steps() if results.find(step, 4096)]
    assert len(bars(figure)) == len(shown) > 20
    assert {rect["fill"] for _, rect in bars(figure)} == {PALETTE["blue"]}
    for step in shown:
        name = step.id.replace("_", " ") + "*" * step.tensor_cores
        assert words[words.index(name) + 1] == three_digits(timed(step, 4096).tflops)
    assert not [text for text in legible(figure) if text.get("font-weight")]
    assert figure.caption == f"Median, recorded on {GPU}, {results.date}."
    assert "so far" not in figure.alt
