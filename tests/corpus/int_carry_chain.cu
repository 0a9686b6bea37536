// 256-bit addition, subtraction and a product by chains of carries in PTX
//
// family: integer
// kernel: chain
// grid: 1
// block: 32
// args: uint[32,8] bits; uint[32,8] bits; out uint[32,8]; out uint[32,8]; out uint[32,3]

extern "C" __global__ void chain(const unsigned* x, const unsigned* y, unsigned* sum, unsigned* diff, unsigned* p)
{
    int t = threadIdx.x * 8;
    asm("add.cc.u32 %0, %1, %2;" : "=r"(sum[t]) : "r"(x[t]), "r"(y[t]));
    unsigned s0, s1, s2, s3;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(s0), "=r"(s1), "=r"(s2), "=r"(s3)
        : "r"(x[t]), "r"(x[t + 1]), "r"(x[t + 2]), "r"(x[t + 3]), "r"(y[t]), "r"(y[t + 1]), "r"(y[t + 2]), "r"(y[t + 3]));
    sum[t] = s0; sum[t + 1] = s1; sum[t + 2] = s2; sum[t + 3] = s3;
    asm("sub.cc.u32 %0, %3, %6;\n\tsubc.cc.u32 %1, %4, %7;\n\tsubc.u32 %2, %5, %8;"
        : "=r"(s0), "=r"(s1), "=r"(s2)
        : "r"(x[t]), "r"(x[t + 1]), "r"(x[t + 2]), "r"(y[t]), "r"(y[t + 1]), "r"(y[t + 2]));
    diff[t] = s0; diff[t + 1] = s1; diff[t + 2] = s2;
    asm("mul.lo.u32 %0, %3, %4;\n\tmul.hi.u32 %1, %3, %4;\n\tmad.lo.cc.u32 %1, %3, %5, %1;\n\tmadc.hi.u32 %2, %3, %5, 0;"
        : "=&r"(s0), "=&r"(s1), "=&r"(s2) : "r"(x[t]), "r"(y[t]), "r"(y[t + 1]));
    p[threadIdx.x * 3] = s0; p[threadIdx.x * 3 + 1] = s1; p[threadIdx.x * 3 + 2] = s2;
}
