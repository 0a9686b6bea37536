// Conway's Game of Life on a torus, bytes
//
// family: cellular automaton
// kernel: gameOfLife
// grid: 3 5
// block: 16 8
// args: uchar[37,45] below 2; out uchar[37,45]; int 45; int 37

typedef unsigned char ubyte;
extern "C" __global__ void gameOfLife(const ubyte* lifeData, ubyte* result, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int left = (x + w - 1) % w, right = (x + 1) % w;
    int up = ((y + h - 1) % h) * w, down = ((y + 1) % h) * w, mid = y * w;
    int alive = lifeData[left + up] + lifeData[x + up] + lifeData[right + up]
              + lifeData[left + mid] + lifeData[right + mid]
              + lifeData[left + down] + lifeData[x + down] + lifeData[right + down];
    result[x + mid] = alive == 3 || (alive == 2 && lifeData[x + mid]) ? 1 : 0;
}
