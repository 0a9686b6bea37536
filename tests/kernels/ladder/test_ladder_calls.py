"""Calls like one before: queued without another look, where nothing else can come of it."""

from __future__ import annotations

import numpy as np
import pytest
from several import several

import kernels
from kernels.ladder.calls import Calls
from kernels.ladder.product import product
from tests.stand_in import FakeGpu, cupy_array

PLACES = 1 << 20, 1 << 21, 1 << 22  # of A, B and C


@pytest.fixture
def looks(monkeypatch):
    """How often matrices are looked at in full."""
    found = []
    real = product._matrix

    def look(name, x):
        found.extend([x] * (name == "A"))
        return real(name, x)

    monkeypatch.setattr(product, "_matrix", look)
    return found


@pytest.fixture
def fake(monkeypatch):
    return FakeGpu(monkeypatch, "iiifPPfPiiiP")


@pytest.fixture
def one():
    """A step that nobody has called yet."""
    return several().define(BN=4).define(BN=8)


def matrices(M=12, N=8, K=5, places=PLACES):
    return [cupy_array(shape, at) for shape, at in zip(((M, K), (K, N), (M, N)), places)]


def queued(fake):
    """The arguments of the launches, without the workspace; which were forgotten afterwards."""
    found = [(name, values[:-1]) for name, *_, values in fake.launched]
    fake.launched.clear()
    return found


@pytest.mark.parametrize("alpha, beta", [(1, 0), (1.5, -0.5), (2, 1), (-3.0, 0.0)])
def test_the_second_call_queues_the_same(fake, one, looks, alpha, beta):
    A, B, C = matrices()
    assert one(A, B, C, alpha, beta) is C
    first = queued(fake)
    for device in ("auto", "gpu"):
        assert one(A, B, C, alpha, beta, device) is C
        assert queued(fake) == first
    assert len(looks) == 1 and [name for name, _ in first] == ["pack", "sgemm", "reduce"]
    moved = matrices(places=[place + 512 for place in PLACES])
    one(*moved, alpha, beta)
    (values,) = {values for _, values in queued(fake)}
    assert (values[4], values[5], values[7]) == tuple(place + 512 for place in PLACES)
    assert len(looks) == 1


def test_other_scalars(fake, one, looks):
    A, B, C = matrices()
    for alpha, beta in ((1, 0.5), (2.5, 1), (7, -1), (float("inf"), 2)):
        one(A, B, C, alpha, beta)
        (values,) = {values for _, values in queued(fake)}
        assert (values[3], values[6]) == (alpha, beta)
    assert len(looks) == 2  # no number beyond float32's is taken as it is


def test_a_new_matrix(fake, one, looks):
    A, B, _ = matrices()
    C, D = one(A, B), one(A, B)
    assert C.shape == D.shape == (12, 8) and C.data.ptr != D.data.ptr
    assert [values[7] for _, values in queued(fake)] == 3 * [C.data.ptr] + 3 * [D.data.ptr]
    assert len(looks) == 1
    with pytest.raises(ValueError, match="beta = 2 scales C, so C must be given"):
        one(A, B, beta=2)


@pytest.mark.parametrize("change, message", [
    (lambda A, B, C: (A.astype, B, C), "A must be a NumPy or CuPy array"),
    (lambda A, B, C: (A, [1], C), "B must be a NumPy or CuPy array"),
    (lambda A, B, C: (A, B, "C"), "C must be a NumPy or CuPy array"),
    (lambda A, B, C: (A.view("i4"), B, C), "A must be float32, not int32"),
    (lambda A, B, C: (A, B.view("i4"), C), "B must be float32, not int32"),
    (lambda A, B, C: (A, B, C.view("i4")), "C must be float32, not int32"),
    (lambda A, B, C: (A, np.zeros(B.shape, "f4"), C), "mixed"),
    (lambda A, B, C: (A, B[:4], C), "A is 12 x 5 and B is 4 x 8"),
    (lambda A, B, C: (A, B, C[:, :7]), "C is 12 x 7, but A B is 12 x 8"),
    (lambda A, B, C: (A[::-1], B, C), "A is not C-contiguous"),
    (lambda A, B, C: (A, B, cupy_array((12, 8), PLACES[0] + 4 * 59)), "C and A overlap"),
    (lambda A, B, C: (A, B, cupy_array((12, 8), PLACES[1] - 4 * 95)), "C and B overlap"),
    (lambda A, B, C: (cupy_array((12, 5), PLACES[0], 1), B, C),
     "A is on GPU 1, and the current device is GPU 0: with cupy.cuda.Device.1"),
    (lambda A, B, C: (A, cupy_array((5, 8), PLACES[1], 1), C), "B is on GPU 1"),
    (lambda A, B, C: (A, B, cupy_array((12, 8), PLACES[2], 1)), "C is on GPU 1"),
    (lambda A, B, C: (A, B, C, "1"), "alpha must be a number"),
    (lambda A, B, C: (A, B, C, 1, None), "beta must be a number"),
    (lambda A, B, C: (A, B, C, 1e39), "alpha = 1e.39 is too large"),
    (lambda A, B, C: (A, B, C, 1, -1e39), "beta = -1e.39 is too large"),
    (lambda A, B, C: (A, B, C, 1, 0, "tpu"), "device must be one of"),
    (lambda A, B, C: (A, B, C, 1, 0, "interpreter"), "the interpreter takes NumPy arrays"),
])  # fmt: skip
def test_what_was_refused_before_is_refused_after(fake, one, change, message):
    A, B, C = matrices()
    changed = change(A, B, C)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=message):
            one(*changed)
        one(A, B, C)


