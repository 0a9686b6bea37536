#pragma once
#include <cuda_bf16.h>
#include_next <cuda_fp8.h>
