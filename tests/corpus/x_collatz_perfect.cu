// Collatz lengths, perfect numbers, digits reversed and palindromes
//
// family: integer
// kernel: curios
// grid: 4
// block: 128
// args: int 500; out int[500]; out uchar[500]; out int[500]; int[3] zeros
extern "C" __global__ void curios(int n, int *collatz, bool *perfect, int *rev, int *counts)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (!(i < n)) return;
    unsigned long long c = i + 1;
    int steps = 0;
    while (c != 1) {
        c = c % 2 == 0 ? c / 2 : 3 * c + 1;
        steps++;
    }
    collatz[i] = steps;
    int sum = 0;
    for (int d = 1; d * d <= i; ++d) {
        if (i % d) continue;
        sum += d;
        if (d > 1 && d * d != i) sum += i / d;
    }
    bool p = i > 1 && sum == i;
    perfect[i] = p;
    int r = 0, k = i;
    do { r = r * 10 + k % 10; k /= 10; } while (k);
    rev[i] = r;
    if (p) atomicAdd(counts, 1);
    if (r == i) atomicAdd(counts + 1, 1);
    atomicMax(counts + 2, steps);
}