@pytest.mark.parametrize("number, name", [(0, "A"), (1, "B")])
@pytest.mark.parametrize("away", [-256, 1792])  # whole multiples of 256: the alignment is the same
def test_c_that_reaches_into_another_matrix_is_noticed_again(fake, one, number, name, away):
    A, B, C = matrices(K=64)
    one(A, B, C)
    into = cupy_array(C.shape, PLACES[number] + away)
    with pytest.raises(ValueError, match=f"C and {name} overlap"):
        one(A, B, into)


def test_a_small_alpha_is_0(fake, one):
    A, B, C = matrices()
    for _ in range(2):
        one(A, B, C, 1, 2)
        assert [name for name, _ in queued(fake)] == ["pack", "sgemm", "reduce"]
        for alpha in (0, 0.0, 1e-60, 2.0**-150, np.float32(0)):
            one(A, B, C, alpha, 2)
            assert {values[2:4] for _, values in queued(fake)} == {(0, 0)}
        one(A, B, C, 2.0**-149, 2)
        assert {values[2:4] for _, values in queued(fake)} == {(5, 2.0**-149)}


def test_matrices_beside_each_other_do_not_overlap(fake, one, looks):
    bytes_of_a = 4 * 12 * 5
    places = PLACES[0], PLACES[0] + bytes_of_a, PLACES[0] + bytes_of_a + 4 * 5 * 8
    A, B, C = matrices(places=places)
    for _ in range(2):
        one(A, B, C)
    assert len(looks) == 1
    columns = cupy_array((12, 40), PLACES[2])
    for _ in range(2):  # whose extents overlap, and which share nothing
        one(columns[:, :5], B, columns[:, 5:13])
    assert len(looks) == 3


def test_each_device_and_alignment_is_looked_at_once(fake, one, looks):
    for fake.number in (0, 1, 0, 1):
        one(*(cupy_array(x.shape, x.data.ptr, fake.number) for x in matrices()))
    assert len(looks) == 2 and len(fake.loaded) == 6
    fake.number = 0
    for offset in (4, 8, 4, 8, 256):
        one(*matrices(places=[place + offset for place in PLACES]))
    assert len(looks) == 4


@pytest.mark.parametrize("name", "ABC")
def test_alignment_is_kept(fake, one, name):
    aligned = one.edit(alignment=16)
    good, moved = matrices(), matrices(places=[place + 4 for place in PLACES])
    wrong = [y if name == x else z for x, y, z in zip("ABC", moved, good)]
    for _ in range(2):
        aligned(*good)
        with pytest.raises(ValueError, match=f"{name} is at an address that is no multiple of 16"):
            aligned(*wrong)


def test_a_step_that_asks_for_scalars_is_asked_each_time(fake, looks):
    A, B, C = matrices()
    asks = several().edit(requires="M > 100 or alpha < 2")
    asks(A, B, C)
    with pytest.raises(ValueError, match="requires M > 100 or alpha < 2, which .*alpha = 2"):
        asks(A, B, C, 2)
    assert asks._asks_scalars(12, 8, 5) and not asks._asks_scalars(101, 8, 5)
    count = len(looks)
    fifteen = kernels.step("15")
    assert not fifteen._asks_scalars(8, 8, 8)
    assert fifteen.define(SHIFTED=1)._asks_scalars(128, 128, 8)
    asks(A, B, C)
    assert len(looks) == count + 1


def test_no_more_is_remembered_than_there_is_room(fake, one, monkeypatch):
    from kernels.ladder import calls

    monkeypatch.setattr(calls, "MOST_KNOWN", 3)
    for N in (1, 2, 3, 4, 5, 4):
        one(*matrices(N=N))
    assert len(one._calls._known) == 2


def test_an_empty_product_is_not_remembered(fake, one, looks):
    for _ in range(2):
        one(*matrices(N=0))
    assert len(looks) == 2 and not fake.launched


def test_sgemm_remembers_too(fake, one, monkeypatch):
    from kernels.ladder import choose

    monkeypatch.setattr(choose, "steps", lambda: (one,))
    monkeypatch.setattr(choose.model, "candidates", lambda *of: ())
    monkeypatch.setattr(choose, "CALLS", {False: Calls(), True: Calls()})
    choose._remembered.cache_clear()
    asked = []
    real = choose._remembered
    monkeypatch.setattr(choose, "_remembered", lambda *args: asked.append(args) or real(*args))
    A, B, C = matrices()
    for _ in range(3):
        assert kernels.sgemm(A, B, C, 1.5, 1) is C
        kernels.sgemm(A, B)
    assert len(asked) == 2 and len(queued(fake)) == 18
    kernels.sgemm(A, B, tensor_cores=True)
    assert len(asked) == 3
    real.cache_clear()
