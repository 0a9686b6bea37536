"""tools/formulas.py: the formulas of the book as MathJax set them, all of them and no others."""

from __future__ import annotations

import importlib
import re
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
pytest.importorskip("mdit_py_plugins", reason="jupyter-book is not installed")
formulas = importlib.import_module("formulas")


def test_formulas_are_found_as_the_pages_have_them():
    text = r"""One, $a < b$, and `$no$`, \$5 and \$6.

| a | table |
|---|---|
| $x$ | **$y$** |

> $$
> \frac12
> $$

```
$none$
```
"""
    assert list(formulas.in_text(text)) == [r"\(a < b\)", r"\(x\)", r"\(y\)", r"\[\frac12\]"]


def test_those_of_the_book_are_stored():
    missing = set(formulas.of_book()) - set(formulas.stored())
    stale = set(formulas.stored()) - set(formulas.of_book())
    assert not missing | stale, "python tools/formulas.py sets them"


def test_they_are_right_and_can_be_read_aloud():
    for tex, made in formulas.stored().items():
        assert "mjx-merror" not in made and "color" not in made, tex
        assert made.count("<mjx-assistive-mml") == 1 and 'aria-hidden="true"' in made
        assert ('display="true"' in made) == tex.startswith(r"\["), tex


def test_every_character_has_its_rule_and_its_font_is_there():
    style = formulas.STYLE.read_text(encoding="utf-8")
    ruled = set(re.findall(r"mjx-c[0-9A-F]+", style))
    used = {c for made in formulas.stored().values() for c in re.findall(r"mjx-c[0-9A-F]+", made)}
    assert used and used <= ruled
    fonts = set(re.findall(r'url\("?([^")]+)"?\)', style))
    assert fonts and all((formulas.ASSETS / name).is_file() for name in fonts)
