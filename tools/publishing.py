"""A Sphinx extension: what the built pages have beyond those of Jupyter Book.

Each page has a description of its own, loads no more than it needs (tools/page_weight.py), can be
used with a screen reader or a keyboard (tools/accessibility.py), tells what the glossary's terms
mean where it links to them, and has numbers for its figures (tools/reading.py). Where the book has
an address (tools/address.json), a page also has buttons to run and edit it, and a canonical link.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import accessibility
import address as places
import live
import markup
import page_weight
import reading
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

SHORT, LONGEST = 80, 200  # characters of a description
LAST = 900  # priority of a handler that runs after those of the theme
MISSING = (
    "This copy of the book was built without what runs kernels in a page. To have it, run "
    "python tools/live.py before the build; or open the chapter in Jupyter."
)
SHARED = re.compile(r"__shared__(?: __align__\(16\))? (?:float|Stage) (\w+)\[")  # arrays
LOGOS = {
    "Colab": "logo_colab.png",
    "Binder": "logo_binder.svg",
    "JupyterHub": "logo_jupyterhub.svg",
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx what the published pages need."""
    app.connect("config-inited", set_address)
    app.connect("builder-inited", put_runtime)
    app.connect("html-page-context", add_to_page, priority=LAST)
    app.connect("build-finished", finish, priority=LAST)  # the theme writes a style then
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def address(app: Sphinx) -> places.Address:
    """Where the book that is built is published."""
    path = Path(app.srcdir) / "tools" / "address.json"
    return places.read(path) if path.is_file() else places.Address()


def set_address(app: Sphinx, config: Config) -> None:
    """Have Sphinx make canonical links, and the theme buttons to edit a page and open an issue."""
    where = address(app)
    config.html_baseurl = where.pages
    if places.on_github(where):
        options = {"repository_url": where.repository, "repository_branch": where.branch}
        buttons = ("use_repository_button", "use_edit_page_button", "use_issues_button")
        config.html_theme_options |= options | dict.fromkeys(buttons, True)


def put_runtime(app: Sphinx) -> None:
    """Have the book's own site serve what pages load to run kernels."""
    size = live.install(Path(app.outdir, "_static"), Path(app.srcdir, live.FOLDER.name))
    app.config.live = {"bytes": size, "grid": live.grid() if size else {}}


def runs(stem: str, known: dict[str, Any], starters: bool) -> str:
    """What live.js has to know on a page: how many bytes are loaded; of a chapter with a kernel the
    labels of its step and the variants that come compiled, and its arrays in shared memory; answers
    to its exercises, of which `starters` says whether there are any. Nothing for other pages."""
    file = Path(live.ROOT, "kernels", "cuda", f"{stem}.cu")
    kernel = file.is_file()
    if not (kernel or starters):
        return ""
    tries = json.loads(live.TRIES.read_text("utf-8"))
    about = {
        "bytes": known["bytes"],
        "missing": MISSING,
        "labels": known["grid"].get(stem, [stem]) if kernel else [],
        "arrays": SHARED.findall(file.read_text("utf-8")) if kernel else [],
        "tries": [[one[:2] for one in each] for each in tries.get(stem, [])],
    }
    told = json.dumps(about).replace("</", "<\\/")  # nothing ends the script before its end
    return f'<script type="application/json" id="live">{told}</script>\n'


def add_to_page(
    app: Sphinx, name: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Give a page its description, and buttons that run it."""
    if tree is None:
        return
    about = html.escape(description(tree))
    context["metatags"] += f'<meta name="description" content="{about}" />\n'
    path = Path(app.env.doc2path(name, base=False)).as_posix()
    if path.endswith(".ipynb"):
        context["header_buttons"][:0] = launch_buttons(places.launches(address(app), path))
        starters = any(
            "tag_starter" in node.get("classes", ()) for node in tree.findall(nodes.Element)
        )
        context["metatags"] += runs(Path(path).stem, app.config.live, starters)


def description(tree: nodes.document) -> str:
    """The first paragraphs of a page's text: one, or more where it is short."""
    text = ""
    for node in tree.findall(nodes.paragraph):
        if len(text) < SHORT and isinstance(node.parent, nodes.section):
            text = f"{text} {node.astext()}".replace(r"\times", "×")
    return textwrap.shorten(text, LONGEST, placeholder=" …")


def launch_buttons(links: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The header's menu of the services that run a notebook; none where there are none."""
    if links:
        look = {"tooltip": "Run this notebook", "icon": "fas fa-rocket", "label": "launch-buttons"}
        entries = [
            {
                "type": "link",
                "text": name,
                "tooltip": f"Run on {name}",
                "url": url,
                "icon": f"_static/images/{LOGOS[name]}",
            }
            for name, url in links.items()
        ]
        yield {"type": "group", **look, "buttons": entries}


def mark_evidence(page: markup.Page) -> None:
    """Tell what is folded under a title of its own from a fold that asks to show some code; the
    styles and folds.js go by it."""
    for fold in page.select(".tag_hide-cell > details.hide"):
        if len({prompt.get_text() for prompt in fold.select("summary > p")}) == 1:
            fold["class"] = "admonition hide above-input evidence"


def finish(app: Sphinx, failure: Exception | None) -> None:
    """Take from the pages what they do without, and see to who can use them."""
    glossary = Path(app.srcdir) / "book" / "glossary.md"
    said = reading.explanations(glossary.read_text("utf-8")) if glossary.is_file() else {}
    explain = lambda page: reading.explain(page, said)
    changes = page_weight.reduce, accessibility.improve, mark_evidence, reading.number_figures
    static = Path(app.outdir, "_static")
    if failure:
        return
    pages = [p for p in Path(app.outdir).rglob("*.html") if static not in p.parents]
    for path in pages:
        join = lambda page, path=path: page_weight.join_styles(page, path, static)
        text = markup.changed(path.read_text("utf-8"), *changes, explain, join)
        path.write_text(text, encoding="utf-8")
    page_weight.prune_styles(pages, static)
