// Newton's method for z^3 = 1, the root reached by each start
//
// family: fractal
// kernel: newton<float>
// grid: 2
// block: 96
// args: out char[12,15]; out int[12,15]; int 15; int 12
template <class T> struct cplx {
    T re, im;
    friend __device__ cplx operator*(cplx a, cplx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
    friend __device__ cplx operator-(cplx a, cplx b) { return {a.re - b.re, a.im - b.im}; }
    friend __device__ cplx operator/(cplx a, cplx b) {
        T d = b.re * b.re + b.im * b.im;
        return {(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
    }
};
template <class T> __global__ void newton(signed char *root, int *steps, int w, int h)
{
    const cplx<T> roots[3] = {{1, 0}, {T(-0.5), T(0.8660254)}, {T(-0.5), T(-0.8660254)}};
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < w * h; i += blockDim.x * gridDim.x) {
        cplx<T> z{T(i % w) * 4 / w - T(1.97), T(i / w) * 4 / h - T(1.93)};
        int k = 0, at = -1;
        while (at < 0 && k++ < 30) {
            z = z - (z * z * z - cplx<T>{1, 0}) / (cplx<T>{3, 0} * z * z);
            for (int r = 0; r < 3 && at < 0; ++r) {
                cplx<T> d = z - roots[r];
                if (d.re * d.re + d.im * d.im < T(1e-6)) at = r;
            }
        }
        root[i] = at;
        steps[i] = k;
    }
}
