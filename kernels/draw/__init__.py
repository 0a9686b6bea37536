"""Pictures for the notebooks. Matplotlib is imported when one that needs it is drawn.

A module has the name of the function it defines; here the names are those of the functions.
"""

from .banks import banks
from .bars import bars
from .coalescing import coalescing
from .explorer import explorer
from .figure import PALETTE, Figure, from_matplotlib
from .fragment import fragment
from .ladder import ladder
from .latency import hiding, latency
from .listing import listing
from .memory import memory
from .nesting import nesting
from .occupancy import occupancy
from .outer_product import outer_product
from .pipeline import pipeline
from .plots import gflops, roofline
from .ranks import ranks
from .rounds import rounds
from .scaling import scaling
from .stalls import stalls
from .stepper import Stepper, stepper
from .swizzle import swizzle
from .thread_mapping import thread_mapping
from .tiles import tiles
from .timeline import timeline
from .waves import waves

__all__ = [
    "PALETTE",
    "Figure",
    "Stepper",
    "banks",
    "bars",
    "coalescing",
    "explorer",
    "fragment",
    "from_matplotlib",
    "gflops",
    "hiding",
    "ladder",
    "latency",
    "listing",
    "memory",
    "nesting",
    "occupancy",
    "outer_product",
    "pipeline",
    "ranks",
    "roofline",
    "rounds",
    "scaling",
    "stalls",
    "stepper",
    "swizzle",
    "thread_mapping",
    "tiles",
    "timeline",
    "waves",
]
