"""Pictures for the notebooks. Matplotlib is imported when one that needs it is drawn.

A module has the name of the function it defines; here the names are those of the functions.
"""

from .banks import banks
from .bars import bars
from .coalescing import coalescing
from .core_matrices import core_matrices
from .errors import chains, errors
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
from .rasterisation import rasterisation
from .rounds import rounds
from .scaling import scaling
from .search import search
from .side_by_side import side_by_side
from .stalls import stalls
from .stepper import Stepper, stepper
from .stretches import stretches
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
    "chains",
    "coalescing",
    "core_matrices",
    "errors",
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
    "rasterisation",
    "roofline",
    "rounds",
    "scaling",
    "search",
    "side_by_side",
    "stalls",
    "stepper",
    "stretches",
    "swizzle",
    "thread_mapping",
    "tiles",
    "timeline",
    "waves",
]
