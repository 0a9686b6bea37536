// Strings in device memory: a table of names, lengths and Caesar's cipher
//
// family: device variables
// kernel: names
// grid: 1
// block: 7
// args: out char[7,12]; out int[7]

__device__ const char *days[7] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
__constant__ char key[] = "abc";
extern "C" __global__ void names(char *out, int *length)
{
    const char *s = days[threadIdx.x];
    int n = 0;
    for (; s[n]; n++) out[threadIdx.x * 12 + n] = s[n] + (key[n % 3] - 'a');
    length[threadIdx.x] = n;
}
