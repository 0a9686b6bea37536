"""For readers with a screen reader or a keyboard: names and landmarks, and what they can reach.

A name replaces the words that a control shows, so that a reader who says them to reach it is not
understood: there the words are the name. A summary that shows an icon alone gets a name. The side
bar is a landmark: else its title stands in none. The empty corner of a table is no heading.
"""

from __future__ import annotations

from markup import Page


def improve(page: Page) -> None:
    """Give the controls and landmarks of a built page these names."""
    for sidebar in page.select("#pst-primary-sidebar"):
        sidebar.attrs |= {"role": "complementary", "aria-label": "Title, search and contents"}
    hidden = 'summary[aria-label="Toggle hidden content"]'
    for control in page.select(f"{hidden}, button.search-button-field"):
        del control["aria-label"]
    for heading in page.select("th.head"):
        if not heading.find(string=str.strip):  # in place of a formula stands a comment
            heading.name = "td"
            heading.clear()
    for summary in page.select("a.reference + details > summary"):
        title = summary.parent.find_previous_sibling("a").get_text()
        summary["aria-label"] = f"Pages of: {title}"
