"""Checking a step: right ones pass, and each way of being wrong is found."""

import hashlib
import json
import re
from types import MappingProxyType

import numpy as np
import pytest
from slow import checked_in_its_chapter, heavy, if_slow

from anywarp.ptx.errors import PTXError
from anywarp.ptx.memory.allocations import Lying
from kernels import Kernel
from kernels.analysis.reference import CheckError, gemm64, inputs
from kernels.ladder import step as ladder
from kernels.ladder.check import Case, Report, cases, check, digest
from kernels.records import FOLDER

ALL = [pytest.param(one, id=one.id) for one in ladder.steps()]
VARIANTS = [
    pytest.param(
        one, id=one.label, marks=if_slow(" " in one.label or checked_in_its_chapter(one.id))
    )
    for one in ladder.with_variants(ladder.steps())
]
DEVICES = ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)]
BITS = FOLDER / "nvidia_h200" / "bits.json"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("one", VARIANTS)
def test_shipped_steps_are_right(one, device):
    report = one.check(device)
    assert len(report.rows) == len(cases(one)) >= 6
    assert all(ratio <= 1 for _, ratio in report.rows)


@pytest.mark.gpu
@pytest.mark.parametrize("one", ALL)
def test_the_report_is_the_same_on_both_devices(one):
    assert repr(one.check("gpu")) == repr(one.check("interpreter"))


class Fake:
    """Stands for a step, in NumPy; `fault` spoils what it does."""

    id = label = "99_fake"
    defines = MappingProxyType({"BM": 16, "BN": 8, "BK": 4})
    compute_capability, shared_mem = (5, 0), 0
    arguments = ()
    alignment = 4

    def __init__(self, fault=lambda A, B, C, beta: None, requires=lambda M, N, K: True):
        self.fault, self.requires, self.calls = fault, requires, []

    def broken(self, M, N, K, alpha=1, beta=0):
        return None if self.requires(M, N, K) else "a constraint"

    def __call__(self, A, B, C, alpha, beta, device):
        poisoned = bool(np.isnan(C).all())
        self.calls.append((C.shape, A.shape[1], alpha, beta, poisoned, A.size + B.size))
        C[:] = gemm64(A, B, C, alpha, beta)
        self.fault(A, B, C, beta)
        return C


def memory(x):
    """All the bytes of the buffer that holds a matrix, guard bands included."""
    while x.base is not None:
        x = x.base
    return x


def one_wrong_element(A, B, C, beta):
    if C.shape == (61, 131):
        C[60, 130] += 1e-4


def an_unwritten_element(A, B, C, beta):
    if beta == 0:
        C[-1, -1] = np.nan


def an_input_changed(A, B, C, beta):
    if A.shape == (16, 4) and not np.isnan(A).any():
        A[3, 2] = np.nextafter(A[3, 2], np.float32(2))


def the_other_input_changed(A, B, C, beta):
    if A.shape == (16, 4) and not np.isnan(B).any():
        B[2, 3] = np.nextafter(B[2, 3], np.float32(2))


def one_byte(name, end):
    """A fault: one byte of a guard band of this matrix is written, at either end of the band."""

    def fault(A, B, C, beta):
        matrix = {"A": A, "B": B, "C": C}[name]
        start, size = 1 << 16, matrix.nbytes  # 64 KiB on either side, as is documented
        place = {"first": 0, "before": start - 1, "after": start + size, "last": -1}[end]
        assert memory(matrix).nbytes == size + 2 * start
        memory(matrix)[place] ^= 1

    return fault


def a_read_of_c(A, B, C, beta):
    if beta == 0 and A.shape[1] == 0:
        C[:] = 0 * np.float32(np.nan)


@pytest.mark.parametrize(
    "fault, message",
    [
        (one_wrong_element, r"99_fake, primes \(M = 61, N = 131, K = 37\): C\[60, 130\] is"),
        (an_unwritten_element, r"one element .*: C\[0, 0\] is nan"),
        (an_input_changed, "one tile .*: the step changed A"),
        (the_other_input_changed, "one tile .*: the step changed B"),
        *(
            (one_byte(name, end), f"one element .*: the step wrote outside {name}")
            for name in "ABC"
            for end in ("first", "before", "after", "last")
        ),
        (a_read_of_c, "K = 0 .*is nan, expected 0"),
    ],
)
def test_faults_are_found(fault, message):
    with pytest.raises(CheckError, match=message):
        check(Fake(fault), "interpreter")


def test_a_right_step_is_given_every_hard_case():
    fake = Fake()
    check(fake, "interpreter")
    shapes = {(M, N, K) for (M, N), K, *_ in fake.calls}
    assert {(1, 1, 1), (61, 131, 37), (16, 8, 0), (32, 24, 20)} <= shapes
    assert any(alpha == 0 for _, _, alpha, *_ in fake.calls)
    assert any(beta != 0 for _, _, _, beta, *_ in fake.calls)
    assert all(poisoned == (beta == 0) for _, _, _, beta, poisoned, _ in fake.calls)


def test_nan_in_a_and_b_when_alpha_is_0():
    seen = []
    fake = Fake(lambda A, B, C, beta: seen.append(np.isnan(A).sum() + np.isnan(B).sum()))
    check(fake, "interpreter")
    sizes = [A_and_B for *_, A_and_B in fake.calls]
    alphas = [alpha for _, _, alpha, *_ in fake.calls]
    assert seen == [size if alpha == 0 else 0 for alpha, size in zip(alphas, sizes)] and any(seen)


