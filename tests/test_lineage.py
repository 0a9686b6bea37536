"""The page on where the steps come from: its versions, its chapters and every number in it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
front_page = importlib.import_module("front_page")
BOOK = Path(__file__).parents[1] / "book"
PAGE, REFERENCES = (
    (BOOK / f"{name}.md").read_text(encoding="utf-8") for name in ("lineage", "references")
)
VERSIONS = {
    "A": [f"v{n}" for n in range(1, 12)],
    "B": [f"v{n}" for n in range(8)],
    "C": [f"v{n}" for n in range(1, 10)],
    "D": [
        *(f"v{n}" for n in range(6)),
        *("64x64", "128x128", "128x128 with both buffers", "cuBLAS", "CUTLASS"),
        *("sgemm_1", "sgemm_2", "sgemm_3", "g_fgemm"),
    ],
}
SIZE = 4096
NONE = "–"


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each Markdown table, without its head."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    rows = (
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
        for table in found
    )
    return [table[2:] for table in rows]


SECTIONS = {
    text[0]: tables(text) for text in re.split(r"^## (?=\w: )", PAGE, flags=re.MULTILINE)[1:]
}
ROWS = {  # its number and ours, which share a cell, apart
    (letter, row[0]): [*row[:3], *(row[3].split(" / ") * 2)[:2]]
    for letter, found in SECTIONS.items()
    for row in found[0]
}
EVERY = pytest.mark.parametrize("letter, version", list(ROWS), ids=" ".join)


@pytest.fixture(scope="module")
def peers() -> dict:
    """Published kernels as they were timed; that the file is there is part of the test."""
    return kernels.peers()


def test_every_version_is_there_once():
    assert list(SECTIONS) == list(VERSIONS)
    for letter, found in SECTIONS.items():
        assert [row[0] for row in found[0]] == VERSIONS[letter]


def chapters(cell: str) -> list[str]:
    return re.findall(r"\[\w+\]\((\w+)\.ipynb\)", cell)


@EVERY
def test_its_chapters_are_steps(letter, version):
    _, what, cell, *_ = ROWS[letter, version]
    assert what
    if version in ("cuBLAS", "CUTLASS"):
        assert cell == NONE
    elif (letter, version) == ("C", "v9"):
        assert chapters(cell) == ["scoreboard"]
    else:
        named = chapters(cell)
        assert named and cell.count("](") == len(named)
        assert [kernels.step(one).id for one in named] == named
        assert [one[:2] for one in named] == re.findall(r"\[(\d\d)\]", cell)


def test_the_first_table_has_each_chapter_with_its_versions():
    """The same as the tables of the four texts, by chapter."""
    rows = {chapters(row[0])[0]: row[1:] for row in tables(PAGE)[0]}
    assert list(rows) == [step.id for step in kernels.steps() if step.number < 16]
    for chapter, cells in rows.items():
        for letter, cell in zip(VERSIONS, cells, strict=True):
            there = [v for v in VERSIONS[letter] if chapter in chapters(ROWS[letter, v][2])]
            assert cell == (", ".join(there) or NONE), (chapter, letter)


def of_peer(letter: str, version: str, names: list[str]) -> str | None:
    """What the record of published kernels calls a version; None if it has not been timed."""
    wanted = {
        "A": rf"yzhaiustc .*\(= A mysgemm_{version}\)",
        "B": rf"B sgemm_{version}",
        "C": rf"C {version}",
        "D": {
            "128x128 with both buffers": r"D gemm_128x128 with the second buffer .*",
            "cuBLAS": r"cuBLAS \d+, CUBLAS_COMPUTE_32F",
            "CUTLASS": r"CUTLASS device::Gemm<float> defaults .*",
            "g_fgemm": r"D fynv g_fgemm",
        }.get(version)
        or (version.startswith("sgemm_") and f"D Alcanderian cuda_kernel_{version}")
        or (f"D gemm_{'32x32_' * (version[0] == 'v')}{version}"),
    }[letter]
    found = [name for name in names if re.fullmatch(wanted, name)]
    assert len(found) <= 1
    return found[0] if found else None


@EVERY
def test_the_numbers_are_those_of_the_records(peers, letter, version):
    _, _, cell, published, ours = ROWS[letter, version]
    found = peers["kernels"].get(of_peer(letter, version, list(peers["kernels"])))
    expected = f"{found['tflops'][peers['columns'].index(SIZE)]:#.3g}" if found else NONE
    assert published == expected + ("†" if found and found.get("wrong_result") else "")
    steps = [one for one in chapters(cell) if one[0].isdigit()]
    results = kernels.results("NVIDIA H200")
    beside = steps and published != NONE  # ours stands where there is one to compare it with
    assert ours == (f"{results.at(steps[0], SIZE).tflops:#.3g}" if beside else NONE)


def test_no_measured_kernel_of_the_texts_is_left_out(peers):
    names = list(peers["kernels"])
    shown = {of_peer(letter, version, names) for letter, version in ROWS}
    assert {name for name in names if re.match(r"[BCD] |.*= A ", name)} <= shown


def test_the_beginning_has_the_fastest_of_each_text():
    begin = PAGE.partition("\n## ")[0]
    last = {"A": ["v10"], "B": ["v7"], "C": ["v8"], "D": ["128x128", "128x128 with both buffers"]}
    for letter, versions in last.items():
        said = re.search(rf"\[\*\*{letter}\*\*\](?:.|\n)*?(?=\n-|\n\n)", begin)[0]
        assert re.findall(r"\d+\.\d+", said) == [ROWS[letter, v][3] for v in versions]
        rates = {
            v: row[3] for (of, v), row in ROWS.items() if of == letter and "cu" not in v.lower()
        }
        assert versions[-1] == max(rates, key=lambda v: float(rates[v].strip("–†") or 0))
    assert f"cuBLAS reached {ROWS['D', 'cuBLAS'][3]} " in begin


def test_times_on_the_v100_give_their_rates():
    times = SECTIONS["D"][1]
    then = [v for v in VERSIONS["D"] if v != "128x128 with both buffers"]
    assert [row[0] for row in times] == then
    for _, _, output, tflops in times:
        assert tflops == f"{2 * 8192**3 / (float(output) * 1e9):#.3g}"
    (v1, v2) = ([float(cell) for cell in row[1:3]] for row in times[1:3])
    for ratio in (v1[0] / v2[0], v1[1] / v2[1]):
        assert f" {ratio:.2f} times" in PAGE
    both = {row[0]: float(row[1]) / float(row[2]) - 1 for row in times if row[1] != NONE}
    assert {name for name, change in both.items() if abs(change) > 0.04} == {"v1"}
    assert "No other version changed by more than 4 %" in PAGE
    peak = 15.7
    for tflops, share in ((14.46, 92.1), (15.23, 97.0), (14.54, 92.6)):
        assert f"{tflops / peak:.1%}" == f"{share}%"
        assert re.search(rf"{tflops}\b[^.]*?\b{share} %", PAGE.replace(f"{peak}", "peak"))
    text_ms = float(times[7][1])
    assert times[7][0] == "128x128" and f"{2 * 8192**3 / (text_ms * 1e9):.2f}" == "14.46"


def test_the_texts_are_cited():
    for key in ("texta", "textb", "textc", "wukan2019"):
        assert f"(references.md#{key})" in PAGE and f"\n### {key}\n" in REFERENCES


BEYOND = re.findall(
    r"^- (\[.*?\)) begins with (.*?)\. \*New:\* (.*?)\. \*From:\* (.*?)\. \*Ours:\* (.*)\.$",
    re.sub(r"\n  ", " ", PAGE.partition("\n## Beyond the texts\n")[2]),
    re.MULTILINE,
)


def test_the_steps_beyond_the_texts_are_there_once():
    found = [chapters(row[0]) for row in BEYOND]
    notebooks = [path.stem for path in sorted(BOOK.glob("[12]?_*.ipynb")) if path.stem >= "16"]
    assert found == [[one] for one in notebooks]
    for (chapter,), row in zip(found, BEYOND):
        assert row[0].startswith(f"[{chapter[:2]}]") and row[1] and row[2]
        keys = re.findall(r"\(references\.md#(\w+)\)", row[3])
        assert keys and all(f"\n### {key}\n" in REFERENCES for key in keys)


@pytest.mark.parametrize("row", BEYOND, ids=lambda row: row[0][1:3])
def test_their_number_is_the_records(row):
    numbers = {step.number: step for step in kernels.steps()}
    step = numbers.get(int(row[0][1:3]))
    assert row[4] == (front_page.rate(step) if step else NONE)
