// Grey of RGB bytes by integer weights (the compiler makes dp4a of it)
//
// family: integer
// kernel: grey
// grid: 3
// block: 96
// args: uchar[288,3] bits; out uchar[288]

struct RGB { unsigned char r, g, b; };
extern "C" __global__ void grey(const RGB *in, unsigned char *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    RGB p = in[i];
    out[i] = (77 * p.r + 150 * p.g + 29 * p.b) >> 8;
}
