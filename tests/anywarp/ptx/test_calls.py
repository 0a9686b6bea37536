"""Device functions that are called: parameters, results, recursion, addresses, what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from harness import HEADER, cuda, entry, launch, number_occurs, run_cuda, vectors

from anywarp import Kernel, ptx
from anywarp.ptx.calls import functions
from anywarp.ptx.text.names import demangle


def test_threads_of_a_warp_in_different_functions_with_structs_and_pointers():
    source = """
struct Big { double a; int b[3]; char c; };
__device__ __noinline__ Big make(Big x, int k) { x.a += k; x.b[1] = k; x.c = 'q'; return x; }
__device__ __noinline__ void swap(int* x, int* y) { int t = *x; *x = *y; *y = t; }
extern "C" __global__ void k(double* out, int n)
{
    int t = threadIdx.x + blockIdx.x * blockDim.x, pair[2] = {t, 2 * t + n};
    Big big = {t * 0.5, {1, 2, 3}, 'a'};
    if (t % 3 == 0) big = make(big, t + n);
    else if (t % 3 == 1) swap(pair, pair + 1);
    out[t] = big.a + 1000 * big.b[1] + 1e6 * big.c + 1e9 * pair[0] + 1e12 * pair[1] + big.b[2];
}"""
    out = np.zeros(3 * 48)
    run_cuda(source, "k", 3, 48, [out, np.int32(5)])
    expected = []
    for t in range(out.size):
        a, b, c, p = t * 0.5, 2, 97, [t, 2 * t + 5]
        if t % 3 == 0:
            a, b, c = a + t + 5, t + 5, 113
        elif t % 3 == 1:
            p.reverse()
        expected.append(a + 1000 * b + 1e6 * c + 1e9 * p[0] + 1e12 * p[1] + 3)
    assert out.tolist() == expected


@pytest.mark.parametrize("condition", ["t == 5", "b == 1", "(t + b) % 4 == 0"])
@pytest.mark.parametrize("function", ["far", "deep"])
def test_some_threads_of_three_blocks_call(condition, function):
    source = f"""
__device__ __noinline__ int far(int n, int* cell) {{ cell[n % 2] = n; return 3 * n; }}
__device__ __noinline__ int deep(int n, int* cell)
{{
    int mine[2] = {{n, n + 1}};
    cell[n % 2] = n;
    return n < 1 ? n : deep(n - 1, mine) + mine[1];
}}
extern "C" __global__ void k(int* out)
{{
    int t = threadIdx.x, b = blockIdx.x, cell[2] = {{100, 200}}, got = 0;
    if ({condition}) got = {function}(t + b, cell);
    out[40 * b + t] = got + 1000 * cell[0] + 1000000 * cell[1];
}}"""

    def deep(n):
        # deep(n - 1) writes mine[(n - 1) % 2] = n - 1
        return n if n < 1 else deep(n - 1) + (n - 1 if n % 2 == 0 else n + 1)

    out, want = np.zeros((3, 40), np.int32), np.zeros((3, 40), np.int32)
    run_cuda(source, "k", 3, 40, [out])
    for b, t in np.ndindex(3, 40):
        cell, got = [100, 200], 0
        if {"t == 5": t == 5, "b == 1": b == 1}.get(condition, (t + b) % 4 == 0):
            cell[(t + b) % 2] = t + b
            got = 3 * (t + b) if function == "far" else deep(t + b)
        want[b, t] = got + 1000 * cell[0] + 1000000 * cell[1]
    assert out.tolist() == want.tolist()


def test_recursion_of_different_depths_with_arrays_on_the_stack():
    source = """
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ bool even(int n);
__device__ __noinline__ bool odd(int n) { return n == 0 ? false : even(n - 1); }
__device__ __noinline__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ int sum(const int* above, int n)
{
    int mine[4];
    for (int i = 0; i < 4; ++i) mine[i] = above[i] + n * i;
    return n == 0 ? mine[n % 4] + mine[3] : sum(mine, n - 1) + mine[n % 4];
}
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x, start[4] = {t, 1, 2, 3};
    out[t] = fib(t % 11) + 1000 * even(t) + 10000 * sum(start, t % 7);
}"""

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def total(above, n):
        mine = [a + n * i for i, a in enumerate(above)]
        return mine[n % 4] + (mine[3] if n == 0 else total(mine, n - 1))

    out = np.zeros(70, np.int32)
    run_cuda(source, "k", 1, 70, [out])
    assert out.tolist() == [
        fib(t % 11) + 1000 * (t % 2 == 0) + 10000 * total([t, 1, 2, 3], t % 7) for t in range(70)
    ]


def test_only_functions_that_can_come_back_to_themselves_are_recursive():
    source = """
