"""Any kernel: names, arguments converted to what the PTX declares, and where it runs."""

import copy
import pickle

import numpy as np
import pytest

import anywarp
from anywarp import gpu, ptx
from anywarp.arguments import Declared, converter
from anywarp.kernel import Kernel, choose_device
from anywarp.ptx import MemoryFault
from anywarp.tensor_map import TensorMap
from tests.stand_in import StandIn

SCALARS = """
struct Pair { int first; float second; };

extern "C" __global__ void scalars(
    bool b, signed char c, unsigned short s, int i, unsigned u, long long l, float f, double d,
    Pair pair, double* out)
{
    double values[] = {double(b), double(c), double(s), double(i), double(u), double(l), f, d,
                       double(pair.first), pair.second};
    for (int k = 0; k < 10; ++k)
        out[k] = values[k];
}
"""

TEMPLATE = """
template <typename T, int FACTOR>
__global__ void scale(T* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= FACTOR;
}
"""

DIMENSIONS = """
extern "C" __global__ void dimensions(int* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;
}
"""

DYNAMIC = """
extern "C" __global__ void reverse(float* x)
{
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""

DEVICES = ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)]

PAIR = np.array((-3, 0.5), [("first", np.int32), ("second", np.float32)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pair", [PAIR.tobytes(), PAIR[()]], ids=["bytes", "scalar"])
@pytest.mark.parametrize(
    "values",
    [
        (True, -7, 65535, -(2**31), 2**32 - 1, -(2**63), 0.25, 1e300),
        (False, 127, 0, 2**31 - 1, 0, 2**62, -3, np.float32(2)),
        (np.bool_(1), np.int8(-7), np.uint16(9), np.int64(-4), np.uint8(3), 5, np.float64(0.5), 7),
    ],
)
def test_scalars_of_every_type(values, pair, device):
    out = np.zeros(10)
    Kernel(SCALARS, "scalars")(1, 1, (*values, pair, out), device)
    assert out.tolist() == [*map(float, values), -3.0, 0.5]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "dtype, name", [(np.float32, "scale<float, 3>"), (np.int64, "scale<long long, 3>")]
)
def test_name_expressions(dtype, name, device):
    x = np.arange(100, dtype=dtype)
    found = Kernel(TEMPLATE, name, filename="scale.cu")
    found((4,), [32], (x, 90), device)
    assert x.tolist() == [3 * i if i < 90 else i for i in range(100)]
    assert repr(found) == f"<Kernel {name} of scale.cu>"
    assert found.symbol in found.ptx and found.symbol != name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("grid, block", [(3, 40), ((2, 3), (4, 5)), ((2, 1, 3), (3, 2, 4))])
def test_grid_and_block_of_one_to_three_dimensions(grid, block, device):
    blocks, threads = int(np.prod(grid)), int(np.prod(block))
    out = np.full(blocks * threads, -1, np.int32)
    Kernel(DIMENSIONS, "dimensions")(grid, block, [out], device)
    expected = [1000 * b + t for b in range(blocks) for t in range(threads)]
    assert out.tolist() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_dynamic_shared_memory(device):
    x = np.arange(64, dtype=np.float32)
    Kernel(DYNAMIC, "reverse")(1, 64, (x,), device, shared_mem=256)
    assert x.tolist() == list(range(63, -1, -1))


def test_dynamic_shared_memory_that_no_launch_gave():
    for size, hint in (0, "(0 bytes); a launch gives it some: shared_mem="), (252, "(252 bytes)"):
        with pytest.raises(MemoryFault) as fault:
            Kernel(DYNAMIC, "reverse")(1, 64, (np.zeros(64, np.float32),), shared_mem=size)
        assert str(fault.value).partition("\n")[0].endswith(hint)


@pytest.mark.parametrize("device", DEVICES)
def test_an_array_passed_twice_is_one_array(device):
    source = """extern "C" __global__ void shift(const float* a, float* b)
    { float x = a[(threadIdx.x + 1) % 32]; __syncthreads(); b[threadIdx.x] = x; }"""
    x = np.arange(32, dtype=np.float32)
    Kernel(source, "shift")(1, 32, (x, x), device)
    assert x.tolist() == [*range(1, 32), 0]


def test_options_and_resources():
    source = """extern "C" __global__ void f(float* x) { __shared__ float t[N];
        t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = t[N - 1]; }"""
    assert Kernel(source, "f", ("-DN=32",)).resources().shared == 128
    assert Kernel(source, "f", ["-DN=64"]).resources("sm_75").shared == 256


def test_what_ptx_declares_without_a_type_is_taken_by_size():
    """Compilers later than CUDA 12 may write .b32 for every 32-bit parameter."""

    def convert(value, type, size):
        return converter(Declared(type, size))(value)

    assert convert(np.float32(1), "b32", 4).tobytes() == np.float32(1).tobytes()
    assert convert(np.zeros(3), "b64", 8).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="NumPy scalar of 4 bytes"):
        convert(1, "b32", 4)
    with pytest.raises(ValueError, match="has 8 bytes, but the kernel takes 4"):
        convert(np.float64(1), "b32", 4)
    assert convert(-1, "s32", 4) == -1 and convert(-1, "u32", 4) == 2**32 - 1


def test_device_is_chosen():
    assert choose_device("interpreter", [np.zeros(1)]) == "interpreter"
    expected = "gpu" if gpu.available() else "interpreter"
    assert choose_device("auto", [np.zeros(1), 3]) == expected


class FakeGPU(StandIn):
    """A GPU of compute capability 7.5 whose launches double what they are given."""

    def __init__(self, monkeypatch):
        super().__init__("7.5", name="Fake T4")
        self.launches, self.loads = [], []
        self.install(monkeypatch.setattr)

    def load(self, cubin, symbol):
        self.loads.append(symbol)
        return super().load(cubin, symbol)

    def launch(self, kernel, grid, block, args, shared_mem):
        self.launches.append((kernel.symbol, grid, block, shared_mem))
        args[0][:] *= 2


def test_the_way_to_the_gpu_and_back(monkeypatch):
    fake = FakeGPU(monkeypatch)
    x = np.arange(4, dtype=np.float32)
    found = Kernel(TEMPLATE, "scale<float, 2>")
    found(2, 32, (x, 4))
    assert fake.launches == [(found.symbol, (2,), (32,), 0)]
    assert x.tolist() == [0, 2, 4, 6]
    found(2, 32, (x, 4), device="interpreter")
    assert len(fake.launches) == 1 and x.tolist() == [0, 4, 8, 12]
    x.flags.writeable = False  # it goes there and does not come back
    found(2, 32, (x, 4))
    assert len(fake.launches) == 2 and x.tolist() == [0, 4, 8, 12]


def test_a_gpu_that_is_too_old_is_passed_over_but_not_when_asked_for(monkeypatch):
    FakeGPU(monkeypatch)
    assert choose_device("auto", [np.zeros(1)], (7, 5)) == "gpu"
    assert choose_device("auto", [np.zeros(1)], (8, 0)) == "interpreter"
    with pytest.raises(gpu.NoGPU, match=r"capability 8\.0, and the Fake T4 has 7\.5.*interpreter"):
        choose_device("gpu", [np.zeros(1)], (8, 0))


SPECIFIC = """// compute capability: 9.0a
extern "C" __global__ void twice(float* x) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    x[threadIdx.x] *= 2;
}
"""


def test_a_kernel_for_one_gpu_alone(monkeypatch):
    fake = FakeGPU(monkeypatch)
    x = np.ones(32, np.float32)
    kernel = Kernel(SPECIFIC, "twice")
    kernel(1, 32, (x,))
    assert not fake.launches and (x == 2).all()
    with pytest.raises(gpu.NoGPU, match=r"capability 9\.0a, and the Fake T4 has 7\.5"):
        kernel(1, 32, (x,), device="gpu")
    fake.be("10.0", name="Fake T4")
    with pytest.raises(gpu.NoGPU, match=r"capability 9\.0a, and the Fake T4 has 10\.0"):
        kernel(1, 32, (x,), device="gpu")
    fake.be("9.0")
    kernel(1, 32, (x,))
    assert fake.launches and (x == 4).all()
    assert kernel.resources().registers > 0


@pytest.mark.gpu
def test_cupy_arrays_stay_on_the_gpu():
    import cupy

    x = cupy.arange(100, dtype=cupy.float32)
    Kernel(TEMPLATE, "scale<float, 3>")(4, 32, (x, 90))
    assert cupy.asnumpy(x).tolist() == [3 * i if i < 90 else i for i in range(100)]


def test_a_fault_names_the_line():
    source = """extern "C" __global__ void f(float* x)
{
    x[threadIdx.x + 1] = 0;
}"""
    with pytest.raises(ptx.MemoryFault, match=r"kernel\.cu:3"):
        Kernel(source, "f")(1, 32, (np.zeros(32, np.float32),), device="interpreter")


# ------------------------------------------------------- what stays, and what never reaches a run

COUNTER = """__device__ int launches = 100;
extern "C" __global__ void count(int* out) { *out = ++launches; }"""


def test_options_are_a_list():
    with pytest.raises(TypeError, match=r"a list of strings: \['-use_fast_math'\]"):
        Kernel(COUNTER, "count", "-use_fast_math")


def test_machine_code_of_no_gpu():
    with pytest.raises(ValueError, match="PTX alone: machine code is for a GPU, such as sm_90"):
        Kernel(COUNTER, "count").cubin("compute_90")


def test_a_trace_has_the_names_of_the_source():
    source = 'extern "C" __global__ void f(const float* from, float* to) { *to = *from; }'
    arrays = np.zeros(4, np.float32), np.zeros(4, np.float32)
    found = Kernel(source, "f")
    assert found.parameter_names == ("from", "to")
    assert {p.array for p in found.trace(1, 1, arrays).costs} == {"from", "to"}
    assert {p.array for p in found.trace(1, 1, arrays, ["a", "b"]).costs} == {"a", "b"}


def test_what_the_interpreter_cannot_read_still_runs_on_a_gpu(monkeypatch):
    def parse(text):
        raise ptx.ParseError("PTX line 7: something new")

    monkeypatch.setattr(ptx, "parse", parse)
    found = Kernel(TEMPLATE, "scale<short, 7>")  # whose PTX no other test has parsed
    x = np.arange(4, dtype=np.int16)
    with pytest.raises(ptx.ParseError, match=r"something new\n.*cannot run scale.*device=\"gpu\""):
        found(1, 32, (x, 4), device="interpreter")
    fake = FakeGPU(monkeypatch)
    found(1, 32, (x, 4), device="gpu")
    assert len(fake.launches) == 1 and x.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"args\[1\] of scale<short, 7> \(int n\)"):
        found(1, 32, (x, 4.5))


def test_each_kernel_has_its_module_on_each_gpu_until_it_is_reset(monkeypatch):
    fake = FakeGPU(monkeypatch)
    one, other = (Kernel(COUNTER, "count") for _ in range(2))
    x = np.zeros(1, np.int32)
    calls = (one, 0, 1), (one, 0, 1), (other, 0, 2), (one, 1, 3), (one, 0, 3)
    for kernel, fake.number, loads in calls:
        kernel(1, 1, (x,), "gpu")
        assert len(fake.loads) == loads
    one.reset()
    one(1, 1, (x,), "gpu")
    assert len(fake.loads) == 4


@pytest.mark.parametrize("device", DEVICES)
def test_device_variables_last_as_long_as_the_kernel(device):
    """From calls to what listens in the interpreter; a kernel of the same source has its own."""
    one, other = (Kernel(COUNTER, "count") for _ in range(2))
    out = np.zeros(1, np.int32)

    def counts(*runs):
        for run in runs:
            run(1, 1, (out,), **({"device": device} if isinstance(run, Kernel) else {}))
            yield int(out[0])

    more = () if device == "gpu" else (one.trace, one.sanitize)
    assert list(counts(one, one, one, *more)) == [*range(101, 104 + len(more))]
    assert list(counts(other)) == [101]
    one.reset()
    assert list(counts(one, other)) == [101, 102]


def test_errors_call_arrays_as_the_source_does():
    source = """extern "C" __global__ void f(float* there)
{
    __shared__ float tile[32];
    tile[threadIdx.x + shift] = there[threadIdx.x];
    __syncthreads();
    there[threadIdx.x] = tile[31 - threadIdx.x];
}"""
    x = np.zeros(32, np.float32)
    with pytest.raises(ptx.MemoryFault, match=r"past the end of tile \(128 bytes\)"):
        Kernel(source, "f", ["-Dshift=1"])(1, 32, (x,), "interpreter")
    with pytest.raises(ptx.MemoryFault, match=r"past the end of there \(124 bytes\)"):
        Kernel(source, "f", ["-Dshift=0"])(1, 32, (x[:31].copy(),), "interpreter")


def rewritten(code, arch):
    return code + b"!", None


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_pickled_kernel_is_made_anew(again):
    source = COUNTER.replace("100", "START")
    more = {"filename": "kept.cu", "needs": (8, 0), "rewrite": rewritten}
    kernel = Kernel(source, "count", ["-DSTART=15"], **more)
    out = np.zeros(1, np.int32)
    kernel(1, 1, (out,), "interpreter")
    other = again(kernel)
    assert repr(other) == repr(kernel) and other.ptx == kernel.ptx and other.needs == (8, 0)
    assert other.cubin().endswith(b"!")
    for one, value in ((other, 16), (kernel, 17), (other, 17)):
        one(1, 1, (out,), "interpreter")
        assert out[0] == value


def test_a_pickled_kernel_keeps_those_compiled_with_it():
    kernel = Kernel(TEMPLATE, "scale<int, 2>", names=("scale<int, 2>", "scale<int, 3>"))
    assert pickle.loads(pickle.dumps(kernel)).ptx == kernel.ptx


def test_a_tensor_map_can_be_pickled():
    array = np.arange(4096, dtype=np.float32).reshape(64, 64)
    tensor = TensorMap(array[:, 32:], (8, 16))
    other = pickle.loads(pickle.dumps(tensor))
    assert (other.tile, other.offset) == (tensor.tile, tensor.offset)
    np.testing.assert_array_equal(other.memory, tensor.memory)


def test_cupy_calls_it_so():
    assert anywarp.RawKernel is Kernel
    x = np.arange(8, dtype=np.float32)
    kernel = anywarp.RawKernel(code=DYNAMIC, name="reverse", backend="nvrtc", jitify=False)
    kernel((1,), (8,), (x,), shared_mem=32)
    assert x.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


BY_HAND = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u32 n)
{
    .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .f32 %f<2>;
    .shared .align 4 .b8 box[128];
    ld.param.u64 %d0, [x];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %q, %r1, %r0;
    @%q bra OUT;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d2, %d0, %d1;
    ld.global.f32 %f0, [%d2];
    mov.u32 %r2, box;
    xor.b32 %r4, %r1, SHIFT;
    mad.lo.u32 %r3, %r4, 4, %r2;
    st.shared.f32 [%r3], %f0;
    ld.shared.f32 %f1, [%r3];
    add.f32 %f1, %f1, %f0;
    st.global.f32 [%d2], %f1;
OUT: ret;
}
""".replace("SHIFT", "0")


