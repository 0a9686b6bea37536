"""The machine code of hot loops, against what the PTX of the same loops has."""

from itertools import permutations

import numpy as np
import pytest

import kernels
from anywarp import Kernel
from anywarp.sass import hot_loop
from anywarp.sass.flow import distance
from anywarp.sass.hot_loop import hot_words, tile_loop, tile_words
from kernels.analysis import instruction_mix, machine_loop, thread_index_reads, timeline


@pytest.mark.parametrize(
    "label, barriers", [("09", 2), ("11", 2), ("12", 2), ("13", 2), ("14", 1), ("14 BUFFERS=1", 2)]
)
def test_nothing_is_lost_on_the_way_to_machine_code(label, barriers):
    step = kernels.step(label)
    loop, ptx = machine_loop(step), instruction_mix(step).counts
    assert loop.count("barrier") == barriers
    for name in "fma", "shared store", "global load":
        assert loop.count(name) == ptx[name] > 0
    warps = step.define().block[0] // 32
    one_tile = step.trace(step.defines["BM"], step.defines["BN"], step.defines["BK"])
    loads = one_tile.counters["smsp__inst_executed_op_shared_ld.sum"]
    assert loop.count("shared load") == loads // warps
    assert loop[-1] == "branch"


def test_a_loop_that_calls_nothing_else():
    source = """extern "C" __global__ void chain(int n, float a, float* x)
    {
        float sum = 0.0f;
        #pragma unroll 1
        for (int i = 0; i < n; ++i)
            sum = sum * a + x[0];
        x[threadIdx.x] = sum;
    }"""
    loop = machine_loop(Kernel(source, "chain"))
    assert loop.count("fma") == 1 and loop.count("barrier") == 0 and len(loop) < 12
    specific = Kernel(f"// compute capability: 9.0a\n{source}", "chain")
    assert machine_loop(specific) == loop
    without = machine_loop(
        Kernel(
            'extern "C" __global__ void set(float a, float* x) { x[0] = x[1] * a + x[2]; }', "set"
        )
    )
    assert without.count("fma") == 1 and without.count("global store") == 1


def test_the_prefetch_is_asked_for_long_before_its_use():
    def between(names):  # multiply-adds from a load to the next store
        names = [*names, *names]
        asked = names.index("global load")
        return names[asked : names.index("shared store", asked)].count("fma")

    assert between(machine_loop(kernels.step(12))) < 10
    assert between(machine_loop(kernels.step(13))) > 100


def test_of_nested_loops_with_as_many_multiply_adds_the_inner_one_is_hot(monkeypatch):
    names = ["other", "fma", "branch", "other", "branch"]
    words = np.arange(20).reshape(5, 4)
    for loops in permutations([(0, 5), (1, 3), (0, 4)]):
        monkeypatch.setattr(
            hot_loop, "_loops", lambda kernel, arch, loops=loops: (words, names, loops)
        )
        assert hot_words(None).tolist() == words[1:3].tolist()


def test_of_several_kernels_in_a_file_the_one_that_is_asked_for():
    """A cubin has their code in an order of its own."""
    source = """extern "C" __global__ void sums(float* x)
    {
        float sum = 0.0f;
        #pragma unroll 1
        for (int i = 0; i < 1000; ++i)
            sum = sum + x[i];
        x[threadIdx.x] = sum;
    }
    extern "C" __global__ void products(float* x)
    {
        float sum = 0.0f;
        #pragma unroll 1
        for (int i = 0; i < 1000; ++i)
            sum = sum * sum + x[i];
        x[0] = sum;
    }"""
    sums, products = (
        Kernel(source, name, names=("sums", "products")) for name in ("sums", "products")
    )
    assert machine_loop(products).count("fma") == 1 and not machine_loop(sums).count("fma")
    assert (thread_index_reads(products), thread_index_reads(sums)) == (0, 1)
    step = kernels.step("18")  # before sgemm, its file has reduce
    assert machine_loop(step).count("fma") == instruction_mix(step).counts["fma"] > 1000


def test_thread_indices_are_read_on_the_way_through_the_hot_loop():
    """Not in branches for sums that overflow (18), nor on a way past the loop (05) or for a block
    with nothing to do (23); of two ways, one for A and one for B (21), one."""
    launches = ("05", "sgemm"), ("18", "sgemm"), ("21", "pack"), ("23", "sgemm"), ("23", "pack")
    reads = [thread_index_reads(kernels.step(name).kernels[launch]) for name, launch in launches]
    assert reads == [3, 2, 1, 1, 1]


def test_a_branch_for_lanes_that_differ_goes_on_or_aside():
    """BRA.DIV, of a warp that elects a lane: its offset begins behind two bits of another field."""
    word = 0x000FEA000B8000000000000206447947
    assert distance(word) == 17
    words = np.array([[word >> n & 0xFFFFFFFF for n in (0, 32, 64, 96)]], np.uint32)
    assert hot_loop._successors(words, ["branch"], 0) == [18, 1]


def test_timeline():
    names = ["fma", "fma", "other", "fma", "barrier", "branch", "fma"]
    assert timeline(names, {"fma", "barrier"}) == "3 fma  1 barrier  1 fma"
    assert timeline([], {"fma"}) == ""


def test_the_loop_over_tiles():
    assert tile_loop(kernels.step(12), 512) == machine_loop(kernels.step(12))
    rows = hot_words(kernels.step(12))
    assert tile_words(kernels.step(12), 512) == [
        int.from_bytes(row.tobytes(), "little") for row in rows
    ]
    seven = tile_loop(kernels.step(7), 8 * 64)  # the loop over k runs twice within it
    inner = machine_loop(kernels.step(7))
    assert seven.count("fma") == 512 == 2 * inner.count("fma")
    assert (
        seven.count("barrier") == 2
        and seven.count("global load") == seven.count("shared store") == 16
    )
    with pytest.raises(ValueError, match="no loop has a barrier"):
        tile_loop(kernels.step(3), 1)
    with pytest.raises(ValueError, match="a pass has 512 multiply-adds, not 511"):
        tile_loop(kernels.step(12), 511)


@pytest.mark.parametrize(
    "label, reads", [("03", 2), ("06 TRANSPOSED=1", 3), ("07", 4), ("07 BM=32 TM=4", 4), ("10", 2)]
)
def test_reads_of_the_index_of_a_thread(label, reads):
    """As nvdisasm shows them; columns of 4 have another one in the loop over tiles."""
    assert thread_index_reads(kernels.step(label)) == reads


def test_a_kernel_that_asks_nobody_who_it_is():
    source = 'extern "C" __global__ void k(int* x) { x[blockIdx.x] = 1; }'
    assert thread_index_reads(Kernel(source, "k")) == 0
