// A switch with many cases: a small machine with a stack
//
// family: control flow
// kernel: machine
// grid: 1
// block: 40
// args: uchar[40,24] below 12; out int[40]

extern "C" __global__ void machine(const unsigned char* code, int* result)
{
    int stack[8], sp = 0, acc = 1;
    for (int k = 0; k < 8; ++k) stack[k] = k;
    for (int pc = 0; pc < 24; ++pc) {
        switch (code[threadIdx.x * 24 + pc]) {
            case 0: acc += 3; break;
            case 1: acc *= 5; break;
            case 2: stack[sp & 7] = acc; sp++; break;
            case 3: sp--; acc ^= stack[sp & 7]; break;
            case 4: acc = -acc; break;
            case 5: acc >>= 1; // falls through
            case 6: acc -= 7; break;
            case 7: if (acc & 1) pc++; break;
            case 8: acc = acc << 3 | ((unsigned)acc >> 29); break;
            case 9: acc += stack[(sp + 3) & 7]; break;
            case 10: acc = ~acc; break;
            default: acc %= 1000; break;
        }
    }
    result[threadIdx.x] = acc;
}
