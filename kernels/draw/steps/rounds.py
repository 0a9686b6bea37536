"""The rounds of a schedule, to step through: the blocks of A, B and C that each rank uses."""

from __future__ import annotations

from collections.abc import Iterator

from anywarp.draw import PALETTE, Stepper, lanes, stepper, svg

from ...parallel.schedule import HOST, Block, Round, Schedule

LONG, GAP, CORNER = 150, 24, 6  # the longest side of a matrix, between two, and from the edge
COLOURS = tuple(PALETTE.values())
SHARED = "currentColor"  # of a block with which several ranks multiply
MOST_NAMED = 9  # transfers whose ranks are written


def rounds(schedule: Schedule) -> Stepper:
    """A picture of each round, A left of C and B above it.

    Filled are the blocks with which ranks multiply, each in its rank's colour; of C also what is
    finished, lighter. A dashed block is sent from the rank before the arrow to those behind it.
    Raises stepper.TooLarge for more rounds than a page can hold.
    """
    done: dict[Block, int] = {}
    frames, labels = [], []
    for number, current in enumerate(schedule.rounds):
        frames.append(_frame(schedule, current, done))
        ranks = len({product.rank for product in current.products})
        multiply = f"{lanes.count(ranks, 'rank')} multiply" if ranks else "no rank multiplies"
        sent = lanes.count(len(current.transfers), "block")
        labels.append(f"round {number}: {multiply}, {sent} on the way")
        done |= {product.c: product.rank for product in current.products}
    M, N, K = schedule.shape
    return stepper(
        frames,
        labels,
        f"The schedule {schedule.name} of {schedule.ranks} ranks for M = {M}, N = {N}, K = {K}.",
        "A is on the left, B above, C between them. A rank multiplies the blocks of A and B in its "
        "colour into that of C; grey blocks are used by several ranks. Lighter: what C has "
        "already. Dashed: a block on its way, with the ranks that send and receive it.",
        what="rounds",
    )


def _frame(schedule: Schedule, current: Round, done: dict[Block, int]) -> str:
    """The drawing of a round; done: finished blocks of C, with the rank that has each."""
    M, N, K = schedule.shape
    unit = LONG / max(M, N, K, 1)
    inner = CORNER + K * unit + GAP
    corners = {"A": (CORNER, inner), "B": (inner, CORNER), "C": (inner, inner)}

    def place(block: Block) -> tuple[float, float, float, float]:
        x, y = corners[block.matrix]
        high, wide = block.shape
        left, top = x + unit * block.columns[0], y + unit * block.rows[0]
        return left, top, unit * wide, unit * high

    sizes = {"A": (M, K), "B": (K, N), "C": (M, N)}
    parts = [
        svg.rect(*place(Block(name, (0, down), (0, across))), **svg.OUTLINE, stroke_width=0.8)
        for name, (down, across) in sizes.items()
    ]
    now = {product.c for product in current.products}
    parts += [
        svg.rect(*place(block), fill=COLOURS[rank % len(COLOURS)], fill_opacity=0.25)
        for block, rank in done.items()
        if block not in now
    ]
    parts += [
        svg.rect(*place(block), fill=colour, fill_opacity=0.7, stroke="currentColor")
        for block, colour in _used(current)
    ]
    for transfer in current.transfers:
        x, y, wide, high = place(transfer.block)
        look = {"stroke_width": 1.6, **svg.OUTLINE, "stroke_dasharray": "3 2"}
        parts.append(svg.rect(x, y, wide, high, **look))
        if len(current.transfers) <= MOST_NAMED:
            to = ", ".join(map(_name, transfer.targets))
            middle, words = (x + wide / 2, y + high / 2 + 4), f"{_name(transfer.source)}→{to}"
            parts.append(svg.text(*middle, words, "middle", font_weight="bold"))
    for matrix, (x, y) in corners.items():
        parts.append(svg.text(x + 3, y - 4 if matrix != "B" else y + 12, matrix))
    for rank in range(min(schedule.ranks, 8)):
        fill = {"fill": COLOURS[rank % len(COLOURS)], "fill_opacity": 0.7}
        parts.append(svg.legend(CORNER, CORNER + 12 + 17 * rank, [(f"rank {rank}", fill)]))
    right = max(svg.NARROW, inner + N * unit + 10)
    return svg.narrow(inner + M * unit + CORNER, *parts, width=right)


def _name(rank: int) -> str:
    """How the picture names a rank, of which one is the host."""
    return "host" if rank == HOST else str(rank)


def _used(current: Round) -> Iterator[tuple[Block, str]]:
    """The blocks of this round's products and their colours."""
    users: dict[Block, set[int]] = {}
    for product in current.products:
        for block in (product.a, product.b, product.c):
            users.setdefault(block, set()).add(product.rank)
    for block, ranks in users.items():
        first, *others = ranks
        yield block, SHARED if others else COLOURS[first % len(COLOURS)]
