"""The best step: what the records, the shape, the addresses and the GPU say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import kernels
from kernels.analysis.reference import assert_close, inputs
from kernels.ladder import choose as module, step as ladder
from kernels.ladder.choose import Asked, choose, rate_near, sgemm
from kernels.records import Record, Results
from tests import stand_in
from tests.stand_in import FakeGpu, cupy_array

STEP = """// {title}
//
// block: 32
{directives}
#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 8
#endif
"""


def record(label, tflops, M, N, K):
    return Record(label, M, N, K, 2 * M * N * K / tflops / 1e9, 0, 0, 20)


def results(*records):
    return Results({}, 1.0, 1.0, tuple(record(*one) for one in records))


@pytest.fixture
def made(tmp_path):
    """Steps from directives, numbered from 2 on."""

    def make(*directives, transposes=()):
        for number, text in enumerate(directives, start=2):
            lines = "".join(f"// {line}\n" for line in text.splitlines())
            path = tmp_path / f"{number:02}_made.cu"
            text = STEP.format(title=path.stem, directives=lines)
            if any(transposes[number - 2 : number - 1]):
                text += "".join(f"#ifndef TRANS_{x}\n#define TRANS_{x} 0\n#endif\n" for x in "AB")
            path.write_text(text)
        return ladder.steps(tmp_path)

    return make


def test_the_fastest_near_the_shape(made):
    one, two = made("", "")
    found = results(
        *(("02_made", 3.0, 64, 64, 64), ("02_made", 1.0, 512, 512, 512)),
        *(("03_made", 2.0, 64, 64, 64), ("03_made", 9.0, 512, 512, 512)),
    )
    assert choose((one, two), found, Asked((70, 60, 64))) is one
    assert choose((one, two), found, Asked((500, 512, 600))) is two
    assert rate_near(found, two, (100, 100, 100)) == pytest.approx(2.0)


def test_shapes_are_compared_by_their_sides(made):
    """A thin product with as many multiply-adds as a cube says little about the cube."""
    (one,) = made("")
    found = results(("02_made", 1.0, 64, 64, 4096), ("02_made", 2.0, 512, 512, 512))
    assert rate_near(found, one, (256, 256, 256)) == pytest.approx(2.0)
    assert rate_near(found, one, (64, 64, 2048)) == pytest.approx(1.0)


def test_a_step_without_a_record_is_taken_only_where_no_other_can(made):
    slow, whole, new, newer = made("", "requires: K % 8 == 0", "", "requires: N == 1")
    found = results(("02_made", 0.001, 64, 64, 64), ("03_made", 1.0, 64, 64, 64))
    assert choose((slow, whole, new), found, Asked((64, 64, 64))) is whole
    assert choose((slow, whole, new), found, Asked((64, 64, 63))) is slow
    assert choose((whole, new), found, Asked((64, 64, 63))) is new
    assert choose((whole, new, newer), found, Asked((64, 1, 63))) is newer  # the highest of those


TILES_AND_BETA = "requires: beta == 0\nrequires: M % BM == 0"
NEW_GPU = replace(stand_in.device("9.0"), compute_capability=(9, 9))  # which is in no table
SHARED = f"shared: {200 << 10}"


@pytest.mark.parametrize("directives, asked, taken", [
    (TILES_AND_BETA, {}, True),
    (TILES_AND_BETA, {"beta": 0.5}, False),
    (TILES_AND_BETA, {"shape": (63, 64, 64)}, False),
    *(("alignment: 16", {"alignment": n}, n >= 16) for n in (256, 16, 8, 4)),
    ("compute capability: 8.0", {}, True),  # in the interpreter
    *(("compute capability: 8.0", {"device": stand_in.device(of)}, of != "7.5")
      for of in ("8.0", "9.0", "7.5")),
    (SHARED, {"device": replace(NEW_GPU, shared_bytes_per_block=227 << 10)}, True),
    (SHARED, {"device": replace(NEW_GPU, shared_bytes_per_block=199 << 10)}, False),
])  # fmt: skip
def test_the_faster_step_is_taken_where_it_can(made, directives, asked, taken):
    plain, faster = made("", directives)
    rates = results(("02_made", 1.0, 64, 64, 64), ("03_made", 2.0, 64, 64, 64))
    asked = Asked(**{"shape": (64, 64, 64), **asked})
    assert choose((plain, faster), rates, asked) is (faster if taken else plain)
    if directives != TILES_AND_BETA:  # it says itself what it needs of a GPU
        assert choose((faster,), rates, asked) is faster


def test_no_step_can(made):
    steps = made("requires: K >= 2", "requires: M % BM == 0")
    with pytest.raises(ValueError, match=r"no step can do M = 17, N = 8, K = 1: pad the matrices wi"
                       r".* \(03_made requires M % BM == 0\)"):  # fmt: skip
        choose(steps, results(), Asked((17, 8, 1)))
    with pytest.raises(ValueError, match="K = 1: split the matrices"):
        choose(steps[1:], results(), Asked((16 * 65536, 1, 1)))


def test_a_tall_product_takes_a_step_whose_blocks_lie_along_x():
    """Blocks along y are 65535 at most, and no step's tile is tall enough for fewer."""
    able = [one.id for one in ladder.steps() if not one.broken(9_000_000, 1, 1)]
    assert "18_split_k" in able and "17_tile_space" not in able


