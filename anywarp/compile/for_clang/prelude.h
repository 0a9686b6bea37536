// CUDA C++ as clang lacks it: what NVRTC has built in, for kernels that clang compiles. Nothing
// here is of NVIDIA's. One-instruction functions are that instruction; the rest are told as such.
// Line tables leave these functions out (nodebug): what is inlined has the place of its call.
#pragma once
#pragma clang diagnostic ignored "-Wunused"
#pragma clang diagnostic ignored "-Winline-new-delete"
// Headers of NVIDIA's take this for NVRTC 12.9, which has built in what they then leave out.
#undef __clang__
#undef __GNUC__
#undef __CUDA__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __CUDACC_VER_BUILD__ 86
#define CUDART_VERSION 12090
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __DEVICE_TYPES_H__
#define __DRIVER_TYPES_H__
#define __device_builtin__
#define __cudart_builtin__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
// NVRTC places arrays on 16 bytes, too, and so joins loads of neighbours
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#ifdef ANYWARP_CLUSTERS  // where the word is in the source: clang.py makes a cluster of such bounds
#undef __launch_bounds__
#define __launch_bounds__(...)
#endif
#define __cluster_dims__(...) __cluster_of(__VA_ARGS__, 1, 1)
#define __cluster_of(x, y, z, ...) __attribute__((launch_bounds(x, y, 1000 + z)))
#define __grid_constant__ __attribute__((grid_constant))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __nv_pure__

typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef long clock_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef signed char schar;
#define NULL 0
#define assert(x) ((x) ? void() : __assertfail(#x, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))

#pragma clang attribute push(__attribute__((device)), apply_to = function)
extern "C" {
int vprintf(const char*, const char*);
int printf(const char*, ...);
void* malloc(size_t);
void free(void*);
__attribute__((noreturn)) void __assertfail(const void*, const void*, unsigned, const void*, size_t);
}
#pragma clang attribute pop
__device__ inline void operator delete(void* p) noexcept { free(p); }
__device__ inline void operator delete(void* p, size_t) noexcept { free(p); }
__device__ inline void* operator new(size_t n) { return malloc(n); }
__device__ inline void* operator new[](size_t n) { return malloc(n); }
__device__ inline void operator delete[](void* p) noexcept { free(p); }
__device__ inline void* operator new(size_t, void* p) noexcept { return p; }
__device__ inline void* operator new[](size_t, void* p) noexcept { return p; }

#define HERE __attribute__((device, host, always_inline, nodebug))
#define FUN static __attribute__((device, always_inline, nodebug))

// ---- vectors. Those of 8 and 16 bytes are assigned in one piece, or their parts would be moved one by one.
#define WHOLE(T, V)                                                                                \
    HERE T& operator=(const T& o)                                                                  \
    {                                                                                              \
        *(V*)this = *(const V*)&o;                                                                 \
        return *this;                                                                              \
    }
typedef unsigned __attribute__((ext_vector_type(2), may_alias)) two_words;
typedef unsigned __attribute__((ext_vector_type(4), may_alias)) four_words;
#define NONE(T, V)
#define VECTORS(T, S, A2, A4, WHOLE2, V2, WHOLE4)                                                   \
    struct S##1 { T x; };                                                                          \
    struct __align__(A2) S##2 { T x, y; WHOLE2(S##2, V2) };                                \
    struct S##3 { T x, y, z; };                                                                    \
    struct __align__(A4) S##4 { T x, y, z, w; WHOLE4(S##4, four_words) };                          \
    HERE constexpr S##1 make_##S##1(T x) { return {x}; }                                           \
    HERE constexpr S##2 make_##S##2(T x, T y) { return {x, y}; }                                   \
    HERE constexpr S##3 make_##S##3(T x, T y, T z) { return {x, y, z}; }                           \
    HERE constexpr S##4 make_##S##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(schar, char, 2, 4, NONE, , NONE)
VECTORS(uchar, uchar, 2, 4, NONE, , NONE)
VECTORS(short, short, 4, 8, NONE, , NONE)
VECTORS(ushort, ushort, 4, 8, NONE, , NONE)
VECTORS(int, int, 8, 16, WHOLE, two_words, WHOLE)
VECTORS(uint, uint, 8, 16, WHOLE, two_words, WHOLE)
VECTORS(float, float, 8, 16, WHOLE, two_words, WHOLE)
VECTORS(long, long, 16, 16, WHOLE, four_words, NONE)
VECTORS(ulong, ulong, 16, 16, WHOLE, four_words, NONE)
VECTORS(longlong, longlong, 16, 16, WHOLE, four_words, NONE)
VECTORS(ulonglong, ulonglong, 16, 16, WHOLE, four_words, NONE)
VECTORS(double, double, 16, 16, WHOLE, four_words, NONE)
struct dim3 {
    unsigned x, y, z;
    HERE constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    template <class T, class = decltype(((T*)0)->z)>
    HERE constexpr dim3(const T& v) : x(v.x), y(v.y), z(v.z) {}
    HERE constexpr operator uint3() const { return {x, y, z}; }
};

