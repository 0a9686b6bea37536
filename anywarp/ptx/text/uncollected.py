"""Making many objects that stay.

Python looks for garbage whenever some objects have been made, and now and then among all that there
are. A kernel that is read and decoded becomes very many objects, none of them garbage: looking for
some takes nearly as long again as making them.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any


def uncollected(make: Callable[..., Any]) -> Callable[..., Any]:
    """The function, during which Python does not look for garbage."""

    @functools.wraps(make)
    def run(*args: Any, **options: Any) -> Any:
        if not gc.isenabled():
            return make(*args, **options)
        gc.disable()
        try:
            return make(*args, **options)
        finally:
            gc.enable()

    return run
