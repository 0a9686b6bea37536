"""Faults put into the steps on purpose: the instruments have to find each of them.

A mutation replaces one piece of a step's file. `check` runs the mutant on its cases in the
interpreter, `sanitize` watches it on two tiles by two, three along K; on one by one where tensor
cores make them large. The table says who notices:
"wrong" stands for check, the others are the kinds of all the sanitizer's findings. A barrier less
spoils nothing in the interpreter, where the threads of a block advance together; only the sanitizer
is asked about those, to save time, and one test shows that check passes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from slow import if_slow

from anywarp import ptx
from kernels.analysis.reference import CheckError
from kernels.ladder import step as ladder
from kernels.records import BITS, recorded_path

RACE = {"race"}  # and nothing else
WRONG = {"wrong"}  # and nothing is found
CLASH = {"wrong", "race"}
OUTSIDE = {"wrong", "out of bounds"}
NEVER = {"uninitialised"}
UNWRITTEN = WRONG | NEVER
MISALIGNED = {"wrong", "misaligned"}
EARLY = {"wrong", "asynchronous copy"}
LATE = {"asynchronous copy"}
UNDER_WAY = RACE | LATE
UNFENCED = {"tensor core registers"}
BARRIERS = {"barrier"}
UNFILLED = EARLY | BARRIERS
GONE = {"race", "out of bounds"}
LEFT = {"out of bounds"}

SYNC = "__syncthreads();"
FULL = "wait(&full[{0} % STAGES], {0} / STAGES % 2);"
EMPTY = "wait(&empty[({0} - 1) % STAGES], ({0} - 1) / STAGES % 2);"
EMPTY_25 = "wait(&own.empty[n % STAGES], (n / STAGES - 1) % 2);"
LAST_25 = 'bulk.wait_group 0;" ::: "memory"); if (CLUSTER > 1) cluster_sync();'
ON_SUMS = "auto& chain = *(float (*)[STRIP / 8][4])sums;"  # in place of a new chain
LOADED = f"{SYNC}\n        // endregion\n\n        // region: "  # the first barrier of a loop
USED = f"{SYNC}\n        // endregion\n\n        A += BK;"  # and the second


def without_barriers():
    """Mutations that drop the barrier after the copy and the one after the multiplication."""
    return [
        ("the barrier after the copy dropped", LOADED, LOADED.removeprefix(SYNC), RACE),
        ("the barrier after the use dropped", USED, USED.removeprefix(SYNC), RACE),
    ]


def pipelined():
    """Mutations of a loop that reads one stage while copies fill the others."""
    return [
        ("the barrier dropped", SYNC, "", RACE),
        ("the wait dropped", '"cp.async.wait_group %0;"', '"// %0"', EARLY),
        ("a tile less waited for", '"n"(STAGES - 2)', '"n"(STAGES - 1)', EARLY),
        ("no groups", '"cp.async.commit_group;"', '""', EARLY),
        ("a tile left out", "copy(k0 + (STAGES - 1) * BK)", "copy(k0 + STAGES * BK)", WRONG),
        ("one stage read", "now = (now + 1) % STAGES", "now = now", EARLY | RACE),
        ("one stage filled", "to = (to + 1) % STAGES", "to = to", EARLY | RACE | UNWRITTEN),
        ("the next stage too early", "if (k == BK - 1)", "if (k == BK - 2)", WRONG),
    ]


def any_tile():
    """Mutations of the step of any tile and any shape, and of that step in another order."""
    return [
        *pipelined(),
        ("copies behind the last k", "exists ? 4 * W : 0", "4 * W", OUTSIDE),
        ("a k too many", "k + dk < depth", "k + dk <= depth", OUTSIDE),
        ("the guard of columns dropped", " && (WHOLE || x + dx < edge)", "", OUTSIDE),
        ("whole by its rows alone", " && first_col + BN <= N", "", WRONG),
        ("float4 though rows start anywhere", "pitch % 4 == 0 && ", "", MISALIGNED),
        ("float4 though the first row starts anywhere", " && (size_t)p % 16 == 0", "", WRONG),
        ("a last group as high as others", "min(GROUP, gridDim.y - first)", "GROUP", WRONG),
        ("rows of C as long as wide", "(size_t)ROW(i) * ldc", "(size_t)ROW(i) * N", WRONG),
        ("the guard of rows of C dropped", "ROW(i) < rows ? cols", "true ? cols", OUTSIDE),
    ]


MUTATIONS = {
    "02_naive": [
        ("the guard of columns dropped", "row >= M || col >= N", "row >= M", OUTSIDE | CLASH)
    ],
    "03_coalesced": [
        ("C read though beta is 0", "beta == 0.0f ? alpha * sum : ", "", UNWRITTEN),
        ("alpha forgotten if beta is 0", "beta == 0.0f ? alpha * sum", "beta == 0.0f ? sum", WRONG),
    ],
    "04_index_arithmetic": [("the last k forgotten", "k < K;", "k < K - 1;", WRONG)],
    "05_shared_tiling": [
        *without_barriers(),
        ("the tile of B the other way round", "tile_b[col][row] =", "tile_b[row][col] =", WRONG),
        ("the last k of a tile forgotten", "k < BK;", "k < BK - 1;", WRONG),
        ("A does not advance", "A += BK;", "", WRONG),
    ],
    "06_bank_conflicts": [
        *without_barriers(),
        ("an element of tile_a further on", "tile_a[row][k]", "tile_a[row][k + 1]", OUTSIDE),
        ("B advances by rows of A", "B += BK * N", "B += BK * K", OUTSIDE),
    ],
    "06_bank_conflicts TRANSPOSED=1 SWIZZLE=1": [
        ("the swizzle maps two columns to one", "(k) ^ (col)", "(k) | (col)", CLASH)
    ],
    "07_thread_tile_1d BM=32 BN=32 BK=32 TM=4": [  # an eighth of the work
        *without_barriers(),
        ("the copy of A one row short", "i < BM; i += ROWS", "i < BM - ROWS; i += ROWS", UNWRITTEN),
        ("rows one further on", "row * TM + (i))", "row * TM + (i) + 1)", OUTSIDE),
    ],
    "07_thread_tile_1d STRIDED=1": [
        ("rows too close", "row + (i) * ROWS", "row + (i) * (ROWS - 1)", CLASH)
    ],
    "08_vectorized": [
        *without_barriers(),
        ("a float4 from any element", "4 * thread % BK", "thread % BK", MISALIGNED | UNWRITTEN),
        ("the same rows of B again", "B[(b_k + i) * N + b_col]", "B[b_k * N + b_col]", WRONG),
    ],
    "09_thread_tile_2d": [
        *without_barriers(),
        ("the outputs of a thread transposed", "sum[i][j] +=", "sum[j][i] +=", WRONG),
        ("C read though beta is 0", "if (beta != 0.0f)", "if (true)", UNWRITTEN),
    ],
    "10_transposed_tile": [
        *without_barriers(),
        ("rows that do not start on 16 bytes", "[BM + PAD]", "[BM + PAD + 2]", MISALIGNED),
        ("a column stored twice, another never", "tile_a[a_k + 3]", "tile_a[a_k + 2]", UNWRITTEN),
    ],
    "11_thread_tile_8x8": [
        *without_barriers(),
        ("the last k of a tile forgotten", "k < BK;", "k < BK - 1;", WRONG),
        ("an old element twice", "beta * old.w", "beta * old.z", WRONG),
    ],
    "11_thread_tile_8x8 SPLIT=1": [
        ("the second run too near the first", "(BN / TN * 4)", "(BN / TN * 2)", CLASH)
    ],
    "12_warp_tiling": [
        *without_barriers(),
        ("lanes that share a place", "lane / 2 % LANES_N", "lane % LANES_N", CLASH),
        ("rows of warps from their columns", "/ (BN / WN) * WM", "% (BN / WN) * WM", CLASH),
    ],
    "13_register_prefetch": [
        ("the first barrier dropped", f"store(); {SYNC}", "store();", RACE),
        ("the second barrier dropped", f"// endregion {SYNC}", "// endregion\n", RACE),
        ("the load of tiles behind the last", "if (k0 >= K)", "if (k0 > K)", OUTSIDE),
        ("every other tile", "load(k0 + BK)", "load(k0 + 2 * BK)", WRONG),
        ("A does not advance", "A += BK;", "", WRONG),
    ],
    "14_double_buffering": [
        ("the barrier before the loop dropped", "store(0); __syncthreads();", "store(0);", RACE),
        ("the barrier of the loop dropped", f"store(k0 + BK); {SYNC}", "store(k0 + BK);", RACE),
        ("the other buffer read", "now = k0 / BK %", "now = (k0 / BK + 1) %", CLASH | UNWRITTEN),
        ("one buffer written", "int to = k0 / BK % BUFFERS", "int to = 0", CLASH | UNWRITTEN),
        ("the load of tiles behind the last", "if (k0 >= K)", "if (k0 > K)", OUTSIDE),
    ],
    "14_double_buffering BUFFERS=1": [
        ("the barrier of one buffer dropped", "if (BUFFERS == 1) __syncthreads();", "", RACE)
    ],
    "15_any_shape": [
        ("the barrier before the loop dropped", "store(0); __syncthreads();", "store(0);", RACE),
        ("the barrier of the loop dropped", f"store(k0 + BK); {SYNC}", "store(k0 + BK);", RACE),
        ("the other buffer", "now = k0 / BK % 2", "now = (k0 / BK + 1) % 2", CLASH | UNWRITTEN),
        ("the guard of rows of A dropped", "a_row + i < M ? K - k : 0", "K - k", OUTSIDE),
        ("the guard of rows of B dropped", "k + i < K ? cols - b_col : 0", "cols - b_col", OUTSIDE),
        ("the guard of rows of C dropped", "ROW(i) < M ? cols", "true ? cols", OUTSIDE),
        ("the zero fill dropped", "n > 2 ? p[2] : 0", "p[2]", OUTSIDE | CLASH),
        ("filled with ones", "n > 3 ? p[3] : 0", "n > 3 ? p[3] : 1", WRONG),
        ("a column too many stored", "if (n > 1) c[1]", "if (n > 0) c[1]", OUTSIDE | CLASH),
        ("float4 though rows start anywhere", "width % 4 == 0 && ", "", MISALIGNED),
        ("float4 though the first row starts anywhere", " && (size_t)p % 16 == 0", "", WRONG),
        ("rows counted from the top", "    M -= first_row;", "    // M -= first_row;", OUTSIDE),
    ],
    "16_async_copy": [
        *pipelined(),
        ("copies behind the last tile", "exists ? BYTES : 0", "BYTES", OUTSIDE),
    ],
    "17_tile_space BM=64 BN=64 STAGES=4 TM=4 TN=4 WM=32 WN=16": [
        *any_tile(),
        ("a turn that skips an element", "TN - 1 - n : n", "TN - 2 - n : n", WRONG),
    ],
    "19_machine_code BM=32 BN=32 STAGES=3 TM=4 TN=4 WM=16 WN=32": [
        *any_tile(),
        ("lanes that share a place", "lane / 2 % LANES_N", "lane % LANES_N", CLASH),
        ("the row of another k", "stages[stage].a[k]", "stages[stage].a[k ^ 1]", WRONG),
    ],
    "20_tensor_cores BM=64 BN=64 WM=32 WN=32": [
        ("the barrier of the loop dropped", f"{SYNC} copy(k +", "copy(k +", RACE),
        ("a copy not waited for", '"n"(STAGES - 2)', '"n"(STAGES - 1)', LATE),
        ("a stage filled too soon", "copy(k + STAGES - 1)", "copy(k + STAGES)", LATE | NEVER),
        ("the smallest products left out", ": PARTS)  //", ": PARTS - 1)  //", WRONG),
        ("a part meets another", "part_b[order - p]", "part_b[p]", WRONG),
        ("chains go on", "float chain[STRIP / 8][4] = {};", ON_SUMS, WRONG),
        ("rows of a fragment confused", "lane / 16 * 8 + lane % 8", "lane % 16", WRONG),
        ("the guard of rows of A dropped", "row(e) < rows ? depth", "true ? depth", OUTSIDE),
        ("the guard of columns of B dropped", "row(e) < rows && k + i <", "k + i <", OUTSIDE),
        ("the guard of columns of C dropped", "if (i < M && j < N)", "if (i < M)", OUTSIDE | CLASH),
        ("float4 though rows start anywhere", " ld % 4 == 0 &&", "", MISALIGNED),
        ("float4 though the first row starts anywhere", " && (size_t)X % 16 == 0", "", WRONG),
        ("float2 though C starts anywhere", " && (size_t)C % 8 == 0", "", WRONG),
        (
            "sums read before they are there",
            f"{SYNC} for (int n = thread; any && n < BM * BN; n += THREADS)"
            " if (tile[n] - tile[n] != 0 && !marked(BM + n % BN))"
            f" atomicOr(&unsafe[n / BN / 32], 1u << n / BN % 32); {SYNC}",
            "",
            RACE,
        ),
    ],
    "20_tensor_cores BM=64 BN=64 WM=32 WN=32 FOLD=32": [
        ("a total forgotten", "x[1] + total.y", "x[1]", WRONG),
        ("sums added to totals twice", "if (!last) FLOAT4(sum", "if (0) FLOAT4(sum", WRONG),
    ],
    "21_warpgroups STAGES=2": [  # two warpgroups, of which one is ahead of the other
        ("a stage filled while it is read", EMPTY.format("k"), "", UNDER_WAY)
    ],
    "21_warpgroups BM=64 STAGES=2": [
        ("copies not waited for", FULL.format("k"), "", UNFILLED),
        ("what one lane has read for all", "__syncwarp(); if (thread", "if (thread", RACE),
        ("sums not fenced from the tensor cores", "wgmma_fence();", "", UNFENCED),
        ("sums not waited for", "wgmma_wait();", "", UNFENCED | RACE),
        ("products that nobody can wait for", "wgmma_commit();", "", UNFENCED | RACE),
        # the last warp may still read
        ("one arrival too few", "&empty[i], THREADS / 32", "&empty[i], THREADS / 32 - 1", RACE),
        ("one arrival too many", "[i], THREADS / 32", "[i], THREADS / 32 + 1", BARRIERS | WRONG),
        ("mbarriers that copies do not see", "fence.mbarrier_init.release.cluster;", "", BARRIERS),
        ("fewer bytes expected than are copied", "sizeof(Stage));", "sizeof(to.a));", UNFILLED),
        ("one stage filled", "[k % STAGES]; arrive_", "[0]; arrive_", LATE | NEVER),
        ("the total forgotten", "sum[i] += total[i]", "sum[i] += 0", WRONG),
        ("units of a row too near", "next_unit = rows", "next_unit = rows / 2", WRONG),
        ("the zero fill along K dropped", "row < rows && k + i < K", "row < rows", OUTSIDE),
        ("float4 though the first row starts anywhere", " && (size_t)X % 16 == 0", "", WRONG),
        ("float2 though rows of C start anywhere", "ldc % 2 == 0 && ", "", MISALIGNED),
    ],
    "21_warpgroups SPLITS=2": [
        (
            "sums sent too early",
            "(float*)stages; cluster_sync();",
            "(float*)stages;",
            GONE | LATE | UNFILLED | BARRIERS,
        ),  # what is then read marks rows, in some warps
        ("sums added before they have come", "(kind_b)); cluster_sync();", "(kind_b));", GONE),
    ],
    "25_tensor_maps STAGES=2": [
        ("a stage read before it is full", FULL.replace("&", "&own.").format("n"), "", UNFILLED),
        ("a stage filled while it is read", EMPTY_25, ";", WRONG | BARRIERS),
        ("sums not waited for", "wgmma_wait(); if", "if", UNFENCED | RACE),
        ("another swizzle", "SWIZZLE == 128 ? 1 :", "SWIZZLE == 128 ? 2 :", WRONG),
        ("rows too near", "next_eight_rows = 8 *", "next_eight_rows = 4 *", WRONG),
        ("a part of B twice", "map_b, k, at.y, 0, full);", "map_b, k, at.y, 1, full);", WRONG),
    ],
    "25_tensor_maps CLUSTER=2 STAGES=2": [
        ("one part from both blocks", "k, at.y, rank, full);", "k, at.y, 0, full);", WRONG),
        ("its own stage alone is free", "r < CLUSTER; ++r", "r < 1; ++r", WRONG | BARRIERS),
        ("the block leaves first", LAST_25, LAST_25.replace("cluster_sync();", ";"), LEFT),
    ],
    "24_halves STAGES=2": [("a stage filled while it is read", EMPTY.format("k"), "", RACE)],
    "24_halves BM=64 STAGES=2 PACKERS=256": [
        ("copies not waited for", FULL.format("k"), "", UNFILLED),
        ("sums not waited for", "wgmma_wait();", "", UNFENCED | RACE),
        ("the second parts forgotten", "fmaf(low[i], 1 / LOW, sum[i])", "sum[i]", WRONG),
        ("second parts as large as the first", "fmaf(low[i], 1 / LOW", "fmaf(low[i], 1", WRONG),
        ("a row's exponent forgotten", "of_row[i / 2 % 2].exponent + ", "", WRONG),
        ("the largest read too early", "__syncthreads(); for (int warp", "for (int warp", RACE),
        ("the zero fill along K dropped", "x[i] = i < n ? X", "x[i] = n > 0 ? X", OUTSIDE),
    ],
    "23_skinny BM=64 BN=64 STAGES=2 STREAM=1": [
        # what nobody has written is NaN here, which has no parts: the tile is computed again
        ("copies of the large factor not waited for", "wait_groups<STAGES - 1>();", "", LATE),
        ("another lane's copies not waited for", "- 1>(); __syncwarp();", "- 1>();", RACE),
        ("copies over what is read", "} __syncwarp(); #pragma unroll", "}\n#pragma unroll", RACE),
        ("the small factor not waited for", FULL.format("i"), "", UNFILLED | UNWRITTEN),
        ("a stage filled while it is read", EMPTY.format("i"), "", RACE),
        ("flags that one lane has read", "wgmma_wait(); __syncwarp();", "wgmma_wait();", RACE),
        ("parts not fenced from the tensor cores", "wgmma_fence();", "", UNFENCED),
        ("sums not waited for", "wgmma_wait();", "", UNFENCED | RACE),
        ("lines that begin elsewhere", "* large.pitch & 3", "* 0 & 3", MISALIGNED),
        ("the end of a line left out", "WIDE && large.pitch % 4 && lane < LINES", "0", NEVER),
        ("copies beyond the last row", "line < lines ? length", "true ? length", OUTSIDE),
        ("copies beyond K", "? K - k : large.side - row; ", "? BK : large.side - row; ", OUTSIDE),
        ("one number for two", "? row * PITCH + k + 1", "? row * PITCH + k", WRONG),
    ],
    "23_skinny BM=64 BN=64 STREAM=2": [
        ("a part too few", "block <= last; ++block", "block < last; ++block", WRONG),
        ("parts on one another", " + now.col + blockIdx.x) *", " + now.col) *", CLASH | UNWRITTEN),
        ("alpha twice", "*to = alpha * sum[j]", "*to = alpha * alpha * sum[j]", WRONG),
    ],
    "18_split_k BM=64 BN=64 TM=4 TN=4 WM=32 WN=16 SPLITS=2": [
        ("steps that no split has", "+ 1) * steps / SPLITS", "+ 1) * (steps / SPLITS)", WRONG),
        ("a part too few summed", "split < SPLITS; ++split", "split < SPLITS - 1; ++split", WRONG),
        ("parts on one another", "part = block;", "part = block & ~1;", CLASH | UNWRITTEN),
        ("sums over stages", f"{SYNC} #pragma unroll for (int i = 0;", "for (int i = 0;", RACE),
        ("alpha twice", "x += workspace[(size_t)(", "x += alpha * workspace[(size_t)(", WRONG),
    ],
    "18_split_k BM=64 BN=64 TM=4 TN=4 WM=32 WN=16 SPLITS=2 CLUSTER=1": [
        ("the barrier of the cluster dropped", "cluster_barrier(); #pragma", "#pragma", GONE),
        ("the first block's sums twice", "*of_block(block, ", "*of_block(0, ", WRONG),
        ("the same share for every block", "blockIdx.x % SPLITS * THREADS", "0 * THREADS", CLASH),
    ],
    "18_split_k BM=64 BN=64 TM=4 TN=4 WM=32 WN=16 STREAM=3": [
        ("two tiles in one part", "2 * block + (from < zero)", "2 * block", UNWRITTEN),
        ("the stages filled too early", "if (STREAM) __syncthreads();", "if (STREAM) ;", RACE),
        ("a part too few", "block <= last; ++block", "block < last; ++block", WRONG),
    ],
}

CASES = [(label, *mutation) for label, mutations in MUTATIONS.items() for mutation in mutations]
FIRST = {case[0].partition(" ")[0]: case[:2] for case in reversed(CASES)}  # of each step


def shape(one: ladder.Step) -> tuple[int, int, int]:
    """Two tiles by two, or one, three along K; a little less where the step can do that."""
    side = 1 if one.tensor_cores else 2
    whole = [n * one.defines.get(name, 8) for n, name in ((side, "BM"), (side, "BN"), (3, "BK"))]
    odd = [size - less for size, less in zip(whole, (5, 3, 2))]
    return tuple(whole if one.broken(*odd) else odd)


def mutated(folder: Path, label: str, old: str, new: str) -> ladder.Step:
    """The step with a piece exchanged, which is there once, with any space between its words."""
    one, words = ladder.step(label), r"\s+".join(map(re.escape, old.split(" ")))
    source, count = re.subn(words, lambda _: new, one.source)
    assert count == 1 and source != one.source
    (folder / one.path.name).write_text(source, encoding="utf-8")
    return ladder.step(label, folder)


def findings(one: ladder.Step) -> set[str]:
    return {finding.kind for finding in one.sanitize(*shape(one))}


def passes(one: ladder.Step) -> bool:
    """Whether `check` does; it stops at faults too."""
    try:
        one.check("interpreter")
    except (CheckError, ptx.PTXError):
        return False
    return True


@pytest.mark.parametrize("label, old, new, expected", [
    pytest.param(
        label, *mutation, id=f"{label}: {what}",
        marks=if_slow((label, what) not in FIRST.values()),
    )
    for label, what, *mutation in CASES
])  # fmt: skip
def test_a_mutant_is_noticed(tmp_path, label, old, new, expected):
    mutant = mutated(tmp_path, label, old, new)
    assert findings(mutant) == expected - {"wrong"}
    assert "wrong" not in expected or not passes(mutant)


def test_check_does_not_see_a_missing_barrier(tmp_path):
    _, old, new, expected = MUTATIONS["13_register_prefetch"][0]
    assert expected == RACE and passes(mutated(tmp_path, "13_register_prefetch", old, new))


@pytest.mark.slow
@pytest.mark.parametrize("label", MUTATIONS)
def test_nothing_is_found_without_a_mutation(label):
    """And check passes: see test_check.py, and what the table calls right."""
    assert findings(ladder.step(label)) == set()


def test_every_step_on_record_has_mutations():
    """From 16 on, of three kinds at least, by who notices."""
    paths = (recorded_path(gpu, BITS) for gpu in ("NVIDIA H200", "NVIDIA H100 80GB HBM3"))
    recorded = {label for path in paths for label in json.loads(path.read_text())}
    verdicts = {label: [] for label in recorded if " " not in label}
    for label, mutations in MUTATIONS.items():
        found = verdicts.setdefault(label.split()[0], [])
        found += [frozenset(verdict) for *_, verdict in mutations]
    for id, found in verdicts.items():
        assert len(found) >= (3 if int(id[:2]) >= 5 else 1), id
        assert int(id[:2]) < 16 or len(set(found)) >= 3, id
