"""Compute capabilities: which GPUs a kernel needs, and what it is compiled for.

A source says so in the comment that opens it, on a line of its own:

    // compute capability: 8.0     this GPU or a later one
    // compute capability: 9.0a    this one alone, with instructions that only it has: wgmma,
                                   setmaxnreg
    // compute capability: 8.0, 9.0 with CLUSTER
                                   8.0, but where this define of a step is not 0, 9.0: `conditions`

A capability is a tuple, (8, 0) or (9, 0, "a").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .gpu import Device

Capability = tuple[int, int] | tuple[int, int, str]

ANY: Capability = (0, 0)
NAME = "compute capability"
SPECIFIC = (9, 0, "a")  # the one that instructions of its own are known of
SHARED = 48 << 10  # bytes of shared memory that a block can have on every GPU


def parse(text: str) -> Capability:
    """ "8.0", "8" or "9.0a" as a tuple. Raises ValueError for anything else."""
    match = re.fullmatch(r"(\d+)(?:\.(\d))?(a?)", text)
    if match is None:
        raise ValueError(f"it is a number such as 8.0 or 9.0a, not {text!r}")
    capability = int(match[1]), int(match[2] or 0)
    if match[3] and (*capability, match[3]) != SPECIFIC:
        raise ValueError(f"instructions of one GPU alone are known of 9.0a, not of {text}")
    return SPECIFIC if match[3] else capability


def conditions(text: str) -> tuple[tuple[Capability, str], ...]:
    """What a line asks for: the first in any case, each other one where its define is not 0.

    The name of the first is "". Raises ValueError for anything else.
    """
    first, *others = (part.strip() for part in text.split(","))
    asked: list[tuple[Capability, str]] = [(parse(first), "")]
    for other in others:
        words = other.split()
        if len(words) != 3 or words[1] != "with":
            raise ValueError(f"what follows a comma is such as 9.0 with CLUSTER, not {other!r}")
        asked.append((parse(words[0]), words[2]))
    return tuple(asked)


def needed(source: str, filename: str) -> Capability:
    """What the comment that opens a source asks for; (0, 0) if it asks for nothing.

    Raises ValueError, with file and line, for a line that is not understood.
    """
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("//"):
            break
        match = re.fullmatch(rf"\s*//\s*{NAME}\s*:\s*(.*?)\s*", line)
        if match is not None:
            try:
                return conditions(match[1])[0][0]
            except ValueError as error:
                raise ValueError(f"{filename}:{number}: {NAME}: {error}") from None
    return ANY


def runs_on(wanted: Capability, gpu: tuple[int, int]) -> bool:
    """Whether a GPU of this compute capability runs what needs `wanted`."""
    return gpu == wanted[:2] if len(wanted) > 2 else gpu >= wanted


def lacking(wanted: Capability, shared: int, device: Device) -> str | None:
    """Why a GPU cannot run what needs `wanted` and so many bytes of shared memory in a block, as
    the end of a sentence that begins with its name; None if it can."""
    if not runs_on(wanted, device.compute_capability):
        needed, has = text(wanted), text(device.compute_capability)
        return f"needs a GPU of compute capability {needed}, and the {device.name} has {has}"
    if shared > SHARED and shared > (most := device.shared_bytes_per_block):
        return f"needs {shared} bytes of shared memory in a block, and the {device.name} has {most}"
    return None


def text(capability: Capability) -> str:
    """ "8.0" or "9.0a"."""
    return "{}.{}".format(*capability) + "".join(map(str, capability[2:]))


def architecture(wanted: Capability, arch: str) -> str:
    """What to compile for, given "compute_90" or "sm_90": the same with an "a" where the kernel
    asks for it. Raises ValueError for a GPU that is not the one it asks for."""
    if len(wanted) == 2:
        return arch
    if arch.removesuffix("a").partition("_")[2] != "{}{}".format(*wanted):
        raise ValueError(
            f"it is for GPUs of compute capability {text(wanted)} alone, and cannot be compiled "
            f"for {arch}"
        )
    return arch.removesuffix("a") + "a"
