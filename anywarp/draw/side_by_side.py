"""Steppers beside one another that move together: the same moment of two kernels, or of more."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from .stepper import Stepper, page, require_small


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Steppers with a title each, under one slider; notebooks show them as HTML."""

    titles: tuple[str, ...]
    steppers: tuple[Stepper, ...]

    def __repr__(self) -> str:
        both = "; ".join(f"{title}: {one.alt}" for title, one in zip(self.titles, self.steppers))
        return f"<Side by side. {both}>"

    def __getitem__(self, title: str) -> Stepper:
        return self.steppers[self.titles.index(title)]

    def _repr_html_(self) -> str:
        return self._html

    @functools.cached_property
    def _html(self) -> str:
        return page(self.steppers, self._caption(), self.titles)

    def _caption(self) -> str:
        """What all of them say, or what each says, after its title."""
        captions = [one.caption for one in self.steppers]
        if len(set(captions)) == 1:
            return captions[0]
        return "\n".join(f"{title}: {words}" for title, words in zip(self.titles, captions))


def side_by_side(steppers: Mapping[str, Stepper]) -> SideBySide:
    """Steppers by title, moved by one slider, beside one another where the page has room.

    One with fewer frames than another is moved in proportion: they begin and end together. Raises
    TypeError for a picture that has but one frame, ValueError for fewer than two steppers, and
    TooLarge if they take more than 60 kB of HTML together.
    """
    for title, one in steppers.items():
        if not isinstance(one, Stepper):
            raise TypeError(
                f"{title!r} is a {type(one).__name__}, not a stepper: show it by itself"
            )
    if len(steppers) < 2:
        raise ValueError("one stepper has nothing to stand beside: show it by itself")
    made = SideBySide(tuple(steppers), tuple(steppers.values()))
    require_small(made._repr_html_(), sum(map(len, steppers.values())))
    return made