def test_only_what_the_step_declares():
    fake = Fake(requires=lambda M, N, K: M % 16 == 0 and K % 4 == 0)
    check(fake, "interpreter")
    assert len(fake.calls) >= 6
    assert all(M % 16 == 0 and K % 4 == 0 for (M, _), K, *_ in fake.calls)


WHOLE_TILES = """// Whole tiles
//
// block: 256
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
"""


def test_a_step_of_whole_tiles_meets_every_depth(tmp_path):
    (tmp_path / "11_whole.cu").write_text(WHOLE_TILES)
    found = [
        case for case in cases(ladder.step(11, tmp_path)) if case.alpha and case.K and not case.beta
    ]
    assert {1, 2, 3, 5} <= {case.K // 8 for case in found}  # one tile, even and odd
    assert all(case.M % 128 == case.N % 64 == case.K % 8 == 0 for case in found)
    assert any(case.M // 128 > case.N // 64 for case in found)  # tall and wide grids
    assert any(case.M // 128 < case.N // 64 for case in found)
    assert sum(2 * case.M * case.N * case.K for case in found) < 30e6  # and takes no time


def test_a_step_of_vectors_meets_edges(tmp_path):
    text = re.sub(r"requires: (.) % B.", r"requires: \1 % 4", WHOLE_TILES)
    (tmp_path / "15_vectors.cu").write_text(text)
    assert any(
        case.M % 128 and case.N % 64 and case.K % 8 for case in cases(ladder.step(15, tmp_path))
    )


def test_a_wrong_variant_is_named():
    three = ladder.step("03_coalesced")
    variant = three.edit(source=three.source.replace("k < K", "k < K - (BM == 8)"))
    check(variant, "interpreter")
    with pytest.raises(CheckError, match="^03_coalesced edited BM=8, one element "):
        check(variant.define(BM=8), "interpreter")


def test_the_report_is_a_small_table():
    report = Report(
        "99_fake (BM=16): fine",
        ((Case("one & only", 1, 2, 3), 0.123456), (Case("beta", 10, 20, 30, 1.7, -0.3), 0.0)),
    )
    assert repr(report) == (
        "99_fake (BM=16): fine\n"
        "case         M   N   K  alpha  beta  error / bound\n"
        "one & only   1   2   3      1     0           0.12\n"
        "beta        10  20  30    1.7  -0.3              0"
    )
    html = report._repr_html_()
    assert html.count("<tr>") == 3 and ">one &amp; only</td>" in html and ">0.12</td>" in html


def test_digest_is_of_the_bytes_of_c():
    class Constant(Fake):
        def __call__(self, A, B, device):
            return np.full((A.shape[0], B.shape[1]), 2.5, np.float32)

    expected = hashlib.sha256(np.float32(2.5).tobytes() * 12).hexdigest()
    assert digest(Constant(), 3, 4, 5, "interpreter") == expected


# ------------------------------------------------------------- the bits that a real GPU computed

RECORDED = [
    pytest.param(
        id,
        shape,
        sum_,
        id=f"{id}-{shape}",
        marks=if_slow(heavy(id)),  # the smallest is in book/interpreter.ipynb, for every step
    )
    for id, sums in (json.loads(BITS.read_text()) if BITS.exists() else {}).items()
    for shape, sum_ in sums.items()
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("id, shape, expected", RECORDED)
def test_the_bits_are_those_of_a_real_gpu(id, shape, expected, device):
    assert digest(ladder.step(id), *map(int, shape.split("x")), device) == expected


def test_bits_are_recorded_under_labels():
    for label, sums in json.loads(BITS.read_text()).items():
        assert ladder.step(label).label == label
        assert "256x256x256" in sums and len(sums) >= 2


# ------------------------------------------------------------- where matrices lie


def test_float4_from_any_address_is_found():
    """What needs 16 bytes has to say so: then it is not tried, and refuses to be."""
    one = ladder.step("08_vectorized")
    assert one.alignment == 16 and not any(case.moved for case in cases(one))
    with pytest.raises(PTXError, match="misaligned 16-byte access"):
        check(one.edit(alignment="4"), "interpreter")


def test_float4_from_rows_of_any_pitch_is_found():
    """The step asks about the pitch; one that asks about the address alone is wrong."""
    one = ladder.step("17 BM=32 BN=32 STAGES=3 TM=4 TN=4 WM=16 WN=32")
    mutant = one.edit(source=one.source.replace("pitch % 4 == 0 && ", ""))
    case = next(case for case in cases(mutant) if case.name == "slices at odd addresses")
    assert case.apart[1] % 4 and check(one, "interpreter")
    with pytest.raises(PTXError, match="misaligned 16-byte access"):
        check(mutant, "interpreter")


def test_only_arrays_that_say_so_lie_at_odd_addresses():
    source = """extern "C" __global__ void sum(const float4* x, float* y)
    { *y = x->x + x->y + x->z + x->w; }"""
    kernel, whole, y = Kernel(source, "sum"), np.ones(20, np.float32), np.zeros(1, np.float32)
    kernel(1, 1, (whole[3:], y), "interpreter")
    assert y == 4
    kernel(1, 1, (whole.view(Lying)[4:], y), "interpreter")
    assert y == 4
    with pytest.raises(PTXError, match="the address must be a multiple of 16"):
        kernel(1, 1, (whole.view(Lying)[3:], y), "interpreter")
    one = ladder.step("08_vectorized")
    A, B, _ = inputs(one.defines["BM"], one.defines["BN"], one.defines["BK"])
    room = np.zeros(A.size + 1, np.float32).view(Lying)[1:].reshape(A.shape)
    with pytest.raises(ValueError, match="A is at an address that is no multiple of 16 bytes"):
        one(room, B, device="interpreter")
    one(np.asarray(room), B, device="interpreter")
