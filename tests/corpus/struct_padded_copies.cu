// Arrays of padded structs copied whole, through shared memory too
//
// family: C++
// kernel: shuffleRecords
// grid: 2
// block: 40
// args: double[80] uniform; uchar[80] bits; out ulong[80,3]; out double[80]

struct Record { unsigned char tag; double value; short index; };
extern "C" __global__ void shuffleRecords(const double *v, const unsigned char *tag, Record *all, double *check)
{
    __shared__ Record s[40];
    int t = threadIdx.x, i = blockIdx.x * 40 + t;
    Record r = {};
    r.tag = tag[i]; r.value = v[i]; r.index = (short)(i * 3);
    s[t] = r;
    __syncthreads();
    Record other = s[39 - t];
    memset(&all[i], 0, sizeof(Record));
    all[i].tag = other.tag; all[i].value = other.value; all[i].index = other.index;
    check[i] = other.value * other.tag + s[t].index;
}
