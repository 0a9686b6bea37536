"""What runs in a page of the built book: a piece of Python, shown as a notebook shows a cell.

A worker of the page, `book/assets/live_worker.js`, loads this in Pyodide.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import traceback
from typing import Any

NAME = "the code above"
CHART = "(a chart, which a page cannot draw: it stands in the chapter, and in its notebook)"


def run(code: str, names: dict[str, Any]) -> str:
    """Run statements with these names, which they may change. JSON: `html`, what they print and
    the value of the last, if it is an expression; `failed`, whether an error has ended them, which
    is then a part of `html`."""
    printed, shown, failed = io.StringIO(), "", False
    with contextlib.redirect_stdout(printed):
        try:
            shown = as_html(value(code, names))
        except ModuleNotFoundError as error:  # of the value: what stands before it has run
            failed = "matplotlib" not in str(error)
            shown = preformatted(told(error) if failed else CHART)
        except BaseException as error:
            failed, shown = True, preformatted(told(error))
    said = preformatted(printed.getvalue()) if printed.getvalue() else ""
    return json.dumps({"html": said + shown, "failed": failed})


def value(code: str, names: dict[str, Any]) -> Any:
    """What the last statement gives, None if it is no expression."""
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), NAME, "eval"), names)


def as_html(result: Any) -> str:
    """A value as a notebook shows it."""
    if result is None:
        return ""
    bundle = getattr(result, "_repr_mimebundle_", None)
    if bundle is not None:
        return str(bundle()["text/html"])
    pretty = getattr(result, "_repr_html_", None)
    return str(pretty()) if pretty is not None else preformatted(repr(result))


def preformatted(text: str) -> str:
    """Text with its lines and spaces."""
    return f"<pre>{html.escape(text)}</pre>"


def told(error: BaseException) -> str:
    """An error and the line of the code that led to it."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == NAME
    ]
    if isinstance(error, SyntaxError) and error.filename == NAME:
        lines.append(error.lineno)
    where = f"Line {lines[-1]}: " if lines else ""
    return where + "".join(traceback.format_exception_only(error)).strip()
