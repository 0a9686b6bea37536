// The part of stdint.h that the corpus uses: NVRTC comes without one.
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define UINT32_MAX 4294967295u
#define UINT32_C(x) x##u
#define UINT64_C(x) x##ull
