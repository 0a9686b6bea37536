// Templates over functors and lambdas, a fold of parameters
//
// family: C++
// kernel: transform<float, Affine>
// grid: 2
// block: 64
// args: float[100] uniform; out float[100]; int 100; bytes 0000004000000040

struct Affine { float a, b; __device__ float operator()(float x) const { return a * x + b; } };
template <typename... T> __device__ auto sum(T... t) { return (t + ...); }

template <typename T, typename F>
__global__ void transform(const T* x, T* y, int n, F f)
{
    auto twice = [=](T v) { return f(f(v)); };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = sum(twice(x[i]), T(1), f(T(i)));
}
