// Shared loads and stores with strides 1, 2, 3, 4, 8, 16, 17, 32, 33
//
// family: banks
// kernel: strides
// grid: 1
// block: 32
// args: out float[9,32]

template <int S> __device__ void once(float *s, float *out)
{
    int t = threadIdx.x;
    s[t * S % 1056] = t;
    __syncwarp();
    out[t] = s[(31 - t) * S % 1056];
    __syncwarp();
}
extern "C" __global__ void strides(float *out)
{
    __shared__ float s[1056];
    once<1>(s, out); once<2>(s, out + 32); once<3>(s, out + 64); once<4>(s, out + 96); once<8>(s, out + 128);
    once<16>(s, out + 160); once<17>(s, out + 192); once<32>(s, out + 224); once<33>(s, out + 256);
}