# ------------------------------------------------------------------------ sgemm itself


@pytest.fixture
def called(monkeypatch):
    """The steps that sgemm runs, without running them."""
    found = []
    monkeypatch.setattr(module, "run", lambda step, product: found.append((step, product)))
    monkeypatch.setattr(ladder, "run", module.run)
    forget()
    yield found
    forget()


def forget():
    module._remembered.cache_clear()
    for calls in module.CALLS.values():
        calls._known.clear()


def test_sgemm_is_right():
    A, B, C = inputs(33, 20, 10)
    assert_close(kernels.sgemm(A, B, device="interpreter"), A, B)
    before = C.copy()
    assert kernels.sgemm(A, B, C, 2, 0.5, device="interpreter") is C
    assert_close(C, A, B, before, 2, 0.5)


@pytest.fixture
def offer(called, made, monkeypatch):
    """Puts steps in place of the shipped ones, the higher their number, the faster; but for the
    first, whose rate may be given. The list has an entry for each time that they are asked for."""

    def offer(*directives, transposes=(), first=2.0):
        steps, asked = made(*directives, transposes=transposes), []
        rates = [first, *(float(one.number) for one in steps[1:])]
        records = [(one.id, rate, 8, 8, 8) for one, rate in zip(steps, rates)]
        monkeypatch.setattr(module, "steps", lambda: asked.append(1) or steps)
        monkeypatch.setattr(module, "_timings", lambda: results(*records))
        return asked

    return offer


def test_sgemm_takes_what_choose_says_and_remembers_it(called, offer):
    asked = offer("", "requires: K % 8 == 0\nrequires: beta == 0")
    A, B, C = inputs(16, 8, 8)
    for _ in range(3):
        sgemm(A, B, device="interpreter")
    for alpha, beta in ((1, 1), (1.25, 0.5), (2.5, -3), (np.float32(0.1), 7)):
        sgemm(A, B, C, alpha, beta, device="interpreter")
    sgemm(A[:, :7].copy(), B[:7], device="interpreter")
    assert [one.id for one, _ in called] == 3 * ["03_made"] + 5 * ["02_made"]
    assert len(asked) == 4  # of a beta of 1 and of another one, too
    product = called[3][1]
    assert (*product.shape, *product[6:]) == (16, 8, 8, 1, 1, "interpreter")


def test_sgemm_takes_tensor_cores_only_when_it_is_told_to(called, offer):
    offer("", "tensor cores: yes")
    A, B, _ = inputs(8, 8, 8)
    for options in ({}, {"tensor_cores": True}, {"tensor_cores": False}):
        sgemm(A, B, device="interpreter", **options)
    assert [one.id for one, _ in called] == ["02_made", "03_made", "02_made"]


def test_a_constraint_on_scalars_is_looked_at_in_each_call(called, offer):
    offer("requires: alpha < 3")
    A, B, _ = inputs(8, 8, 8)
    sgemm(A, B, alpha=2.5, device="interpreter")
    with pytest.raises(ValueError, match="02_made requires alpha < 3, which .*alpha = 4"):
        sgemm(A, B, alpha=4, device="interpreter")
    assert len(called) == 1


@pytest.fixture
def on_gpu(called, offer, monkeypatch):
    """Three steps, the faster the more they need, and a GPU of a given compute capability."""
    fake = FakeGpu(monkeypatch)
    monkeypatch.setattr(module.model, "candidates", lambda *gpu: ())
    monkeypatch.setattr(
        module, "run", lambda step, product: called.append((step, product)) or product.C
    )
    offer("", "alignment: 16", "alignment: 16\ncompute capability: 8.0")
    return fake


