"""The model of what the hardware leaves to the compiler finds nothing in the compiler's own code.
That it finds what is wrong, `test_prove` shows."""

import pytest

import kernels
from kernels.machine import Unknown, elf, hazards
from kernels.machine.decode import decode
from kernels.machine.hazards import State, step

STEPS = [one for one in kernels.steps() if one.number < 18]


@pytest.mark.parametrize("one", STEPS, ids=str)
def test_the_compilers_own_code(one):
    code = tuple(map(decode, elf.words(one.kernel.cubin("sm_90"))))
    assert hazards.findings(code) == []


def test_the_steps_are_many():
    assert len(STEPS) >= 14
    with pytest.raises(Unknown):
        decode(0)


def test_what_is_under_way_on_any_path_counts():
    load = next(i for word, i in _examples() if i.name == "LDS" and i.control.write < 7)
    one, other = State(), State()
    step(other, load)
    assert one.join(other) and one.pending == other.pending
    assert not one.join(other)
    assert hazards.early(one, load)


def _examples():
    words = elf.words(kernels.step("05_shared_tiling").kernel.cubin("sm_90"))
    return [(word, decode(word)) for word in words]
