"""Machine code in another order than the compiler's, where it is known how and proved equal."""

from __future__ import annotations

import functools

from .prove import Different
from .rewrite import ARCHITECTURE, rewrite


@functools.cache
def reordered(cubin: bytes, arch: str) -> tuple[bytes, str | None]:
    """The cubin with its main loop reordered, and None; or the cubin as it is, and why."""
    if arch != ARCHITECTURE:
        return cubin, f"machine code is reordered for {ARCHITECTURE}, not for {arch}"
    try:
        return rewrite(cubin), None
    except Different as error:
        return cubin, f"the reordered code could not be proved equal: {error}".partition("\n")[0]
    except ValueError as error:  # Refused, Unknown, or several kernels in one cubin
        return cubin, f"this machine code is not known: {error}"
