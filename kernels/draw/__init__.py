"""Pictures for the notebooks. Matplotlib is imported when one that needs it is drawn.

A module has the name of the function it defines; here the names are those of the functions.
"""

from .banks import banks
from .bars import bars
from .coalescing import coalescing
from .explorer import explorer
from .figure import PALETTE, Figure, from_matplotlib
from .listing import listing
from .occupancy import occupancy
from .plots import gflops, roofline
from .stalls import stalls
from .stepper import Stepper, stepper
from .thread_mapping import thread_mapping

__all__ = [
    "PALETTE",
    "Figure",
    "Stepper",
    "banks",
    "bars",
    "coalescing",
    "explorer",
    "from_matplotlib",
    "gflops",
    "listing",
    "occupancy",
    "roofline",
    "stalls",
    "stepper",
    "thread_mapping",
]
