// Julia set in double with a struct of complex numbers
//
// family: fractal
// kernel: julia
// grid: 2 3
// block: 20 8
// args: out uchar[24,40]; double -0.8; double 0.156

struct cuComplex {
    double r, i;
    __device__ cuComplex(double a, double b) : r(a), i(b) {}
    __device__ double magnitude2() { return r * r + i * i; }
    __device__ cuComplex operator*(const cuComplex& a) { return cuComplex(r * a.r - i * a.i, i * a.r + r * a.i); }
    __device__ cuComplex operator+(const cuComplex& a) { return cuComplex(r + a.r, i + a.i); }
};
extern "C" __global__ void julia(unsigned char *ptr, double cr, double ci)
{
    int x = blockIdx.x * 20 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, k = 0;
    cuComplex c(cr, ci), a(1.5 * (20 - x) / 20, 1.5 * (12 - y) / 12);
    for (; k < 30; k++) { a = a * a + c; if (a.magnitude2() > 1000) break; }
    ptr[x + y * 40] = k;
}
