// Hash table with linear probing by atomicCAS, then a lookup after a barrier
//
// family: data structures
// kernel: hashTable
// grid: 1
// counters: none
// block: 96
// compare: none for 2
// args: uint[96] permutation; out uint[96]; uint[256] constant 4294967295; out uint[1]

extern "C" __global__ void hashTable(const unsigned *keys, unsigned *found, unsigned *table, unsigned *stored)
{
    unsigned k = keys[threadIdx.x], slot = (k * 2654435769u) >> 24;
    while (true) {
        unsigned old = atomicCAS(&table[slot], 0xffffffffu, k);
        if (old == 0xffffffffu || old == k) break;
        slot = (slot + 1) & 255;
    }
    __syncthreads();
    unsigned want = (k * 7) % 128, s = (want * 2654435769u) >> 24;
    while (table[s] != want && table[s] != 0xffffffffu) s = (s + 1) & 255;
    found[threadIdx.x] = table[s] == want;
    if (threadIdx.x == 0) {
        unsigned n = 0;
        for (int j = 0; j < 256; j++) n += table[j] != 0xffffffffu;
        *stored = n;
    }
}
