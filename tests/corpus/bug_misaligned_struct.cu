// An int read from packed bytes
//
// family: planted
// kernel: unpack
// grid: 1
// block: 32
// planted: misaligned
// args: uchar[160] bits; out int[32]

extern "C" __global__ void unpack(const unsigned char *bytes, int *out)
{
    const unsigned char *record = bytes + 5 * threadIdx.x;
    out[threadIdx.x] = *(const int*)(record + 1); // fault
}
