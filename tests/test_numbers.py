"""The numbers of the prose are those that outputs, code and records have: tests/held.py."""

from __future__ import annotations

from collections import Counter

import held
import numpy as np
import pytest

STORED = held.load()
RENEW = "change the text, or look at what holds it and run python -m tests.held"


def changes(before: list[list[str]], now: list[list[str]]) -> list[str]:
    """What differs between the numbers of a page and those that are stored."""
    old, new = (Counter(map(tuple, rows)) for rows in (before, now))
    places = dict(list(new - old))  # of pairs
    found = []
    for phrase, where in old - new:
        if phrase in places:
            found.append(f"{phrase!r} was held by {where}, now by {places.pop(phrase)}: {RENEW}")
        else:
            found.append(f"{phrase!r} is gone: {RENEW}")
    found += [f"{phrase!r} is new, {where}: {RENEW}" for phrase, where in places.items()]
    return found or [f"the order has changed: {RENEW}"][: before != now]


def test_all_pages_are_looked_through():
    assert list(STORED) == held.pages()


@pytest.mark.parametrize("page", held.pages())
def test_the_numbers_of_a_page_are_held(page):
    before = STORED[page]["numbers"]
    now = held.listed(page, before)
    assert not changes(before, now), page
    unheld = [phrase for phrase, where in now if where == "unheld"]
    assert len(unheld) <= STORED[page]["unheld"], (
        f"{page}: only {STORED[page]['unheld']} numbers may be unheld: print one in a cell, or "
        f" write 'by hand: WHY' for it into {held.RECORDED.name}: {unheld}"
    )


@pytest.mark.parametrize("text, phrases", [
    ("It takes 1.629 wavefronts.", ["takes 1.629 wavefronts"]),
    ("**9.31** TFLOPS, 71.9 % of it", ["… 9.31 TFLOPS", "TFLOPS 71.9 %"]),
    ("at 4,096 and $n = 4{,}096$,", ["at 4,096 and", "n 4,096 …"]),
    ("tiles of 128 x 64, 8x4 and $4 \\times 2$", [
        "of 128 x", "x 64 …", "… 8 x", "8x 4 and", "and 4 times", "times 2 …"]),
    ("on 2026-11-22, 10-20 times", ["on 2026-11-22 …", "… 10 …", "… 20 times"]),
    ("of 9.31. It |3|", ["of 9.31 …", "… 3 …"]),
    ("H200, float32, L2, sm_90, `x = 3`, v2", []),
    ("```python\n12\n```\n\n    ````\n```\n13\n```\n    ````\nend 14", ["end 14 …"]),
    ("### Exercise 2. Why 7\n\nthan\n13. So", ["Why 7 than", "than 13 …"]),
    ("[Williams 2009](references.md#williams2009), [07](07_a.ipynb) and [60 MiB](glossary.md#l2)",
     ["and 60 MiB"]),
])  # fmt: skip
def test_what_is_a_number(text, phrases):
    assert [one.phrase for one in held.numbers(text)] == phrases


@pytest.mark.parametrize("text, where", [
    ("Of these 9.31 TFLOPS", "output b"),
    ("Of 1,024 bytes", "output a"),
    ("by 3 %", "output b"),
    ("by 4 %", "unheld"),
    ("all 4 wavefronts", "output a"),
    ("all 4 lanes", "count"),
    ("in steps 5 and 16", "name"),
    ("a row of 36", "code"),
    ("a row of 37", "unheld"),
    ("the 22nd of 22", "unheld"),
])  # fmt: skip
def test_where_a_number_stands(text, where):
    outputs = {1: ("a", "1024 bytes in 4 wavefronts; 9.31"), 3: ("b", "9.31 of them, 3%, 99.310")}
    page = held.Held(outputs, frozenset({"36"}))
    assert held.place(held.numbers(text, cell=4)[-1], page) == where


def test_what_a_record_holds(monkeypatch):
    values = {"few": np.array([1.6288, 4096]), "many": np.arange(1500, 1800, 2) / 1000}
    monkeypatch.setattr(held, "records", lambda: values)
    assert held.recorded("1.629") == held.recorded("4096") == "few"
    assert held.recorded("1.63") == "few"
    assert held.recorded("1.6") is None  # two digits are found by chance
    assert held.recorded("1.630") is None  # as is one of so many values
    assert held.recorded("1.627") is held.recorded("4000") is None


def test_a_reason_is_kept_and_what_is_unheld_only_falls(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    monkeypatch.setattr(held, "ROOT", tmp_path)
    monkeypatch.setattr(held, "pages", lambda: ["page.md"])
    page.write_text("It has 17 words and 19 lines.")
    made = held.renewed({})
    assert made["page.md"]["unheld"] == 2
    made["page.md"]["numbers"][0][1] = "by hand: counted"
    assert held.renewed(made)["page.md"] == {
        "unheld": 1, "numbers": [["has 17 words", "by hand: counted"], ["and 19 lines", "unheld"]],
    }  # fmt: skip
    page.write_text("It is 17 words, 19 lines and 23 pages.")
    now = held.renewed(made)["page.md"]
    assert [where for _, where in now["numbers"]] == ["by hand: counted", "unheld", "unheld"]
    assert now["unheld"] == 2
    made["page.md"]["unheld"] = 1
    assert held.renewed(made)["page.md"]["unheld"] == 1


def test_a_change_is_told():
    before = [["has 1.62 words", "output a"], ["of 36 …", "code"]]
    assert not changes(before, before)
    (gone, new) = changes(before, [["has 1.63 words", "unheld"], before[1]])
    assert "1.62" in gone and "1.63" in new and "unheld" in new
    (moved,) = changes(before, [["has 1.62 words", "unheld"], before[1]])
    assert "was held by output a, now by unheld" in moved
    assert changes(before, before[::-1])
