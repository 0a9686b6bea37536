"""Where the numbers of the prose stand: each in an output, in code, in a record, or for a reason.

    python -m tests.held            write tests/data/numbers.json anew

tests/test_numbers.py compares that file with the pages. For each page it has every number of the
prose with the words beside it, in order, and the place that holds it:

    output CELL     a cell nearby prints it, and nbval compares what the cell prints
    code            a literal of a code cell or of the chapter's kernel
    record FILE     a value of kernels/records/FILE, rounded; `at 4096`, a rate in TFLOPS
    name            of a chapter, a step or an exercise
    count           a whole number up to 12, that no cell prints before the same word
    by hand: WHY    a person has looked, and wrote this into the file; the command keeps it
    unheld          nothing; a page may have as many as the file says, and never more

Code is left out, as are addresses and sources with their years. Those of lists are not: a sentence,
too, may end in a number at the beginning of a line.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "data" / "numbers.json"
RECORDS = ROOT / "kernels" / "records"
TEXTS = [f"book/{name}.md" for name in ("index", "lineage", "open_questions", "glossary")]
COUNT = 12  # the largest whole number that may count things in sight

LEFT_OUT = [
    r"(?ms)^\s*(`{3,}).*?^\s*\1\s*$",  # a block of code
    r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)",  # code in a line
    r"\[[^\]]*\]\([^)]*references\.md[^)]*\)",  # a source
    r"\[\d+\]\([^)]*\)",  # a chapter by its number
    r"(?<=\])\([^)]*\)",  # where a link leads
    r"</?[a-z][^>]*>|https?://\S+",
    r"(?m)^#+ Exercise \d+",
]
NUMBER = re.compile(
    r"(?<![\w.])(?:\d{4}-\d\d-\d\d|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*(?:e[+-]?\d+)?)"
    r"(?=x\d|x?(?![\w]))|(?<=\dx)\d+(?!\w)"
)
NAMED = re.compile(r"(?i)\b(chapter|step|exercise)s?\s+(\[?\d+\]?(,| to| and|,? or)\s+)*\[?$")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
# The words beside a number, in the same sentence and the same cell of a table.
BEFORE = re.compile(r"(\w*[^\W\d_]\w*)[\s\[\](){}$\\,=~-]*$")
AFTER = re.compile(r"[\s\[\](){}$\\,-]*([^\W\d_]+|%)")


class Number(NamedTuple):
    """A number of the prose."""

    digits: str
    phrase: str  # the number as written, between the words beside it
    cell: int  # of the notebook; 0 in a text
    named: bool  # whether it says which chapter, step or exercise


class Held(NamedTuple):
    """What a notebook holds: what is compared of its outputs, and the numbers of its code."""

    outputs: dict[int, tuple[str, str]]  # by cell: its name, what it printed
    code: frozenset[str]


def pages() -> list[str]:
    """The pages whose prose is looked through."""
    notebooks = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("book/*.ipynb"))
    return [*notebooks, *TEXTS, "README.md", "requirements/README.md"]


def plain(text: str) -> str:
    """The prose of Markdown."""
    for pattern in LEFT_OUT:
        text = re.sub(pattern, " ", text)
    return text.replace("{,}", ",").replace("\\,", "").replace("*", "").replace("\u2009", "")


def digits(text: str) -> set[str]:
    """The numbers in a text, as printed but for separators of thousands."""
    return {match[0].replace(",", "") for match in NUMBER.finditer(text)}


def numbers(text: str, cell: int = 0) -> list[Number]:
    """The numbers in the prose of Markdown, in order."""
    text, found = plain(text), []
    for match in NUMBER.finditer(text):
        before, after = text[: match.start()][-100:], text[match.end() :]
        beside = BEFORE.search(before), AFTER.match(after)
        words = [word[1] if word else "…" for word in beside]
        phrase = f"{words[0]} {match[0]} {words[1]}"
        named = bool(NAMED.search(before))
        found.append(Number(match[0].replace(",", ""), phrase, cell, named))
    return found


def printed(cell: Any) -> str:
    """What nbval compares of a cell's outputs, without the days of recordings."""
    if "nbval-ignore-output" in cell.metadata.get("tags", []):
        return ""
    data = [output.get("data", {}) for output in cell.outputs]
    texts = [output.get("text", "") for output in cell.outputs]
    texts += [one.get(kind, "") for one in data for kind in ("text/plain", "text/markdown")]
    return DATE.sub(" ", "\n".join(texts))


def read(page: str) -> tuple[list[Number], Held]:
    """The numbers of a page's prose, and what the page itself holds."""
    path = ROOT / page
    if path.suffix == ".md":
        return numbers(path.read_text(encoding="utf-8")), Held({}, frozenset())
    found, outputs, sources = [], {}, []
    for n, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            found += numbers(cell.source, n)
        elif "hide-input" not in cell.metadata.get("tags", []):  # the first cell, the same in all
            outputs[n] = (cell.get("id", str(n)), printed(cell))
            sources.append(re.sub(r"(?m)^\s*#(?!\w).*| #\s.*", "", cell.source))
    for kernel in ROOT.glob(f"kernels/cuda/{path.stem}.cu"):  # of its comments, the directives
        sources.append(re.sub(r"//(?! [a-z ]+: ).*", "", kernel.read_text(encoding="utf-8")))
    return found, Held(outputs, frozenset(digits("\n".join(sources))))


