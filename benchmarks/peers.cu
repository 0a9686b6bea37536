// C = A B by CUTLASS's 3xTF32: three TF32 products of parts, on tensor cores, by mma.sync. Its
// kernels of compute capability 8.0; those of 9.0, by wgmma, have no such product. Built with
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC -I CUTLASS/include
//         -o FOLDER/cutlass.so benchmarks/peers.cu

#include "cutlass/gemm/device/gemm.h"

template <int BM, int BN, int BK, int WM, int WN, int STAGES>
int product(int n, const float* A, const float* B, float* C)
{
    using Rows = cutlass::layout::RowMajor;
    using Gemm = cutlass::gemm::device::Gemm<
        float, Rows, float, Rows, float, Rows, float, cutlass::arch::OpClassTensorOp,
        cutlass::arch::Sm80, cutlass::gemm::GemmShape<BM, BN, BK>,
        cutlass::gemm::GemmShape<WM, WN, BK>, cutlass::gemm::GemmShape<16, 8, 8>,
        cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
        cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, STAGES, 4, 4, false,
        cutlass::arch::OpMultiplyAddFastF32>;
    return int(Gemm()({{n, n, n}, {A, n}, {B, n}, {C, n}, {C, n}, {1.0f, 0.0f}}));
}

#define PRODUCT(BM, BN, BK, WM, WN, STAGES)                                                        \
    extern "C" int product_##BM##x##BN##x##BK##_##STAGES(int n, const float* A, const float* B,    \
                                                         float* C)                                 \
    {                                                                                              \
        return product<BM, BN, BK, WM, WN, STAGES>(n, A, B, C);                                    \
    }

PRODUCT(128, 64, 16, 64, 32, 4)
PRODUCT(128, 128, 16, 32, 64, 3)
PRODUCT(128, 128, 16, 64, 32, 4)
PRODUCT(256, 128, 16, 64, 64, 3)
