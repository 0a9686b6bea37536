"""Bad input of a step and of `sgemm`: each error says what is wrong and what to do.

Nothing may have run by then, so the interpreter and the launch are traps in all tests but those
of errors while running.
"""

import numpy as np
import pytest

import kernels
from anywarp import gpu
from kernels.analysis.reference import inputs
from kernels.ladder import step as ladder
from tests.stand_in import cupy_array

A, B, C = inputs(6, 5, 4)


@pytest.fixture(params=["step", "sgemm"])
def call(request, trap):
    return kernels.step("03_coalesced") if request.param == "step" else kernels.sgemm


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


BACKWARDS = A[::-1]  # which no step reads as it is
BUFFER = np.zeros(60, np.float32)

MATRICES = [
    (([[1.0]], B), TypeError, r"A must be a NumPy or CuPy array, not list: np.asarray\(A"),
    ((A, [[1.0]]), TypeError, "B must be a NumPy or CuPy array, not list"),
    ((A, B, [[1.0]]), TypeError, "C must be a NumPy or CuPy array, not list"),
    ((A, None), TypeError, "B must be .* not NoneType"),
    ((A.astype(float), B), TypeError, r"A must be float32, not float64: A\.astype\(np\.float32\)"),
    ((A, B.astype(np.int32)), TypeError, "B must be float32, not int32"),
    ((A.astype(">f4"), B), TypeError, "A must be float32, not >f4"),
    ((A, B, C.astype(np.float16)), TypeError, "C must be float32, not float16"),
    ((np.ma.array(A), B), TypeError, r"A is a masked array, and steps know no masks: A\.filled"),
    ((A, B, np.ma.array(C)), TypeError, r"C is a masked array, .*: C\.filled\(0\)"),
    ((A[0], B), ValueError, r"A must be a matrix, not of shape \(4,\)"),
    ((A, B[None]), ValueError, r"B must be a matrix, not of shape \(1, 4, 5\)"),
    ((A, A), ValueError, "A is 6 x 4 and B is 6 x 4: A needs as many columns as B has rows"),
    ((A, B, A), ValueError, "C is 6 x 4, but A B is 6 x 5"),
    ((BACKWARDS, B), ValueError, r"A is not C-contiguous .*np\.ascontiguousarray\(A\)"),
    ((A, np.zeros((4, 10), np.float32)[:, ::2]), ValueError, "B is not C-contiguous"),
    ((A, B, read_only(C)), ValueError, r"C is read-only, .*pass C\.copy\(\)"),
    (
        (BUFFER[:24].reshape(6, 4), B, BUFFER[20:50].reshape(6, 5)),
        ValueError,
        "C and A overlap in memory: pass a copy",
    ),
    ((A, BUFFER[:20].reshape(4, 5), BUFFER[:30].reshape(6, 5)), ValueError, "C and B overlap"),
    ((A, B, None, 1, 2), ValueError, "beta = 2 scales C, so C must be given"),
    ((A, B, None, "1"), TypeError, "alpha must be a number, not str"),
    ((A, B, C, 1j), TypeError, "alpha must be a number, not complex"),
    ((A, B, C, 1, None), TypeError, "beta must be a number, not NoneType"),
    ((A, B, C, 1e39), ValueError, "alpha = 1e[+]39 is too large for float32"),
    ((A, B, C, 1, -(10**400)), ValueError, "beta = .* is too large for float32"),
    ((A, B, C, 1, 0, "cuda"), ValueError, "device must be one of auto, gpu, .*, not 'cuda'"),
]


@pytest.mark.parametrize("args, error, message", MATRICES)
def test_matrices_and_scalars(call, args, error, message):
    with pytest.raises(error, match=message):
        call(*args)


def test_a_matrix_that_a_step_cannot_store(trap):
    with pytest.raises(ValueError, match="C is not C-contiguous"):
        kernels.step("03_coalesced")(A, B, np.zeros((5, 6), np.float32).T)


@pytest.mark.parametrize(
    "M, N, message", [(2**31, 0, "A has 2147483648 elements"), (2**16, 2**15, "C would have")]
)
def test_too_many_elements_for_32_bit_indices(call, M, N, message):
    # only the shape is looked at: one float stands for all of A
    A = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (M, 1), (4, 4))
    with pytest.raises(ValueError, match=f"{message}.* 32 bits: below"):
        call(A, np.zeros((1, N), np.float32))


@pytest.mark.parametrize("device", ["auto", "gpu"])
def test_cupy_input_without_a_gpu(call, no_gpu, device):
    with pytest.raises(gpu.NoGPU, match="there is none"):
        call(cupy_array((6, 4)), cupy_array((4, 5)), device=device)


def test_cupy_input_for_the_interpreter(call):
    with pytest.raises(TypeError, match=r"takes NumPy arrays, not CuPy: pass cupy\.asnumpy"):
        call(cupy_array((6, 4)), cupy_array((4, 5)), device="interpreter")


def test_cupy_and_numpy_mixed(call):
    with pytest.raises(TypeError, match="NumPy and CuPy arrays are mixed"):
        call(cupy_array((6, 4)), B)


class Ran(Exception):
    """In place of a launch."""


