"""The figures that are drawn for a phone first, in a browser: large enough, whole, nothing over
anything else, at three widths, light and dark."""

from __future__ import annotations

import pytest
from drawn import made_pipeline, rounds
from test_browser import CUT_OFF, FAINT, complaints
from test_browser_pictures import PAGE

import kernels
from kernels import analysis, draw

# [pixels, words] of every text in a picture that is smaller than 9 pixels
SMALL = """
[...document.querySelectorAll("article text")]
    .map(e => [parseFloat(getComputedStyle(e).fontSize)
               * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b), e.textContent])
    .filter(([size, words]) => words.trim() && size < 9)
"""
# texts that stand out of their picture, or over another text
CROWDED = """
(() => {
    const found = [];
    for (const svg of document.querySelectorAll("article svg")) {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll("text")].filter(e => e.textContent.trim())
            .map(e => [e.textContent, e.getBoundingClientRect()]);
        for (const [n, [words, r]] of texts.entries()) {
            if (r.left < frame.left - 1 || r.right > frame.right + 1
                || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) found.push(words);
            for (const [other, s] of texts.slice(n + 1)) {
                if (r.left < s.right - 1 && s.left < r.right - 1
                    && r.top < s.bottom - 3 && s.top < r.bottom - 3) found.push([words, other]);
            }
        }
    }
    return found;
})()
"""


MMA = "mma.sync.aligned"


@pytest.fixture(scope="module")
def pictures():
    step = kernels.step
    return [
        draw.ladder(2),
        draw.ladder(kernels.steps()[-1]),
        draw.tiles(step(2), 64, 32, 16),
        draw.tiles(step(5), 128, 96, 64),
        draw.tiles(step(12), 256, 256, 16),
        draw.nesting(step(2)),
        draw.nesting(step(12)),
        draw.memory(),
        draw.memory("NVIDIA H200"),
        draw.outer_product(step(7)),
        draw.outer_product(step(12), 255),
        draw.waves(1234),
        draw.waves(step(12), 4096, 4096),
        draw.timeline(7, blocks=(1, 2)),
        draw.timeline(12, 13, 14),
        draw.swizzle(128, 0),
        draw.swizzle(128, 128, "column"),
        draw.swizzle(32, "padding"),
        draw.fragment(f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32"),
        draw.fragment(f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32", "register"),
        draw.fragment(f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", "register"),
        draw.fragment("ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
        draw.fragment("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", warp=2),
        draw.core_matrices(analysis.Descriptor(0, 2048, 128), 128),
        draw.pipeline(made_pipeline(*rounds(8))),
        draw.pipeline(step(14).pipeline(128, 128, 32)),
    ]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow), 1440])
def test_figures_are_legible(chromium, pictures, tmp_path, width, mode):
    path = tmp_path / "page.html"
    text = "".join(picture._repr_html_() for picture in pictures)
    path.write_text(PAGE.format(mode=mode, pictures=text), encoding="utf-8")
    chromium.open(path, width=width, mode=mode)
    assert not complaints(chromium.events)
    for at in "min", "max":
        chromium.evaluate(f"""for (const range of document.querySelectorAll("article input")) {{
            range.value = range.{at};
            range.oninput();
        }}""")
        assert not chromium.evaluate(SMALL)
        assert not chromium.evaluate(CROWDED)
        assert not chromium.evaluate(CUT_OFF)
        assert not chromium.evaluate(FAINT)
    count = "document.querySelectorAll('article svg').length"
    assert chromium.evaluate(count) == len(pictures)


def test_they_are_small(pictures):
    for picture in pictures:
        assert len(picture._repr_html_().encode()) < 60_000, picture