// ---- who a thread is: threadIdx.x reads a register each time, as it does elsewhere
#define PART(r, c)                                                                                 \
    __declspec(property(get = get_##c)) unsigned c;                                                \
    __attribute__((device, always_inline, nodebug)) unsigned get_##c() const { return __nvvm_read_ptx_sreg_##r##_##c(); }
#define PLACE(name, r, T)                                                                          \
    struct of_##name { PART(r, x) PART(r, y) PART(r, z) __attribute__((device, always_inline, nodebug)) operator T() const { return {x, y, z}; } };\
    extern const __device__ __attribute__((weak)) of_##name name;
PLACE(threadIdx, tid, uint3)
PLACE(blockIdx, ctaid, uint3)
PLACE(blockDim, ntid, dim3)
PLACE(gridDim, nctaid, dim3)
const int warpSize = 32;

// ---- barriers, fences, and what a warp does together
#define __syncthreads() __syncthreads()
FUN int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
FUN int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
FUN int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
FUN void __barrier_sync(unsigned id) { asm volatile("barrier.sync %0;" ::"r"(id) : "memory"); }
FUN void __barrier_sync_count(unsigned id, unsigned n)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(n) : "memory");
}
FUN void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
FUN void __threadfence_block() { __nvvm_membar_cta(); }
FUN void __threadfence() { __nvvm_membar_gl(); }
FUN void __threadfence_system() { __nvvm_membar_sys(); }
FUN int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
FUN int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
FUN unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
FUN unsigned __activemask()
{
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r));
    return r;
}
template <class T> FUN T __shfl(int kind, unsigned mask, T v, int lane, int width, int clamp)
{
    constexpr int N = (sizeof(T) + 3) / 4;
    int words[N] = {}, c = ((32 - width) << 8) | clamp;
    __builtin_memcpy(words, &v, sizeof(T));
    for (int& w : words)
        w = kind == 0   ? __nvvm_shfl_sync_idx_i32(mask, w, lane, c)
            : kind == 1 ? __nvvm_shfl_sync_up_i32(mask, w, lane, c)
            : kind == 2 ? __nvvm_shfl_sync_down_i32(mask, w, lane, c)
                        : __nvvm_shfl_sync_bfly_i32(mask, w, lane, c);
    __builtin_memcpy(&v, words, sizeof(T));
    return v;
}
#define SHUFFLE(name, I, kind, clamp)                                                              \
    template <class T> FUN T name(unsigned mask, T v, I lane, int width = 32)                      \
    {                                                                                              \
        return __shfl(kind, mask, v, lane, width, clamp);                                          \
    }
SHUFFLE(__shfl_sync, int, 0, 31)
SHUFFLE(__shfl_up_sync, unsigned, 1, 0)
SHUFFLE(__shfl_down_sync, unsigned, 2, 31)
SHUFFLE(__shfl_xor_sync, int, 3, 31)
template <int N> using __bits = unsigned _BitInt(8 * N);
template <class T> FUN unsigned __match_any_sync(unsigned mask, T v)
{
    if constexpr (sizeof(T) == 8)
        return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, v));
    else
        return __nvvm_match_any_sync_i32(mask, (int)__builtin_bit_cast(__bits<sizeof(T)>, v));
}
template <class T> FUN unsigned __match_all_sync(unsigned mask, T v, int* p)
{
    if constexpr (sizeof(T) == 8)
        return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(long long, v), p);
    else
        return __nvvm_match_all_sync_i32p(mask, (int)__builtin_bit_cast(__bits<sizeof(T)>, v), p);
}
FUN int __reduce_add_sync(unsigned m, int v) { return __nvvm_redux_sync_add(v, m); }
FUN int __reduce_min_sync(unsigned m, int v) { return __nvvm_redux_sync_min(v, m); }
FUN int __reduce_max_sync(unsigned m, int v) { return __nvvm_redux_sync_max(v, m); }
FUN unsigned __reduce_add_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_add(v, m); }
FUN unsigned __reduce_min_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_umin(v, m); }
FUN unsigned __reduce_max_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_umax(v, m); }
FUN unsigned __reduce_and_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_and(v, m); }
FUN unsigned __reduce_or_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_or(v, m); }
FUN unsigned __reduce_xor_sync(unsigned m, unsigned v) { return __nvvm_redux_sync_xor(v, m); }
FUN long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
FUN clock_t clock() { return __nvvm_read_ptx_sreg_clock(); }
FUN void __nanosleep(unsigned ns) { __nvvm_nanosleep(ns); }
FUN void __trap() { asm volatile("trap;"); }
FUN void __brkpt() { asm volatile("brkpt;"); }

// ---- atomics, relaxed, of three scopes
#define ATOMIC(name, builtin)                                                                      \
    template <class T> FUN T name(T* p, __type_identity_t<T> v)                                    \
    {                                                                                              \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                             \
    }                                                                                              \
    template <class T> FUN T name##_block(T* p, __type_identity_t<T> v)                            \
    {                                                                                              \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);                             \
    }                                                                                              \
    template <class T> FUN T name##_system(T* p, __type_identity_t<T> v)                           \
    {                                                                                              \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);                             \
    }
