// Bit reversal, Gray codes, Morton and Hilbert indices there and back
//
// family: bits
// kernel: curves
// grid: 3
// block: 100
// args: out uint[256]; out uint[256]; out ushort[256,2]; out uint[256]; int 256
__device__ unsigned spread(unsigned x)
{
    x = (x | x << 8) & 0x00ff00ff; x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333; return (x | x << 1) & 0x55555555;
}
__device__ void rot(int n, int *x, int *y, int rx, int ry)
{
    if (ry == 0) {
        if (rx == 1) { *x = n - 1 - *x; *y = n - 1 - *y; }
        int t = *x; *x = *y; *y = t;
    }
}
extern "C" __global__ void curves(unsigned *rev, unsigned *gray, ushort2 *hil, unsigned *mort, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rev[i] = __brev(i) >> 24;
    unsigned g = i ^ (i >> 1), back = g;
    for (unsigned s = 16; s; s >>= 1) back ^= back >> s;
    gray[i] = g | back << 16;
    int x = 0, y = 0, t = i;
    for (int s = 1; s < 16; s *= 2) {
        int rx = 1 & (t / 2), ry = 1 & (t ^ rx);
        rot(s, &x, &y, rx, ry);
        x += s * rx;
        y += s * ry;
        t /= 4;
    }
    hil[i] = make_ushort2(x, y);
    mort[i] = spread(x) | spread(y) << 1;
}
