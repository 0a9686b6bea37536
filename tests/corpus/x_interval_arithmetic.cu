// Intervals with directed rounding, a polynomial evaluated
//
// family: arithmetic
// kernel: poly
// grid: 1
// block: 64
// args: float[60,2] uniform -3 3; out float[60,2]; out double[60,2]; int 60
template <class T> struct rounded;
template <> struct rounded<float> {
    static __device__ float mul_down(float a, float b) { return __fmul_rd(a, b); }
    static __device__ float mul_up(float a, float b) { return __fmul_ru(a, b); }
    static __device__ float add_down(float a, float b) { return __fadd_rd(a, b); }
    static __device__ float add_up(float a, float b) { return __fadd_ru(a, b); }
    static __device__ float div_down(float a, float b) { return __fdiv_rd(a, b); }
    static __device__ float sqrt_up(float a) { return __fsqrt_ru(a); }
};
template <> struct rounded<double> {
    static __device__ double mul_down(double a, double b) { return __dmul_rd(a, b); }
    static __device__ double mul_up(double a, double b) { return __dmul_ru(a, b); }
    static __device__ double add_down(double a, double b) { return __dadd_rd(a, b); }
    static __device__ double add_up(double a, double b) { return __dadd_ru(a, b); }
    static __device__ double div_down(double a, double b) { return __ddiv_rd(a, b); }
    static __device__ double sqrt_up(double a) { return __dsqrt_ru(a); }
};
template <class T> struct interval {
    T lo, hi;
    typedef rounded<T> R;
    __device__ interval operator+(interval o) const { return {R::add_down(lo, o.lo), R::add_up(hi, o.hi)}; }
    __device__ interval operator*(interval o) const {
        T l = min(min(R::mul_down(lo, o.lo), R::mul_down(lo, o.hi)), min(R::mul_down(hi, o.lo), R::mul_down(hi, o.hi)));
        T h = max(max(R::mul_up(lo, o.lo), R::mul_up(lo, o.hi)), max(R::mul_up(hi, o.lo), R::mul_up(hi, o.hi)));
        return {l, h};
    }
};
template <class T> __device__ void eval(float a, float b, T *out)
{
    interval<T> x{(T)fminf(a, b), (T)fmaxf(a, b)}, r{1, 1};
    for (int k = 0; k < 4; ++k) r = r * x + interval<T>{(T)-0.3, (T)0.1};
    out[0] = rounded<T>::div_down(r.lo, (T)3);
    out[1] = rounded<T>::sqrt_up(r.hi < 0 ? -r.hi : r.hi);
}
extern "C" __global__ void poly(const float2 *x, float *f, double *d, int n)
{
    int i = threadIdx.x;
    if (i < n) { eval(x[i].x, x[i].y, f + 2 * i); eval(x[i].x, x[i].y, d + 2 * i); }
}
