// printf of numbers, strings and percent signs
//
// family: output
// kernel: speak
// grid: 1
// block: 4
// output: printf
// args: float[4] values 1.5 -2.25 0 1000000; long 1234567890123

extern "C" __global__ void speak(const float *x, long long big)
{
    if (threadIdx.x == 2) {
        printf("hello from thread %d of %s, %5.2f%% done\n", threadIdx.x, "block 0", 12.345);
        printf("%08x|%-6d|%+d|%c|%e|%g|%lld|%u\n", 48879, 42, 7, 'z', x[3], x[1], big, 4000000000u);
        for (int i = 0; i < 4; i++) printf("x[%d] = %f\n", i, x[i]);
    }
}