@functools.cache
def records() -> dict[str, np.ndarray]:
    """All numbers of each recorded file, those of the book's GPU first."""
    paths = sorted(RECORDS.glob("*/*.json"), key=lambda p: (p.parent.name != "nvidia_h200", p))
    made = {}
    for path in paths:
        values: list[float] = []
        take = functools.partial(keep, values)
        json.loads(path.read_text(encoding="utf-8"), parse_float=take, parse_int=take)
        made[path.relative_to(RECORDS).as_posix()] = np.unique(values)
    file = "nvidia_h200/timings.json"
    timed = json.loads((RECORDS / file).read_text(encoding="utf-8"))["records"]
    square = [one["ms"] for one in timed if one["M"] == one["N"] == one["K"] == 4096]
    made[f"{file} at 4096"] = np.unique(2 * 4096**3 / 1e9 / np.array(square))
    return made


def keep(values: list[float], text: str) -> float:
    """A number of a JSON file, which `values` gets."""
    values.append(float(text))
    return values[-1]


def recorded(text: str) -> str | None:
    """The file with a value that, rounded, is this number of three digits or more.

    It is the one where chance would hit one least, and less than one time in five: of the numbers
    within a tenth of this one, that share has a value.
    """
    whole, _, decimals = text.partition(".")
    significant = text.replace(".", "").lstrip("0") if decimals else whole.strip("0")
    if not re.fullmatch(r"\d+(\.\d+)?", text) or len(significant) < 3:
        return None
    unit = 10.0 ** -len(decimals)
    wanted, reach = round(float(text) / unit), max(round(0.1 * float(text) / unit), 1)
    shares = {}
    for name, values in records().items():
        ends = np.searchsorted(values, [(wanted - reach) * unit, (wanted + reach) * unit])
        near = {round(value / unit) for value in values[slice(*ends)].tolist()}
        if wanted in near:
            shares[(len(near) - 1) / (2 * reach)] = name
    return shares[min(shares)] if shares and min(shares) < 0.2 else None


def place(number: Number, held: Held) -> str:
    """What holds a number, of what can be found."""
    short = re.fullmatch(r"\d\d?", number.digits)
    small = short and int(number.digits) <= COUNT
    if short and number.named:
        return "name"
    after = number.phrase.split(" ")[2]
    wanted = re.compile(rf"(?<![\w.]){number.digits} ?{after}")  # any cell prints a 2
    for n in sorted(held.outputs, key=lambda n: (abs(n - number.cell), n)):
        name, text = held.outputs[n]
        if wanted.search(text) if small else number.digits in digits(text):
            return f"output {name}"
    if small:
        return "unheld" if after == "%" else "count"
    if number.digits in held.code:
        return "code"
    file = recorded(number.digits)
    return f"record {file}" if file else "unheld"


def listed(page: str, before: list[list[str]]) -> list[list[str]]:
    """The numbers of a page with their places. What was held by hand `before` still is, also where
    the words beside it have changed."""
    found, held = read(page)
    by_hand = {phrase: where for phrase, where in before if where.startswith("by hand: ")}
    reworded = by_hand.keys() - {one.phrase for one in found}
    of_number = {phrase.split(" ")[1].replace(",", ""): by_hand[phrase] for phrase in reworded}
    rows = []
    for one in found:
        where = by_hand.get(one.phrase) or place(one, held)
        rows.append([one.phrase, of_number.get(one.digits, where) if where == "unheld" else where])
    return rows


def load() -> dict[str, Any]:
    """The file: for each page how many numbers may be unheld, and all of them."""
    return json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}


def renewed(old: dict[str, Any]) -> dict[str, Any]:
    """The file as it is now; the number of what may be unheld only falls."""
    made = {}
    for page in pages():
        before = old.get(page, {"numbers": []})
        found = listed(page, before["numbers"])
        unheld = Counter(where for _, where in found)["unheld"]
        made[page] = {"unheld": min(before.get("unheld", unheld), unheld), "numbers": found}
    return made


def main() -> int:
    """Write the file, a line for each number, and say what nothing holds."""
    made = renewed(load())
    lines = []
    for page, entry in made.items():
        rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in entry["numbers"])
        lines.append(f'"{page}": {{"unheld": {entry["unheld"]}, "numbers": [\n{rows}\n]}}')
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for page, entry in made.items():
        unheld = [phrase for phrase, where in entry["numbers"] if where == "unheld"]
        print(
            f"{page}: {len(entry['numbers'])} numbers, {len(unheld)} unheld", *unheld[:5], sep="; "
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
