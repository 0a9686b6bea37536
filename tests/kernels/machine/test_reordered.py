"""Which machine code a kernel runs: reordered where that is known how, and else the compiler's."""

import warnings

import pytest

import kernels
from anywarp import gpu
from anywarp.compile import nvrtc
from kernels import Kernel
from kernels.machine import Different, reordered

SOURCE = 'extern "C" __global__ void f(float* x) { *x = 1; }'


@pytest.fixture(scope="module")
def kernel():
    one = kernels.step("19_machine_code").kernel
    if one.why_not_rewritten() and "=={}.{}.".format(*nvrtc.version()) not in nvrtc.WHEEL:
        pytest.skip(one.why_not_rewritten())  # another release than the book's; it runs as compiled
    return one


def test_a_reordered_kernel(kernel):
    assert kernel.rewrite and kernel.why_not_rewritten() is None
    assert kernel.cubin() != kernel.compiled()
    assert kernel.cubin() is kernel.cubin()


def test_the_same_source_without_the_directive(kernel):
    plain = Kernel(kernel.source, "sgemm", kernel.options, filename=kernel.filename)
    assert plain.cubin() == kernel.compiled() and plain.why_not_rewritten() is None


def test_other_gpus(kernel):
    assert kernel.cubin("sm_80") == kernel.compiled("sm_80")
    assert kernel.why_not_rewritten("sm_80") == "machine code is reordered for sm_90, not for sm_80"


def test_code_that_is_not_known():
    one = Kernel(SOURCE, "f", rewrite=reordered.reordered)
    assert one.cubin() == one.compiled()
    assert one.why_not_rewritten().startswith("this machine code is not known: there is no loop")


def test_code_that_cannot_be_proved(monkeypatch):
    def fails(cubin):
        raise Different("this is wrong\nand that")

    monkeypatch.setattr(reordered, "rewrite", fails)
    cubin, reason = reordered.reordered(b"other", "sm_90")
    assert cubin == b"other"
    assert reason == "the reordered code could not be proved equal: this is wrong"


def test_a_kernel_says_what_runs(monkeypatch):
    loaded = []
    monkeypatch.setattr(gpu, "current", lambda: 0)
    monkeypatch.setattr(gpu, "arch", lambda: "sm_90")
    monkeypatch.setattr(gpu, "load", lambda cubin, symbol: loaded.append(cubin))
    one = Kernel(SOURCE, "f", rewrite=reordered.reordered)
    with pytest.warns(UserWarning, match="kernel.cu: the compiler's own code runs: this machine"):
        one.loaded()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Kernel(SOURCE, "f").loaded()
    assert loaded == [one.compiled()] * 2
