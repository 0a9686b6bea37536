// Initialisers that are addresses: a pointer to an array, a linked list
//
// family: device variables
// kernel: follow
// grid: 1
// block: 16
// args: out int[16]; out int[1]

struct Node { int value; const Node *next; };
__device__ int numbers[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ int *middle = numbers + 8;
__device__ const Node third = {30, nullptr};
__device__ const Node second = {20, &third};
__device__ const Node *first = &second;
extern "C" __global__ void follow(int *out, int *sum)
{
    out[threadIdx.x] = middle[(int)threadIdx.x - 8];
    if (threadIdx.x == 0) { int s = 0; for (const Node *n = first; n; n = n->next) s += n->value; *sum = s; }
}
