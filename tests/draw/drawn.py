"""For the tests of pictures: made-up traces, and what a picture holds."""

from __future__ import annotations

import types
import xml.etree.ElementTree as ElementTree

import numpy as np

from kernels.instruments.trace import Trace

LANE = np.arange(32)


def access(offset, width=4, array="tile", kind="load", warp=0, space="shared", line=7, active=None):
    """One access of a warp; offset: bytes, for each lane."""
    offset = np.broadcast_to(offset, 32).astype(np.int64)
    active = np.ones(32, bool) if active is None else np.asarray(active)
    return types.SimpleNamespace(
        block=(0, 0, 0),
        line=line,
        kind=kind,
        space=space,
        array=array,
        width=width,
        offset=offset,
        active=active,
        warp=warp,
        start=0,
        address=offset,
    )


def trace(*accesses, **shapes):
    made = Trace((0, 0, 0), shapes)
    made.accesses += accesses
    return made


def elements(svg, tag, **attributes):
    """The attributes of the elements with this tag and these attributes, which None leaves out."""
    root = ElementTree.fromstring(getattr(svg, "svg", svg))
    return [
        dict(e.attrib)
        for e in root.iter()
        if e.tag.endswith("}" + tag)
        and all(e.get(key) == value for key, value in attributes.items())
    ]


def texts(svg):
    """Every text that is not empty: (x, y) -> words."""
    root = ElementTree.fromstring(getattr(svg, "svg", svg))
    return {
        (float(e.get("x")), float(e.get("y"))): e.text
        for e in root.iter()
        if e.tag.endswith("}text") and e.text
    }


def bars(svg, fill):
    """(x, y, width) of the marks of lanes in one colour."""
    return [
        tuple(float(e[key]) for key in ("x", "y", "width"))
        for e in elements(svg, "rect", fill=fill)
        if float(e["width"]) > 0 and float(e["height"]) == 17
    ]