__device__ __noinline__ int leaf(int n) { return n * n + 1; }
__device__ __noinline__ int once(int n) { return leaf(n) + leaf(n + 1); }
__device__ __noinline__ int even(int n);
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1) + leaf(n); }
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1) + 1; }
extern "C" __global__ void k(int* out) { out[0] = once(out[1]) + even(out[2]); }"""
    parsed = ptx.parse(cuda(source).ptx).entries["k"]
    again = functions.recursive(functions.linked(parsed))
    assert {demangle(name) for name in again} == {"even", "odd"}


def test_endless_recursion_is_a_stack_overflow_of_the_function():

    source = """
__device__ __noinline__ int down(int n) { return n == 0 ? 1 : 2 * down(n + 1) + n; }
extern "C" __global__ void k(int* out) { out[threadIdx.x] = down(threadIdx.x); }"""
    with pytest.raises(ptx.PTXError, match=r"stack overflow: down .*(\n.*)*test\.cu:2"):
        run_cuda(source, "k", 1, 2, [np.zeros(2, np.int32)])


def test_function_pointers_virtual_functions_and_pointers_in_variables():
    source = """
struct Shape { __device__ virtual float area(float x) const = 0; };
struct Square : Shape { __device__ float area(float x) const override { return x * x; } };
struct Half : Shape { __device__ float area(float x) const override { return x * .5f; } };
__device__ __noinline__ float plus(float x) { return x + 1; }
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ float (*table[2])(float) = {plus, twice};
__device__ int cells[3] = {7, 8, 9};
__device__ int* middle = &cells[1];
extern "C" __global__ void k(float* out)
{
    int t = threadIdx.x;
    Square square; Half half;
    const Shape* shape = t & 2 ? (const Shape*)&square : (const Shape*)&half;
    out[t] = shape->area(table[t & 1](out[t])) + middle[t % 2];
}"""
    out = np.arange(64, dtype=np.float32)
    run_cuda(source, "k", 1, 64, [out])
    for t, got in enumerate(out.tolist()):
        x = t * 2.0 if t & 1 else t + 1.0
        assert got == (x * x if t & 2 else x * 0.5) + (9 if t % 2 else 8)


def test_a_call_of_no_function_is_an_error():

    source = """
extern "C" __global__ void k(float* out, float (*f)(float)) { out[0] = f(out[0]); }"""
    with pytest.raises(ptx.PTXError, match="0x1234.*no function"):
        run_cuda(source, "k", 1, 1, [np.zeros(1, np.float32), np.uint64(0x1234)])


def test_bytes_of_addresses_initialise_variables():
    module = """
.global .align 4 .u32 cell[4] = {1, 2, 3, 4};
.global .align 8 .u8 parts[8] = {0xFF(cell), 0xFF00(cell), 0xFF0000(cell), 0, 0, 0, 0, 0};
.global .align 8 .u64 there = generic(cell)+8;
.global .align 1 .b8 text[] = {97, 98, 99, 0};
"""
    template = """
    .reg .b64 %x, %y;
    ld.global.u64 %x, [parts];
    mov.u64 %y, cell;
    sub.u64 %x, %x, %y;
    ld.global.u64 %y, [there];
    ld.u32 %d, [%y];
    cvt.u32.u64 %i, %x;
    mad.lo.u32 %d, %i, 1000, %d;
    .reg .b32 %z;
    ld.global.u8 %z, [text+2];
    mad.lo.u32 %d, %z, 10, %d;
    mov.u32 %i, %tid.x;
    """
    assert vectors(template, "u32", "u32", [0, 1], module=module) == [993, 993]


def test_what_cannot_be_read_does_not_block_the_rest():
    text = (
        HEADER
        + ".global .texref picture;\n.global .align 8 .surfref face;\n"
        + ".visible .entry broken(.param .u64 p) {\n .reg .b32 %a;\n add.u32 ] %a;\n}\n"
        + ".func odd() {\n oddity.u32 ] ;\n}\n"
        + entry("st.global.u32 [%p], 5;".join(
            [".reg .b64 %p; ld.param.u64 %p, [out];", ""]), "u64 out").removeprefix(HEADER)
        + ".visible .entry sampled() {\n .reg .f32 %f<4>;\n"
        + " tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [picture, {%f0}];\n ret;\n}\n"
        + ".visible .entry addressed() {\n .reg .b64 %r;\n mov.u64 %r, picture;\n ret;\n}\n"
        + ".visible .entry caller() {\n call odd;\n ret;\n}\n"
        + ".visible .entry strange() {\n .reg .b32 %a;\n mystery.u32 %a, 8;\n ret;\n}\n"
    )  # fmt: skip
    module = ptx.parse(text)
    out = np.zeros(1, np.uint32)
    ptx.run(module.entries["k"], 1, 1, [out])
    assert out.tolist() == [5]
    assert [p.name for p in module.entries["broken"].params] == ["p"]
    line = next(n for n, s in enumerate(text.splitlines(), 1) if "] %a" in s)
    for name, args, what in (
        ("broken", [out], str(line)),
        ("caller", [], "odd could not be read: PTX line"),
        ("sampled", [], "tex"),
        ("addressed", [], "texref"),
        ("strange", [], r"mystery.u32' \(mystery\)"),
    ):
        with pytest.raises(ptx.PTXError, match=what) as caught:
            ptx.run(module.entries[name], 1, 1, args)
        assert "GPU" in str(caught.value)


def test_a_function_without_a_body_is_named_with_its_line():

    source = """