@pytest.fixture
def on_gpu(monkeypatch, tmp_path):
    """A step that needs aligned matrices, as a function of the alignment, and a GPU for it."""

    def launch(*args):
        raise Ran

    monkeypatch.setattr(ladder.Step, "_ready", property(lambda self: launch))
    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setattr(gpu, "current", lambda: 0)
    monkeypatch.setattr(gpu, "device", lambda: type("New", (), {"compute_capability": (9, 0)}))

    def step(alignment):
        directives = f"// alignment: {alignment}\n// block"
        text = kernels.step("03_coalesced").source.replace("// block", directives)
        (tmp_path / "08_vectors.cu").write_text(text)
        return ladder.step(8, tmp_path)

    return step


@pytest.mark.parametrize("moved, offset, alignment, right", [
    ("A", 4, 16, False), ("B", 8, 16, False), ("C", 20, 16, False), ("A", 4, 8, False),
    ("ABC", 0, 16, True), ("ABC", 16, 16, True), ("ABC", 8, 8, True), ("ABC", 4, 4, True),
])  # fmt: skip
def test_addresses_of_cupy_arrays(on_gpu, moved, offset, alignment, right):
    matrices = [
        cupy_array(shape, address + offset * (name in moved))
        for name, shape, address in zip("ABC", [(6, 4), (4, 5), (6, 5)], (4096, 8192, 12288))
    ]
    message = rf"^{moved} is at an address that is no multiple of {alignment} bytes .*, which "
    message += rf"08_vectors BM=8 needs: pass a copy, cupy\.array\({moved}\)$"
    with pytest.raises(Ran if right else ValueError, match=None if right else message):
        on_gpu(alignment).define(BM=8)(*matrices)


def test_the_gpu_without_one(call, no_gpu):
    with pytest.raises(gpu.NoGPU, match="there is none.*interpreter"):
        call(A, B, device="gpu")


def test_check_and_benchmark_on_a_gpu_without_one(trap, no_gpu):
    with pytest.raises(gpu.NoGPU, match="there is none"):
        kernels.step("03_coalesced").check(device="gpu")
    with pytest.raises(gpu.NoGPU, match="there is none"):
        kernels.benchmark([kernels.step("03_coalesced")], [128])


# ------------------------------------------------------------------- what a step cannot do


@pytest.fixture
def folder(tmp_path):
    """Three steps: 04 does any shape, 05 whole tiles, 06 needs a new GPU."""
    source = kernels.step("03_coalesced").source
    for name, directives in {
        "04_any": "",
        "05_tiled": "// requires: M % BM == 0\n// requires: K % 8 == 0\n",
        "06_new": "// compute capability: 8.0\n",
    }.items():
        text = source.replace("// block", f"{directives}// block")
        (tmp_path / f"{name}.cu").write_text(text)
    return tmp_path


def test_a_shape_the_step_cannot_do_names_one_that_can(folder, trap):
    tiled = ladder.step("tiled", folder)
    with pytest.raises(ValueError) as caught:
        tiled(*inputs(33, 8, 8)[:2])
    assert str(caught.value) == (
        "05_tiled requires M % BM == 0, which M = 33, N = 8, K = 8, BM = 16 breaks; 06_new can"
    )
    with pytest.raises(ValueError, match="requires K % 8 == 0, which M = 32, N = 8, K = 7 breaks"):
        tiled(*inputs(32, 8, 7)[:2])


def test_a_step_that_could_in_its_own_size_says_so(folder, trap):
    for name in ("04_any", "06_new"):
        (folder / f"{name}.cu").unlink()
    tiled = ladder.step("tiled", folder)
    with pytest.raises(ValueError, match=r"BM = 24 breaks; 05_tiled can with BM = 16$"):
        tiled.define(BM=24)(*inputs(32, 8, 8)[:2])
    strict = tiled.edit(requires=["M % 64 == 0"])
    with pytest.raises(ValueError, match=r"edited requires M % 64 == 0, .* breaks; 05_tiled can$"):
        strict(*inputs(32, 8, 8)[:2])


def test_a_shape_no_step_can_do(folder, trap):
    for name in ("04_any", "06_new"):
        (folder / f"{name}.cu").unlink()
    with pytest.raises(ValueError, match="breaks; no step can: pad the matrices with zeros"):
        ladder.step("tiled", folder)(*inputs(33, 8, 8)[:2])


def test_a_gpu_below_the_compute_capability(folder, trap, monkeypatch):
    class T4:
        name = "Tesla T4"
        compute_capability = (7, 5)

    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setattr(gpu, "device", T4)
    new = ladder.step("new", folder)
    for call in (
        lambda: new(A, B, device="gpu"),
        lambda: new.check(device="gpu"),
        lambda: new(cupy_array((6, 4)), cupy_array((4, 5), 8192)),  # not for the interpreter
    ):
        with pytest.raises(gpu.NoGPU, match=r"capability 8\.0, and the Tesla T4 has 7\.5"):
            call()


@pytest.mark.parametrize(
    "id, nearest",
    [("coalesed", "03_coalesced"), ("2_naive", "02_naive"), ("03_coalesce", "03_coalesced"),
     (1, "02_naive"), ("", ""), (None, "")],
)  # fmt: skip
def test_an_unknown_step(id, nearest):
    with pytest.raises(ValueError, match=f"no step {id!r}; the nearest is '{nearest}.*, of 02_na"):
        kernels.step(id)


def test_no_steps_at_all(tmp_path):
    with pytest.raises(ValueError, match="there are no steps in"):
        ladder.step("02", tmp_path)
