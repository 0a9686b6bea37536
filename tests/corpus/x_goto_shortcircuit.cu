// goto, fallthrough, conditions with side effects, loops left from the middle
//
// family: control flow
// kernel: spaghetti
// grid: 2
// block: 60
// args: int[110] below 64; out int[110,3]; int 110
__device__ int bump(int *p, int by) { *p += by; return *p & 1; }
extern "C" __global__ void spaghetti(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x, acc = 0, side = 0, guard = 0;
    if (i >= n) goto done;
    x = in[i];
again:
    switch (x % 7) {
    case 0: acc += 5;
    case 1: acc += 7; break;
    case 2: if (x > 30) goto out_of_switch;
    case 3: acc ^= 0x55; /* fall through */
    default: acc -= x; break;
    case 6: acc *= 3; ++x; goto again_check;
    }
out_of_switch:
    if (x > 3 && bump(&side, x) || bump(&side, 2) && x < 50) acc += side;
    else acc -= side;
    for (int a = 0; a < 5; ++a) {
        int b = a;
        while (true) {
            if (++b > 9) break;
            if ((b + x) % 3 == 0) continue;
            if (a * b == x) goto found;
            acc += (a ^ b) & 1 ? b : -a;
        }
        if (acc > 1000) break;
    }
    x = x > 40 ? x - 17 : x > 20 ? x / 2 : x - 1;
again_check:
    if (x > 0 && guard++ < 6) goto again;
    guard += 100;
found:
    out[3 * i] = acc; out[3 * i + 1] = side; out[3 * i + 2] = guard;
done:
    return;
}
