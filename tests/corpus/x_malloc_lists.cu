// Device-side new and delete: linked lists built, reversed and freed
//
// family: heap
// kernel: lists
// grid: 2
// block: 16
// args: int[32,6] below 100; out int[32,6]; out int[32]; int 6
// counters: none
struct Node { int value; Node *next; };
extern "C" __global__ void lists(const int *in, int *out, int *sum, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Node *head = nullptr;
    for (int k = 0; k < n; ++k) head = new Node{in[t * n + k], head};
    int s = 0, k = 0;
    for (Node *p = head; p; p = p->next) { out[t * n + k++] = p->value; s += p->value * k; }
    while (head) { Node *next = head->next; delete head; head = next; }
    int *a = (int *)malloc(n * sizeof(int));
    if (a != NULL) {
        for (int j = 0; j < n; j++) a[j] = j * t;
        s += a[n - 1];
        free(a);
    }
    sum[t] = s;
}
