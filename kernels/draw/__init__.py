"""Pictures for the notebooks: those of any kernel, of steps, and of records.

A module has the name of the function it defines; here the names are those of the functions.
Matplotlib is imported when one that needs it is drawn.
"""

from anywarp import draw
from anywarp.draw import *  # noqa: F403

from .records.costs import costs, instructions, table, waits
from .records.curves import chains, hiding, latency, scaling
from .records.ladder import ladder
from .records.limits import limits
from .records.memory import memory
from .records.pipes import pipes
from .records.plots import gflops, roofline
from .records.ranks import ranks
from .records.staircase import staircase
from .steps.code import code
from .steps.explorer import explorer
from .steps.nesting import nesting
from .steps.occupancy import occupancy
from .steps.outer_product import outer_product
from .steps.rounds import rounds
from .steps.stretches import stretches
from .steps.strips import strips
from .steps.tiles import tiles
from .steps.timeline import timeline
from .steps.waves import rasterisation, waves

__all__ = [
    *draw.__all__, "chains", "code", "costs", "explorer", "gflops", "hiding", "instructions",
    "ladder", "latency", "limits", "memory", "nesting", "occupancy", "outer_product", "pipes",
    "ranks", "rasterisation", "roofline", "rounds", "scaling", "staircase", "stretches",
    "strips", "table", "tiles", "timeline", "waits", "waves",
]  # fmt: skip
