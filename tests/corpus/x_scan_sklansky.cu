// Maximum scan by Sklansky in 64-bit integers
//
// family: scan
// kernel: sklansky<long long, Max>
// grid: 1
// block: 128
// args: long[250] bits; out long[250]; int 250
struct Max { template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };

template <class T, class Op>
__global__ void sklansky(const T* in, T* out, int n)
{
    __shared__ T buf[256];
    Op op;
    const T lowest = (T)1 << 63;
    for (int j = threadIdx.x; j < 256; j += blockDim.x) buf[j] = j < n ? in[j] : lowest;
    __syncthreads();
    for (int half = 1; half < 256; half <<= 1) {
        int t = threadIdx.x;
        int right = ((t / half) * 2 + 1) * half + t % half;
        int left = ((t / half) * 2 + 1) * half - 1;
        buf[right] = op(buf[left], buf[right]);
        __syncthreads();
    }
    for (int j = threadIdx.x; j < n; j += blockDim.x) out[j] = buf[j];
}