template <class T> struct __type_identity { using type = T; };
template <class T> using __type_identity_t = typename __type_identity<T>::type;
ATOMIC(atomicAdd, __scoped_atomic_fetch_add)
ATOMIC(atomicSub, __scoped_atomic_fetch_sub)
ATOMIC(atomicMin, __scoped_atomic_fetch_min)
ATOMIC(atomicMax, __scoped_atomic_fetch_max)
ATOMIC(atomicAnd, __scoped_atomic_fetch_and)
ATOMIC(atomicOr, __scoped_atomic_fetch_or)
ATOMIC(atomicXor, __scoped_atomic_fetch_xor)
ATOMIC(atomicExch, __scoped_atomic_exchange_n)
#define SCOPED(suffix, scope)                                                                      \
    FUN unsigned atomicInc##suffix(unsigned* p, unsigned v)                                        \
    {                                                                                              \
        asm volatile("atom" scope ".inc.u32 %0, [%1], %0;" : "+r"(v) : "l"(p) : "memory");         \
        return v;                                                                                  \
    }                                                                                              \
    FUN unsigned atomicDec##suffix(unsigned* p, unsigned v)                                        \
    {                                                                                              \
        asm volatile("atom" scope ".dec.u32 %0, [%1], %0;" : "+r"(v) : "l"(p) : "memory");         \
        return v;                                                                                  \
    }                                                                                              \
    template <class T> FUN T atomicCAS##suffix(T* p, __type_identity_t<T> old, __type_identity_t<T> v)\
    {                                                                                              \
        if constexpr (sizeof(T) == 2) /* clang's own is a loop, or of another scope */             \
            asm volatile("atom" scope ".cas.b16 %0, [%1], %0, %2;" : "+h"(old) : "l"(p), "h"(v) : "memory");\
        else if constexpr (sizeof(T) == 4)                                                         \
            asm volatile("atom" scope ".cas.b32 %0, [%1], %0, %2;" : "+r"(old) : "l"(p), "r"(v) : "memory");\
        else                                                                                       \
            asm volatile("atom" scope ".cas.b64 %0, [%1], %0, %2;" : "+l"(old) : "l"(p), "l"(v) : "memory");\
        return old;                                                                                \
    }
SCOPED(, "") SCOPED(_block, ".cta") SCOPED(_system, ".sys")

// ---- memory: addresses, and loads and stores with a hint
#define SPACE(name, Name, n)                                                                       \
    FUN size_t __cvta_generic_to_##name(const void* p)                                             \
    {                                                                                              \
        return (size_t)(__attribute__((address_space(n))) const void*)p;                           \
    }                                                                                              \
    FUN void* __cvta_##name##_to_generic(size_t p)                                                 \
    {                                                                                              \
        return (void*)(__attribute__((address_space(n))) void*)p;                                  \
    }                                                                                              \
    FUN unsigned __is##Name(const void* p)                                                         \
    {                                                                                              \
        return __nvvm_isspacep_##n(p);                                                             \
    }
