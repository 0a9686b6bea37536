// Smith-Waterman with affine gaps, a pair a thread, packed in short2
//
// family: dynamic programming
// kernel: sw
// grid: 1
// block: 48
// args: uchar[40,18] below 4; uchar[40,22] below 4; out short[40,3]; int 40
extern "C" __global__ void sw(const unsigned char *q, const unsigned char *s, short3 *best, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        short2 he[19];
        for (int i = 0; i < 19; ++i) he[i] = make_short2(0, -100);
        short top = 0, bi = -1, bj = -1;
        for (short j = 0; j < 22; ++j) {
            short f = -100, diag = 0, left = 0;
            for (short i = 0; i < 18; ++i) {
                short2 c = he[i + 1];
                short e = max(c.x - 5, c.y - 1);
                f = max(left - 5, f - 1);
                short h = diag + (q[t * 18 + i] == s[t * 22 + j] ? 4 : -3);
                h = max(max(h, (short)0), max(e, f));
                diag = c.x;
                left = h;
                he[i + 1] = make_short2(h, e);
                if (h > top) top = h, bi = i, bj = j;
            }
        }
        best[t] = make_short3(top, bi, bj);
    }
}
