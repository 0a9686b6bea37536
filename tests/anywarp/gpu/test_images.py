"""What CuPy is asked for where a kernel takes textures and surfaces, without a GPU."""

from __future__ import annotations

import sys
import types
from typing import ClassVar

import numpy as np
import pytest

from anywarp import Surface, Texture
from anywarp.gpu import images

FLAGS = {
    "cudaChannelFormatKindSigned": 0, "cudaChannelFormatKindUnsigned": 1,
    "cudaChannelFormatKindFloat": 2, "cudaResourceTypeArray": 0, "cudaResourceTypeLinear": 2,
    "cudaFilterModePoint": 0, "cudaFilterModeLinear": 1, "cudaReadModeElementType": 0,
    "cudaReadModeNormalizedFloat": 1,
}  # fmt: skip


class Made:
    """One of CuPy's objects: what it was made of."""

    made: ClassVar[list] = []

    def __init__(self, *given, **named):
        self.given, self.named, self.ptr = given, named, 100 + len(Made.made)
        Made.made.append(self)

    def copy_from(self, array):
        self.held = array.copy()

    def copy_to(self, array):
        array[...] = self.held + 1


@pytest.fixture
def cupy(monkeypatch):
    names = ("ChannelFormatDescriptor", "CUDAarray", "ResourceDescriptor", "SurfaceObject",
             "TextureDescriptor", "TextureObject")  # fmt: skip
    texture = types.SimpleNamespace(**{name: type(name, (Made,), {}) for name in names})
    cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(**FLAGS), texture=texture)
    for name, module in (("cupy", types.SimpleNamespace(cuda=cuda)), ("cupy.cuda", cuda)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(images, "synchronize", lambda: None)
    monkeypatch.setattr(Made, "made", [])
    return texture


def of(kind: type) -> list[Made]:
    return [x for x in Made.made if isinstance(x, kind)]


def test_an_array_becomes_a_cuda_array_and_comes_back(cupy):
    array = np.zeros((3, 5, 4), np.int16)
    surface = Surface(array, channels=4)
    values = [surface, np.float32(2)]
    with images.handles(values, [array, values[1]]) as args:
        assert args[1] is values[1] and args[0].dtype == np.uint64
    (made,) = of(cupy.CUDAarray)
    (form, *size) = made.given
    assert form.given == (16, 16, 16, 16, 0) and size == [5, 3, 0, 2]
    assert made.held.shape == (3, 20) and (array == 1).all()
    assert [x.ptr for x in of(cupy.SurfaceObject)] == [args[0]]


@pytest.mark.parametrize("shape, words, size", [
    ((7,), {}, [7, 0, 0, 0]),
    ((3, 7), {}, [7, 3, 0, 8]),
    ((2, 3, 7), {}, [7, 3, 2, 0]),
    ((2, 3, 7), {"kind": "layered"}, [7, 3, 2, 1]),
])  # fmt: skip
def test_sizes_and_flags(cupy, shape, words, size):
    texture = Texture(np.zeros(shape, np.float32), **words)
    with images.handles([texture], [texture.memory]):
        pass
    (made,) = of(cupy.CUDAarray)
    assert list(made.given[1:]) == size and made.held.shape == shape
    assert (texture.memory == 0).all()


def test_how_a_texture_is_sampled(cupy):
    array = np.zeros((3, 5), np.uint8)
    texture = Texture(array, address=("mirror", "border"), filter="linear", normalized=True,
                      read="normalized")  # fmt: skip
    row = Texture(array[0].copy(), address="border")
    with images.handles([texture, row], [array, row.memory]):
        pass
    first, second = of(cupy.TextureDescriptor)
    assert first.given == ((2, 3, 1), 1, 1) and first.named == {"normalizedCoords": 1}
    assert second.given == ((3, 1, 1), 0, 0) and second.named == {"normalizedCoords": 0}


def test_linear_memory_is_no_copy(cupy):
    array = np.zeros(64, np.float32)
    with images.handles([Texture(array, kind="linear")], [array]):
        pass
    (source,) = of(cupy.ResourceDescriptor)
    assert source.named["arr"] is array and source.named["sizeInBytes"] == 256
    assert source.given == (2,) and not of(cupy.CUDAarray)


def test_a_texture_and_a_surface_share_a_cuda_array(cupy):
    array = np.zeros((3, 5), np.float32)
    values = [Texture(array), Surface(array), Texture(array, filter="linear")]
    with images.handles(values, [array] * 3) as args:
        assert len(set(args)) == 3
    (made,) = of(cupy.CUDAarray)
    assert made.given[-1] == 2 and (array == 1).all()


def test_layers_that_cupy_cannot_make(cupy):
    texture = Texture(np.zeros((3, 5), np.float32), kind="layered")
    with pytest.raises(ValueError, match="2-D layers of height 1"):
        with images.handles([texture], [texture.memory]):
            pass