#define __nvvm_isspacep_1 __nvvm_isspacep_global
#define __nvvm_isspacep_3 __nvvm_isspacep_shared
#define __nvvm_isspacep_4 __nvvm_isspacep_const
#define __nvvm_isspacep_5 __nvvm_isspacep_local
SPACE(global, Global, 1) SPACE(shared, Shared, 3) SPACE(constant, Constant, 4) SPACE(local, Local, 5)
FUN unsigned __isGridConstant(const void* p)
{
    unsigned r;
    asm("{ .reg .pred p; isspacep.param::entry p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p));
    return r;
}
extern "C" __attribute__((device, always_inline, nodebug)) inline unsigned __nvvm_get_smem_pointer(void* p)
{
    return __cvta_generic_to_shared(p);
}
#if __CUDA_ARCH__ >= 900
#define CLUSTER(name, r)                                                                           \
    FUN dim3 name() { return dim3(__nvvm_read_ptx_sreg_##r##_x(), __nvvm_read_ptx_sreg_##r##_y(), __nvvm_read_ptx_sreg_##r##_z()); }
CLUSTER(__clusterDim, cluster_nctaid) CLUSTER(__clusterRelativeBlockIdx, cluster_ctaid)
CLUSTER(__clusterIdx, clusterid) CLUSTER(__clusterGridDimInClusters, nclusterid)
FUN unsigned __clusterRelativeBlockRank() { return __nvvm_read_ptx_sreg_cluster_ctarank(); }
FUN unsigned __clusterSizeInBlocks() { return __nvvm_read_ptx_sreg_cluster_nctarank(); }
FUN unsigned __clusterDimIsSpecified() { return __nvvm_is_explicit_cluster(); }
FUN void __cluster_barrier_arrive() { __nvvm_barrier_cluster_arrive(); }
FUN void __cluster_barrier_arrive_relaxed() { __nvvm_barrier_cluster_arrive_relaxed(); }
FUN void __cluster_barrier_wait() { __nvvm_barrier_cluster_wait(); }
FUN void* __cluster_map_shared_rank(const void* p, unsigned n) { return __nvvm_mapa((void*)p, n); }
FUN unsigned __cluster_query_shared_rank(const void* p) { return __nvvm_getctarank((void*)p); }
FUN void __threadfence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
FUN unsigned __isClusterShared(const void* p) { return __nvvm_isspacep_shared_cluster(p); }
FUN unsigned __isCtaShared(const void* p) { return __isShared(p); }
#undef CLUSTER
#endif
#define LOAD(name) template <class T> FUN T name(const T* p) { return *p; }
#define STORE(name) template <class T> FUN void name(T* p, __type_identity_t<T> v) { *p = v; }
LOAD(__ldg) LOAD(__ldcg) LOAD(__ldca) LOAD(__ldcs) LOAD(__ldlu) LOAD(__ldcv)
STORE(__stwb) STORE(__stcg) STORE(__stcs) STORE(__stwt)
FUN void* memcpy(void* to, const void* from, size_t n) { return __builtin_memcpy(to, from, n); }
FUN void* memset(void* to, int value, size_t n) { return __builtin_memset(to, value, n); }

// ---- functions of one instruction
#define BITS(name, T, F) FUN T name(F x) { return __builtin_bit_cast(T, x); }
BITS(__float_as_int, int, float)
BITS(__float_as_uint, unsigned, float)
BITS(__int_as_float, float, int)
BITS(__uint_as_float, float, unsigned)
BITS(__double_as_longlong, long long, double)
BITS(__longlong_as_double, double, long long)
#define ONE(name, T, t, F, f, op)                                                                  \
    FUN T name(F x)                                                                                \
    {                                                                                              \
        T r;                                                                                       \
        asm(op " %0, %1;" : "=" t(r) : f(x));                                                      \
        return r;                                                                                  \
    }
#define TWO(name, T, t, op)                                                                        \
    FUN T name(T x, T y)                                                                           \
    {                                                                                              \
        T r;                                                                                       \
        asm(op " %0, %1, %2;" : "=" t(r) : t(x), t(y));                                            \
        return r;                                                                                  \
    }
#define THREE(name, T, t, op)                                                                      \
    FUN T name(T x, T y, T z)                                                                      \
    {                                                                                              \
        T r;                                                                                       \
        asm(op " %0, %1, %2, %3;" : "=" t(r) : t(x), t(y), t(z));                                  \
        return r;                                                                                  \
    }
#if __CUDA_FTZ  // of -ftz=true and --use_fast_math
#define FTZ ".ftz"
#else
#define FTZ ""
#endif
#define ROUNDED(u, m)                                                                              \
    TWO(__fadd_##u, float, "f", "add." #m FTZ ".f32")                                                  \
    TWO(__fsub_##u, float, "f", "sub." #m FTZ ".f32")                                                  \
    TWO(__fmul_##u, float, "f", "mul." #m FTZ ".f32")                                                  \
    TWO(__fdiv_##u, float, "f", "div." #m FTZ ".f32")                                                  \
    THREE(__fmaf_##u, float, "f", "fma." #m FTZ ".f32")                                                \
    THREE(__fmaf_ieee_##u, float, "f", "fma." #m ".f32")                                             \
    ONE(__fsqrt_##u, float, "f", float, "f", "sqrt." #m FTZ ".f32")                                    \
    ONE(__frcp_##u, float, "f", float, "f", "rcp." #m FTZ ".f32")                                      \
    ONE(__drcp_##u, double, "d", double, "d", "rcp." #m ".f64")                                    \
    TWO(__dadd_##u, double, "d", "add." #m ".f64")                                                 \
    TWO(__dmul_##u, double, "d", "mul." #m ".f64")                                                 \
    TWO(__ddiv_##u, double, "d", "div." #m ".f64")                                                 \
    TWO(__dsub_##u, double, "d", "sub." #m ".f64")                                                 \
    ONE(__ll2double_##u, double, "d", long long, "l", "cvt." #m ".f64.s64")                        \
    ONE(__ull2double_##u, double, "d", ulonglong, "l", "cvt." #m ".f64.u64")                       \
    THREE(__fma_##u, double, "d", "fma." #m ".f64")                                                \
    ONE(__dsqrt_##u, double, "d", double, "d", "sqrt." #m ".f64")                                  \
    ONE(__double2float_##u, float, "f", double, "d", "cvt." #m FTZ ".f32.f64")                         \
    ONE(__int2float_##u, float, "f", int, "r", "cvt." #m ".f32.s32")                               \
    ONE(__uint2float_##u, float, "f", unsigned, "r", "cvt." #m ".f32.u32")                         \
    ONE(__ll2float_##u, float, "f", long long, "l", "cvt." #m ".f32.s64")                          \
    ONE(__ull2float_##u, float, "f", ulonglong, "l", "cvt." #m ".f32.u64")                         \
    ONE(__float2int_##u, int, "r", float, "f", "cvt." #m "i" FTZ ".s32.f32")                              \
    ONE(__float2uint_##u, unsigned, "r", float, "f", "cvt." #m "i" FTZ ".u32.f32")                        \
    ONE(__float2ll_##u, long long, "l", float, "f", "cvt." #m "i" FTZ ".s64.f32")                         \
    ONE(__float2ull_##u, ulonglong, "l", float, "f", "cvt." #m "i" FTZ ".u64.f32")                        \
    ONE(__double2int_##u, int, "r", double, "d", "cvt." #m "i.s32.f64")                            \
    ONE(__double2uint_##u, unsigned, "r", double, "d", "cvt." #m "i.u32.f64")                      \
    ONE(__double2ll_##u, long long, "l", double, "d", "cvt." #m "i.s64.f64")                       \
    ONE(__double2ull_##u, ulonglong, "l", double, "d", "cvt." #m "i.u64.f64")
ROUNDED(rn, rn) ROUNDED(rz, rz) ROUNDED(ru, rp) ROUNDED(rd, rm)
TWO(__fdividef, float, "f", "div.approx" FTZ ".f32")
ONE(__saturatef, float, "f", float, "f", "cvt.sat" FTZ ".f32.f32")
ONE(rsqrtf, float, "f", float, "f", "rsqrt.approx" FTZ ".f32")
ONE(exp2f, float, "f", float, "f", "ex2.approx" FTZ ".f32")
ONE(__log2f, float, "f", float, "f", "lg2.approx" FTZ ".f32")
ONE(__sinf, float, "f", float, "f", "sin.approx" FTZ ".f32")
ONE(__cosf, float, "f", float, "f", "cos.approx" FTZ ".f32")
ONE(__exp2z, float, "f", float, "f", "ex2.approx.ftz.f32")
ONE(__rcpz, float, "f", float, "f", "rcp.approx.ftz.f32")
ONE(__clz, int, "r", int, "r", "clz.b32")
ONE(__clzll, int, "r", long long, "l", "clz.b64")
ONE(__brev, unsigned, "r", unsigned, "r", "brev.b32")
ONE(__brevll, ulonglong, "l", ulonglong, "l", "brev.b64")
TWO(__mulhi, int, "r", "mul.hi.s32")
TWO(__umulhi, unsigned, "r", "mul.hi.u32")
TWO(__mul64hi, long long, "l", "mul.hi.s64")
TWO(__umul64hi, ulonglong, "l", "mul.hi.u64")
TWO(__mul24, int, "r", "mul24.lo.s32")
THREE(__sad, int, "r", "sad.s32")
THREE(__usad, unsigned, "r", "sad.u32")
THREE(__byte_perm, unsigned, "r", "prmt.b32")
THREE(__funnelshift_l, unsigned, "r", "shf.l.wrap.b32")
THREE(__funnelshift_r, unsigned, "r", "shf.r.wrap.b32")
THREE(__funnelshift_lc, unsigned, "r", "shf.l.clamp.b32")
THREE(__funnelshift_rc, unsigned, "r", "shf.r.clamp.b32")
THREE(__dp4a, int, "r", "dp4a.s32.s32")
THREE(__dp4a, unsigned, "r", "dp4a.u32.u32")
THREE(__dp2a_lo, int, "r", "dp2a.lo.s32.s32")
THREE(__dp2a_lo, unsigned, "r", "dp2a.lo.u32.u32")
THREE(__dp2a_hi, int, "r", "dp2a.hi.s32.s32")
THREE(__dp2a_hi, unsigned, "r", "dp2a.hi.u32.u32")
TWO(__umul24, unsigned, "r", "mul24.lo.u32")
FUN double __int2double_rn(int x) { return x; }
FUN double __uint2double_rn(unsigned x) { return x; }
FUN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
FUN int __double2loint(double x) { return (int)__double_as_longlong(x); }
FUN double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((ulonglong)high << 32 | (unsigned)low));
}
FUN int __hadd(int x, int y) { return (int)(((long)x + y) >> 1); }
FUN int __rhadd(int x, int y) { return (int)(((long)x + y + 1) >> 1); }
FUN unsigned __uhadd(unsigned x, unsigned y) { return (unsigned)(((ulong)x + y) >> 1); }
FUN unsigned __urhadd(unsigned x, unsigned y) { return (unsigned)(((ulong)x + y + 1) >> 1); }
FUN unsigned __fns(unsigned mask, unsigned base, int offset)
{
    unsigned r;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(mask), "r"(base), "r"(offset));
    return r;
}
FUN int __popc(unsigned x) { return __builtin_popcount(x); }
FUN int __popcll(ulonglong x) { return __builtin_popcountll(x); }
FUN int __ffs(int x) { return __builtin_ffs(x); }
FUN int __ffsll(long long x) { return __builtin_ffsll(x); }

// ---- the lanes of a word: two of 16 bits or four of 8, of T, computed in an int
#define LANES(name, T, expression)                                                                 \
    FUN unsigned name(unsigned a, unsigned b = 0)                                                  \
    {                                                                                              \
        unsigned r = 0;                                                                            \
        for (int i = 0, n = 8 * sizeof(T); i < 32; i += n) {                                       \
            int x = (T)(a >> i), y = (T)(b >> i), low = (T)-1 < 0 ? -(1 << (n - 1)) : 0;           \
            int high = (1 << (n - (low < 0))) - 1, v = (expression);                               \
            r |= ((unsigned)v & ((1u << n) - 1)) << i;                                             \
        }                                                                                          \
        return r;                                                                                  \
    }
#define CLIP(v) ((v) < low ? low : (v) > high ? high : (v))
#define COMPARED(name, S, of, op)                                                                  \
    LANES(__vcmp##name##of, S, -(x op y)) LANES(__vset##name##of, S, x op y)
#define SIMD(of, S, U)                                                                             \
    LANES(__vadd##of, U, x + y) LANES(__vsub##of, U, x - y) LANES(__vneg##of, S, -x)               \
    LANES(__vaddss##of, S, CLIP(x + y)) LANES(__vaddus##of, U, CLIP(x + y))                        \
    LANES(__vsubss##of, S, CLIP(x - y)) LANES(__vsubus##of, U, CLIP(x - y))                        \
    LANES(__vnegss##of, S, CLIP(-x)) LANES(__vabs##of, S, x < 0 ? -x : x)                          \
    LANES(__vabsss##of, S, CLIP(x < 0 ? -x : x)) LANES(__vabsdiffu##of, U, x < y ? y - x : x - y)  \
    LANES(__vabsdiffs##of, S, x < y ? y - x : x - y) LANES(__vhaddu##of, U, (x + y) >> 1)          \
    LANES(__vavgu##of, U, (x + y + 1) >> 1) LANES(__vavgs##of, S, (x + y + (x + y >= 0)) >> 1)     \
    LANES(__vmaxs##of, S, x > y ? x : y) LANES(__vmaxu##of, U, x > y ? x : y)                      \
    LANES(__vmins##of, S, x < y ? x : y) LANES(__vminu##of, U, x < y ? x : y)                      \
    COMPARED(eq, U, of, ==) COMPARED(ne, U, of, !=)                                          \
    COMPARED(gts, S, of, >) COMPARED(ges, S, of, >=) COMPARED(lts, S, of, <)              \
    COMPARED(les, S, of, <=) COMPARED(gtu, U, of, >) COMPARED(geu, U, of, >=)             \
    COMPARED(ltu, U, of, <) COMPARED(leu, U, of, <=)                                         \
    FUN unsigned __vsadu##of(unsigned a, unsigned b) { return __summed<U>(__vabsdiffu##of(a, b)); }\
    FUN unsigned __vsads##of(unsigned a, unsigned b) { return __summed<U>(__vabsdiffs##of(a, b)); }
template <class U> FUN unsigned __summed(unsigned a)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i += 8 * sizeof(U))
        r += (U)(a >> i);
    return r;
}
SIMD(2, short, ushort) SIMD(4, schar, uchar)

// ---- functions of mathematics. Of a float the one with an f, of all else that of double
#define GENERIC(name, of_double)                                                                   \
    template <class T> FUN auto name(T x)                                                          \
    {                                                                                              \
        if constexpr (__is_same(T, float))                                                         \
            return name##f(x);                                                                     \
        else                                                                                       \
            return of_double((double)x);                                                           \
    }
#define GENERIC2(name, of_double)                                                                  \
    template <class T, class U> FUN auto name(T x, U y)                                            \
    {                                                                                              \
        if constexpr (__is_same(T, float) && __is_same(U, float))                                  \
            return name##f(x, y);                                                                  \
        else                                                                                       \
            return of_double((double)x, (double)y);                                                \
    }
// clang makes an instruction of these
#define BUILTIN(name)                                                                              \
    FUN float name##f(float x) { return __builtin_##name##f(x); }                                  \
    GENERIC(name, __builtin_##name)
#define BUILTIN2(name)                                                                             \
    FUN float name##f(float x, float y) { return __builtin_##name##f(x, y); }                      \
    GENERIC2(name, __builtin_##name)
BUILTIN(sqrt) BUILTIN(fabs) BUILTIN(floor) BUILTIN(ceil) BUILTIN(trunc) BUILTIN(rint)
BUILTIN(nearbyint) BUILTIN2(fmin) BUILTIN2(fmax) BUILTIN2(copysign)
FUN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
FUN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
FUN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
FUN double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
FUN int abs(int x) { return x < 0 ? -x : x; }
FUN long abs(long x) { return x < 0 ? -x : x; }
FUN long long abs(long long x) { return x < 0 ? -x : x; }
FUN long labs(long x) { return abs(x); }
FUN long long llabs(long long x) { return abs(x); }
FUN float abs(float x) { return __builtin_fabsf(x); }
FUN double abs(double x) { return __builtin_fabs(x); }
template <class T> FUN bool isnan(T x) { return __builtin_isnan(x); }
template <class T> FUN bool isinf(T x) { return __builtin_isinf(x); }
template <class T> FUN bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> FUN bool signbit(T x) { return __builtin_signbit(x); }
FUN long lrintf(float x) { return __float2ll_rn(x); }
FUN float fdimf(float x, float y) { return x > y ? x - y : x == x && y == y ? 0 : x + y; }
FUN float __fsigned(float size, float sign) { return __builtin_copysignf(size, sign); }
FUN float roundf(float x)
{
    return __builtin_truncf(__fadd_rz(x, __fsigned(0.5f, x)));
}
// The smaller of two of unlike types, as their common one
template <class T, class U> HERE constexpr auto min(T x, U y) -> decltype(x + y)
{
    if constexpr (__is_floating_point(decltype(x + y)))
        return sizeof(x + y) == 4 ? __builtin_fminf(x, y) : __builtin_fmin(x, y);
    else
        return (decltype(x + y))x < (decltype(x + y))y ? x : y;
}
template <class T, class U> HERE constexpr auto max(T x, U y) -> decltype(x + y)
{
    if constexpr (__is_floating_point(decltype(x + y)))
        return sizeof(x + y) == 4 ? __builtin_fmaxf(x, y) : __builtin_fmax(x, y);
    else
        return (decltype(x + y))x > (decltype(x + y))y ? x : y;
}

#define CALL __attribute__((device, const))
#define CALLED(name)                                                                               \
    extern "C" CALL float __anywarp_##name(float);                                           \
    FUN float name(float x) { return __anywarp_##name(x); }
#define CALLED2(name)                                                                              \
    extern "C" CALL float __anywarp_##name(float, float);                                    \
    FUN float name(float x, float y) { return __anywarp_##name(x, y); }
// ---- and those that NVRTC makes a few instructions of: the same ones
FUN float __expf(float x) { return exp2f(x * 0x1.715476p+0f); }
FUN float __exp10f(float x) { return exp2f(x * 0x1.a934f0p+1f); }
FUN float __logf(float x) { return __log2f(x) * 0x1.62e430p-1f; }
FUN float __log10f(float x) { return __log2f(x) * 0x1.344136p-2f; }
FUN float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
FUN void __sincosf(float x, float* s, float* c) { *s = __sinf(x), *c = __cosf(x); }
FUN float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt((double)x)); }
FUN float fdividef(float x, float y) { return x / y; }
FUN float __powf(float x, float y) { return exp2f(__log2f(x) * y); }
FUN float __scaled_exp(float x, float step, float high, float low)
{
    float n = __fmaf_rd(__saturatef(__builtin_fmaf(x, step, 0.5f)), 252, 0x1.800002p+23f);
    float f = __builtin_fmaf(x, high, -(n - 0x1.8000fep+23f));
    return __exp2z(__builtin_fmaf(x, low, f)) * __int_as_float(__float_as_int(n) << 23);
}
#if __CLANG_GPU_APPROX_TRANSCENDENTALS__  // of --use_fast_math
#define QUICK(name) FUN float name(float x) { return __##name(x); }
QUICK(expf) QUICK(exp10f) QUICK(sinf) QUICK(cosf) QUICK(tanf) QUICK(logf) QUICK(log2f) QUICK(log10f)
FUN float powf(float x, float y) { return __powf(x, y); }
ONE(tanhf, float, "f", float, "f", "tanh.approx.f32")
#else
FUN float expf(float x)
{
    return __scaled_exp(x, 0x1.77313ap-8f, 0x1.715476p+0f, 0x1.4ae0c0p-26f);
}
FUN float exp10f(float x)
{
    return __scaled_exp(x, 0x1.aff4c4p-7f, 0x1.a934f0p+1f, 0x1.2f346ep-24f);
}
FUN float tanhf(float x)
{
    float size = __builtin_fabsf(x), s = x * x, p = 0x1.01e104p-6f;
    float far = __builtin_fmaf(__rcpz(__exp2z(size * 0x1.715476p+1f) + 1), -2, 1);
    p = __builtin_fmaf(p, s, -0x1.ac795cp-5f);
    p = __builtin_fmaf(p, s, 0x1.10b282p-3f);
    p = __builtin_fmaf(__builtin_fmaf(p, s, -0x1.5553dap-2f), s, 0);
    far = __fsigned(size >= 0x1.205968p+3f ? 1 : far, x);
    return size >= 0x1.333334p-1f ? far : __builtin_fmaf(p, x, x);
}

// ---- and all others, which the interpreter computes: a call where NVRTC has many instructions
CALLED(sinf) CALLED(cosf) CALLED(tanf) CALLED(logf) CALLED(log2f) CALLED(log10f) CALLED2(powf)
#endif
#define BOTH(name) CALLED(name##f) OF_DOUBLE(name)
#define OF_DOUBLE(name) extern "C" CALL double __anywarp_##name(double); GENERIC(name, __anywarp_##name)
#define BOTH2(name)                                                                                \
    CALLED2(name##f)                                                                               \
    OF_DOUBLE2(name)
#define OF_DOUBLE2(name)                                                                           \
    extern "C" CALL double __anywarp_##name(double, double);                                 \
    GENERIC2(name, __anywarp_##name)
OF_DOUBLE(sin) OF_DOUBLE(cos) OF_DOUBLE(log) OF_DOUBLE(log2) OF_DOUBLE(log10) OF_DOUBLE(exp)
OF_DOUBLE(exp2) OF_DOUBLE(exp10) OF_DOUBLE(tanh) OF_DOUBLE(round) OF_DOUBLE2(pow)
OF_DOUBLE(tan) BOTH(asin) BOTH(acos) BOTH(atan) BOTH(sinh) BOTH(cosh) BOTH(asinh) BOTH(acosh)
BOTH(atanh) BOTH(expm1) BOTH(log1p) BOTH(cbrt) BOTH(erf) BOTH(erfc) BOTH(lgamma) BOTH(tgamma)
BOTH(rcbrt) BOTH(sinpi) BOTH(cospi) BOTH2(atan2) BOTH2(hypot) BOTH2(fmod) BOTH2(remainder)
FUN int __logb(double x)  // of a finite one that is not 0
{
    bool tiny = __builtin_fabs(x) < 0x1p-1022;
    long long bits = __double_as_longlong(tiny ? x * 0x1p54 : x);
    return (int)(bits >> 52 & 0x7ff) - 1023 - 54 * tiny;
}
OF_DOUBLE2(nextafter) CALLED2(nextafterf)
extern "C" CALL double __anywarp_ldexp(double, double);
FUN double ldexp(double x, int n) { return __anywarp_ldexp(x, n); }
FUN float ldexpf(float x, int n) { return __anywarp_ldexp(x, n); }
FUN float scalbnf(float x, int n) { return ldexpf(x, n); }
FUN float scalblnf(float x, long n) { return ldexpf(x, n); }
FUN float nanf(const char*) { return __int_as_float(0x7fffffff); }
FUN double nan(const char*) { return __longlong_as_double(0x7fffffffffffffff); }
FUN double scalbn(double x, int n) { return ldexp(x, n); }
FUN double scalbln(double x, long n) { return ldexp(x, n); }
FUN double logb(double x) { return x == 0 ? -__builtin_inf() : isfinite(x) ? __logb(x) : x * x; }
FUN int ilogb(double x)
{
    return isfinite(x) && x != 0 ? __logb(x) : isinf(x) ? 0x7fffffff : -0x80000000;
}
FUN double frexp(double x, int* n)
{
    *n = isfinite(x) && x != 0 ? __logb(x) + 1 : 0;
    return ldexp(x, -*n);
}
FUN double modf(double x, double* n)
{
    return *n = trunc(x), __builtin_copysign(isinf(x) ? 0 : x - *n, x);
}
FUN float modff(float x, float* n) { return *n = truncf(x), __fsigned(isinf(x) ? 0 : x - *n, x); }
FUN float logbf(float x) { return logb(x); }
FUN int ilogbf(float x) { return ilogb(x); }
FUN float frexpf(float x, int* n) { return frexp(x, n); }
FUN long lrint(double x) { return __double2ll_rn(x); }
FUN long long llrint(double x) { return __double2ll_rn(x); }
FUN long long llrintf(float x) { return __float2ll_rn(x); }
FUN long long llroundf(float x) { return __float2ll_rz(roundf(x)); }
FUN long lround(double x) { return __double2ll_rz(round(x)); }
FUN long long llround(double x) { return lround(x); }
FUN long lroundf(float x) { return __float2ll_rz(roundf(x)); }
FUN double fdim(double x, double y) { return x > y ? x - y : x == x && y == y ? 0 : x + y; }
FUN double remquo(double x, double y, int* n)  // with three bits of the quotient, as NVRTC has it
{
    double size = __builtin_fabs(y), rest = fmod(__builtin_fabs(x), 8 * size), r = remainder(rest, size);
    int q = (int)__builtin_rint((rest - r) / size) & 7;
    *n = __builtin_signbit(x) != __builtin_signbit(y) ? -q : q;
    return remainder(x, y);
}
FUN float remquof(float x, float y, int* n) { return remquo(x, y, n); }
FUN double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
FUN double rhypot(double x, double y) { return 1 / hypot(x, y); }
FUN double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
FUN double normcdf(double x) { return erfc(x * -0x1.6a09e667f3bcdp-1) / 2; }
FUN float norm3df(float x, float y, float z) { return norm3d(x, y, z); }
FUN float rhypotf(float x, float y) { return rhypot(x, y); }
FUN float rnorm3df(float x, float y, float z) { return rnorm3d(x, y, z); }
FUN float normcdff(float x) { return normcdf(x); }
FUN void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
FUN void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
FUN void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
FUN void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }

// ---- and of the host's library
#if __has_include(<nv/target>)
#include <nv/target>
#endif
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
typedef struct CUstream_st* cudaStream_t;
FUN cudaError_t cudaGetLastError() { return cudaSuccess; }
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte
};
namespace cuda {
namespace std {}
}
namespace std {
using namespace cuda::std;  // of <cuda/std/type_traits>, say
template <class T> HERE constexpr __remove_reference_t(T) && move(T&& x) noexcept
{
    return static_cast<__remove_reference_t(T)&&>(x);
}
template <class T> HERE constexpr T&& forward(__remove_reference_t(T) & x) noexcept
{
    return static_cast<T&&>(x);
}
template <class T> class initializer_list {
    const T* from;
    size_t n;

public:
    HERE constexpr size_t size() const noexcept { return n; }
    HERE constexpr const T* begin() const noexcept { return from; }
    HERE constexpr const T* end() const noexcept { return from + n; }
};
}
#undef WHOLE
#undef NONE
#undef VECTORS
#undef PART
#undef PLACE
#undef SHUFFLE
#undef ATOMIC
#undef SCOPED
#undef SPACE
#undef LOAD
#undef STORE
#undef BITS
#undef ONE
#undef TWO
#undef THREE
#undef ROUNDED
#undef FTZ
#undef LANES
#undef CLIP
#undef COMPARED
#undef SIMD
#undef GENERIC
#undef GENERIC2
#undef BUILTIN
#undef BUILTIN2
#undef CALL
#undef CALLED
#undef CALLED2
#undef QUICK
#undef BOTH
#undef OF_DOUBLE
#undef BOTH2
#undef OF_DOUBLE2
#undef HERE
#undef FUN
