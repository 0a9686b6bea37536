// What nvcc includes unasked, for kernels written for it: NVRTC is told to read this file first.
#pragma once
#include <climits>
#include <cmath>

typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
