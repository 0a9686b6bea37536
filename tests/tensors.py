"""Kernels that copy one box of a tensor, and what NumPy says they have to find."""

from __future__ import annotations

import itertools

import numpy as np

import kernels

HELPERS = """#include <cuda.h>
__device__ unsigned shared_address(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned bar)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;");
}
__device__ void expect(unsigned bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes));
}
__device__ void wait(unsigned bar, int parity)
{
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\n"
                     "selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
}
__device__ void proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
"""

# Fills `size` bytes with 0xEE, copies a box to `shift` bytes into them, and shows what is there.
LOAD = (
    HELPERS
    + """
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map, const int* corner,
                                unsigned char* out, int bytes, int size, int shift)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    unsigned bar = shared_address(tile + size);
    for (int n = threadIdx.x; n < size; n += blockDim.x)
        tile[n] = 0xEE;
    if (threadIdx.x == 0)
        init(bar);
    proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(bar, bytes);
        asm volatile("cp.async.bulk.tensor.@Rd.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {@C}], [%2];"
                     :: "r"(shared_address(tile + shift)), "l"(&map), "r"(bar), @V : "memory");
    }
    wait(bar, 0);
    for (int n = threadIdx.x; n < size; n += blockDim.x)
        out[n] = tile[n];
}"""
)

# Copies `size` bytes to shared memory, and a box from `shift` bytes into them to the tensor.
STORE = (
    HELPERS
    + """
extern "C" __global__ void store(const __grid_constant__ CUtensorMap map, const int* corner,
                                 const unsigned char* in, int size, int shift)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    for (int n = threadIdx.x; n < size; n += blockDim.x)
        tile[n] = in[n];
    proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.@Oasync.bulk.tensor.@Rd.global.shared::cta@W.bulk_group [%1, {@C}], [%0];"
                     :: "r"(shared_address(tile + shift)), "l"(&map), "n"(0), @V : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}"""
)


def source(text: str, rank: int, reduction: str = "") -> str:
    """`text` for tensors of a rank; `reduction`: "add" and the like."""
    words = {
        "@R": str(rank),
        "@C": ", ".join(f"%{3 + n}" for n in range(rank)),
        "@V": ", ".join(f'"r"(corner[{n}])' for n in range(rank)),
        "@O": "reduce." if reduction else "",
        "@W": f".{reduction}.tile" if reduction else ".tile",
    }
    for name, word in words.items():
        text = text.replace(name, word)
    return text


def expected_box(array, corner, box, steps=None, fill=0) -> np.ndarray:
    """The elements that a copy takes. corner, box, steps: as the array's dimensions."""
    steps = steps or (1,) * array.ndim
    taken = [range(c, c + b, s) for c, b, s in zip(corner, box, steps)]
    found = np.full([len(each) for each in taken], fill, array.dtype)
    for at in itertools.product(*map(enumerate, taken)):
        place, where = zip(*at)
        if all(0 <= w < n for w, n in zip(where, array.shape)):
            found[place] = array[where]
    return found


def in_shared(box: np.ndarray, swizzle: int, size: int, shift: int = 0) -> np.ndarray:
    """The bytes of shared memory in which a box lies, `shift` bytes from the start, over 0xEE."""
    image = np.full(size, 0xEE, np.uint8)
    rows = box.reshape(-1, box.shape[-1]).view(np.uint8)
    pitch = max(rows.shape[1], swizzle)
    mask = max(swizzle // 16 - 1, 0)
    for row, data in enumerate(rows):
        for unit in range(0, len(data), 16):
            at = shift + row * pitch + unit
            at ^= (at // 128 & mask) << 4
            image[at : at + 16] = data[unit : unit + 16]
    return image


def room(box, width: int, swizzle: int, shift: int = 0) -> int:
    """Bytes of shared memory for a box, rounded up to 128."""
    rows, row = int(np.prod(box[:-1], dtype=int)), max(box[-1] * width, swizzle)
    return shift + -(-rows * row // 128) * 128


def load(tensor, corner, bytes_: int, size: int, shift: int = 0, device="auto") -> np.ndarray:
    """What shared memory holds after a copy of `bytes_` bytes."""
    kernel = kernels.Kernel(source(LOAD, len(corner)), "load")
    out = np.zeros(size, np.uint8)
    args = [tensor, np.array(corner[::-1], np.int32), out, bytes_, size, shift]
    kernel(1, 64, args, device=device, shared_mem=size + 16)
    return out


def store(tensor, corner, data, shift: int = 0, reduction: str = "", device="auto") -> None:
    """Copies a box out of shared memory, which holds `data` (bytes)."""
    kernel = kernels.Kernel(source(STORE, len(corner), reduction), "store")
    args = [tensor, np.array(corner[::-1], np.int32), data, data.nbytes, shift]
    kernel(1, 64, args, device=device, shared_mem=data.nbytes)
