// Scalars of all types as arguments
//
// family: launches
// kernel: scalars
// grid: 1
// block: 32
// args: char -5; uchar 200; short -30000; ushort 60000; int -7; uint 4000000000; long -5000000000; ulong 18446744073709551615; float 0.1; double 0.1; out double[10]

extern "C" __global__ void scalars(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f,
                                   long long g, unsigned long long h, float x, double y, double *r)
{
    double v[10] = {(double)a, (double)b, (double)c, (double)d, (double)e, (double)f, (double)g, (double)h, x, y};
    if (threadIdx.x < 10) r[threadIdx.x] = v[threadIdx.x];
}