@pytest.mark.parametrize("moved, best", [
    ("", "04_made"), ("A", "02_made"), ("B", "02_made"), ("C", "02_made"),
])  # fmt: skip
def test_sgemm_looks_at_the_address_of_each_matrix(on_gpu, called, moved, best):
    A, B, C = (
        cupy_array((8, 8), address + 4 * (name == moved))
        for name, address in zip("ABC", (4096, 8192, 12288))
    )
    sgemm(A, B, C)
    assert [(one.id, product.where) for one, product in called] == [(best, "gpu")]


def test_sgemm_looks_at_the_compute_capability(on_gpu, called):
    matrices = [cupy_array((8, 8), address) for address in (4096, 8192, 12288)]
    for of, best in (("7.5", "03_made"), ("8.0", "04_made")):
        on_gpu.be(of)
        forget()
        sgemm(*matrices)
        assert called[-1][0].id == best


def test_sgemm_reads_slices_and_transposes_with_a_step_that_can(called, offer):
    directives = "", "arguments: lda ldb", "arguments: lda ldb ldc\nalignment: 16"
    offer(*directives, transposes=(0, 0, 1), first=9.0)
    A, B, C = inputs(16, 8, 8)
    wide = np.zeros((16, 12), np.float32)  # whose rows are 48 bytes apart
    odd = np.zeros((16, 13), np.float32)
    for matrices, id, transposed in (
        ((A, B, C), "02_made", None),
        ((wide[:, :8], B, C), "04_made", (0, 0)),
        ((odd[:, :8], B, C), "03_made", None),
        ((A, wide[:8, 1:9], None), "04_made", (0, 0)),
        ((np.asfortranarray(A), B, None), "04_made", (1, 0)),
        ((np.asfortranarray(A), wide[:8, :8].T, C), "04_made", (1, 1)),
        ((A, B, wide[:, :8]), "04_made", (0, 0)),
        ((A, B, np.asfortranarray(C)), "04_made", (1, 1)),  # of C^T
    ):
        sgemm(*matrices, device="interpreter")
        one = called[-1][0]
        assert one.id == id
        if transposed is not None:
            assert (one.defines["TRANS_A"], one.defines["TRANS_B"]) == transposed
    count = len(called)
    with pytest.raises(ValueError, match="A is not C-contiguous"):
        sgemm(A[::-1], B, C, device="interpreter")
    assert len(called) == count


STORED = {  # a C: how it is stored, and what is said of it
    "by columns": (np.asfortranarray, "as C^T = B^T A^T"),
    "a slice of such": (lambda C: np.asfortranarray(np.pad(C, 3))[3:-3, 3:-3], "as C^T = B^T A^T"),
    "upside down": (lambda C: C[::-1].copy()[::-1], "through a copy of C"),
    "backwards": (lambda C: C[:, ::-1].copy()[:, ::-1], "through a copy of C"),
    "every other column": (lambda C: np.repeat(C, 2, 1)[:, ::2], "through a copy of C"),
}


@pytest.mark.parametrize("store, why", STORED.values(), ids=STORED)
def test_c_may_be_stored_in_any_way(store, why):
    A, B, C = inputs(33, 20, 10)
    stored = store(C)
    base = stored.base.copy() if stored.base is not None else None
    planned = kernels.sgemm.plan(A, B, stored, 2, 0.5, "interpreter")
    assert np.array_equal(stored, C) and planned.why.endswith(why)
    assert kernels.sgemm(A, B, stored, 2, 0.5, "interpreter") is stored
    assert_close(stored, A, B, C, 2, 0.5)
    if base is not None and base.size > C.size:  # what lies between is as it was
        stored[:] = C
        assert np.array_equal(stored.base, base)


def test_a_c_that_is_several_elements_in_one_is_refused():
    A, B, C = inputs(4, 6, 5)
    for strides in ((0, 4), (4, 0), (12, 4), (-20, 4)):
        shared = np.lib.stride_tricks.as_strided(C[-1:], C.shape, strides)
        with pytest.raises(ValueError, match="elements of C share memory"):
            sgemm(A, B, shared, device="interpreter")


def test_c_by_columns_on_a_gpu_and_again(monkeypatch):
    fake = FakeGpu(monkeypatch, "iiifPPfPiii")
    monkeypatch.setattr(module.model, "candidates", lambda *gpu: ())
    seventeen = ladder.step("17 BM=64 BN=64 TM=4 TN=4 WM=16 WN=32")
    monkeypatch.setattr(module, "steps", lambda: (seventeen,))
    forget()
    A, B, C = cupy_array((8, 13)), cupy_array((13, 16), 8192), cupy_array((16, 8), 1 << 14).T
    looked, real = [], module.chosen
    monkeypatch.setattr(module, "chosen", lambda *args: looked.append(args) or real(*args))
    for _ in range(2):
        assert sgemm(A, B, C, 2, 1) is C
    forget()
    values = (16, 8, 13, 2.0, 8192, 4096, 1.0, 1 << 14, 16, 13, 8)
    assert [x[-1] for x in fake.launched] == 2 * [values] and len(looked) == 1
    reversed_rows = cupy_array((8, 16), 1 << 14)[::-1]
    with pytest.raises(ValueError, match="C and A overlap"):
        sgemm(cupy_array((8, 13), (1 << 14) + 64), B, reversed_rows)


