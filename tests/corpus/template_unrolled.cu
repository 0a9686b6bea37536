// Compile-time recursion, if constexpr and a template of ints
//
// family: C++
// kernel: horizontal<5, true>
// grid: 1
// block: 60
// args: int[300] below 100; out int[60]

template <int N> struct Sum { static __device__ int of(const int *p) { return p[0] + Sum<N - 1>::of(p + 1); } };
template <> struct Sum<0> { static __device__ int of(const int *) { return 0; } };

template <int N, bool Square>
__global__ void horizontal(const int *x, int *y)
{
    int s = Sum<N>::of(x + threadIdx.x * N);
    if constexpr (Square) s *= s;
    y[threadIdx.x] = s;
}
