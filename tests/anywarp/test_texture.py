"""Textures and surfaces as arguments: what is refused, in words, and what becomes of the array."""

from __future__ import annotations

import numpy as np
import pytest

import anywarp
from anywarp import Surface, Texture, gpu

COPY = """
extern "C" __global__ void copy(cudaTextureObject_t from, cudaSurfaceObject_t to, float* out)
{
    int x = threadIdx.x, y = blockIdx.x;
    float value = tex2D<float>(from, x + 0.5f, y + 0.5f);
    surf2Dwrite(value, to, 4 * x, y);
    out[y * blockDim.x + x] = value;
}"""


def zeros(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.fixture(scope="module")
def copy():
    return anywarp.RawKernel(COPY, "copy")


WRONG = [
    (Texture, [1.0], {}, TypeError, "of an array, not of a list"),
    (
        Texture,
        zeros(4, dtype="f8"),
        {},
        TypeError,
        r"not float64: a double is x\.view\(np\.int32\)",
    ),
    (Texture, zeros(4, dtype=">f4"), {}, TypeError, "not >f4"),
    (Surface, zeros(4, dtype="?"), {}, TypeError, "not bool"),
    (Texture, zeros(4, 4).T[1:], {}, ValueError, "not C-contiguous"),
    (Texture, zeros(), {}, ValueError, r"1 to 3 dimensions .*\(\) \(without channels\)"),
    (Texture, zeros(1, 1, 1, 1), {}, ValueError, "1 to 3 dimensions"),
    (Texture, zeros(0, 4), {}, ValueError, "at least one texel"),
    (Texture, zeros(4, 3), {"channels": 3}, ValueError, "channels must be one of 1, 2, 4, not 3"),
    (Texture, zeros(4, 3), {"channels": 2}, ValueError, r"the last axis of \(4, 3\) must have as"),
    (Texture, zeros(4), {"channels": 4}, ValueError, "the last axis"),
    (Texture, zeros(4), {"kind": "layered"}, ValueError, "1 to 2 .*layers first"),
    (Surface, zeros(2, 2, 2, 2), {"kind": "layered"}, ValueError, "1 to 2 .*layers first"),
    (Texture, zeros(4, 4), {"kind": "linear"}, ValueError, "1 to 1 dimensions"),
    (Surface, zeros(4), {"kind": "linear"}, ValueError, "'array', 'layered', not 'linear'"),
    (Texture, zeros(4), {"address": "edge"}, ValueError, "'mirror', 'border', not 'edge'"),
    (Texture, zeros(4), {"address": ("clamp",) * 2}, ValueError, "2 modes for 1 dimensions"),
    (Texture, zeros(4), {"filter": "cubic"}, ValueError, "'point', 'linear', not 'cubic'"),
    (Texture, zeros(4), {"read": "float"}, ValueError, "'element', 'normalized', not 'float'"),
    (Texture, zeros(4), {"read": "normalized"}, ValueError, "8 or 16 bits, not float32"),
    (Texture, zeros(4, dtype="u4"), {"read": "normalized"}, ValueError, "not uint32"),
    (Texture, zeros(4, dtype="u1"), {"filter": "linear"}, ValueError, 'read="normalized" reads'),
]


@pytest.mark.parametrize("kind, array, words, error, why", WRONG)
def test_wrong_images_are_refused_in_words(kind, array, words, error, why):
    with pytest.raises(error, match=why):
        kind(array, **words)


def test_what_they_say_they_are():
    texture = Texture(zeros(5, 7, 4, dtype="u1"), channels=4, read="normalized", filter="linear",
                      address=("wrap", "border"), normalized=True)  # fmt: skip
    what = "uint8 5 x 7 with 4 channels, linear, wrap, border, normalized, read as fractions"
    assert repr(texture) == f"<Texture of {what}>"
    assert repr(Surface(zeros(3, 8), kind="layered")) == "<Surface of float32 8, 3 layers>"
    assert repr(Texture(zeros(8), kind="linear")).endswith("8, linear memory, point, border>")


def test_another_argument_than_the_kernel_takes(copy):
    array, surface, out = zeros(4, 32), Surface(zeros(4, 32)), zeros(128)
    for args, words in (
        ((array, surface, out), r"args\[0\] .* ndarray.*pass anywarp.Texture\(array\)"),
        ((surface, surface, out), r"args\[0\] .* Surface.*pass anywarp.Texture\(array\)"),
        ((Texture(array), array, out), r"args\[1\] .*pass anywarp.Surface\(array\)"),
        ((Texture(array), surface, Texture(array)), r"args\[2\] .*float\*: pass the array itself"),
        ((1.5, surface, out), "args.0. .* must be a whole number"),
    ):
        with pytest.raises(TypeError, match=words):
            copy(4, 32, args, device="interpreter")


def test_ptx_alone_takes_them_too(copy):
    array, target, out = np.arange(128, dtype="f4").reshape(4, 32), zeros(4, 32), zeros(128)
    bare = anywarp.RawKernel.from_ptx(copy.ptx)
    bare(4, 32, (Texture(array), Surface(target), out), device="interpreter")
    assert (target == array).all() and (out == array.ravel()).all()


def test_an_array_is_no_argument_beside_its_texture(copy):
    array = zeros(4, 32)
    with pytest.raises(ValueError, match="from.* and .*out.* the same memory.* pass a copy"):
        copy(4, 32, (Texture(array), Surface(zeros(4, 32)), array), device="interpreter")
    with pytest.raises(ValueError, match="overlap"):
        copy(4, 32, (Texture(array[1:]), Surface(array), zeros(128)), device="interpreter")


@pytest.mark.parametrize("device", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_a_texture_and_a_surface_of_one_array(copy, device):
    array, out = np.arange(128, dtype="f4").reshape(4, 32), zeros(128)
    before = array.copy()
    copy(4, 32, (Texture(array), Surface(array), out), device=device)
    assert (array == before).all() and (out == before.ravel()).all()
    target = zeros(4, 32)
    copy(4, 32, (Texture(array), Surface(target), out), device=device)
    assert (target == before).all()


def test_torch_and_others_share_theirs(copy):
    class Shared:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **words):
            return self.array.__dlpack__(**words)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    array, target, out = np.arange(128, dtype="f4").reshape(4, 32), zeros(4, 32), zeros(128)
    copy(4, 32, (Texture(Shared(array)), Surface(Shared(target)), out), device="interpreter")
    assert (target == array).all()


@pytest.mark.gpu
def test_arrays_that_lie_on_the_gpu(copy):
    array, target = np.arange(128, dtype="f4").reshape(4, 32), gpu.to_device(zeros(4, 32))
    out = gpu.to_device(zeros(128))
    copy(4, 32, (Texture(gpu.to_device(array)), Surface(target), out))
    assert (gpu.to_host(target) == array).all() and (gpu.to_host(out) == array.ravel()).all()
    with pytest.raises(TypeError, match="mixed"):
        copy(4, 32, (Texture(array), Surface(target), out))
