"""For readers with a screen reader or a keyboard: names and landmarks, and what they can reach.

A name replaces the words that a control shows, so that a reader who says them to reach it is not
understood: there the words are the name. A summary that shows an icon alone gets a name. The side
bar is a landmark: else its title stands in none. The empty corner of a table is no heading. A
formula in a line of its own, which a phone scrolls, can have the focus.
"""

from __future__ import annotations

import re

SIDEBAR = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar"'
LANDMARK = ' role="complementary" aria-label="Title, search and contents"'


def page(text: str) -> str:
    """A built page with these names."""
    text = re.sub(f"{SIDEBAR}(?=>)", SIDEBAR + LANDMARK, text)
    text = re.sub(r'(<summary) aria-label="Toggle hidden content">', r"\1>", text)
    text = re.sub(r'<th( class="head[^"]*")>(?:<p></p>)?</th>', r"<td\1></td>", text)
    text = re.sub(r'<mjx-container (?=[^<>]*\bdisplay="true")(?![^<>]*tabindex)',
                  '<mjx-container tabindex="0" ', text)  # fmt: skip
    text = re.sub(r"<button class=[^<>]*\bsearch-button-field\b[^<>]*>", without_label, text)
    link = r'<a class="[^"]*\breference\b[^<>]*>(?P<title>[^<>]*)</a>'
    above = f"({link}<details[^<>]*><summary)(?=>)"
    return re.sub(above, r'\1 aria-label="Pages of: \g<title>"', text)


def without_label(element: re.Match[str]) -> str:
    return re.sub(r' aria-label="[^"]*"', "", element[0])
