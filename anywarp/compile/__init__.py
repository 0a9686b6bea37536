"""CUDA C++ to PTX and machine code: NVRTC, its headers, and what is kept compiled."""

from . import headers, nvrtc, store

__all__ = ["headers", "nvrtc", "store"]


def __dir__() -> list[str]:
    """The public names, for those who complete them."""
    return __all__
