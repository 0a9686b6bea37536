// Accesses of a warp whose lanes go where a table says, in units of their width: none, one, or two
// at the same place, the second of which needs the first one's value, a zero, for its address; and
// many by 32 warps, timed. Nothing is stored but cycles, and what the stores store.
template <typename T> __device__ unsigned first(const T* p)
{
    unsigned x, y = 0, z = 0, w = 0;  // volatile: read again though nobody has written
    if constexpr (sizeof(T) == 4)
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    else if constexpr (sizeof(T) == 8)
        asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(p) : "memory");
    else
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p) : "memory");
    return x | y | z | w;  // else ptxas would leave out what nobody wants
}

template <typename T> __device__ void go(const unsigned* units, T* data, long long* out, int times,
                                         bool store)
{
    T* p = data + units[threadIdx.x % 32];
    p += __shfl_xor_sync(~0u, (unsigned)(size_t)data & 1, 1);  // the data stage is at work
    T zero = {};
    if (store && times)
        *p = zero;
    for (int n = 0; !store && n < times; ++n)
        p += first(p);
    if (p == (T*)1)
        *out = 0;
}

template <typename T> __device__ void timed(const unsigned* units, T* data, long long* out)
{
    const T* p = data + units[threadIdx.x % 32];
    long long begin = 0;
    for (int n = 0; n < 8 + LOADS; ++n) {
        if (n == 8) {  // what it reads is in L1 by now
            __syncthreads();
            begin = clock64();
        }
        p += first(p);
    }
    __syncthreads();
    out[threadIdx.x] = clock64() - begin + (p == (T*)1);
}

#define WIDTH(type, width) \
    extern "C" __global__ void none_##width(const unsigned* units, type* data, long long* out) \
    { go(units, data, out, 0, false); } \
    extern "C" __global__ void once_##width(const unsigned* units, type* data, long long* out) \
    { go(units, data, out, 1, false); } \
    extern "C" __global__ void twice_##width(const unsigned* units, type* data, long long* out) \
    { go(units, data, out, 2, false); } \
    extern "C" __global__ void store_##width(const unsigned* units, type* data, long long* out) \
    { go(units, data, out, 1, true); } \
    extern "C" __global__ void timed_##width(const unsigned* units, type* data, long long* out) \
    { timed(units, data, out); }
WIDTH(unsigned, 4)
WIDTH(uint2, 8)
WIDTH(uint4, 16)
