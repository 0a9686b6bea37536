"""Small pieces of SVG, for diagrams that are drawn cell by cell."""

from __future__ import annotations

import html

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def tag(name: str, *children: str, **attributes) -> str:
    """One element. Underscores in attribute names become hyphens; None leaves one out."""
    words = [name] + [
        f'{key.replace("_", "-")}="{short(value)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    head = " ".join(words)
    return f"<{head}>{''.join(children)}</{name}>" if children else f"<{head}/>"


def document(width: float, height: float, *children: str) -> str:
    """The <svg> element: text in the page's colour and font unless an element says otherwise."""
    return tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {short(width)} {short(height)}",
        width=width,
        font_family=FONT,
        font_size=12,
        fill="currentColor",
    )


def text(x: float, y: float, words: str, **attributes) -> str:
    return tag("text", html.escape(str(words)), x=x, y=y, **attributes)


def cells(places, size: float, **attributes) -> str:
    """Squares at (x, y) corners, in one path."""
    steps = "".join(
        f"M{short(x)} {short(y)}h{short(size)}v{short(size)}h{short(-size)}z" for x, y in places
    )
    return tag("path", d=steps, **attributes) if steps else ""


def legend(x: float, y: float, entries) -> str:
    """(label, attributes of the sample) side by side."""
    parts = []
    for label, sample in entries:
        parts.append(tag("rect", x=x, y=y - 10, width=12, height=12, **sample))
        parts.append(text(x + 18, y, label))
        x += 18 + 6.4 * len(label) + 22
    return "".join(parts)


def short(value) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
