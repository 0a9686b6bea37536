"""C = A B in cuTile: arrays are loaded by tiles, and ct.mma multiplies them."""

import cuda.tile as ct


@ct.kernel
def product(a, b, c, BM: ct.Constant[int], BN: ct.Constant[int], BK: ct.Constant[int],
            PARTS: ct.Constant[int], TMA: ct.Constant[bool]):  # fmt: skip
    group = 8 * ct.cdiv(c.shape[1], BN)  # blocks of eight rows of tiles run together
    first = ct.bid(0) // group * 8
    rows = min(8, ct.cdiv(c.shape[0], BM) - first)
    m = first + ct.bid(0) % group % rows
    n = ct.bid(0) % group // rows
    total = ct.zeros((BM, BN), ct.float32)
    for k in range(ct.cdiv(a.shape[1], BK)):
        x = ct.load(a, (m, k), (BM, BK), allow_tma=TMA)
        y = ct.load(b, (k, n), (BK, BN), allow_tma=TMA)
        if PARTS == 1:
            total = ct.mma(x, y, total)
        else:  # two TF32 for each number: there is no word for that
            x0, y0 = x.astype(ct.tfloat32), y.astype(ct.tfloat32)
            x1 = (x - x0.astype(ct.float32)).astype(ct.tfloat32)
            y1 = (y - y0.astype(ct.float32)).astype(ct.tfloat32)
            total = ct.mma(x0, y0, ct.mma(x0, y1, ct.mma(x1, y0, total)))
    ct.store(c, (m, n), total, allow_tma=TMA)
