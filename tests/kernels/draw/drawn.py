"""For the tests of pictures: made-up traces, and what a picture holds."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np

from anywarp.trace.arrays import Shape
from anywarp.trace.pipeline import Pipeline, Signal, Touch
from anywarp.trace.trace import Trace, WarpAccess
from kernels.records import Record, Results

LANE = np.arange(32)


def access(
    offset,
    width=4,
    array="tile",
    kind="load",
    warp=0,
    space="shared",
    line=7,
    active=None,
    block=(0, 0, 0),
    start=0,
):
    """One access of a warp; offset: bytes, for each lane."""
    offset = np.broadcast_to(offset, 32).astype(np.int64)
    active = np.ones(32, bool) if active is None else np.asarray(active)
    return WarpAccess(line, kind, space, array, width, offset, active, warp, start, block)


def trace(*accesses, **shapes):
    """shapes: of arrays by name, extents of 4-byte elements or a Shape."""
    shapes = {
        name: shape if isinstance(shape, Shape) else Shape(shape, 4)
        for name, shape in shapes.items()
    }
    made = Trace(accesses[0].block, {name: shape.extents for name, shape in shapes.items()})
    made.accesses += [replace(one, shape=shapes.get(one.array)) for one in accesses]
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


def rectangles(path):
    """(x, y, width, height) of those in the path of `svg.areas`."""
    found = re.findall(r"M(\S+) ([^h]+)h([^v]+)v([^h]+)h[^z]+z", path["d"])
    return [tuple(map(float, place)) for place in found]


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


def timed(rates, gpu="GPU 1", peak=60.0, recorded=True, copy=4000.0, slowest=1.2):
    """{step: {size: TFLOPS}}, made up."""
    cublas_ms = {n: 2 * n**3 / rate / 1e9 for n, rate in rates.get("cublas", {}).items()}
    records = [
        Record(
            step, n, n, n, ms := 2 * n**3 / rate / 1e9, 0.9 * ms, slowest * ms, 20, cublas_ms.get(n)
        )
        for step, curve in rates.items()
        for n, rate in curve.items()
    ]
    provenance = {"gpu": gpu, "date": "2001-02-03", "multiprocessors": 132}
    return Results(provenance, peak, copy, tuple(records), recorded=recorded)


INK = {None, "currentColor"}
PHONE = 358  # pixels of a drawing on a page 390 pixels wide
SMALLEST = 9


def legible(svg):
    """The texts of a drawing, once it is sure that each is large enough on a phone, inside the
    drawing, and in the colour of the page's own text."""
    root = ElementTree.fromstring(getattr(svg, "svg", svg))
    width, height = map(float, root.get("viewBox").split()[2:])
    scale = min(1, PHONE / width)
    found = []

    def walk(node, size, fill, anchor):
        size = float(node.get("font-size") or size)
        fill = node.get("fill") or fill
        anchor = node.get("text-anchor") or anchor
        if node.tag.endswith("}text") and node.text:
            assert size * scale >= SMALLEST, (node.text, size)
            assert fill in INK, (node.text, fill)
            long = 0.6 * size * len(node.text)
            if node.get("transform") is None:
                left = float(node.get("x")) - long * {"middle": 0.5, "end": 1}.get(anchor, 0)
                assert left >= -1 and left + long <= width + 1, (node.text, left, long)
            assert 0 < float(node.get("y")) <= height, node.text
            found.append(node)
        for child in node:
            walk(child, size, fill, anchor)

    walk(root, 12, None, None)
    return found


def made_pipeline(*of, extents=(2, 16), opcode="cp"):
    """A recorded pipeline of two stages of 64 bytes in `tile`. Each of `of` is (what, warps,
    stage, mbarrier), of which the last may be missing, or ("wait", mbarrier, warps, parity), or
    ("barrier",). Lines count them."""
    made = Pipeline((0, 0, 0), {"tile": (0, 128)}, {"tile": Shape(extents, 4)})
    for line, (what, *rest) in enumerate(of, start=1):
        if what in ("barrier", "wait", "phase"):
            address, warps, count = rest or (0, [], 0)
            signal = np.full(len(warps), address), np.array(warps), np.full(len(warps), count)
            made.events.append(Signal(what, *signal, line))
        else:
            warps, stage, *barrier = rest
            start, size = (np.full(len(warps), size) for size in (64 * stage, 64))
            # the warps fill parts of it, and all read the same
            start += 64 // len(warps) * np.arange(len(warps)) * (what in ("issue", "land"))
            size //= len(warps) if what in ("issue", "land") else 1
            at = np.array(barrier) if barrier else None
            by = {"issue": "cp", "land": "cp", "read": "ld"}.get(what, opcode)
            made.events.append(Touch(what, np.array(warps), start, size, line, by, at))
    return made


# of two stages of 64 bytes, filled by warp 2 and read by warps 0 and 1
ISSUE, LAND, LOAD = (("issue", [2]), ("land", [2]), ("read", [0, 1]))
FULL_AT, EMPTY_AT = 256, 272


def rounds(count):
    """Fill, land, read, one tile after another in two stages, with mbarriers."""
    for n in range(count):
        stage, phase = n % 2, n // 2 % 2
        yield ("wait", EMPTY_AT + 8 * stage, [2], 1 - phase)
        yield (*ISSUE, stage)
        yield (*LAND, stage, FULL_AT + 8 * stage)
        yield ("phase", FULL_AT + 8 * stage, [-1], phase)
        yield ("wait", FULL_AT + 8 * stage, [0, 1], phase)
        yield (*LOAD, stage)
        yield ("phase", EMPTY_AT + 8 * stage, [-1], phase)
