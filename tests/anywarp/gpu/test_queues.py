"""Memory of the host that is page-locked while it is copied from, with a stand-in for CUDA."""

import sys
import types

import numpy as np
import pytest

from anywarp.gpu import queues


@pytest.fixture
def runtime(monkeypatch):
    """CUDA's runtime: what is locked, by address, as it was asked for."""
    locked = {}
    cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(
        locked=locked,
        pointerGetAttributes=lambda start: types.SimpleNamespace(type=int(start in locked)),
        hostRegister=lambda start, size, flags: locked.update({start: size}),
        hostUnregister=locked.pop,
    ))  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return cuda.runtime


def test_what_is_not_locked_yet_is_locked_for_the_while(runtime):
    before, x, nothing = np.zeros(3), np.zeros((2, 5), np.float32), np.zeros((0, 5), np.float32)
    runtime.locked[before.ctypes.data] = before.nbytes
    with pytest.raises(KeyError, match="whatever happens"), queues.locked(before, x, nothing):
        assert runtime.locked == {before.ctypes.data: before.nbytes, x.ctypes.data: 40}
        raise KeyError("whatever happens")
    assert runtime.locked == {before.ctypes.data: before.nbytes}
