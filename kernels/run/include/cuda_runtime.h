#pragma once
#if __has_include_next(<cuda_runtime.h>)  // what kernels need of it, NVRTC has built in
#include_next <cuda_runtime.h>
#endif
