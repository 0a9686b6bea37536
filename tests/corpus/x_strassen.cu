// Strassen's seven products of 2x2 matrices in 64-bit integers, against the eight
//
// family: linear algebra
// kernel: strassen
// grid: 1
// block: 70
// args: int[70,4] bits; int[70,4] bits; out long[70,4]; out int[70]
struct M2 {
    long long a, b, c, d;
    __device__ M2 operator*(const M2 &o) const {
        long long m1 = (a + d) * (o.a + o.d), m2 = (c + d) * o.a, m3 = a * (o.b - o.d),
                  m4 = d * (o.c - o.a), m5 = (a + b) * o.d, m6 = (c - a) * (o.a + o.b),
                  m7 = (b - d) * (o.c + o.d);
        return M2{m1 + m4 - m5 + m7, m3 + m5, m2 + m4, m1 - m2 + m3 + m6};
    }
    __device__ bool operator==(const M2 &o) const { return a == o.a && b == o.b && c == o.c && d == o.d; }
    __device__ static M2 plain(const M2 &x, const M2 &y) {
        return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
};
extern "C" __global__ void strassen(const int4 *x, const int4 *y, M2 *out, int *same)
{
    int i = threadIdx.x;
    int4 p = x[i], q = y[i];
    M2 a{p.x >> 2, p.y >> 2, p.z >> 2, p.w >> 2}, b{q.x >> 2, q.y >> 2, q.z >> 2, q.w >> 2};
    out[i] = a * b;
    same[i] = out[i] == M2::plain(a, b);
}
