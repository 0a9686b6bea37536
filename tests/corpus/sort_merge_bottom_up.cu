// Bottom-up merge sort: each thread merges two runs, between two arrays
//
// family: sort
// kernel: mergesort
// grid: 1
// block: 64
// args: float[128] uniform; out float[128]

__device__ void merge(const float* from, float* to, int start, int mid, int end)
{
    int i = start, j = mid;
    for (int k = start; k < end; k++) {
        if (i < mid && (j >= end || from[i] <= from[j])) to[k] = from[i++];
        else to[k] = from[j++];
    }
}

extern "C" __global__ void mergesort(float* a, float* b)
{
    const int n = 128;
    float *A = a, *B = b;
    for (int width = 1; width < n; width *= 2) {
        int start = 2 * width * threadIdx.x;
        if (start < n) merge(A, B, start, min(start + width, n), min(start + 2 * width, n));
        __syncthreads();
        float* t = A; A = B; B = t;
    }
}
