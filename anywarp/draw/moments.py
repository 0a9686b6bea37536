"""The stages of a pipeline and its moments: what a recorded run of a block comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..trace import Pipeline, Signal, Touch

MOST_STAGES = 8  # that an array is taken to have by its shape
EMPTY, UNDER_WAY, FULL, READ = "empty", "under way", "full", "read"
READS, FILLS = ("read", "begin", "end"), ("issue", "store")
DIRECTION = {"issue": 1, "land": -1}  # of the bytes that are under way


class StageBytes(NamedTuple):
    """Bytes of shared memory that belong to a stage."""

    start: int
    end: int
    stage: int


class StageState(NamedTuple):
    """Of a stage, after a moment."""

    what: str
    filling: int  # which one it holds or gets, from 1; 0 before the first
    warps: frozenset[int]  # that read it in this moment


@dataclass
class Moment:
    """Something that happens to stages: `what` as in `trace.Touch`, or "full" and
    "empty" when the stage's mbarrier of that name ends a phase."""

    what: str
    size: Counter[int]  # bytes, by stage
    warps: set[int]
    line: int
    opcode: str
    after_barrier: bool  # threads of the block have met since the moment before
    parity: dict[tuple[str, int], int] = field(default_factory=dict)  # of ("full", 2), after it

    @property
    def stages(self) -> list[int]:
        """In which something happens."""
        return sorted(self.size)


def parts_of(recorded: Pipeline, stages: int | Sequence[Any] | None) -> list[StageBytes]:
    """Of the arrays that are filled, parts of equal size, or what `stages` lists: for each stage
    its stretches of (start, bytes). Raises ValueError where that cannot be."""
    if stages is not None and not isinstance(stages, (int, np.integer)):
        listed = enumerate(stages)
        return sorted(StageBytes(s, s + n, stage) for stage, own in listed for s, n in own)
    arrays = filled(recorded)
    if not arrays:
        raise ValueError("nobody fills shared memory")
    if stages is None:
        shapes = map(recorded.shapes.get, arrays)
        outer = {s.extents[0] if s and len(s.extents) > 1 else None for s in shapes}
        stages = outer.pop() if len(outer) == 1 else None
        if stages is None or not 1 < stages <= MOST_STAGES:
            raise ValueError(
                f"the source does not tell the number of stages of {' and '.join(arrays)}: "
                "stages=3 says it, or the (start, bytes) of each stage"
            )
    parts: list[StageBytes] = []
    for name in arrays:
        start, size = recorded.arrays[name]
        if size % stages:
            raise ValueError(f"{name} has {size} bytes, which are not {stages} equal stages")
        each = size // stages
        ends = [start + each * stage for stage in range(stages + 1)]
        parts += map(StageBytes, ends, ends[1:], range(stages))
    return sorted(parts)


def filled(recorded: Pipeline) -> list[str]:
    """The arrays that asynchronous copies go to; without those, that threads store to."""
    for what in "issue", "store":
        starts = [e.start for e in recorded.events if isinstance(e, Touch) and e.what == what]
        to = np.unique(np.concatenate(starts)) if starts else np.zeros(0, np.int64)
        names = [
            name
            for name, (start, size) in recorded.arrays.items()
            if ((start <= to) & (to < start + size)).any()
        ]
        if names:
            return sorted(names, key=lambda name: recorded.arrays[name])
    return []


def touched(event: Touch, parts: Sequence[StageBytes]) -> list[tuple[int, int, int]]:
    """(stage, warp, bytes) of each stretch that is in a stage."""
    number = np.searchsorted([part.start for part in parts], event.start, "right") - 1
    inside = (number >= 0) & (event.start < np.array([part.end for part in parts])[number])
    stage = np.array([part.stage for part in parts])[number]
    columns = (x[inside].tolist() for x in (stage, event.warp, event.size))
    return list(zip(*columns))


