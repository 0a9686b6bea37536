"""benchmarks.latency: what was measured is what it would measure, and its kernels do that."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import kernels
from anywarp import gpu
from benchmarks import latency
from kernels.analysis import LANES, LINE_BYTES, load_gbs, multiply_add_tflops
from kernels.measure.latency import SHARED_READS, SHARED_THREADS, SOURCE
from kernels.records import FOLDER

MEASURED = sorted(FOLDER.glob("*/latency.json"))


def kernel(name, chains=1):
    return kernels.Kernel(SOURCE, name, [f"-DCHAINS={chains}"], filename="latency.cu")


@pytest.mark.parametrize("path", MEASURED or ["nothing"])
def test_the_record_is_of_what_it_measures_today_and_agrees_with_the_others(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert kernels.latency(record["provenance"]["gpu"]) == record
    assert [one["bytes"] for one in record["latency"]["by size"]] == list(latency.SIZES)
    for name, steps, chains in (
        ("loads", latency.LOADS, latency.LOAD_CHAINS),
        ("multiply-adds", latency.FMAS, latency.FMA_CHAINS),
    ):
        found = [(row["chains"], row["warps"], row["steps"]) for row in record[name]]
        wanted = [(c, w, steps) for c in chains for w in latency.WARPS]
        assert [row for row in wanted if row[1] <= max(w for _, w, _ in found)] == found
    sms = record["provenance"]["multiprocessors"]
    mhz = record["provenance"]["max_sm_clock_mhz"]
    waits = [one["cycles"] for one in record["latency"]["by size"]]
    assert all(one < 1.03 * other for one, other in itertools.pairwise(waits))
    nearer = record["latency"]["multiply-add"], record["latency"]["shared memory"], *waits
    assert list(nearer[:3]) == sorted(nearer[:3])
    for row in record["loads"] + record["multiply-adds"]:
        # the chains cannot take longer than the launch, nor be much shorter than it
        seconds = row["cycles"] * row["steps"] / (mhz * 1e6)
        assert 0.4 * row["ms"] < 1000 * seconds < 1.02 * row["ms"], row
    results = kernels.results(record["provenance"]["gpu"])
    fastest = max(load_gbs(row, sms) for row in record["loads"])
    assert 0.8 * results.copy_gbs < fastest < record["read_gbs"]["device memory"]
    flops = max(multiply_add_tflops(row, sms) for row in record["multiply-adds"])
    assert 0.9 * results.fma_peak_tflops < flops <= results.fma_peak_tflops


def test_chains_begin_apart_on_a_cycle_that_visits_each_line_once():
    order, following = latency.cycle(64)
    assert sorted(order) == list(range(64))
    for lane in (0, 31):  # each keeps to its own
        at = order * (LINE_BYTES // 4) + lane
        np.testing.assert_array_equal(following[at], np.roll(at, -1))
    found = latency.starts(order, 4, 2).reshape(4, LANES, 2)
    assert (found % LANES == np.arange(LANES)[:, None]).all()
    np.testing.assert_array_equal(found[:, 0].ravel() // LANES, order[::8])


@pytest.mark.parametrize("multiprocessors", [16, 132, 192])
def test_no_line_is_read_twice(multiprocessors):
    """Chains begin a whole number of lines apart, and none comes to where another began."""
    warps, chains = multiprocessors * latency.WARPS[-1], latency.LOAD_CHAINS[-1]
    lines = latency.lines_to_walk(warps, chains, latency.LOADS)
    assert lines // (warps * chains) >= latency.LOADS
    assert multiprocessors > 132 or lines * LINE_BYTES == latency.SIZES[-1]
    assert lines * LINE_BYTES // 4 < 2**31  # the index of a word is an int


@pytest.mark.parametrize("chains", latency.LOAD_CHAINS)
def test_follow_walks_a_line_at_a_time(chains):
    order, following = latency.cycle(256)
    start, warm, steps = latency.starts(order, 4, chains), 3, 5
    end = np.zeros(4 * LANES * chains, np.int32)
    cycles = np.zeros(4 * LANES, np.int64)
    args = (warm, steps, start, following, end, cycles)
    trace = kernel("follow", chains).trace(2, 2 * LANES, args)
    at = start
    for _ in range(warm + steps):
        at = following[at]
    np.testing.assert_array_equal(end, at)
    found = [c for p, c in trace.costs.items() if p.array == "next"]
    assert sum(c.requests for c in found) == 4 * chains * (warm + steps)
    assert all((c.lines, c.sectors) == (c.requests, 4 * c.requests) for c in found)


def test_follow_shared_walks_without_conflicts():
    order, following = latency.cycle(latency.SHARED_WORDS * 4 // LINE_BYTES)
    start, end = latency.starts(order, 1, 1), np.zeros(LANES, np.int32)
    args = (7, start, following, end, np.zeros(LANES, np.int64))
    trace = kernel("follow_shared").trace(1, LANES, args)
    at = start
    for _ in range(7):
        at = following[at]
    np.testing.assert_array_equal(end, at)
    (loads,) = [c for p, c in trace.costs.items() if p.array == "s_next" and p.kind == "load"]
    assert (loads.requests, loads.wavefronts) == (7, 7)


@pytest.mark.parametrize("chains", latency.FMA_CHAINS)
def test_multiply_counts(chains):
    args = (40, 0.5, 1.0, np.zeros(64 * chains, np.float32), np.zeros(64, np.int64))
    trace = kernel("multiply", chains).trace(1, 64, args)
    assert trace.counters[kernels.metrics.FFMA] == 64 * chains * 40


def test_read_reads_what_is_counted():
    rounds, parts, grid = 2, 3, 2
    x = np.random.default_rng(0).random(4 * latency.PART * parts, dtype=np.float32)
    sums = np.zeros(grid * latency.THREADS, np.float32)
    trace = kernel("read").trace(grid, latency.THREADS, (rounds, parts, x, sums))
    sectors = trace.counters[kernels.metrics.SECTORS.format("ld")]
    assert 32 * sectors == grid * rounds * latency.PART * 16
    wanted = x.reshape(parts, -1).sum(1)[[(b + grid * r) % parts for b in (0, 1) for r in (0, 1)]]
    assert sums.sum() == pytest.approx(wanted.sum(), rel=1e-4)


def test_read_shared_reads_what_is_counted():
    rounds = 3
    x, sums = np.ones(8192, np.float32), np.zeros(SHARED_THREADS, np.float32)
    trace = kernel("read_shared").trace(1, SHARED_THREADS, (rounds, x, sums))
    (loads,) = [c for p, c in trace.costs.items() if p.array == "s_x" and p.kind == "load"]
    reads = rounds * SHARED_READS
    assert loads.requests == reads * SHARED_THREADS // LANES
    assert loads.wavefronts == loads.ideal == 4 * loads.requests
    assert (sums == 4 * reads).all()


@pytest.mark.gpu
def test_a_load_takes_longer_from_farther_away():
    start, following = latency.cycle(32)
    there = [gpu.to_device(x) for x in (latency.starts(start, 1, 1), following)]
    shared = latency.single("follow_shared", *there)
    assert 1 < latency.single("multiply", np.float32(0.5), np.float32(1)) < shared < 200
