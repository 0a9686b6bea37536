"""Pictures for the notebooks. Matplotlib is imported when one that needs it is drawn."""

from __future__ import annotations

import importlib

_HOME = {  # public name: the submodule that defines it
    "Figure": "figure",
    "PALETTE": "figure",
    "Stepper": "stepping",
    "banks": "shared",
    "bars": "bars",
    "coalescing": "coalesce",
    "explorer": "explore",
    "from_matplotlib": "figure",
    "gflops": "plots",
    "listing": "source",
    "occupancy": "limits",
    "roofline": "plots",
    "stepper": "stepping",
    "thread_mapping": "mapping",
}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        # Kept here, also because a submodule may have the name of its function.
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
