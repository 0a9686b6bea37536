"""The model of a scheduler, on loops short enough to follow by hand. `tests/test_scheduler.py` has
it beside what was measured."""

import itertools
from dataclasses import replace

from anywarp.sass import decode
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, Control
from kernels.analysis.issue import BARRIER, LATER, LOAD, SHARED, SHARED_LOAD, STORE, issue

ANY = decode(NOP)
FREE = Control(1, 1, NO_SCOREBOARD, NO_SCOREBOARD, 0, 0)
PIPE = {LOAD: (0, 10), SHARED_LOAD: (4, SHARED), STORE: (4, 0)}


def loop(*words):
    """Instructions, written as `name`, `name>board`, `name<board` or `name:stall`."""
    made = []
    for word in words:
        name = word.rstrip("0123456789").rstrip(":<>")
        mark, number = word[len(name) :][:1], int(word[len(name) + 1 :] or 0)
        told = {">": {"write": number}, "<": {"wait": 1 << number}, ":": {"stall": number}}
        made.append(replace(ANY, name=name, control=FREE._replace(**told.get(mark, {}))))
    return made


def run(words, warps=1, blocks=1, latency=10, passes=1):
    return issue(loop(*words), PIPE | {LOAD: (0, latency)}, warps, blocks, passes)


def test_one_warp_waits_for_its_loads():
    (warp,) = run([LOAD + ">2", "F", STORE + "<2", "F"], passes=2)
    # the store of a pass waits for the load of it: 10 cycles after that was in the data pipe, which
    # the store of the pass before leaves at 14
    assert warp.cycles == [0, 1, 10, 11, 12, 13, 24, 25]
    assert warp.waits == [(2, 10, LOAD), (14, 24, LOAD)]


def test_a_load_that_is_back_costs_nothing():
    (warp,) = run([STORE + "<2", LOAD + ">2", *["F"] * 10], latency=5, passes=3)
    assert warp.cycles == list(range(36)) and not warp.waits


def test_a_warp_pauses_as_it_is_told():
    loop_of = [f"F:{n}" for n in (1, 3, 2, 15)]
    (warp,) = run(loop_of, passes=2)
    assert warp.cycles == [0, 1, 4, 6, 21, 22, 25, 27] and not warp.waits
    hinted = [replace(i, control=i.control._replace(stay=0)) for i in loop(*loop_of)]
    (warp,) = issue(hinted, PIPE, 1, 1, 1)
    assert warp.cycles == [0, 2, 5, 7]  # at the least two cycles


def test_accesses_go_through_the_data_pipe_one_after_the_other():
    (warp,) = run([SHARED_LOAD + ">0", SHARED_LOAD + ">1", STORE, "F<0", "F<1"])
    assert warp.cycles == [0, 1, 2, 4 + SHARED, 8 + SHARED] and not warp.waits
    pair = run([SHARED_LOAD + ">0", "F<0"], warps=2)
    assert [warp.cycles for warp in pair] == [[0, 4 + SHARED], [1, 8 + SHARED]]


def test_a_fresh_operand_more_takes_the_scheduler_a_cycle():
    fma = replace(loop("FFMA")[0], kind="alu", slots=(2, 4, 5))
    for warps in (1, 2):
        found = issue([fma] * 3, PIPE, warps, 1, 1)
        assert sorted(c for warp in found for c in warp.cycles) == list(range(0, 6 * warps, 2))


def test_the_scheduler_stays_with_a_warp_until_it_pauses():
    one, two = run(["F", "F", "F:9", "F"], warps=2)
    assert one.cycles == [0, 1, 2, 11] and two.cycles == [3, 4, 5, 14]
    # the first goes on as soon as the second pauses, not before
    one, two = run(["F:3", "F", "F", "F", "F:9", "F"], warps=2)
    assert one.cycles == [0, 3, 4, 5, 6, 15] and two.cycles == [1, 7, 8, 9, 10, 19]


def test_who_had_to_wait_comes_after_the_others_for_a_while():
    for n, soon in (40, True), (80, False):
        one, two, three = run([*["F"] * n, LOAD + ">0", "F<0", "F"], warps=3, latency=2)
        assert two.cycles[: n + 1] == list(range(n + 1, 2 * n + 2))  # while the first could go on
        assert soon == (two.cycles[n] < one.cycles[n] + LATER)
        assert soon == (three.cycles[0] < one.cycles[n + 1])
    # all are behind: the one that has issued nothing for longest
    found = run([SHARED_LOAD + ">0", "F<0", *["F"] * 20] * 3, warps=3)
    turns = [warp.cycles[1::22] for warp in found]
    assert sorted(itertools.chain(*turns)) == list(itertools.chain(*zip(*turns)))


def test_a_barrier_waits_for_all_warps_of_the_block():
    one, two = run(["F", "F", BARRIER, "F"], warps=2)
    assert one.cycles == [0, 1, 2, 7] and two.cycles == [3, 4, 5, 6]
    assert one.waits == [(3, 6, BARRIER)] and two.waits == [(6, 6, BARRIER)]


def test_blocks_do_not_wait_for_one_another():
    found = run(["F", BARRIER, "F"], blocks=3, passes=2)
    assert [warp.block for warp in found] == [0, 1, 2]
    assert [warp.cycles for warp in found] == [list(range(n, n + 6)) for n in (0, 6, 12)]


def test_a_second_block_hides_the_wait():
    words = [LOAD + ">0", STORE + "<0", BARRIER, *["F"] * 20]

    def last(blocks):
        return max(warp.cycles[-1] for warp in run(words, 1, blocks, 20, 8))

    assert last(2) < 1.4 * last(1) < 2 * last(1)
    assert last(1) == 8 * (20 + 2 + 20) - 1


def test_the_scheduler_issues_once_a_cycle_and_everything():
    found = run([LOAD + ">0", "F", "F", STORE + "<0", BARRIER, "F", "F", "F"], 2, 3, 7, 5)
    cycles = sorted(itertools.chain.from_iterable(warp.cycles for warp in found))
    assert len(cycles) == len(set(cycles)) == 2 * 3 * 5 * 8
    for warp in found:
        assert warp.cycles == sorted(warp.cycles)
