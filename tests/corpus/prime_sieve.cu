// Sieve of Eratosthenes in shared memory and a count by trial division
//
// family: numbers
// kernel: sieve
// grid: 2
// block: 128
// args: out uchar[2,256]; int[1] zeros

extern "C" __global__ void sieve(unsigned char *prime, int *count)
{
    __shared__ unsigned char composite[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    composite[t] = composite[t + 128] = 0;
    __syncthreads();
    if (t >= 2 && t < 23)
        for (int m = max(t * t, (base + t - 1) / t * t); m < base + 256; m += t) composite[m - base] = 1;
    __syncthreads();
    for (int k = t; k < 256; k += 128) {
        int n = base + k, p = n > 1 && !composite[k];
        prime[n] = p;
        if (p) atomicAdd(count, 1);
    }
}
