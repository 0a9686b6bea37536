// A whole program: c = a + b on the GPU. To build and run it:
//   nvcc -o vector_add vector_add.cu && ./vector_add
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

// region: kernel
__global__ void add(int n, const float* a, const float* b, float* c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
// endregion

// region: host
// Every call to CUDA returns an error code, which is easily forgotten.
void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

int main()
{
    const int n = 1000003;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; ++i) {
        a[i] = i % 1000;
        b[i] = 0.5f;
    }

    float *d_a, *d_b, *d_c;  // addresses in the memory of the GPU
    check(cudaMalloc(&d_a, bytes));
    check(cudaMalloc(&d_b, bytes));
    check(cudaMalloc(&d_c, bytes));
    check(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    check(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));

    int block = 256;                      // threads of a block
    int grid = (n + block - 1) / block;   // blocks: n / block, rounded up
    add<<<grid, block>>>(n, d_a, d_b, d_c);
    check(cudaGetLastError());            // was the launch possible?
    check(cudaDeviceSynchronize());       // wait; did it run without a fault?

    check(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
    check(cudaFree(d_a));
    check(cudaFree(d_b));
    check(cudaFree(d_c));

    for (int i = 0; i < n; ++i)
        if (c[i] != a[i] + b[i]) {
            std::printf("c[%d] is %g, not %g\n", i, c[i], a[i] + b[i]);
            return 1;
        }
    std::printf("%d sums are right\n", n);
}
// endregion
