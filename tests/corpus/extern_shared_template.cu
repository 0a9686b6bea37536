// A template that takes its dynamic shared memory as its own type
//
// family: shared memory
// kernel: rotateLeft<double>
// grid: 2
// block: 50
// dynamic shared: 400
// args: double[100] uniform; out double[100]; int 7

template <typename T> struct SharedMemory {
    __device__ operator T*() { extern __shared__ int raw[]; return (T*)raw; }
};
template <typename T> __global__ void rotateLeft(const T *x, T *y, int by)
{
    T *s = SharedMemory<T>();
    int t = threadIdx.x, base = blockIdx.x * blockDim.x;
    s[t] = x[base + t];
    __syncthreads();
    y[base + t] = s[(t + by) % blockDim.x];
}
