"""printf, assert, malloc and free, as the device has them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from harness import cuda, run_cuda

from anywarp import ptx
from anywarp.kernel import Kernel

PRINT = r"""
extern "C" __global__ void k(const char* text, double x, long long n)
{
    if (threadIdx.x < 2) printf("%d|%5u|%-5i|%05d|%+d|% d|%x|%#X|%o|%c|%%\n",
        -3, 7u, 8, -42, 5, 6, 255, 255, 8, 'z');
    if (threadIdx.x == 1) printf("%f %.2e %G %g %a %10.3f|%-9.1f|%s|%.2s|%*d|%.*f\n",
        x, x, x * 1e10, x, x, x, x, "word", "word", 6, 12, 3, x);
    if (threadIdx.x == 0)
        printf("%lld %llu %ld %zu %hd %p\n", n, n, (long)n, (size_t)9, 3, (void*)16);
}"""


def printed(source, grid, block, args):
    lines = []
    run_cuda(source, "k", grid, block, args, write=lines.append)
    return "".join(lines)


def test_every_conversion_is_that_of_c():
    text = printed(PRINT, 1, 3, [np.zeros(1, np.uint8), np.float64(3.25), np.int64(-5)])
    first = "-3|    7|8    |-0042|+5| 6|ff|0XFF|10|z|%\n"
    assert text == (
        first
        + first
        + "3.250000 3.25e+00 3.25E+10 3.25 0x1.ap+1      3.250|3.2      |word|wo|    12|3.250\n"
        + "-5 18446744073709551611 -5 9 3 0x10\n"
    )


@pytest.mark.parametrize(
    "value, expected", [(float("inf"), "  inf inf -inf"), (-0.0, " -0.0 -0 0")]
)
def test_unusual_numbers(value, expected):
    source = r"""
extern "C" __global__ void k(double x) { printf("%5.1f %g %g", x, x, -x); }"""
    assert printed(source, 1, 1, [np.float64(value)]) == expected


def test_blocks_print_one_after_another_in_the_order_of_threads(capsys):
    source = r"""
extern "C" __global__ void k()
{
    for (int i = 0; i < 2; ++i)
        if (threadIdx.x % 2 == blockIdx.x) printf("%d.%d.%d ", blockIdx.x, i, threadIdx.x);
}"""
    run_cuda(source, "k", 2, 4, [])
    assert capsys.readouterr().out == ("0.0.0 0.0.2 0.1.0 0.1.2 1.0.1 1.0.3 1.1.1 1.1.3 ")


# (condition, threads that meet it in each of three blocks of 40): the same threads in each block,
# all of a block or none, and others in each
MASKS = {
    "threadIdx.x == 33": [{33}] * 3,
    "blockIdx.x == 1": [set(), {*range(40)}, set()],
    "(threadIdx.x + blockIdx.x) % 8 == 1": [
        {t for t in range(40) if (t + b) % 8 == 1} for b in range(3)
    ],
    "threadIdx.x < 4 && value[blockIdx.x] > threadIdx.x": [{0}, {0, 1, 2}, set()],
}
EACH = r"""
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(const unsigned* value, unsigned* out)
{
    unsigned t = threadIdx.x, b = blockIdx.x;
    if (CONDITION) { CALL }
}"""


@pytest.mark.parametrize("condition", MASKS)
def test_some_threads_of_three_blocks_call_the_library(condition, capsys):
    there = MASKS[condition]
    call = r"""
        volatile unsigned* p = (volatile unsigned*)malloc(4 + t);
        *p = 100 * b + t;
        out[40 * b + t] = *p + printf("%u %u %d\n", b, t, 5);
        free((void*)p);"""
    kernel = Kernel(EACH.replace("CONDITION", condition).replace("CALL", call), "k")
    for run in (partial(kernel, device="interpreter"), kernel.trace, kernel.sanitize):
        out = np.full((3, 40), 7, np.uint32)
        found = run((3,), (40,), (np.array([1, 3, 0], np.uint32), out))
        assert run != kernel.sanitize or not found
        want = [[100 * b + t + 3 if t in there[b] else 7 for t in range(40)] for b in range(3)]
        assert out.tolist() == want
        lines = [f"{b} {t} 5" for b in range(3) for t in sorted(there[b])]
        assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("condition", MASKS)
@pytest.mark.parametrize("call", ['__assertfail("no", "f.cu", 7, "k", 1);', "__trap();"])
def test_some_threads_of_three_blocks_stop_the_kernel(condition, call):
    there = MASKS[condition]
    b = next(b for b in range(3) if there[b])
    kernel = Kernel(EACH.replace("CONDITION", condition).replace("CALL", call), "k")
    for run in (partial(kernel, device="interpreter"), kernel.trace, kernel.sanitize):
        with pytest.raises(ptx.PTXError, match="assertion `no` failed|trapped") as caught:
            run((3,), (40,), (np.array([1, 3, 0], np.uint32), np.zeros(120, np.uint32)))
        assert caught.value.thread == f"block ({b}, 0, 0), thread ({min(there[b])}, 0, 0)"


def test_a_function_of_another_file_is_asked_for():
    source = "namespace n { __device__ int g(int); }\n__global__ void f(int* x) { *x = n::g(1); }"
    kernel = Kernel(source, "f")
    with pytest.raises(ptx.UnknownOpcode, match=r"n::g has no body here: include the file that"):
        kernel(1, 1, [np.zeros(1, np.int32)], device="interpreter")


def test_what_was_printed_before_an_error_is_shown():
    source = r"""
