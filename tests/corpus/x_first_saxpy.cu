// SAXPY, first homework
//
// family: elementwise
// kernel: saxpy
// grid: 4
// block: 256
// args: float[1000] uniform; float[1000] uniform; out float[1000]; float 2.5
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define N 1000
#define BLOCK 256

// CUDA kernel. Each thread takes care of one element of c
extern "C" __global__ void saxpy(float *a, float *b, float *c, float alpha)
{
    // Get our global thread ID
    int id = blockIdx.x*blockDim.x+threadIdx.x;

    // Make sure we do not go out of bounds
    if (id < N)
        c[id] = alpha * a[id] + b[id];
}
