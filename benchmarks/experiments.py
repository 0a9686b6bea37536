"""Experiments that decide a question of the book: edits of steps, timed beside cuBLAS.

    python -m benchmarks.experiments [NAME ...]            time them, by the protocol of `bench`
    python -m benchmarks.experiments --stalls [NAME ...]   record what their warps wait for, by ncu

Without NAME, all of them; most with the steps that they change in the same rounds. To those of
`kernels.measure.experiments`, into whose code chapters look, come here those of which they show the
times alone. `kernels.experiments("NVIDIA H200")` reads what was recorded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anywarp import gpu
from anywarp.sass import elf
from kernels.analysis.reference import inputs
from kernels.ladder.product.layout import laid_out
from kernels.ladder.step import Step, step
from kernels.machine.rewrite import ARCHITECTURE
from kernels.measure import experiments, profiling
from kernels.measure.bench import benchmark
from kernels.measure.experiments import (
    BUFFERS_14,
    Experiment,
    Patched,
    ahead,
    bounded,
    edited,
    idle,
    named,
    not_ahead,
    ordered,
    pairs,
    quickly,
    unrolled,
    without_reuse,
)
from kernels.measure.provenance import begun
from kernels.records import EXPERIMENTS, write

STALLS_SIZE = 4096  # where `kernels.stalls` are recorded
HGMMA = 0xDF0  # the opcode of a wgmma: its low 12 bits
COLUMNS_FIRST = (
    "    int block = blockIdx.y * gridDim.x + blockIdx.x;\n"
    "    int row = block % gridDim.y * BM + threadIdx.y;\n"
    "    int col = block / gridDim.y * BN + threadIdx.x;\n"
)
ROWS_FIRST = (
    "    int row = blockIdx.y * BM + threadIdx.y;\n    int col = blockIdx.x * BN + threadIdx.x;\n"
)
LATER_21 = (
    "        if (thread >= 128 && k == 0)  // the second warpgroup\n            wait(&begun, 0);\n"
)
GUARD_21 = (
    ("        again[i / 2 % 2] |= sum[i] - sum[i] != 0;\n", "        ;\n"),
    ("if (__any_sync(~0u, kind_a | kind_b)) {", "if (false) {"),
)
SUM_24 = "sum[i] += chain[i]"
SUMS_24 = "    float sum[BN / 2] = {}, chain"
DIVISOR_24 = f"    float one = alpha == alpha ? 1 : LOW;\n{SUMS_24}"  # not known to the compiler
GUARD_24 = """\
            again[i / 2 % 2] |= !(size >= of_row[i / 2 % 2].least && size >= of_col.least) ||
                                sum[i] - sum[i] != 0;
"""
ARRIVE_25 = "mbarrier.arrive.{}shared::cluster"
DEFINES_25 = (  # each alone
    *("PRODUCER=0", "PRODUCER=1", "SWIZZLE=64", "SWIZZLE=32", "PING_PONG=1 STAGES=2"),
    *("TMA_STORE=1", "GRID=65536"),
)
NO_NUMBERS_23 = """\
        #pragma unroll
        for (int n = 0; n < BK / 4; ++n)
            asm volatile("" : "=r"(a[n / 4][0][n % 4]), "=r"(a[n / 4][1][n % 4]),
                              "=r"(a[n / 4][2][n % 4]));
"""
LOAD_14 = "        load(k0 + BK);\n"
NEXT_16 = "    float next_a[BM / COPY_A];\n    float4 next_b[BK / COPY_B];\n"
COPIES_16 = """\
            copy_async<4>(&tile_a[to][a_k][a_row + i], &A[(a_row + i) * K + a_k], k0 < K);
        for (int i = 0; i < BK; i += COPY_B)
            copy_async<16>(&tile_b[to][b_k + i][b_col], &B[(b_k + i) * N + b_col], k0 < K);
        A += BK;
        B += BK * N;
        asm volatile("cp.async.commit_group;" ::: "memory");
        to = (to + 1) % STAGES;
    };
