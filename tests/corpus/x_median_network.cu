// 3x3 median by a network of exchanges, bytes
//
// family: image
// kernel: median3
// grid: 3 2
// block: 16 16
// args: uchar[31,40] bits; out uchar[31,40]; int 40; int 31
typedef unsigned char u8;
#define SWAP(a, b) { u8 lo = min(p[a], p[b]); p[b] = max(p[a], p[b]); p[a] = lo; }
extern "C" __global__ void median3(const u8 *in, u8 *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h) return;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[y * w + x] = in[y * w + x]; return; }
    u8 p[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) p[k] = in[(y - 1 + k / 3) * w + x - 1 + k % 3];
    SWAP(1, 2) SWAP(4, 5) SWAP(7, 8) SWAP(0, 1) SWAP(3, 4) SWAP(6, 7)
    SWAP(1, 2) SWAP(4, 5) SWAP(7, 8) SWAP(0, 3) SWAP(5, 8) SWAP(4, 7)
    SWAP(3, 6) SWAP(1, 4) SWAP(2, 5) SWAP(4, 7) SWAP(4, 2) SWAP(6, 4)
    SWAP(4, 2)
    out[y * w + x] = p[4];
}
