#pragma once  // with its functions, which NVRTC has built in from 12.3 on
#include <cuda_fp16.h>
#pragma push_macro("__CUDACC_VER_MINOR__")
#undef __CUDACC_VER_MINOR__
#define __CUDACC_VER_MINOR__ 2
#include_next <cuda_bf16.h>
#pragma pop_macro("__CUDACC_VER_MINOR__")
