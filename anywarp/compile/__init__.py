"""CUDA C++ to PTX and machine code: NVRTC, or clang; headers, and what is kept compiled."""

from . import clang, headers, nvrtc, store

__all__ = ["clang", "headers", "nvrtc", "store"]


def __dir__() -> list[str]:
    """The public names, for those who complete them."""
    return __all__