def test_out_is_a_c_that_is_not_read():
    A, B, C = inputs(5, 6, 7)
    C[:] = np.nan
    assert sgemm(A, B, alpha=2, device="interpreter", out=C) is C
    assert_close(C, A, B, None, 2)
    for wrong in ({"C": C}, {"beta": 1}):
        with pytest.raises(TypeError, match="pass C with beta, or out, not both"):
            sgemm(A, B, out=C, **wrong)


@pytest.mark.parametrize("call", [sgemm, ladder.step(18)])
def test_matrices_of_a_library_that_shares_its_memory(call):
    A, B, C = kernels.inputs(20, 30, 40)
    expected = call(A, B, C.copy(), 1.5, -0.5)

    def shared(x):
        protocol = {name: getattr(x, name) for name in ("__dlpack__", "__dlpack_device__")}
        return SimpleNamespace(**protocol)

    given = shared(C)
    assert call(shared(A), shared(B), given, 1.5, -0.5) is given
    assert C.tobytes() == expected.tobytes()
    new = call(shared(A), shared(B[:, :20]))
    assert isinstance(new, np.ndarray) and new.tobytes() == call(A, B[:, :20]).tobytes()
    with pytest.raises(TypeError, match="B must be float32, not float64"):
        call(shared(A), shared(B.astype(float)))
    with pytest.raises(TypeError, match="A is of .*SimpleNamespace and cannot be shared"):
        call(shared(A.view(">f4")), B)


@pytest.mark.parametrize("call", [sgemm, ladder.step(3)])
def test_a_scalar_may_be_an_array_of_no_dimensions_and_is_no_truth_value(call):
    A, B, C = inputs(5, 6, 7)
    expected = call(A, B, C.copy(), 2, 0.5, "interpreter")
    result = call(A, B, C.copy(), np.array(2), np.array(0.5, "f4"), "interpreter")
    assert result.tobytes() == expected.tobytes()
    for wrong in (True, np.True_, np.array(True), np.array([2.0]), "2"):
        with pytest.raises(TypeError, match="alpha must be a number, not "):
            call(A, B, C, wrong, device="interpreter")


def test_a_plan_says_what_is_taken_and_runs_nothing(monkeypatch):
    fake = FakeGpu(monkeypatch, "iiifPPfPiiiP")
    A, B, C = (cupy_array((64, 64), n << 20) for n in (1, 2, 3))
    planned = kernels.plan(A, B, C, 2, 1)
    labels = [label for label, _ in planned.ways]
    assert planned.step is module.chosen(module.Product.of(A, B, C, 2, 1))[0]
    assert labels[0] == planned.step.label and len(labels) == len(set(labels)) > 50
    times = [us for _, us in planned.ways]
    assert times == sorted(times)
    assert (planned.unit, planned.where, planned.why) == (
        "us",
        "gpu",
        "predicted to be the fastest",
    )
    first, second, best, *_, last = repr(planned).splitlines()
    assert first == f"64 x 64 x 64 on the gpu: {planned.step.label}"
    assert (
        "BM=" in second and planned.step.label in best and last == f"  and {len(labels) - 6} more"
    )
    assert not fake.launched and not fake.rooms
    by_rate = kernels.plan(*inputs(512, 512, 512)[:2], device="interpreter")
    assert by_rate.unit == "TFLOPS" and "rate on record" in by_rate.why
    with pytest.raises(ValueError, match="A is not C-contiguous"):
        kernels.plan(np.zeros((5, 8), "f4")[::-1], np.zeros((8, 4), "f4"), device="interpreter")


# ------------------------------------------------------------------------ the shipped records


@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (1024, 1024, 1024), (1023, 1023, 1023),
                                   (4097, 4097, 4097), (256, 256, 16384)])  # fmt: skip
def test_the_choice_is_the_best_on_record(shape):
    timings = kernels.results(module.model.RECORDED_ON)
    best = choose(ladder.steps(), timings, Asked(shape))
    able = [one for one in ladder.steps() if not one.broken(*shape) and timings.select(one)]
    assert best in able
    assert rate_near(timings, best, shape) == max(rate_near(timings, one, shape) for one in able)
