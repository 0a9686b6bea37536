"""Compute capabilities: which GPUs a kernel needs, and what it is compiled for.

A source says so in the comment that opens it, on a line of its own:

    // compute capability: 8.0     this GPU or a later one
    // compute capability: 9.0a    this one alone, with instructions that only it has: wgmma,
                                   setmaxnreg

A capability is a tuple, (8, 0) or (9, 0, "a").
"""

from __future__ import annotations

import re

Capability = tuple[int, int] | tuple[int, int, str]

ANY: Capability = (0, 0)
NAME = "compute capability"
SPECIFIC = (9, 0, "a")  # the one that instructions of its own are known of


def parse(text: str) -> Capability:
    """ "8.0", "8" or "9.0a" as a tuple. Raises ValueError for anything else."""
    match = re.fullmatch(r"(\d+)(?:\.(\d))?(a?)", text)
    if match is None:
        raise ValueError(f"it is a number such as 8.0 or 9.0a, not {text!r}")
    found = int(match[1]), int(match[2] or 0)
    if match[3] and (*found, match[3]) != SPECIFIC:
        raise ValueError(f"instructions of one GPU alone are known of 9.0a, not of {text}")
    return SPECIFIC if match[3] else found


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
                return parse(match[1])
            except ValueError as error:
                raise ValueError(f"{filename}:{number}: {NAME}: {error}") from None
    return ANY


def runs_on(wanted: Capability, gpu: tuple[int, int]) -> bool:
    """Whether a GPU of this compute capability runs what needs `wanted`."""
    return gpu == wanted[:2] if len(wanted) > 2 else gpu >= wanted


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
