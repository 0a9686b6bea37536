"""What a launch may have: grid, block and shared memory, refused here as a GPU would."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from . import ptx
from .analysis.occupancy import occupancy
from .build import Resources

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024  # of a block
STATIC_SHARED = 48 << 10  # bytes of a block, declared with a size
MULTIPROCESSORS = 132  # of an H200
SHARED = 227 << 10  # with dynamic shared memory, on compute capability 9.0


class LaunchError(ValueError):
    """A launch that no GPU carries out, whatever the kernel does."""


def launch_size(grid: Any, block: Any, shared_mem: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grid and block as tuples; raises TypeError or LaunchError for what no launch can have."""
    grid = _dimensions("grid", grid, MAX_GRID)
    block = _dimensions("block", block, MAX_BLOCK)
    if math.prod(block) > MAX_THREADS:
        raise LaunchError(
            f"block {block} has {math.prod(block)} threads; a block has at most {MAX_THREADS}"
        )
    if not isinstance(shared_mem, (int, np.integer)) or shared_mem < 0:
        raise LaunchError(f"shared_mem must be a number of bytes, not {shared_mem!r}")
    return grid, block


def _dimensions(name: str, value: Any, limits: tuple[int, int, int]) -> tuple[int, ...]:
    """A grid or block as a tuple; raises TypeError or LaunchError for what none can be."""
    if type(value) is tuple and 1 <= len(value) <= 3:  # the common case, at little cost
        for number, limit in zip(value, limits):
            if type(number) is not int or not 1 <= number <= limit:
                break
        else:
            return value
    try:
        numbers = tuple(map(operator.index, value if isinstance(value, (tuple, list)) else [value]))
    except TypeError:
        raise TypeError(f"{name} must be 1 to 3 whole numbers, not {value!r}") from None
    if not 1 <= len(numbers) <= 3:
        raise LaunchError(f"{name} must be 1 to 3 numbers, not {len(numbers)}: {value!r}")
    for axis, number, limit in zip("xyz", numbers, limits):
        if not 1 <= number <= limit:
            raise LaunchError(f"{name}.{axis} is {number}; CUDA allows 1 to {limit}")
    return numbers


def require_shared(entry: ptx.Entry, name: str, shared_mem: int) -> None:
    """Raise LaunchError if a block of the kernel has more shared memory than a GPU gives it.

    On a GPU the compiler refuses what is declared too large, and the driver the rest; the
    interpreter has the limits of compute capability 9.0, the largest of the GPUs to date.
    """
    static = sum(v.size for v in entry.variables if v.space == "shared")
    if static > STATIC_SHARED:
        raise LaunchError(
            f"{name} declares {static} bytes of shared memory; a block may declare "
            f"{STATIC_SHARED} (48 KiB): pass the rest as shared_mem"
        )
    if static + shared_mem > SHARED:
        raise LaunchError(
            f"{name} wants {shared_mem} bytes of dynamic and {static} of static shared "
            f"memory; a block has at most {SHARED} (227 KiB, on compute capability 9.0)"
        )


def one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise ValueError for a value that is not one of those that are known."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


def require_room(
    entry: ptx.Entry, name: str, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int
) -> None:
    """Raise LaunchError for a cooperative launch whose blocks do not run at once, as a GPU's driver
    does. The interpreter has the room of an H200, for threads, blocks and shared memory: of
    registers a GPU may have fewer, which `occupancy` says."""
    static = sum(v.size for v in entry.variables if v.space == "shared")
    resources = Resources(0, 0, 0, 0, static, 0)
    fits = occupancy(resources, math.prod(block), "9.0", shared_mem)
    if math.prod(grid) > fits.blocks * MULTIPROCESSORS:
        raise LaunchError(
            f"{name} is launched cooperatively, so that all blocks have to run at once: grid "
            f"{grid} has {math.prod(grid)}, and an H200 has room for {MULTIPROCESSORS} times "
            f"{fits.blocks} (limited by {fits.limit}). Let each block do more, in a loop"
        )
