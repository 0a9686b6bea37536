// Debugging by printf of many formats, and asserts that hold
//
// family: output
// kernel: debug
// grid: 1
// block: 8
// args: float[8] values 1.5 -2.25 0 1e10 1e-10 3.14159 100 -0.5; int 8
// output: printf
#include <assert.h>
#include <stdio.h>
extern "C" __global__ void debug(const float *x, int n)
{
    int i = threadIdx.x;
    assert(i < n && "one thread for each");
    if (i == 0) {
        printf("begin: n=%d%% block=(%u,%u,%u)\n", n, blockDim.x, blockDim.y, blockDim.z);
        for (int k = 0; k < n; k++)
            printf("%2d|%8.3f|%-10.2e|%g|%+d|%05d|%x|%X|%#o|%c|%s\n", k, x[k], x[k], x[k], k - 3, k * 17, k * 4099, k * 48879, k + 8, 'a' + k, k & 1 ? "odd" : "even");
        printf("%lld %llu %ld %hd %5.1f|%-6d|%6s|\n", -1234567890123ll, 18446744073709551615ull, -5l, (short)-7, 2.55, 42, "end");
    }
}