namespace far { __device__ int away(int x); }
extern "C" __global__ void k(int* out)
{
    out[0] = far::away(3);
}"""
    built = cuda(source, options=("-rdc=true",))
    with pytest.raises(ptx.UnknownOpcode, match=r"far::away(.*\n)*.*test\.cu:5") as caught:
        launch(built.ptx, "k", 1, 1, [np.zeros(1, np.int32)])
    assert 'device="gpu"' in str(caught.value)


def test_an_unknown_instruction_in_a_function_is_named_with_the_function():

    text = HEADER + ".func helper() {\n\n wibble.u32;\n}\n"
    text += entry("call helper;").removeprefix(HEADER)
    with pytest.raises(ptx.UnknownOpcode, match="helper") as caught:
        launch(text, "k", 1, 1, [])
    assert number_occurs(6, str(caught.value))


def test_only_shared_variables_that_a_kernel_reaches_take_its_memory():

    module = """
.shared .align 4 .b8 mine[64];
.shared .align 4 .b8 others[40000];
.func touch() { st.shared.u32 [mine], 3; ret; }
"""
    text = entry("call touch;", module=module)
    shared = [v for v in ptx.parse(text).entries["k"].variables if v.space == "shared"]
    assert [v.name for v in shared] == ["mine"]
    launch(text, "k", 2, 2, [])


@pytest.mark.parametrize("again", ["", "@%p call.uni (back), second, (given);"])
def test_a_parameter_whose_address_is_taken_is_local_memory(again):
    """As clang reads structs that are passed by value, of functions that call themselves too. It
    is there, other than a local variable that nobody has written."""
    function = f"""
.func (.param .b32 back) second(.param .align 8 .b8 given[16])
{{
.reg .b64 %a; .reg .b32 %x, %y; .reg .pred %p;
.local .align 8 .b8 own[16];
setp.ne.u32 %p, 1, 1;
{again}
mov.b64 %a, given;
ld.local.b32 %x, [%a+4];
cvta.local.u64 %a, %a;
ld.b32 %y, [%a+12];
add.u32 %x, %x, %y;
st.param.b32 [back], %x;
ret;
}}"""
    body = """
.reg .b64 %o; .reg .b32 %t, %x;
ld.param.u64 %o, [out];
mov.u32 %t, %tid.x;
{ .param .align 8 .b8 passed[16]; .param .b32 got;
st.param.b32 [passed+4], %t;
st.param.b32 [passed+12], 100;
call.uni (got), second, (passed);
ld.param.b32 %x, [got]; }
mad.wide.u32 %o, %t, 4, %o;
st.global.b32 [%o], %x;"""
    kernel, out = Kernel.from_ptx(entry(body, "u64 out", module=function), "k"), np.zeros(40, "i4")
    kernel(1, 40, [out])
    assert out.tolist() == [*range(100, 140)]
    assert kernel.sanitize(1, 40, [out]) == ()


def test_exit_in_a_function_ends_the_thread():
    """ret goes back to where it was called from."""
    function = """
.func odd_leave(.param .b32 given)
{
.reg .b32 %x; .reg .pred %p;
ld.param.b32 %x, [given];
and.b32 %x, %x, 1;
setp.ne.u32 %p, %x, 0;
@%p exit;
ret;
}"""
    body = """
.reg .b64 %o; .reg .b32 %t;
ld.param.u64 %o, [out];
mov.u32 %t, %tid.x;
{ .param .b32 passed;
st.param.b32 [passed], %t;
call.uni odd_leave, (passed); }
mad.wide.u32 %o, %t, 4, %o;
st.global.b32 [%o], 7;"""
    out = np.zeros(40, "i4")
    launch(entry(body, "u64 out", module=function), "k", 1, 40, [out])
    assert out.tolist() == [7, 0] * 20
