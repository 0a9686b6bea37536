"""What a run does, counted and kept: costs by line and array, accesses, and pipelines.

`trace` and `pipeline` run a kernel in the interpreter. A module may have the name of the function
that it defines; here the names are those of the functions.
"""

from . import metrics
from .counting import Cost, Place, SharedCost
from .metrics import ASYNC_METRICS, FFMA, METRICS, PIPE, REQUESTS, SECTORS, STATE
from .parameters import Parameter, parameter_names, parameters
from .pipeline import Pipeline, Signal, Touch, pipeline
from .trace import Trace, WarpAccess, trace

__all__ = [
    "ASYNC_METRICS", "FFMA", "METRICS", "PIPE", "REQUESTS", "SECTORS", "STATE", "Cost", "Parameter",
    "Pipeline", "Place", "SharedCost", "Signal", "Touch", "Trace", "WarpAccess", "metrics",
    "parameter_names", "parameters", "pipeline", "trace",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names, whether or not their modules are loaded."""
    return __all__
