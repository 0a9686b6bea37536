// Linear congruential generators: rand() of C, drand48, MINSTD by 64-bit modulo
//
// family: random numbers
// kernel: lcg
// grid: 1
// block: 45
// args: out int[45]; out double[45]; out uint[45]

extern "C" __global__ void lcg(int *a, double *b, unsigned *c)
{
    unsigned i = threadIdx.x, ansi = i, minstd = i + 1;
    unsigned long long d48 = ((unsigned long long)i << 16) + 0x330E;
    for (int k = 0; k < 8; k++) {
        ansi = ansi * 1103515245u + 12345u;
        d48 = (d48 * 0x5DEECE66DULL + 0xB) & ((1ULL << 48) - 1);
        minstd = (unsigned)((unsigned long long)minstd * 48271 % 2147483647);
    }
    a[i] = (int)(ansi / 65536) % 32768;
    b[i] = d48 / 281474976710656.0;
    c[i] = minstd;
}
