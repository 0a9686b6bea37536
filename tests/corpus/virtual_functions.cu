// Virtual functions of objects made on the device
//
// family: calls
// kernel: shapes
// grid: 1
// block: 64
// args: float[64] uniform 0 10; out float[64]

struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float x) : s(x) {} __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float x) : r(x) {} __device__ float area() const override { return 3.14159274f * r * r; } };
__device__ __noinline__ float twice(const Shape *p) { return 2.0f * p->area(); }

extern "C" __global__ void shapes(const float *x, float *y)
{
    int i = threadIdx.x;
    Square s(x[i]); Circle c(x[i]);
    const Shape *p = i % 3 ? (const Shape*)&s : (const Shape*)&c;
    y[i] = twice(p);
}
