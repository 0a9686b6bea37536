// A forest of small decision trees, walked by threads, votes by majority
//
// family: machine learning
// kernel: forest
// grid: 3
// block: 64
// args: float[150,5] uniform; bytes 0000000000000000; out uchar[150]; out float[150]; int 150
struct Node { short feature; short left; float threshold; };
__constant__ Node trees[3][7] = {
    {{0, 1, 0.1f}, {1, 3, -0.2f}, {2, 5, 0.3f}, {-1, 0, 0}, {-1, 1, 1}, {-1, 1, 2}, {-1, 0, 3}},
    {{4, 1, -0.5f}, {-1, 0, 4}, {3, 3, 0.0f}, {-1, 1, 5}, {0, 5, 0.7f}, {-1, 0, 6}, {-1, 1, 7}},
    {{2, 1, 0.0f}, {4, 3, 0.5f}, {-1, 0, 8}, {-1, 1, 9}, {1, 5, 0.9f}, {-1, 1, 10}, {-1, 0, 11}}};
struct Options { int skip; float bias; };
extern "C" __global__ void forest(const float (*x)[5], Options opt, unsigned char *label, float *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int votes = 0;
    float sum = opt.bias;
    for (int t = opt.skip; t < 3; ++t) {
        int at = 0;
        while (trees[t][at].feature >= 0)
            at = trees[t][at].left + (x[i][trees[t][at].feature] > trees[t][at].threshold);
        votes += trees[t][at].left;
        sum += trees[t][at].threshold;
    }
    label[i] = votes >= 2;
    value[i] = sum;
}
