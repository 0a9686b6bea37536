// Recursive Fibonacci numbers, factorial and Ackermann's function
//
// family: calls
// kernel: recursive
// grid: 1
// block: 32
// args: out int[32]; out long[32]; out int[32]

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ long long factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursive(int *f, long long *g, int *a)
{
    int t = threadIdx.x;
    f[t] = fib(t % 10); g[t] = factorial(t % 20); a[t] = ackermann(t % 3, t / 8);
}
