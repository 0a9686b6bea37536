"""Textures and surfaces: the bits of an H100, what NumPy says they hold, and what is found wrong.

`RECORDED` has a sum for each case of what an H100 80GB HBM3 gave (driver 580.159.04, CUDA 13.0);
`python -m tests.anywarp.ptx.test_texture_ops` prints them anew on a GPU.
"""

from __future__ import annotations

import itertools
import re
import zlib

import numpy as np
import pytest

import anywarp
from anywarp import gpu
from anywarp.ptx import PTXError, UnknownOpcode

SPECIAL = [np.nan, np.inf, -np.inf, 1e20, -1e20, -0.0, 1e-30]


def random(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def elements(name: str, dtype: str, *shape: int) -> np.ndarray:
    """Floats as they come, or integers of all values."""
    if dtype[0] == "f":
        return random(name).standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random(name).integers(limits.min, limits.max, shape, dtype, endpoint=True)


# name: what is fetched, the coordinates' range, the array (a type and a shape), the texture's words
D1, D2, D3 = "tex1D<{}>(t, x[0])", "tex2D<{}>(t, x[0], x[1])", "tex3D<{}>(t, x[0], x[1], x[2])"
L1, L2 = "tex1DLayered<{}>(t, x[0], (int)x[1])", "tex2DLayered<{}>(t, x[0], x[1], (int)x[2])"
LINEAR, NORMALIZED = {"filter": "linear"}, {"normalized": True}
FRACTIONS, LAYERED = {"read": "normalized"}, {"kind": "layered"}
CASES = {
    **{
        f"1-D {kind} {address} {filter}{size}": (
            D1, (-2, 2) if kind == "normalized" else (-3, size + 3), ("f4", size),
            {"address": address, "filter": filter, "normalized": kind == "normalized"},
        )
        for kind, address, filter, size in itertools.product(
            ("normalized", "plain"), ("wrap", "clamp", "mirror", "border"), ("point", "linear"),
            (37, 1000),
        )
    },
    **{
        f"{rank}-D {address} {filter}": (
            code, (-2, 2), ("f4", *(5, 6, 7)[3 - rank:]),
            {"address": address, "filter": filter, **NORMALIZED},
        )
        for (rank, code), address, filter in itertools.product(
            ((2, D2), (3, D3)), ("wrap", "clamp", "mirror", "border"), ("point", "linear")
        )
    },
    "a mode for each": (D2, (-2, 2), ("f4", 5, 9), {"address": ("wrap", "border"), **LINEAR,
                                                    **NORMALIZED}),
    "long": (D1, (-2, 2), ("f4", 30000), {"address": "wrap", **LINEAR, **NORMALIZED}),
    "2 channels": (D2, (-2, 40), ("f4", 21, 37, 2), {"channels": 2, **LINEAR}),
    "4 channels": (D2, (-2, 40), ("f4", 21, 37, 4), {"channels": 4, **LINEAR}),
    "uchar4": (D2, (-2, 40), ("u1", 21, 37, 4), {"channels": 4, **LINEAR, **FRACTIONS}),
    "half": (D2, (-2, 40), ("f2", 21, 37), LINEAR),
    "half in space": (D3, (-1, 8), ("f2", 5, 6, 7), LINEAR),
    "half, point": (D1, (-2, 40), ("f2", 37), {}),
    **{
        f"{dtype} {what}": (D2, (-2, 40), (dtype, 21, 37), words)
        for dtype in ("u1", "i1", "u2", "i2")
        for what, words in (("fraction", FRACTIONS), ("whole", {}))
    },
    **{f"{dtype} blended": (D2, (-2, 40), (dtype, 21, 37), {**LINEAR, **FRACTIONS})
       for dtype in ("u1", "u2", "i2")},
    "u4": (D2, (-2, 40), ("u4", 21, 37), {}),
    "i4": (D2, (-2, 40), ("i4", 21, 37, 2), {"channels": 2}),
    "level": ("tex2DLod<{}>(t, x[0], x[1], 0.f)", (-2, 40), ("f4", 21, 37), LINEAR),
    "gradient": ("tex2DGrad<{}>(t, x[0], x[1], make_float2(0, 0), make_float2(0, 0))",
                 (-2, 40), ("f4", 21, 37), LINEAR),
    "2-D layers": (L2, (-2, 9), ("f4", 6, 21, 37), {**LAYERED, **LINEAR, "address": "border"}),
    "int layers": (L2, (-2, 9), ("u1", 6, 21, 37), LAYERED),
    **{f"gather {n}": (f"tex2Dgather<{{}}>(t, x[0], x[1], {n})", (-2, 40), ("f4", 21, 37, 4),
                       {"channels": 4}) for n in range(4)},
    "gather at a border": ("tex2Dgather<{}>(t, x[0], x[1], 0)", (-1, 2), ("i4", 21, 37),
                           {"address": "border", **NORMALIZED}),
    "fetch": ("tex1Dfetch<{}>(t, (int)x[0])", (-9, 90), ("f4", 64), {"kind": "linear"}),
    "fetch short4": ("tex1Dfetch<{}>(t, (int)x[0])", (-9, 90), ("i2", 64, 4),
                     {"kind": "linear", "channels": 4}),
}  # fmt: skip
RECORDED = {
    "1-D normalized wrap point37": 0x1FE61BA8,
    "1-D normalized wrap point1000": 0x229E04F1,
    "1-D normalized wrap linear37": 0xE25BCF03,
    "1-D normalized wrap linear1000": 0x11A07000,
    "1-D normalized clamp point37": 0xFBEC0C1B,
    "1-D normalized clamp point1000": 0xA0D9135B,
    "1-D normalized clamp linear37": 0xB6C70D3A,
    "1-D normalized clamp linear1000": 0xF48446B1,
    "1-D normalized mirror point37": 0x081CCE83,
    "1-D normalized mirror point1000": 0x114C6E84,
    "1-D normalized mirror linear37": 0xB6B9B631,
    "1-D normalized mirror linear1000": 0x6C8D3574,
    "1-D normalized border point37": 0xA6892901,
    "1-D normalized border point1000": 0xC07BCB75,
    "1-D normalized border linear37": 0x9351D26C,
    "1-D normalized border linear1000": 0xE6E1785B,
    "1-D plain wrap point37": 0x5F95F5BA,
    "1-D plain wrap point1000": 0x5A22A8AE,
    "1-D plain wrap linear37": 0xF42CEC66,
    "1-D plain wrap linear1000": 0x2A38F0B3,
    "1-D plain clamp point37": 0x9022A7D6,
    "1-D plain clamp point1000": 0xB226236A,
    "1-D plain clamp linear37": 0x6F4F2D86,
    "1-D plain clamp linear1000": 0x02836934,
    "1-D plain mirror point37": 0xEA3B2135,
    "1-D plain mirror point1000": 0xCCE65C2E,
    "1-D plain mirror linear37": 0x869F0A3B,
    "1-D plain mirror linear1000": 0xEC8F6DC5,
    "1-D plain border point37": 0xA4A5AAD2,
    "1-D plain border point1000": 0x8A0A44F8,
    "1-D plain border linear37": 0xFC05B658,
    "1-D plain border linear1000": 0x78E1924E,
    "2-D wrap point": 0xC777ECFA,
    "2-D wrap linear": 0x6F39E559,
    "2-D clamp point": 0x769838CD,
    "2-D clamp linear": 0x696C90AD,
    "2-D mirror point": 0x4D3BDB2B,
    "2-D mirror linear": 0x959547F8,
    "2-D border point": 0x7A88D1E5,
    "2-D border linear": 0x6E9A43C2,
    "3-D wrap point": 0xD4975422,
    "3-D wrap linear": 0xCBCE7F0E,
    "3-D clamp point": 0xB3F9CE77,
    "3-D clamp linear": 0x38EA9965,
    "3-D mirror point": 0x1408706F,
    "3-D mirror linear": 0xF6A173E4,
    "3-D border point": 0x01A02A7A,
    "3-D border linear": 0xE6ABD673,
    "a mode for each": 0x8634B6BF,
    "long": 0xE5D400B2,
    "2 channels": 0x549C9792,
    "4 channels": 0xA8FDB32F,
    "uchar4": 0x0FEFEBE0,
    "half": 0x97D7EA29,
    "half in space": 0x251364C6,
    "half, point": 0x1B092DEA,
    "u1 fraction": 0xE1B22E25,
    "u1 whole": 0xEA084078,
    "i1 fraction": 0x5A51ED02,
    "i1 whole": 0x82645641,
    "u2 fraction": 0x1CA284ED,
    "u2 whole": 0x17752BD4,
    "i2 fraction": 0x75BD709C,
    "i2 whole": 0x7FF377B6,
    "u1 blended": 0xF02ABF19,
    "u2 blended": 0x608634D8,
    "i2 blended": 0xA4D08085,
    "u4": 0x8DAB3BAB,
    "i4": 0xBC267EC6,
    "level": 0x8FA00700,
    "gradient": 0x98C0734E,
    "2-D layers": 0x51DFACA1,
    "int layers": 0x9F90A4B6,
    "gather 0": 0xD9EE9243,
    "gather 1": 0x03D345F4,
    "gather 2": 0x02B1FFCD,
    "gather 3": 0x64992609,
    "gather at a border": 0x8434F2F2,
    "fetch": 0xA4E28F64,
    "fetch short4": 0x028BA169,
}


def kernel(code: str, kind: str) -> anywarp.Kernel:
    source = f"""
extern "C" __global__ void k(cudaTextureObject_t t, const float* x, uint4* out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        x += 3 * i;
        {kind}4 v = {code.format(f"{kind}4")};
        out[i] = *(uint4*)&v;
    }}
}}"""
    return anywarp.RawKernel(source, "k")


def sampled(name: str, device: str, count: int = 512) -> np.ndarray:
    """The bits that a case gives."""
    code, (low, high), (dtype, *shape), words = CASES[name]
    texture = anywarp.Texture(elements(name, dtype, *shape), **words)
    x = random(name).random((count, 3), np.float32) * np.float32(high - low) + np.float32(low)
    if "tex1Dfetch" not in code and "Layered" not in code:
        x[: len(SPECIAL), 0] = SPECIAL
    x[100:400] = np.round(x[100:400] * 512) / 512  # between two 256ths
    kind = "float" if texture.floats else {"u": "uint", "i": "int"}[dtype[0]]
    out = np.full((count, 4), 7, np.uint32)
    kernel(code, kind)(-(-count // 128), 128, (texture, x, out, count), device=device)
    return out


def summed(bits: np.ndarray) -> int:
    return zlib.crc32(bits.astype("<u4").tobytes())


@pytest.mark.parametrize("name", CASES)
def test_the_bits_of_an_h100(name):
    assert summed(sampled(name, "interpreter")) == RECORDED[name]


def test_layers_of_one_dimension():
    """CuPy cannot make them, so they have no record."""
    layers = np.arange(12, dtype=np.float32).reshape(3, 4)
    texture = anywarp.Texture(layers, kind="layered", filter="linear")
    at = (0.5, 0), (1, 1), (9, 2), (3.5, 3), (0.5, -2)
    assert fetch(L1, texture, *at).tolist() == [0, 4.5, 11, 11, 8]


@pytest.mark.gpu
def test_a_gpu_refuses_layers_of_one_dimension():
    texture = anywarp.Texture(np.zeros((3, 4), np.float32), kind="layered")
    args = texture, np.zeros(3, np.float32), np.zeros(4, np.uint32), 1
    with pytest.raises(ValueError, match="2-D layers of height 1"):
        kernel(L1, "float")(1, 1, args, device="gpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_samples_the_same(name):
    assert (sampled(name, "gpu") == sampled(name, "interpreter")).all()


# -- what the guide's formulas say ------------------------------------------------------------


def fetch(code: str, texture: anywarp.Texture, *at: tuple[float, ...]) -> np.ndarray:
    """The first channel at these coordinates."""
    x = np.zeros((len(at), 3), np.float32)
    for row, each in zip(x, at):
        row[: len(each)] = each
    out = np.zeros((len(at), 4), np.uint32)
    kernel(code, "float")(1, len(at), (texture, x, out, len(at)), device="interpreter")
    return out.view(np.float32)[:, 0]


def test_points_and_modes_by_hand():
    ramp = np.arange(4, dtype=np.float32) + 1
    at = [(x,) for x in (-0.5, 0, 0.99, 1, 3.99, 4, 5.5)]
    texture = anywarp.Texture(ramp)
    assert fetch(D1, texture, *at).tolist() == [1, 1, 1, 2, 4, 4, 4]
    texture = anywarp.Texture(ramp, address="border")
    assert fetch(D1, texture, *at).tolist() == [0, 1, 1, 2, 4, 0, 0]
    at = [(x / 4,) for x in (-0.5, 0.5, 4.5, 5.5, 8.5)]
    texture = anywarp.Texture(ramp, address="wrap", normalized=True)
    assert fetch(D1, texture, *at).tolist() == [4, 1, 1, 2, 1]
    texture = anywarp.Texture(ramp, address="mirror", normalized=True)
    assert fetch(D1, texture, *at).tolist() == [1, 1, 4, 3, 1]


def test_linear_memory_is_zero_outside():
    texture = anywarp.Texture(np.arange(4, dtype=np.float32) + 1, kind="linear", filter="linear")
    code = "tex1Dfetch<{}>(t, (int)x[0])"
    assert fetch(code, texture, (-1,), (0,), (3,), (4,), (2e9,)).tolist() == [0, 1, 4, 0, 0]


def test_linear_filtering_by_hand():
    """In 1-D (1 - a) T[i] + a T[i + 1] with a = frac(x - 0.5), of 8 bits: 0.3 becomes 77/256."""
    texture = anywarp.Texture(np.array([0, 256, 0], np.float32), filter="linear")
    assert fetch(D1, texture, (0.5,), (0.8,), (1.5,), (2.0,)).tolist() == [0, 77, 256, 128]
    square = np.array([[0, 256], [512, 1024]], np.float32)
    texture = anywarp.Texture(square, filter="linear")
    assert fetch(D2, texture, (1, 1), (1.5, 1), (1, 0.75)).tolist() == [448, 640, 288]
    cube = np.zeros((2, 2, 2), np.float32)
    cube[1, 0, 1] = 256
    texture = anywarp.Texture(cube, filter="linear")
    assert fetch(D3, texture, (1, 1, 1), (1.5, 0.5, 1.5), (1, 0.5, 1.25)).tolist() == [32, 256, 96]


def test_infinities_pass_through_and_weigh_nothing_where_they_are_not():
    texture = anywarp.Texture(np.array([1, np.inf, 3], np.float32), filter="linear")
    assert fetch(D1, texture, (0.5,), (1.0,), (2.5,)).tolist() == [1, np.inf, 3]


def test_threads_may_name_different_textures():
    source = """
extern "C" __global__ void k(cudaTextureObject_t s, cudaTextureObject_t t, float* out)
{
    out[threadIdx.x] = tex1D<float>(threadIdx.x % 3 ? s : t, threadIdx.x);
}"""
    one, two = np.arange(64, dtype=np.float32), -np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    args = anywarp.Texture(one), anywarp.Texture(two), out
    anywarp.RawKernel(source, "k")(1, 64, args, device="interpreter")
    assert (out == np.where(np.arange(64) % 3, one, two)).all()


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("code, words, why", [
    (D1, {}, "dimensions are others"),
    (D2, {"kind": "linear", "shape": 64}, "linear memory"),
    ("tex1Dfetch<{}>(t, 0)", {"shape": 64}, "tex.1d.v4.f32.s32 takes a texture of that form"),
    (L1, {}, "dimensions are others"),
    (D2, {"dtype": "u1"}, "uint8 8 x 8"),
])  # fmt: skip
def test_another_texture_than_the_kernel_reads(code, words, why):
    words = dict(words)
    array = np.zeros(words.pop("shape", (8, 8)), words.pop("dtype", "f4"))
    with pytest.raises(PTXError, match=f"{why}.*\n.*\n.*\n.*thread \\(0, 0, 0\\)"):
        fetch(code, anywarp.Texture(array, **words), (0, 0))


def test_a_number_that_is_no_handle():
    source = """
extern "C" __global__ void k(cudaTextureObject_t t, float* out) { *out = tex1D<float>(t, 0.f); }"""
    with pytest.raises(PTXError, match="0x2a, which is none of this launch: pass anywarp.Texture"):
        anywarp.RawKernel(source, "k")(1, 1, (42, np.zeros(1, np.float32)), device="interpreter")


def test_cubemaps_are_not_built():
    with pytest.raises(UnknownOpcode, match="tex.cube"):
        fetch("texCubemap<{}>(t, 0.f, 0.f, 1.f)", anywarp.Texture(np.zeros((8, 8), "f4")), (0, 0))


# -- surfaces ---------------------------------------------------------------------------------

SURFACE = """
extern "C" __global__ void k(cudaSurfaceObject_t s, const int* at, TYPE* out, int n)
{
    int i = threadIdx.x, x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2];
    if (i < n) { CODE; }
}"""
READ, WRITE = "out[i] = surf{}read<TYPE>(s, {}, MODE)", "surf{}write(out[i], s, {}, MODE)"
TRAP = "cudaBoundaryModeTrap"
FORMS = {  # what stands in a call, and the shape of the array as layers or planes, rows, elements
    "1D": ("x", (1, 1, 8)), "2D": ("x, y", (1, 5, 8)), "3D": ("x, y, z", (4, 5, 8)),
    "1DLayered": ("x, z", (4, 1, 8)), "2DLayered": ("x, y, z", (4, 5, 8)),
}  # fmt: skip
TYPES = {"int": "i4", "short": "i2", "unsigned char": "u1", "float": "f4", "int4": "i4",
         "long long": "i8"}  # fmt: skip


def surface_kernel(text: str, form: str, kind: str, mode: str = TRAP) -> anywarp.Kernel:
    code = text.format(form, FORMS[form][0]).replace("MODE", mode)
    return anywarp.RawKernel(SURFACE.replace("CODE", code).replace("TYPE", kind), "k")


def surface_of(cells: np.ndarray, form: str) -> anywarp.Surface:
    """Of what has three axes, some of them of one element."""
    shape = [n for n, c in zip(cells.shape, "zyx") if c in FORMS[form][0]]
    return anywarp.Surface(cells.reshape(shape), kind="layered" if "L" in form else "array")


@pytest.mark.parametrize("device", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("mode", ["Zero", "Clamp"])
@pytest.mark.parametrize("form", FORMS)
def test_reads_and_writes_beyond_a_surface(device, form, mode, kind):
    """As an H100 has it: clamped, a layer before the first is the last."""
    if device == "gpu" and form == "1DLayered":
        pytest.skip("CuPy cannot make such an array")
    names, shape = FORMS[form]
    lanes = 4 if kind == "int4" else 1
    width = np.dtype(TYPES[kind]).itemsize * lanes
    cells = elements(form, "i4", *shape)
    held = cells.view(np.uint8)
    most = held.shape[0] - 1, held.shape[1] - 1, held.shape[2] - width
    places = itertools.product(
        (-1, 1, 3, 4) if "z" in names else (0,),
        (-2, 0, 4, 5) if "y" in names else (0,),
        range(-width, 32 + width, width),
    )
    at = list(places)

    def place(*zyx: int) -> tuple[int, ...] | None:
        near = tuple(min(max(n, 0), m) for n, m in zip(zyx, most))
        if mode == "Zero":
            return near if near == zyx else None
        return (most[0], *near[1:]) if "L" in form and zyx[0] < 0 else near

    def bytes_at(array: np.ndarray, z: int, y: int, x: int) -> bytes:
        return array[z, y, x : x + width].tobytes()

    order = np.array(at, np.int32)[:, ::-1].copy()  # x first
    for first in range(0, len(at), 1024):
        part = order[first : first + 1024]
        found = np.ones((len(part), lanes), TYPES[kind])
        args = surface_of(cells, form), part, found, len(part)
        surface_kernel(READ, form, kind, f"cudaBoundaryMode{mode}")(1, len(part), args, device)
        for value, zyx in zip(found, at[first:]):
            where = place(*zyx)
            assert value.tobytes() == (bytes_at(held, *where) if where else bytes(width)), zyx

    firsts = {place(*zyx): zyx for zyx in at[::-1]}  # one that writes to each place, or to none
    chosen = list(firsts.values())[:1024]
    values = elements(kind, "i4", len(chosen), 4).view(TYPES[kind])[:, :lanes].copy()
    stored = np.zeros(shape, np.int32)
    args = surface_of(stored, form), np.array(chosen, np.int32)[:, ::-1].copy(), values, len(chosen)
    surface_kernel(WRITE, form, kind, f"cudaBoundaryMode{mode}")(1, len(chosen), args, device)
    wanted = np.zeros_like(held)
    for value, zyx in zip(values, chosen):
        if where := place(*zyx):
            z, y, x = where
            wanted[z, y, x : x + width] = np.frombuffer(value.tobytes(), np.uint8)
    assert (stored.view(np.uint8) == wanted).all()


def beyond(x: int, y: int, z: int = 0, form: str = "2D", text: str = READ) -> tuple:
    """A kernel whose second thread reads or writes an int there, and its launch."""
    cells = np.zeros(FORMS[form][1], np.int32)
    at, out = np.array([[0, 0, 0], [x, y, z]], np.int32), np.zeros(2, np.int32)
    return surface_kernel(text, form, "int"), (1, 2, (surface_of(cells, form), at, out, 2))


@pytest.mark.parametrize("place, words", [
    ((32, 1), r"outside of the surface: x = 32 of 32, y = 1 of 5 \(x counts bytes\)"),
    ((-4, 0), "x = -4 of 32"),
    ((0, 5), "y = 5 of 5"),
    ((4, -1, 0, "3D"), "y = -1 of 5, z = 0 of 4"),
    ((4, 1, 4, "3D", WRITE), "z = 4 of 4"),
    ((4, 1, -1, "2DLayered", WRITE), "layer = -1 of 4"),
    ((32, 0, 0, "1D", WRITE), r"x = 32 of 32 \(x counts bytes\)"),
    ((6, 1), "x = 6, which is not a multiple of 4"),
])  # fmt: skip
def test_an_access_outside_of_a_surface(place, words):
    found, launch = beyond(*place)
    with pytest.raises(PTXError, match=f"4-byte access to s, .*{words}") as caught:
        found(*launch, device="interpreter")
    assert caught.value.thread == "block (0, 0, 0), thread (1, 0, 0)"
    (finding,) = found.sanitize(*launch)
    assert finding.kind == ("misaligned" if "multiple" in words else "out of bounds")
    assert finding.thread == caught.value.thread and finding.count == 1
    verb = "writes" if WRITE in place else "reads"
    assert re.search(words, finding.message)
    assert f"{verb} 4 bytes at s in global memory, " in finding.message


@pytest.mark.parametrize("mode", ["Zero", "Clamp"])
def test_other_boundary_modes_are_no_faults(mode):
    _, launch = beyond(32, 7)
    found = surface_kernel(READ, "2D", "int", f"cudaBoundaryMode{mode}")
    assert found.sanitize(*launch) == ()


def test_rows_that_accesses_do_not_divide():
    found = surface_kernel(READ, "2D", "long long")
    surface, at = anywarp.Surface(np.zeros((5, 7), np.int32)), np.zeros((1, 3), np.int32)
    args = surface, at, np.zeros(1, np.int64), 1
    with pytest.raises(PTXError, match=r"suld.b.2d.b64.trap takes a surface of that form"):
        found(1, 1, args, device="interpreter")


def test_races_on_a_surface():
    at = np.zeros((64, 3), np.int32)
    values, cells = np.arange(64, dtype=np.int32), np.zeros((2, 64), np.int32)
    found = surface_kernel(WRITE, "2D", "int")
    (finding, *_) = found.sanitize(1, 64, (anywarp.Surface(cells), at, values, 64))
    assert finding.kind == "race" and "writes s[0][0]" in finding.message
    at[:, 0] = 4 * values
    assert found.sanitize(1, 64, (anywarp.Surface(cells), at, values, 64)) == ()
    assert (cells[0] == values).all()


def test_neighbouring_bytes_of_a_surface_do_not_race():
    source = """
extern "C" __global__ void k(cudaSurfaceObject_t s)
{
    surf1Dwrite((unsigned char)threadIdx.x, s, threadIdx.x);
}"""
    cells = np.zeros(64, np.uint8)
    assert anywarp.RawKernel(source, "k").sanitize(1, 64, (anywarp.Surface(cells),)) == ()
    assert (cells == np.arange(64)).all()


def test_what_is_found_wrong_is_not_done():
    for place in ((6, 1), (32, 1)):
        found, (grid, block, (surface, at, out, n)) = beyond(*place, text=WRITE)
        out[:] = 3, 5
        found.sanitize(grid, block, (surface, at, out, n))
        assert surface.memory[0, 0] == 3 and np.count_nonzero(surface.memory) == 1


def test_a_surface_that_is_read_only():
    found, (grid, block, (surface, *rest)) = beyond(0, 0, text=WRITE)
    surface.memory.flags.writeable = False
    with pytest.raises(PTXError, match="store to s, which is read-only"):
        found(grid, block, (surface, *rest), device="interpreter")


def test_a_trace_says_what_it_does_not_count():
    source = """
extern "C" __global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float* out)
{
    int i = threadIdx.x;
    float v = tex1D<float>(t, i + 0.5f);
    surf1Dwrite(v, s, 4 * i);
    out[i] = v;
}"""
    array, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    args = anywarp.Texture(array), anywarp.Surface(np.zeros_like(array)), out
    found = anywarp.RawKernel(source, "k").trace(1, 64, args)
    assert found.uncounted == ("sust", "tex") and found.to_json()["uncounted"] == ["sust", "tex"]
    assert repr(found).endswith("accesses by sust, tex are not counted")
    assert [place.array for place in found.costs] == ["out"] and (out == array).all()
    assert {access.array for access in found.accesses} == {"out"}


if __name__ == "__main__":
    gpu.require()
    for each in CASES:
        print(f'    "{each}": {summed(sampled(each, "gpu")):#010x},')
