"""The elements of a built page, to be changed one by one."""

from __future__ import annotations

import re
from collections.abc import Callable

from bs4 import BeautifulSoup, Comment

# What pages consist of mostly and nobody looks into: drawings and code.
HEAVY = re.compile(r"<(svg|pre|mjx-container)\b.*?</\1>", re.DOTALL)


class Page(BeautifulSoup):
    """The elements of a page. Comments stand in place of the heavy ones, which stay as they are."""

    def __init__(self, text: str):
        self.kept: list[str] = []
        super().__init__(
            HEAVY.sub(lambda part: f"<!--{self.keep(part[0])}-->", text), "html.parser"
        )

    def keep(self, markup: str) -> Comment:
        """What may stand in the page in place of some HTML."""
        self.kept.append(markup)
        return Comment(f"kept {len(self.kept) - 1}")

    def drawing(self, node: object) -> bool:
        """Whether a node stands in place of a drawing."""
        match = re.fullmatch(r"kept (\d+)", node) if isinstance(node, Comment) else None
        return bool(match) and self.kept[int(match[1])].startswith("<svg")


def changed(text: str, *changes: Callable[[Page], None]) -> str:
    """A page, or a part of one, after these changes."""
    page = Page(text)
    for change in changes:
        change(page)
    return re.sub(r"<!--kept (\d+)-->", lambda match: page.kept[int(match[1])], str(page))