@pytest.mark.parametrize("device", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("again", [lambda x: x, copy.deepcopy])
def test_ptx_written_by_hand_runs(device, again):
    kernel = again(Kernel.from_ptx(BY_HAND))
    x = np.arange(32, dtype=np.float32)
    kernel(1, 32, (x, 30), device)
    np.testing.assert_array_equal(x, [*range(0, 60, 2), 30, 31])
    assert kernel.name == "twice" and kernel.needs == (0, 0)


def test_its_own_lines_are_what_a_trace_and_findings_name():
    number = next(n for n, line in enumerate(BY_HAND.splitlines(), 1) if "ld.shared" in line)
    x = np.zeros(32, np.float32)
    trace = Kernel.from_ptx(BY_HAND).trace(1, 32, (x, 32))
    assert {place.line for place in trace.costs} == {number - 5, number - 1, number, number + 2}
    racy = BY_HAND.replace("ld.shared.f32 %f1, [%r3]", "ld.shared.f32 %f1, [box]")
    (finding,) = Kernel.from_ptx(racy).sanitize(1, 32, (x, 32))
    assert str(finding).startswith(f"PTX:{number}: race")
    unknown = Kernel.from_ptx(BY_HAND.replace("add.f32", "ad.f32"))
    with pytest.raises(ptx.UnknownOpcode, match=rf"(?s)'ad.f32'.*\n  at PTX line {number + 1}: ad"):
        unknown(1, 32, (x, 32), "interpreter")


def test_the_compilers_ptx_with_its_source_is_the_same_kernel():
    source = "__global__ void f(int* out, const int n) { if (n) out[threadIdx.x] = 1; }"
    made = Kernel('extern "C" ' + source, "f")
    again = Kernel.from_ptx(made.ptx, source=made.source)
    assert again.parameter_names == ("out", "n") and again.entry == made.entry
    with pytest.raises(TypeError, match=r"of f \(int\* out\)"):
        again(1, 1, (np.zeros(1, np.float32), 1))


@pytest.mark.parametrize(
    "text, name, message",
    [
        ("hello", "", "it has none"),
        (BY_HAND, "thrice", "no entry thrice; it has twice"),
        (BY_HAND + BY_HAND.replace("twice", "again"), "", "it has twice, again"),
    ],
)
def test_ptx_without_the_entry_is_refused(text, name, message):
    with pytest.raises(ValueError, match=message):
        Kernel.from_ptx(text, name)


def test_ptx_has_no_machine_code_here():
    kernel = Kernel.from_ptx(BY_HAND.replace("sm_80", "sm_90a"), filename="mine.ptx")
    assert kernel.needs == (9, 0, "a")
    for ask in kernel.resources, kernel.cubin:
        with pytest.raises(ValueError, match="mine.ptx is PTX"):
            ask()


SHIFTED = """
extern "C" __global__ void shifted(float* out, const float* in, int by)
{
    out[threadIdx.x] = in[(int)threadIdx.x + by];
}
extern "C" __global__ void before(float* out) { out[-1] = 1; }
"""
COPIED = """
extern "C" __global__ void copied(float* out, const float* in)
{
    __shared__ float tile[8];
    int i = threadIdx.x, to = __cvta_generic_to_shared(tile + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i - 4));
    asm volatile("cp.async.wait_all;");
    out[i] = tile[i];
}
"""


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_view_is_read_before_its_start_as_a_pointer_into_an_array():
    kernel, out = Kernel(SHIFTED, "shifted"), np.zeros(8, np.float32)
    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    pairs = np.arange(64, dtype=np.float32).view([("a", "f4"), ("b", "f4")])
    views = [(x.ravel()[4:], -4), (x[63, :8], -63 * 64), (x[:, ::1][32:, :], -2048)]
    views += [(np.asarray(np.matrix(x))[1:], -64), (pairs.view("f4")[16:], -16)]
    for view, by in views:
        args = out, view, by
        kernel(1, 8, args, device="interpreter")
        assert out.tolist() == list(range(8))
        assert not kernel.sanitize(1, 8, args)
        trace = kernel.trace(1, 8, args)
        (access,) = [a for a in trace.accesses if a.kind == "load"]
        assert access.array == "in" and access.offset[0] == 4 * by
    Kernel(COPIED, "copied")(1, 8, (out, x.ravel()[6:]), device="interpreter")
    assert out.tolist() == list(range(2, 10))


@pytest.mark.parametrize(
    "name, arguments, message",
    [
        ("shifted", lambda x: (x[:8], x[8:], -9), "36 bytes before the start of in"),
        ("shifted", lambda x: (x[:8], x[12:], -5), "20 bytes before the start of in"),
        ("shifted", lambda x: (x[:8], x[12:20], 1), "0 bytes past the end of in"),
        ("shifted", lambda x: (x[:8], x[12:20].copy(), -1), "4 bytes before the start of in"),
        ("before", lambda x: (x[8:],), "4 bytes before the start of out"),
    ],
    ids=["base", "argument", "end", "copy", "store"],
)
def test_what_is_before_a_view_ends_with_its_base_or_another_argument(name, arguments, message):
    kernel = Kernel(SHIFTED, name)
    args = arguments(np.zeros(64, np.float32))
    with pytest.raises(ptx.MemoryFault, match=message):
        kernel(1, 8 if name == "shifted" else 1, args, device="interpreter")
    assert message in str(kernel.sanitize(1, 8 if name == "shifted" else 1, args)[0])


def test_a_view_has_what_is_before_it_on_the_gpu_too(monkeypatch):
    seen = []
    fake = FakeGPU(monkeypatch)
    monkeypatch.setattr(fake, "launch", lambda *launch: seen.extend(launch[3]))
    monkeypatch.setattr("anywarp.gpu.launch", fake.launch)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    Kernel(SHIFTED, "shifted")(1, 8, (x[2], x[5:7], -16))
    out, there, _ = seen
    assert there.shape == (2, 8) and there.tolist() == x[5:7].tolist()
    whole = ptx.memory.allocations.root(there).view(np.float32)
    assert whole[-32:].tolist() == x.ravel()[24:56].tolist()  # from where x[2] ends
    assert (there.ctypes.data - whole.ctypes.data) % 256 == 0