"""
LOADS_16 = """\
            if (k0 < K)
                next_a[i / COPY_A] = A[(a_row + i) * K + a_k];
        for (int i = 0; i < BK; i += COPY_B)
            if (k0 < K)
                next_b[i / COPY_B] = FLOAT4(B[(b_k + i) * N + b_col]);
        A += BK;
        B += BK * N;
    };
    auto store = [&]() {
        for (int i = 0; i < BM; i += COPY_A)
            tile_a[to][a_k][a_row + i] = next_a[i / COPY_A];
        for (int i = 0; i < BK; i += COPY_B)
            FLOAT4(tile_b[to][b_k + i][b_col]) = next_b[i / COPY_B];
        to = (to + 1) % STAGES;
    };
"""
COPY_16 = 'asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::'
END_13 = "        // endregion\n        __syncthreads();\n    }\n"
UNROLL_13 = ("#pragma unroll\n        for (int k = 0;", "#pragma unroll 4\n        for (int k = 0;")
STEPPED_04 = """
float sum = 0.0f;
const float *a = &A[row * K], *b = &B[col];
for (int k = 0; k < K; ++k)
    sum += a[k] * b[k * N];
"""
WIDE_04 = """
float sum = 0.0f;
for (int k = 0; k < K; ++k)
    sum += A[(long long)row * K + k] * B[(long long)k * N + col];
"""
WIDTHS_08 = {
    "floats": """
    for (int i = 0; i < BM; i += ROWS)
        tile_a[threadIdx.y + i][col] = A[(threadIdx.y + i) * K + col];
    for (int i = 0; i < BK; i += ROWS)
        tile_b[threadIdx.y + i][col] = B[(threadIdx.y + i) * N + col];
    __syncthreads();
""",
    "float2": """
    #define FLOAT2(x) (*(float2*)&(x))
    a_row = 2 * thread / BK, a_k = 2 * thread % BK;
    b_k = 2 * thread / BN, b_col = 2 * thread % BN;
    for (int i = 0; i < BM; i += COPY_A / 2)
        FLOAT2(tile_a[a_row + i][a_k]) = FLOAT2(A[(a_row + i) * K + a_k]);
    for (int i = 0; i < BK; i += COPY_B / 2)
        FLOAT2(tile_b[b_k + i][b_col]) = FLOAT2(B[(b_k + i) * N + b_col]);
    __syncthreads();
""",
    "float2 in one loop": """
    #define FLOAT2(x) (*(float2*)&(x))
    for (int i = 2 * thread; i < BM * BK; i += 2 * THREADS)
        FLOAT2(tile_a[i / BK][i % BK]) = FLOAT2(A[i / BK * K + i % BK]);
    for (int i = 2 * thread; i < BK * BN; i += 2 * THREADS)
        FLOAT2(tile_b[i / BN][i % BN]) = FLOAT2(B[i / BN * N + i % BN]);
    __syncthreads();
""",
}
COPIES_08 = """
    for (int i = 0; i < BM; i += COPY_A)
        for (int j = 0; j < 4; ++j)
            tile_a[a_row + i][a_k + j] = A[(a_row + i) * K + a_k + j];
    for (int i = 0; i < BK; i += COPY_B)
        for (int j = 0; j < 4; ++j)
            tile_b[b_k + i][b_col + j] = B[(b_k + i) * N + b_col + j];
    __syncthreads();
