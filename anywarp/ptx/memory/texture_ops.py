"""Instructions of textures and surfaces: tex, tld4, suld and sust, as CUDA C++ has them.

Textures have no mipmaps, so that tex.level and tex.grad read what tex does. Not built: cubemaps,
module variables of type .texref and .surfref, formatted surfaces, txq, suq and sured.
PTX ISA, chapters 9.7.10 (textures) and 9.7.11 (surfaces).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..errors import MemoryFault, PTXError
from ..text.forms import DTYPES, bits, elements, refuse
from ..text.syntax import Address, Instruction
from . import access
from .allocations import UNSIGNED
from .events import Fault
from .textures import Held, Sampled, gather, sample

GEOMETRIES = {  # dimensions, and whether there are layers
    "1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True)
}  # fmt: skip
BESIDE = {"level": 1, "grad": 2}  # operands that choose a mipmap
MODES = ("trap", "clamp", "zero")  # for accesses outside of a surface


def place_of(operand: Operand, geometry: str, kind: str, at: Site) -> Callable[..., Any]:
    """A function of registers -> the handle, the layer and the coordinates of `[a, {c}]`."""
    refuse(geometry not in GEOMETRIES, f".{geometry}")
    rank, layered = GEOMETRIES[geometry]
    parts = elements(operand)
    refuse(len(parts) != 2 or not isinstance(parts[0], Address), "a texture of the module")
    handle = at.slots.address(parts[0])
    given = elements(parts[1])[: rank + layered]  # there may be one more, for nothing
    refuse(len(given) != rank + layered, "too few coordinates")
    kinds = [np.int32] * layered + [DTYPES[kind]] * rank
    readers = [at.slots.reader(x, each) for x, each in zip(given, kinds)]

    def find(registers: list[Array]) -> Any:
        numbers = [each(registers) for each in readers]
        layer = numbers.pop(0).astype(np.int64) if layered else np.zeros((1, 1), np.int64)
        return handle(registers), layer, numbers

    return find


def images(
    i: Instruction, state: State, handle: Array, mask: Mask, geometry: str, fits: Any
) -> Iterator[tuple[Held, Mask]]:
    """The images that threads name, and who names them. `fits`: what one has to be besides."""
    for number, part in state.alike([handle], mask):
        held = state.launch.images.get(number)
        image = held and held.image
        if image is None or not fits(image):
            what = repr(image) if image else f"{number:#x}, which is none of this launch"
        elif (len(image.sizes), image.layered) != GEOMETRIES[geometry]:
            what = f"{image!r}, whose dimensions are others"
        else:
            yield held, part
            continue
        wanted = "texture" if i.opcode in ("tex", "tld4") else "surface"
        text = f"{i.text} takes a {wanted} of that form, and is given {what}: pass "
        text += f"anywarp.{wanted.title()}(array), made for what the kernel calls"
        raise PTXError(text, instruction=i, thread=state.first_thread(part))


def texture(i: Instruction, at: Site) -> Execute:
    """tex and tld4."""
    words = list(i.modifiers)
    channel = "rgba".find(words.pop(0)) if i.opcode == "tld4" else 0
    beside = BESIDE[words.pop(0)] if words[0] in BESIDE else 0
    refuse(len(words) != 4 or len(i.operands) != 2 + beside or channel < 0, i)
    geometry, lanes, kind, coordinate = words
    refuse(lanes != "v4" or kind not in ("f32", "s32", "u32"), i)
    fetch = coordinate == "s32"
    refuse(coordinate not in ("f32", "s32") or (fetch and geometry != "1d"), i)
    refuse(i.opcode == "tld4" and (fetch or geometry not in ("2d", "a2d")), i)
    find = place_of(i.operands[1], geometry, coordinate, at)
    dtype = DTYPES[kind]
    writers = at.slots.writers(i.operands[0], 4, dtype)
    nothing = np.zeros((1, 1), dtype)

    def fits(image: Any) -> bool:
        sampled = isinstance(image, Sampled) and image.linear_memory == fetch
        return sampled and image.floats == (kind == "f32")

    def execute(state: State, mask: Mask) -> None:
        handle, layer, coordinates = find(state.registers)
        for held, part in images(i, state, handle, mask, geometry, fits):
            memory = held.image.memory
            data = state.spaces["global"].data[held.start : held.start + memory.nbytes]
            given = held.image, data.view(memory.dtype), layer, coordinates
            values = gather(*given, channel) if i.opcode == "tld4" else sample(*given)
            values += [nothing] * (4 - len(values))  # channels that there are not
            for write, value in zip(writers, values):
                write(state.registers, value.astype(dtype), part)

    return execute


def surface(i: Instruction, at: Site) -> Execute:
    """suld.b and sust.b, whose x counts bytes."""
    loads = i.opcode == "suld"
    form, geometry, *vector, kind, beyond = i.modifiers
    refuse(form != "b" or vector not in ([], ["v2"], ["v4"]) or beyond not in MODES, i)
    refuse(kind not in ("b8", "b16", "b32", "b64") or len(i.operands) != 2, i)
    lanes, size = int(vector[0][1]) if vector else 1, bits(kind) // 8
    width, unsigned = size * lanes, UNSIGNED[size]
    place, operand = i.operands[::-1] if loads else i.operands
    find = place_of(place, geometry, "s32", at)
    writers = at.slots.writers(operand, lanes, unsigned) if loads else []
    readers = [] if loads else at.slots.readers(operand, lanes, unsigned)
    fits = lambda image: not isinstance(image, Sampled) and image.row % width == 0

    def execute(state: State, mask: Mask) -> None:
        handle, layer, coordinates = find(state.registers)
        values = [each(state.registers) for each in readers]
        home = state.spaces["global"]
        for held, part in images(i, state, handle, mask, geometry, fits):
            image = held.image
            extents = image.row, *image.sizes[1:], image.layers
            places = [*(x.astype(np.int64) for x in coordinates), layer]
            part = reached(i, state, held, part, places, places[0] % width != 0, width, ())
            inside: Any = functools.reduce(
                np.logical_and, [(x >= 0) & (x < n) for x, n in zip(places, extents)]
            )
            if beyond == "trap":
                part = reached(i, state, held, part, places, ~inside, width, extents)
            elif beyond == "clamp":
                inside = np.True_
                places[-1] = np.where(layer < 0, image.layers, layer)  # as beyond the last one
                places = [np.clip(x, 0, n - 1) for x, n in zip(places, extents)]
                places[0] = places[0] // width * width
            address: Any = np.int64(0)
            for x, n in zip(places[::-1], extents[::-1]):
                address = address * n + x
            address = held.start + np.where(inside, address, 0)
            there = home, address, state.full(inside) & state.full(part)
            if not loads:
                access.write(i, state, there, values, size, 1)
                continue
            access.reach(i, state, "load", there, width, 1)
            for write, value in zip(writers, home.load(address, None, size, lanes)):
                write(state.registers, np.where(inside, value, unsigned(0)), part)

    return execute


def reached(
    i: Any, state: State, held: Held, part: Mask, places: Any, wrong: Any, width: int, ends: Any
) -> Mask:
    """The threads that go on where an access is wrong for some: outside of what has these ends, or,
    if there are none, misaligned. None of them, unless the run is tolerant."""
    bad = state.full(wrong) & state.full(part)
    if not bad.any():
        return part
    b, t = np.argwhere(bad)[0].tolist()
    at = [int(np.broadcast_to(x, state.shape)[b, t]) for x in places]
    if ends:
        names = ["x", "y", "z"][: len(ends) - 1] + ["layer"]
        pairs = [f"{x} = {n} of {most}" for x, n, most in zip(names, at, ends)]
        where = f"outside of the surface: {', '.join(pairs[: None if held.image.layered else -1])}"
    else:
        where = f"x = {at[0]}, which is not a multiple of {width}"
    where += " (x counts bytes)"
    if not state.tolerant:
        home = state.spaces["global"]
        name = home.named(home.find(held.start), held.start)
        text, thread = f"{width}-byte access to {name}, {where}", state.describe_thread(b, t)
        raise MemoryFault(text, instruction=i, thread=thread)
    kind = "load" if i.opcode == "suld" else "store"
    # an odd address stands for misaligned ones
    address = np.full((1, 1), held.start + (not ends))
    state.tell(Fault, i, kind, "global", width, width, address, bad, None, None, where)
    return state.full(part) & ~bad


TEXTURES = {"tex": texture, "tld4": texture, "suld": surface, "sust": surface}
