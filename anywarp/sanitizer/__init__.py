"""Faults of a kernel that a lucky run hides: `sanitize` runs it and reports each as a Finding."""

from .findings import Finding, Findings, merged, namer
from .sanitizer import sanitize

__all__ = ["Finding", "Findings", "merged", "namer", "sanitize"]


def __dir__() -> list[str]:
    """The public names, whether or not their modules are loaded."""
    return __all__
