"""In which order a step's blocks take the tiles of C, and what those that run together read."""

from __future__ import annotations

import numpy as np

from .step import Step

# The step's own lines that say which tile is a block's, for tiles of one element.
PLACES = """\
{defines}
extern "C" __global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B,
                                 float beta, float* C, int lda, int ldb, int ldc)
{{
    int number = blockIdx.y * gridDim.x + blockIdx.x;
    {order}
    C[first_row * ldc + first_col] = number;
}}
"""


def places(step: Step, M: int, N: int) -> np.ndarray:
    """The row and the column of the tile that each block takes, in the order of their numbers.

    Found by running the step's region `order` in the interpreter. Raises ValueError without one.
    """
    columns, rows = step.grid(M, N)
    values = step.defines | {"BM": 1, "BN": 1}
    defines = "\n".join(f"#ifndef {x}\n#define {x} {n}\n#endif" for x, n in values.items())
    source = PLACES.format(defines=defines, order=step.region("order"))
    order = step.edit(source=source, block="1").define(BM=1, BN=1)
    A, B = np.zeros((rows, 1), np.float32), np.zeros((1, columns), np.float32)
    numbers = order(A, B, device="interpreter")
    return np.stack(np.divmod(np.argsort(numbers, axis=None), columns), axis=1)


def waves(blocks: np.ndarray, slots: int) -> list[np.ndarray]:
    """The places by waves, of as many blocks as run at a time."""
    return [blocks[at : at + slots] for at in range(0, len(blocks), slots)]


def bytes_read(step: Step, M: int, N: int, K: int, slots: int) -> int:
    """What blocks read of A and B, if those of a wave share each row and each column of tiles that
    they have in common, and waves share nothing."""
    BM, BN, read = step.defines["BM"], step.defines["BN"], 0
    for wave in waves(places(step, M, N), slots):
        read += sum(min(BM, M - row * BM) for row in set(wave[:, 0]))
        read += sum(min(BN, N - col * BN) for col in set(wave[:, 1]))
    return int(4 * K * read)
