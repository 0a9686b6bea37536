"""A look at a step with controls: choose its tile sizes and an access, and see what it costs.

Someone who works with a notebook may choose any values, M, N and K too, and the step is traced
again; ipywidgets 7.7 and 8 both do. Without a kernel, or ipywidgets, what was traced beforehand can
be chosen (`variants`).
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anywarp import Trace
from anywarp.draw import banks, coalescing, lanes

from ...ladder.step import Step, step as find_step, steps
from .variants import Choices, Variants, variants

WIDGET = "application/vnd.jupyter.widget-view+json"
SHAPE = (128, 128, 64)
LARGEST = 2048  # of M, N and K


@dataclass(repr=False)
class Explorer:
    """Shown as widgets where someone is at the controls, else as what was traced beforehand."""

    step: Step  # what the widgets show now: this step, traced at this shape
    shape: tuple[int, ...]
    trace: Trace
    start: tuple[str, str]  # the kind of access and the array that are shown first
    warp: int
    still: Variants
    widget: Any = None

    def __repr__(self) -> str:
        return f"<Explorer: {self.still!r}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self.still._repr_html_()}
        if self.widget is None and attended():
            self.widget = controls(self)
        if self.widget is not None:
            model = self.widget.model_id
            bundle[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": model}
        return bundle


def explorer(
    step: Step | str | int,
    shape: Sequence[int] = SHAPE,
    array: str = "A",
    kind: str = "load",
    warp: int = 0,
    choices: Choices | None = None,
    numbers: Sequence[int] = (0,),
) -> Explorer:
    """Explore a step, or the step of that name: how its warps use memory.

    shape: M, N, K of the product that is traced; array, kind, warp: what is shown first. In a
    notebook that someone works with, controls choose another step, M, N and K, its defines,
    another array, warp or access, and trace again. Elsewhere, as on a page, they choose among the
    variants that `choices` names, such as {"PAD": range(4), "BM BN BK": [16, 32]}, each traced
    beforehand: a value is for all defines of its name, and a tuple has one for each. Without any
    there is the step itself. Raises
    ValueError for a shape that the step cannot do, for an array that it does not access so, and
    where the step's own defines are none of the choices.
    """
    step, shape = find_step(step), tuple(shape)
    still = variants(step, shape, array, kind, warp, choices or {}, numbers)
    return Explorer(step, shape, still.given.trace, (kind, array), warp, still)


def attended() -> bool:
    """Whether widgets can be shown and somebody may use them.

    Jupyter's server names the notebook to the kernels that it starts for one, VS Code and Colab
    leave their marks; a kernel that runs a notebook for a build has none of these. There, a
    widget would leave a model behind that no page can show.
    """
    shell = sys.modules.get("IPython")
    user = getattr(shell.get_ipython(), "user_ns", {}) if shell else {}
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return False
    return bool(
        "JPY_SESSION_NAME" in os.environ
        or "google.colab" in sys.modules
        or "__vsc_ipynb_file__" in user
    )


def controls(explorer: Explorer) -> Any:
    """The widget: controls, a line that says how it went, and the picture."""
    import ipywidgets as w

    wide = {"description_width": "5em"}
    which = w.Dropdown(
        options=[s.id for s in steps()], value=explorer.step.id, description="step", style=wide
    )
    row = w.Layout(flex_flow="row wrap")
    narrow = w.Layout(width="10em")

    def box(name: str, value: int, kind: Any = w.IntText, **limits: int) -> Any:
        made = kind(value=value, description=name, style=wide, layout=narrow, **limits)
        made.observe(trace, "value")
        return made

    shape = w.HBox([], layout=row)
    sizes = w.HBox([], layout=row)
    access = w.Dropdown(description="access", style=wide)
    warp = w.BoundedIntText(value=explorer.warp, min=0, max=31, description="warp", style=wide)
    # A slider of ipywidgets has no name that a screen reader could say.
    k = w.BoundedIntText(value=0, min=0, max=0, description="number", style=wide)
    state = w.HTML()
    view = w.HTML()

    def fail(error: Exception) -> None:
        view.value = ""  # or it would look like the picture of what failed
        words = html.escape(str(error), quote=False).replace("\n", "<br>")
        state.value = f"<b>{type(error).__name__}</b>: <code>{words}</code>"

    def draw(_: Any = None) -> None:
        """The picture of the chosen access."""
        if access.value is None:
            return
        kind, array = access.value
        try:
            shown = lanes.accesses(explorer.trace, array, kind, warp.value)
            k.max = len(shown) - 1
            picture = banks if shown[0].space == "shared" else coalescing
            drawn = picture(explorer.trace, array, kind, warp.value, k.value)
        except ValueError as error:
            fail(error)
        else:
            view.value, state.value = drawn._repr_html_(), ""

    def offer() -> None:
        """What the trace has: its accesses and warps, keeping the choice if it can be kept."""
        pairs = sorted({(a.kind, a.array) for a in explorer.trace.accesses})
        chosen = access.value or explorer.start
        warp.max = max(a.warp for a in explorer.trace.accesses)
        access.options = [(f"{kind} {array}", (kind, array)) for kind, array in pairs]
        access.value = chosen if chosen in pairs else pairs[0]
        draw()

    def trace(_: Any = None) -> None:
        """Trace the step with the chosen sizes."""
        state.value = "tracing …"
        try:
            step = explorer.step.define(**{size.description: size.value for size in sizes.children})
            M, N, K = (size.value for size in shape.children)
            explorer.trace = step.trace(M, N, K)
            explorer.step, explorer.shape = step, (M, N, K)
            offer()
        except Exception as error:  # a callback that raises would do so unseen
            fail(error)

    def choose(step: Step) -> None:
        """Take a step, with a box for each of its defines."""
        explorer.step = step
        sizes.children = [box(name, value) for name, value in step.defines.items()]

    def change_step(change: Mapping[str, Any]) -> None:
        choose(find_step(change["new"]))
        trace()

    shape.children = [
        box(name, value, w.BoundedIntText, min=1, max=max(LARGEST, value))
        for name, value in zip("MNK", explorer.shape)
    ]
    choose(explorer.step)
    which.observe(change_step, "value")
    for control in access, warp, k:
        control.observe(draw, "value")
    offer()
    return w.VBox([which, shape, sizes, w.HBox([access, warp, k], layout=row), state, view])