"""
ROW_09 = ("int row = thread / (BN / TN) * TM;", "int row = (thread / 32 * 2 + thread % 2) * TM;")
COL_09 = ("int col = thread % (BN / TN) * TN;", "int col = thread % 32 / 2 * TN;")
TILE_09 = ("float tile_a[BM][BK]", "float tile_a[BM][BK + 4]")
QUADS = (  # of 2 x 2 lanes, in warps of 8 x 4 threads
    ("thread / (BN / TN) * TM;", "(thread / 128 * 8 + thread % 32 / 8 * 2 + thread % 2) * TM;"),
    ("thread % (BN / TN) * TN;", "(thread / 32 % 4 * 4 + thread % 8 / 2) * TN;"),
)
STRIDED_09 = (  # rows of a thread that lie BM / TM apart, after QUADS
    ("thread % 2) * TM;", "thread % 2);"),
    ("tile_a[row + i][k]", "tile_a[row + BM / TM * i][k]"),
    ("C[(row + i) * N", "C[(row + BM / TM * i) * N"),
)
SWIZZLED_10 = [(f"[a_k + {n}][a_row + i]", f"[a_k + {n}][(a_row + i) ^ 2 * a_k]") for n in range(4)]
SWIZZLED_10 += [("tile_a[k][row + i]", "tile_a[k][(row + i) ^ 8 * (k / 4)]")]  # a_k is 4 to 12
NOT_ALIGNED_15 = ("return width % 4 == 0 &&", "return width < 0 &&")  # known at run time, too
TILED = ("05", "06", "07", "08", "09", "10", "11", "12", "13", *BUFFERS_14, "15")
TILE_11 = "BM=128 BN=128 BK=8 TM=8 TN=8"
ORDER_17 = {"load_gap": 4, "other_gap": 4, "barrier": 0, "snake": False}  # each undoes a change


def filled(step: Step, name: str, unused: int) -> Any:
    """The same machine code in blocks with so many bytes of shared memory that nobody uses, so that
    fewer fit on an SM."""
    return edited(step, name, shared=str(unused))


def loads_first(step: Step) -> Any:
    """The step whose loads of a tile stand before its arithmetic in the machine code, too: ptxas
    moves none over where the warp meets."""
    return edited(step, "loads first", (LOAD_14, f"{LOAD_14}        __syncwarp();\n"))


def through_registers(step: Step) -> Any:
    """Step 16 whose copies of the next tiles are loads and, at the last k, stores: the same
    accesses, by way of registers."""
    return edited(
        step,
        "through registers",
        ("    unsigned to = 0;", NEXT_16 + "    unsigned to = 0;"),
        (COPIES_16, LOADS_16),
        (
            "    for (int stage = 0; stage < STAGES - 1; ++stage)\n        copy(stage * BK);\n",
            "    copy(0);\n",
        ),
        ('asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");', "store();"),
        ("copy(k0 + (STAGES - 1) * BK);", "copy(k0 + BK);"),
    )


def past_l1(step: Step) -> Any:
    """Step 16 whose copies of 16 bytes go past L1."""
    wide = COPY_16.replace(".ca", ".cg")
    operands = step.source.partition(COPY_16)[2].partition(";\n")[0]
    both = f"if (BYTES == 16)\n{wide}{operands};\nelse\n{COPY_16}"
    return edited(step, "past L1", (COPY_16, both))


def loads_last(step: Step) -> Any:
    """The step whose loads of the next tile stand after the arithmetic on this one."""
    last = END_13.replace("        __sync", f"{LOAD_14}        __sync")
    return edited(step, "loads last", (LOAD_14, ""), (END_13, last))


def copies_of(step: Step) -> list[Any]:
    """Step 23 as it is, with copies of 4 bytes each, and with sizes given to all copies."""
    return [
        step,
        edited(
            step,
            "copies of 4 bytes",
            ("bool wide = (size_t)large.x % 16 == 0;", "bool wide = false;"),
            ("if (wide && lines >= LINES", "if (lines >= LINES"),
            ("copy_rows<true, true>", "copy_rows<false, true>"),
        ),
        edited(step, "sizes", ("lines >= LINES && length >= LINE + 4", "false")),
    ]


def alone(step: Step, *parts: str) -> Patched:
    """Step 23 whose loop has these parts of it alone, of "copies", "numbers" and "products"; its
    result is of no use. Instead of its parts a number has what was in the registers."""
    source = step.source
    numbers = source[source.index("        float x[BK / 4][2];") :]
    left_out = {
        "copies": [
            ("        copy(i + STAGES);\n", "        commit();\n"),
            (
                "            fill(i - 1 + STAGES);\n",
                "            arrive(&full[(i - 1) % STAGES]);\n",
            ),
        ],
        "numbers": [
            (numbers[: numbers.index("        // endregion")], NO_NUMBERS_23),
            ("            sum[j / 32][j % 32] += chain[j / 32][j % 32];\n", "            ;\n"),
            ("        rest |= stage.small.unsafe[thread % 32];\n", ""),
        ],
        "products": [],
    }
    changes = [one for part in left_out.keys() - set(parts) for one in left_out[part]]
    # a number in any case: where a sum is none, `reduce` would compute the tile again
    store, kept = "to[j * THREADS] = {};", "sum" if "numbers" in parts else "chain"
    found, stored = "sum[j / 32][j % 32]", f"__saturatef({kept}[j / 32][j % 32])"
    changes.append((store.format(found), store.format(stored)))
    name = f"{' and '.join(parts)} alone" if parts else "no part"
    patch = bytes if "products" in parts else without_wgmma  # of the machine code
    return Patched(edited(step, name, *changes), "spoiled", patch, spoiled=True)


def defines_of_25(step: Any) -> list[Any]:
    """Steps 24 and 25, each define of 25 by itself, and its cluster with arrivals that release to
    the cluster what the thread has stored."""
    cluster = step("25 CLUSTER=2")
    fence = ARRIVE_25.format(""), ARRIVE_25.format("release.cluster.")
    return [
        *map(step, ("24", "25", *(f"25 {words}" for words in DEFINES_25))),
        edited(cluster, "released", fence),
    ]


def without_wgmma(cubin: bytes) -> bytes:
    """The same machine code with a NOP for each wgmma, in whatever kernels it has."""
    made = bytearray(cubin)
    for section in elf.sections(cubin):
        for at in range(section.start, section.start + section.size, elf.INSTRUCTION_BYTES):
            word = int.from_bytes(made[at : at + elf.INSTRUCTION_BYTES], "little")
            if section.flags & elf.EXECUTABLE and word & 0xFFF == HGMMA:
                made[at : at + elf.INSTRUCTION_BYTES] = idle(word).to_bytes(
                    elf.INSTRUCTION_BYTES, "little"
                )
    return bytes(made)


TABLE: dict[str, Experiment] = {
    **experiments.TABLE,
    "ptxas -O1": Experiment(
        "What does ptxas make of each step at its first level of optimisation?",
        (4096,),
        lambda step: pairs(map(step, ("02", "03", "04", *TILED)), quickly),
    ),
    "02 rows": Experiment(
        "Do lower blocks, and rows of A that are no whole cache lines, gain what their wavefronts "
        "in the data pipe say?",
        (4096, (4096, 4096, 4095)),
        lambda step: [step("02"), step("02 BM=16 BN=64")],
    ),
    "04 passes": Experiment(
        "Is it the address arithmetic or the length of an unrolled pass?",
        (4096,),
        lambda step: [
            step("04"),
            step("04 UNSIGNED=1"),
            unrolled(step("04"), 4),
            unrolled(step("04 UNSIGNED=1"), 16),
        ],
    ),
    "04 stepped": Experiment(
        "How fast is `unsigned` where the loop itself has indices that can be stepped?",
        (1024, 2048, 4096),
        lambda step: [
            step("04"),
            step("04 UNSIGNED=1"),
            *(
                named(one.edit(region="dot_product", code=code), one, name)
                for one, code, name in (
                    (step("04 UNSIGNED=1"), STEPPED_04, "stepped"),
                    (step("04"), STEPPED_04, "stepped"),
                    (step("04"), WIDE_04, "64 bits"),
                )
            ),
        ],
    ),
    "03 sharing": Experiment(
        "Why is a product of 8192 slower: the size of B, the distance of its rows, or how many "
        "rows of blocks share it at a time?",
        (
            *((8192, n, 8192) for n in (1024, 2048, 4096, 8192, 8224, 16384)),
            (8192, 8192, 8224),
            (8192, 8192, 4096),
        ),
        lambda step: [
            step("03"),
            edited(step("03"), "columns of blocks first", (ROWS_FIRST, COLUMNS_FIRST)),
        ],
    ),
    "08 copies": Experiment(
        "What does a float4 gain over copies of a thread's own four neighbours, one by one?",
        (512, 1024, 2048, 4096, 8192),
        lambda step: [
            step("08"),
            named(step("08").edit(region="load_tile", code=COPIES_08), step("08"), "four by one"),
        ],
    ),
    "08 widths": Experiment(
        "What do copies gain by float2 and float4, where lanes copy neighbours side by side?",
        (512, 1024, 2048, 4096, 8192),
        lambda step: [
            step("07"),
            step("08"),
            *(
                named(step("08").edit(region="load_tile", code=code), step("08"), name)
                for name, code in WIDTHS_08.items()
            ),
        ],
    ),
    "07 unrolled": Experiment(
        "What does a column of 16 gain where it is unrolled by less, so that a second block fits?",
        (1024, 2048, 4096, 8192),
        lambda step: [
            step("07"),
            step("07 BM=128 TM=16"),
            *(
                edited(
                    step("07 BM=128 TM=16"),
                    f"unroll {n}",
                    ("#pragma unroll 32", f"#pragma unroll {n}"),
                )
                for n in (16, 8)
            ),
        ],
    ),
    "07 one block": Experiment(
        "Is a second block on the SM worth anything where the machine code is the same?",
        (1024, 2048, 4096, 8192),
        lambda step: [
            step("07"),
            filled(step("07"), "2 blocks", 77_232),
            filled(step("07"), "1 block", 87_232),
        ],
    ),
    "09 pairs": Experiment(
        "What is gained by lanes in pairs, which take fewer wavefronts, all else alike?",
        (512, 1024, 2048, 4096, 8192),
        lambda step: [step("09"), edited(step("09"), "pairs", ROW_09, COL_09, TILE_09)],
    ),
    "09 deep": Experiment(
        "What are the square and the depth of a tile worth, each by itself?",
        (512, 4096),
        lambda step: [
            *(step(f"09 BK={n}") for n in (16, 32, 64)),
            *(step(f"08 BK={n}") for n in (32, 64)),
        ],
    ),
    "10 bounds": Experiment(
        "Do rows of k cost more than the transposed tile where two blocks of 8 x 8 fit?",
        (1024, 2048, 4096, 8192),
        lambda step: [
            bounded(step(f"{number} {TILE_11}"), f"{blocks} at least", blocks, "THREADS")
            for number in ("09", "10")
            for blocks in (1, 2)
        ],
    ),
    "10 padded": Experiment(
        "Are rows of k, padded and strided, as fast as the transposed tile where both take as many "
        "wavefronts?",
        (2048, 4096),
        lambda step: [
            step("09"),
            edited(step("09"), "quads", *QUADS, *STRIDED_09, TILE_09),
            step("10"),
            edited(step("10"), "quads", *QUADS),
        ],
    ),
    "10 four blocks": Experiment(
        "Does a fifth block on the SM keep the data stage of step 10 busier than that of 09?",
        (1024, 2048, 4096, 8192),
        lambda step: [
            step("09"),
            step("10"),
            filled(step("10"), "5 blocks", 35_552),
            filled(step("10"), "4 blocks", 37_552),
        ],
    ),
    "10 swizzle": Experiment(
        "Is a swizzle that leaves no conflict, in less shared memory, faster than padding?",
        (1024, 2048, 4096, 8192),
        lambda step: [
            step("10"),
            step("10 PAD=0"),
            edited(step("10 PAD=0"), "swizzle", *SWIZZLED_10),
        ],
    ),
    "12 arrangements": Experiment(
        "Does the shape of a warp's tile matter, and at which sizes?",
        (1024, 2048, 4096, 8192),
        lambda step: [step("11 SPLIT=1 BLOCKS=2"), step("12"), *step("12").variants],
    ),
    "12 quads": Experiment(
        "Where do quads of lanes gain: in a block alone on its SM, or where two share it?",
        ((1408, 1536, 256), (1408, 1536, 2048), (2816, 1536, 256), (2816, 1536, 2048)),
        lambda step: [step("12"), step("12 QUADS=0")],
    ),
    "13 loads last": Experiment(
        "What do loads after the arithmetic cost, the loop over a tile unrolled in full or by 4?",
        (4096, 8192),
        lambda step: pairs((step("13"), edited(step("13"), "unroll 4", UNROLL_13)), loads_last),
    ),
    "14 loads first": Experiment(
        "Is it the place of the loads in the machine code that decides in small products?",
        (256, 512, 1024, 2048, 4096),
        lambda step: [
            *pairs(map(step, ("13", *BUFFERS_14)), loads_first),
            step("13 BLOCKS=1"),
            step("15"),
        ],
    ),
    "15 waves": Experiment(
        "How does the speed go from one size to the next, as the last wave of blocks fills?",
        tuple(range(1024, 4609, 128)),
        lambda step: [step("15")],
    ),
    "15 edges": Experiment(
        "What does an element more cost, and rows that are not aligned?",
        (1408, 1409, 1412, 2048, 2049, 2052, 3200, 3201, 3204, 4095, 4096, 4097, 4100),
        lambda step: [step("15")],
    ),
    "15 not aligned": Experiment(
        "What do loads and stores of one float each cost, where rows could be read by float4?",
        (1024, 2048, 4096),
        lambda step: [step("15"), edited(step("15"), "one by one", NOT_ALIGNED_15)],
    ),
    "16 registers": Experiment(
        "What do asynchronous copies gain over loads and stores, with all else the same?",
        (1024, 4096),
        lambda step: pairs((step("16 TN=8 WM=32"), step("16")), through_registers),
    ),
    "16 ahead": Experiment(
        "Do fragments fetched ahead pay without asynchronous copies, and copies without them?",
        (1024, 2048, 4096),
        lambda step: [
            *pairs((step("14"), ahead(step("14"))), quickly),
            not_ahead(step("16 TN=8 WM=32")),
            step("16 TN=8 WM=32"),
            through_registers(step("16 TN=8 WM=32")),
            step("16"),
            past_l1(step("16")),
            step("14 TN=16 WM=64"),
            *pairs((ahead(step("14 TN=16 WM=64")),), quickly),
            *(edited(step(one), "ptxas -O3", ptxas="-O3") for one in ("16 TN=8 WM=32", "16")),
        ],
    ),
    "21 together": Experiment(
        "What is gained by a second warpgroup that begins a chain later than the first?",
        (1024, 4096),
        lambda step: pairs(
            (step("21"), step("21 SPLITS=2"), step("21 EXACT=1")),
            lambda one: edited(one, "together", (LATER_21, "")),
        ),
    ),
    "21 guard": Experiment(
        "What does it cost to look for sums that are not safe?",
        (1024, 4096, 8192),
        lambda step: [step("21"), edited(step("21"), "without a guard", *GUARD_21)],
    ),
    "reuse": Experiment(
        "How much do the operands that stay in the caches of the register banks save?",
        (4096,),
        lambda step: pairs(
            map(step, ("12", "13", "14", "14 BUFFERS=1")),
            lambda one: Patched(one, "no reuse", without_reuse),
        ),
    ),
    "18 one tile": Experiment(
        "How does the time go with the number of parts along K, the tile the same?",
        ((256, 256, 16384),),
        lambda step: [
            *(step(f"18 BM=64 BN=128 TN=8 BLOCKS=3 WM=32 SPLITS={2**n}") for n in range(7)),
            step("18"),
            step("18 STREAM=132"),
        ],
    ),
    "18 waves": Experiment(
        "Where the last wave of tiles is not full: does a stream fill it?",
        tuple((128 * m, 2816, 4096) for m in (12, 13, 15, 18, 21, 24, 27)),
        lambda step: [*map(step, ("17", "18", "18 SPLITS=2", "18 STREAM=132"))],
    ),
    "19 undone": Experiment(
        "The four changes of the order: do they overlap?",
        (4096,),
        lambda step: [
            step("17"),
            step("19"),
            *(ordered(step("19"), **{name: value}) for name, value in ORDER_17.items()),
            ordered(step("19"), **ORDER_17),
        ],
    ),
    "20 chains": Experiment(
        "What do longer chains gain: fewer additions to sums in registers?",
        (2048, 4096),
        lambda step: [
            step("20"),
            *(step(f"20 BK=32 CHAIN={n}") for n in (16, 32)),
            step("20 BK=32 CHAIN=32 STRIP=16"),
        ],
    ),
    "power": Experiment(
        "How fast are the steps on tensor cores, and cuBLAS, where no other takes the power?",
        (2048, 4096, 8192),
        lambda step: [*map(step, ("16", "17", "18", "19", "20", "21", "21 EXACT=1", "23"))],
        together=False,
    ),
    "23 columns": Experiment(
        "Of how few columns must a product be, so that it does not pay to pack the large factor?",
        tuple((8192, n, 8192) for n in (16, 64, 128, 256, 512, 1024)),
        lambda step: [
            step("18 BM=64 BN=64 TN=8 BLOCKS=6 WM=32 STREAM=792"),
            step("21"),
            step("21 SPLITS=2"),
            step("23"),
            step("23 BN=64"),
        ],
    ),
    "23 copies": Experiment(
        "What is gained by copies of 16 bytes where lines begin anywhere, and by whole tiles that "
        "are copied without sizes?",
        ((8192, 64, 8192), (8192, 64, 8191), (4925, 53, 5709)),
        lambda step: copies_of(step("23 BN=64")),
    ),
    "23 copies of B": Experiment(
        "And where lines are columns of the large factor?",
        ((128, 8192, 8192), (128, 8191, 8192), (102, 6666, 4968)),
        lambda step: copies_of(step("23 SWAP_AB=1")),
    ),
    "23 parts": Experiment(
        "How long do the parts of the loop take, each alone, and what do more warps gain?",
        ((8192, 64, 8192),),
        lambda step: [
            step("23 BN=64"),
            alone(step("23 BN=64")),
            alone(step("23 BN=64"), "copies"),
            alone(step("23 BN=64"), "numbers"),
            alone(step("23 BN=64"), "products"),
            alone(step("23 BN=64"), "copies", "numbers"),
            step("23 BM=64 BN=64 STAGES=2 STREAM=264"),
            step("23 BM=64 BN=64 STAGES=2 STREAM=396"),
            step("23 BM=64 BN=64 STREAM=264"),
        ],
    ),
    "24 alone": Experiment(
        "How fast are halves, each variant in rounds of its own?",
        (256, 512, 1024, 2048, 4096, 8192),
        lambda step: [*map(step, ("19", "21", "21 SPLITS=2", "24", "24 BM=64", "24 SPLITS=2"))],
        together=False,
    ),
    "24 in turns": Experiment(
        "And in turns with cuBLAS alone?", (1024, 2048, 4096, 8192), lambda step: [step("24")]
    ),
    "24 factors": Experiment(
        "What does a division in the loop do to wgmma?",
        (4096,),
        lambda step: [
            step("24"),
            edited(step("24"), "a factor", (SUMS_24, DIVISOR_24), (SUM_24, f"{SUM_24} * one")),
            edited(step("24"), "a division", (SUMS_24, DIVISOR_24), (SUM_24, f"{SUM_24} / one")),
            edited(step("24"), "without a guard", (GUARD_24, "")),
        ],
    ),
    "25 defines": Experiment(
        "What does each define of step 25 do?", (1024, 2048, 4096, 8192), defines_of_25
    ),
    "25 alone": Experiment("And in rounds of its own?", (4096,), defines_of_25, together=False),
}

# ---------------------------------------------------------------------- running them


def run(names: Sequence[str], output: Path | None = None) -> None:
    """Time experiments and save each as soon as it is done, by default where `kernels.experiments`
    reads it; others that are there stay. Steps whose machine code is rewritten are left out where
    the GPU does not execute it. Raises what `benchmark` raises."""
    gpu.require()
    output, before = begun(EXPERIMENTS, output)
    saved: dict[str, Any] = before["experiments"] if before else {}
    rewritable = gpu.arch() == ARCHITECTURE
    if not rewritable:
        print(f"steps whose machine code is rewritten are left out: it is that of {ARCHITECTURE}")
    for name in names:
        question, sizes, steps, together = TABLE[name]
        print(f"{name}: {question}", flush=True)
        chosen = [one for one in steps(step) if rewritable or not isinstance(one, Patched)]
        timed = benchmark(chosen, sizes, together=together)
        print(timed)
        saved[name] = json.loads(timed.to_json())
        origin = {"gpu": gpu.device().name, "what": "an experiment each, with its own provenance"}
        whole = {"provenance": origin, "experiments": saved}
        write(output, json.dumps(whole, indent=1) + "\n")


def launched(names: Sequence[str]) -> list[Step]:
    """The steps of experiments that a call launches, each once."""
    steps = (one for name in names for one in TABLE[name].steps(step))
    return list({one.label: one for one in steps if not isinstance(one, Patched)}.values())


def launch(names: Sequence[str], size: int = STALLS_SIZE) -> None:
    """Launch each of them once, for ncu to watch."""
    A, B, _ = inputs(size, size, size)
    for one in launched(names):
        one(*laid_out(A, B, one.defines), device="gpu")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(TABLE)}; all if none")
    parser.add_argument("--output", type=Path, help="default: in your folder of records")
    parser.add_argument("--stalls", action="store_true", help="what warps wait for at 4096 instead")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(TABLE):
        parser.error(f"there is no experiment {min(unknown)!r}; there are {', '.join(TABLE)}")
    names = options.names or list(TABLE)
    if options.launch:
        launch(names)
    elif options.stalls:
        command = ["-m", "benchmarks.experiments", "--launch", *names]
        profiling.stalls(launched(names), STALLS_SIZE, options.output, command)
    else:
        run(names, options.output)


if __name__ == "__main__":
    main()
