"""kernels.page: a piece of code shows what a notebook's cell would."""

from __future__ import annotations

import json

import pytest

from kernels import page


def run(code: str, **names) -> dict:
    return json.loads(page.run(code, names))


def test_what_is_printed_comes_before_the_value():
    shown = run("print('a <b>')\n1 + 1")
    assert shown == {"html": "<pre>a &lt;b&gt;\n</pre><pre>2</pre>", "failed": False}


@pytest.mark.parametrize("code", ["", "x = 1", "None", "x = 1; None"])
def test_what_has_no_value_shows_none(code):
    assert run(code) == {"html": "", "failed": False}


def test_names_stay_for_the_next_cell():
    names = {"start": 1}
    page.run("kept = start + 1", names)
    assert json.loads(page.run("kept", names))["html"] == "<pre>2</pre>"


def test_a_value_is_shown_as_in_a_notebook():
    class Pretty:
        def _repr_html_(self):
            return "<b>html</b>"

    class Bundle:
        def _repr_mimebundle_(self):
            return {"text/plain": "text", "text/html": "<i>bundle</i>"}

    assert run("one", one=Pretty())["html"] == "<b>html</b>"
    assert run("one", one=Bundle())["html"] == "<i>bundle</i>"


@pytest.mark.parametrize(
    "code, told",
    [
        ("x = 1\n1 / 0", "Line 2: ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError('k')\n\nf()", "Line 2: KeyError: "),
        ("x = = 1", "Line 1: "),
        ("raise SystemExit(3)", "Line 1: SystemExit: 3"),
    ],
)
def test_an_error_names_the_line(code, told):
    shown = run(f"{code}")
    assert shown["failed"] and shown["html"].startswith(f"<pre>{told}"), shown


def test_a_chart_is_named_where_it_cannot_be_drawn():
    """The names that stand before it are there."""
    names: dict = {}
    code = "x = 1\nraise ModuleNotFoundError(\"No module named 'matplotlib'\")"
    shown = json.loads(page.run(code, names))
    assert names["x"] == 1 and shown == {"html": f"<pre>{page.CHART}</pre>", "failed": False}
    assert run("import no_such_module")["failed"]


def test_what_was_printed_before_an_error_stays():
    shown = run("print('so far')\nnothing")
    assert shown["html"].startswith("<pre>so far\n</pre><pre>Line 2: NameError")