def barriers_of(recorded: Pipeline, parts: Sequence[StageBytes]) -> dict[int, tuple[str, int]]:
    """The stage of each mbarrier, and whether it says that it is full or that it is empty.

    Full is what copies into a stage report to, or else what its readers waited for last; empty is
    what those who fill it waited for last."""
    reported: Counter[tuple[int, int]] = Counter()  # by stage and address
    read, fill = reported.copy(), reported.copy()
    waited: dict[int, int] = {}  # the last mbarrier of each warp
    for event in recorded.events:
        if isinstance(event, Signal):
            if event.what == "wait":
                waited.update(zip(event.warp.tolist(), event.address.tolist()))
            continue
        pairs = {(stage, warp) for stage, warp, _ in touched(event, parts)}
        if event.what == "land" and event.barrier is not None:
            reported.update((s, int(event.barrier[0])) for s, _ in pairs)
        votes = {"read": read, "begin": read, "issue": fill, "store": fill}.get(event.what)
        if votes is not None:
            votes.update((s, waited[warp]) for s, warp in pairs if warp in waited)
    full = _elected(reported) or _elected(read)
    empty = _elected(Counter({k: n for k, n in fill.items() if k[1] not in full.values()}))
    return {address: ("empty", stage) for stage, address in empty.items()} | {
        address: ("full", stage) for stage, address in full.items()
    }


def _elected(votes: Counter[tuple[int, int]]) -> dict[int, int]:
    """The address with most votes for each stage."""
    elected: dict[int, int] = {}
    for (stage, address), _ in votes.most_common():
        elected.setdefault(stage, address)
    return elected


def moments_of(recorded: Pipeline, parts: Sequence[StageBytes]) -> list[Moment]:
    """What follows one another; the same done to the same stages again and again is one."""
    barriers = barriers_of(recorded, parts)
    parity = dict.fromkeys(barriers.values(), 0)
    made: list[Moment] = []
    met = False

    def note(event: Any, what: str, size: Counter[int], warps: set[int], opcode: str = "") -> None:
        nonlocal met
        now = Moment(what, size, warps, event.line, opcode, met, dict(parity))
        last = made[-1] if made and not met and made[-1].stages == now.stages else None
        met = False
        if last and (last.what, last.opcode) == (what, opcode) and what not in ("full", "empty"):
            last.size += size
            last.warps |= warps
        elif last and (last.what, what) == ("land", "full"):
            last.parity = now.parity  # a copy lands and the phase of its barrier is over at once
        else:
            made.append(now)

    for event in recorded.events:
        if isinstance(event, Touch):
            if inside := touched(event, parts):
                size: Counter[int] = Counter()
                for stage, _, n in inside:
                    size[stage] += n
                note(event, event.what, size, {warp for _, warp, _ in inside}, event.opcode)
        elif event.what == "barrier":
            met = True
        elif event.what == "phase":
            for address, ended in zip(event.address.tolist(), event.count.tolist()):
                if address in barriers:
                    kind, at = barriers[address]
                    parity[kind, at] = 1 - ended
                    note(event, kind, Counter({at: 0}), set())
    return made


def states_of(made: Sequence[Moment], stage: int) -> list[StageState]:
    """Of a stage after each moment. It is full until the last read before it is filled again."""
    own = [moment.what if stage in moment.size else "" for moment in made]
    filling, under_way, reading, before = 0, 0, False, ""
    states = []
    for n, (what, moment) in enumerate(zip(own, made)):
        filling += what in FILLS and before not in FILLS
        before = what if what in READS + FILLS else before
        under_way += moment.size[stage] * DIRECTION.get(what, 0)
        reading = what == "begin" or (reading and what != "end")
        if what in READS or reading:
            holds = READ
        elif under_way:
            holds = UNDER_WAY
        else:
            later = (event for event in own[n + 1 :] if event in READS + FILLS)
            holds = FULL if filling and next(later, "") in READS else EMPTY
        warps = frozenset(moment.warps if what in READS else ())
        states.append(StageState(holds, filling, warps))
    return states
