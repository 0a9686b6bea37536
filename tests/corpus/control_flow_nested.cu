// Nested loops with break, continue, goto and early ends, divergent
//
// family: control flow
// kernel: wander
// grid: 2
// block: 64
// args: int[128] below 1000; out int[128]; out int[128]

extern "C" __global__ void wander(const int* x, int* steps, int* found)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = x[i] + 1, s = 0, f = -1;
    while (n != 1) {                            // Collatz
        n = n & 1 ? 3 * n + 1 : n / 2;
        if (++s > 60) break;
    }
    for (int a = 1; a < 12; a++) {
        if (a % 4 == 0) continue;
        for (int b = a; b < 12; b++) {
            if (a * b == x[i] % 100) { f = a * 16 + b; goto done; }
            if (a * b > x[i] % 100) break;
        }
    }
done:
    steps[i] = s; found[i] = f;
}
