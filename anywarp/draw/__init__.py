"""Pictures of what a kernel does: who touches what, and what it costs memory.

A module has the name of the function it defines; here the names are those of the functions.
Matplotlib is imported when a chart that needs it is drawn.
"""

from . import lanes, script, svg
from .banks import banks, frames as bank_frames, verdict as bank_verdict
from .coalescing import coalescing, frames as sector_frames, verdict as sector_verdict
from .core_matrices import core_matrices
from .figure import INK, PALETTE, Figure, from_matplotlib, style
from .fragment import fragment
from .listing import listing
from .pipeline import pipeline
from .side_by_side import side_by_side
from .stepper import Stepper, stepper
from .swizzle import swizzle
from .thread_mapping import thread_mapping

__all__ = [
    "INK", "PALETTE", "Figure", "Stepper", "bank_frames", "bank_verdict", "banks", "coalescing",
    "core_matrices", "fragment", "from_matplotlib", "lanes", "listing", "pipeline", "script",
    "sector_frames", "sector_verdict", "side_by_side", "stepper", "style", "svg", "swizzle",
    "thread_mapping",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
