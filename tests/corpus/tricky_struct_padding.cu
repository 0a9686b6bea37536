// Correct: structs with padding copied element by element between arrays and shared memory
//
// family: correct but suspicious
// kernel: sortPairs
// grid: 1
// block: 32
// args: double[32] uniform; out double[32]; out char[32]

struct Item { char key; double value; };
extern "C" __global__ void sortPairs(const double *x, double *y, signed char *k)
{
    __shared__ Item a[32], b[32];
    int t = threadIdx.x;
    Item mine;
    mine.key = (char)(x[t] * 60); mine.value = x[t];
    a[t] = mine;
    __syncthreads();
    int rank = 0;
    for (int j = 0; j < 32; j++) rank += a[j].value < mine.value || (a[j].value == mine.value && j < t);
    b[rank] = a[t];
    __syncthreads();
    Item r = b[31 - t];
    y[t] = r.value; k[t] = r.key;
}
