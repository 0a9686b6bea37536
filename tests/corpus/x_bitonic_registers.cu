// Bitonic sort of 128 keys of a warp, four in each lane's registers, descending
//
// family: sort
// kernel: sort128
// grid: 2
// block: 64
// args: uint[4,128] bits; out uint[4,128]
template <int N> __device__ __forceinline__ void exchange(unsigned &a, unsigned &b, bool down)
{
    unsigned lo = min(a, b), hi = max(a, b);
    a = down ? hi : lo;
    b = down ? lo : hi;
}
extern "C" __global__ void sort128(const unsigned *in, unsigned *out)
{
    const int lane = threadIdx.x & 31, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    unsigned v[4];
    uint4 q = reinterpret_cast<const uint4 *>(in)[warp * 32 + lane];
    v[0] = q.x; v[1] = q.y; v[2] = q.z; v[3] = q.w;
#pragma unroll
    for (int size = 2; size <= 128; size *= 2) {
#pragma unroll
        for (int d = size / 2; d > 0; d /= 2) {
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                int i = lane * 4 + r;
                bool down = (i & size) == 0;
                if (d < 4) {
                    if (!(r & d)) exchange<0>(v[r], v[r | d], down);
                } else {
                    unsigned o = __shfl_xor_sync(0xffffffffu, v[r], d / 4);
                    bool first = (i & d) == 0;
                    v[r] = first == down ? max(v[r], o) : min(v[r], o);
                }
            }
        }
    }
    reinterpret_cast<uint4 *>(out)[warp * 32 + lane] = make_uint4(v[0], v[1], v[2], v[3]);
}
