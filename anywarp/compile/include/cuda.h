// The driver's interface is for the host; kernels take this type of it.
#pragma once

typedef struct alignas(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;
