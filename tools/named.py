"""What a screen reader says of the theme's controls: their names, and the region that holds them.

A name replaces the words that a control shows, so that a reader who says them to reach it is not
understood: there the words are the name. A summary that shows an icon alone gets a name. The side
bar is a landmark: else its title stands in none.
"""

from __future__ import annotations

import re

SIDEBAR = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar"'
LANDMARK = ' role="complementary" aria-label="Title, search and contents"'


def page(text: str) -> str:
    """A built page with these names."""
    text = re.sub(f"{SIDEBAR}(?=>)", SIDEBAR + LANDMARK, text)
    text = re.sub(r'(<summary) aria-label="Toggle hidden content">', r"\1>", text)
    text = re.sub(r"<button class=[^<>]*\bsearch-button-field\b[^<>]*>", without_label, text)
    link = r'<a class="[^"]*\breference\b[^<>]*>(?P<title>[^<>]*)</a>'
    above = f"({link}<details[^<>]*><summary)(?=>)"
    return re.sub(above, r'\1 aria-label="Pages of: \g<title>"', text)


def without_label(element: re.Match[str]) -> str:
    return re.sub(r' aria-label="[^"]*"', "", element[0])