extern "C" __global__ void k(int* x) { printf("before\n"); x[7] = 1; }"""
    lines = []
    with pytest.raises(ptx.MemoryFault):
        run_cuda(source, "k", 1, 1, [np.zeros(1, np.int32)], write=lines.append)
    assert "".join(lines) == "before\n"


def test_an_assertion_names_file_line_function_expression_and_thread():
    source = r"""
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))
extern "C" __global__ void k(int n)
{
    assert(threadIdx.x < n);
}"""
    run_cuda(source, "k", 2, 8, [np.int32(8)])
    with pytest.raises(ptx.PTXError) as caught:
        run_cuda(source, "k", 2, 8, [np.int32(5)])
    for part in ("threadIdx.x < n", "test.cu:6", "in k", "thread (5, 0, 0)"):
        assert part in str(caught.value)


MALLOC = """
__device__ int* kept;
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x, *mine = (int*)malloc((t + 1) * 4), *more = new int[2];
    for (int i = 0; i <= t; ++i) mine[i] = t * i;
    more[1] = t;
    __syncthreads();
    out[t] = mine[t] + 1000 * more[1];
    delete[] more;
    if (t != 3) free(mine); else kept = mine;
}
extern "C" __global__ void again(int* out, int over) { out[0] = kept[2 + over]; }
extern "C" __global__ void twice(int* out)
{
    int* p = (int*)malloc(4);
    free(p);
    if (out[0]) free(p); else *p = 1;
}
extern "C" __global__ void much(int* out) { out[0] = malloc(1 << 30) == nullptr; }"""


def test_the_heap_gives_takes_and_checks():
    module = ptx.parse(cuda(MALLOC).ptx)
    keep, out = ptx.statics(module), np.zeros(40, np.int32)
    ptx.run(module.entries["k"], 1, 40, [out], statics=keep)
    assert out.tolist() == [t * t + 1000 * t for t in range(40)]
    ptx.run(module.entries["again"], 1, 1, [out, np.int32(0)], statics=keep)
    assert out[0] == 6
    with pytest.raises(ptx.MemoryFault, match="past the end of memory from malloc"):
        ptx.run(module.entries["again"], 1, 1, [out, np.int32(2)], statics=keep)
    for value in (0, 1):  # a store after free; freed twice
        with pytest.raises(ptx.MemoryFault):
            ptx.run(module.entries["twice"], 1, 1, [np.array([value], np.int32)])
    ptx.run(module.entries["much"], 1, 1, [out])
    assert out[0] == 1
