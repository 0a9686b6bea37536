"""Pictures of what a kernel does: who touches what, and what it costs memory.

A module has the name of the function it defines; here the names are those of the functions.
Matplotlib is imported when a chart that needs it is drawn.
"""

from . import lanes, svg
from .banks import banks, frames as bank_frames
from .coalescing import coalescing, frames as sector_frames
from .core_matrices import core_matrices
from .figure import INK, PALETTE, Figure, boxed, from_matplotlib, style
from .fragment import fragment
from .listing import CODE, listing
from .pipeline import pipeline
from .stepper import Stepper, scripted, side_by_side, stepper
from .swizzle import swizzle
from .thread_mapping import thread_mapping

__all__ = [
    "CODE", "INK", "PALETTE", "Figure", "Stepper", "bank_frames", "banks", "boxed", "coalescing",
    "core_matrices", "fragment", "from_matplotlib", "lanes", "listing", "pipeline", "scripted",
    "sector_frames", "side_by_side", "stepper", "style", "svg", "swizzle", "thread_mapping",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names, whether or not their modules are loaded."""
    return __all__
