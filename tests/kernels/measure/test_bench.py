"""kernels.measure.bench. Every timing here comes from a simulated GPU with a clock of its own; the
numbers are obviously made up."""

from __future__ import annotations

import contextlib
import json
import time
import types
from dataclasses import replace

import numpy as np
import pytest

import kernels
from anywarp import gpu
from anywarp.gpu import nvidia_smi
from anywarp.kernel import Kernel
from anywarp.trace.metrics import FFMA
from kernels import __main__ as cli, records
from kernels.analysis.reference import CheckError
from kernels.command import timing
from kernels.ladder.launches import Planned
from kernels.measure import bench, cublas, product
from kernels.records import Results
from tests.stand_in import SimulatedGPU

# ---------------------------------------------------------------------- the protocol


def step(simulated, name, ms, requires=lambda *shape: None, needs=(5, 0), tensor_cores=False):
    simulated.ms[name] = ms
    kernel = Kernel(f'extern "C" __global__ void {name}() {{}}', name)
    return types.SimpleNamespace(
        label=name,
        id=name,
        workspace=lambda M, N, K: 0,
        kernels={name: kernel},
        defines={},
        broken=requires,
        compute_capability=needs,
        tensor_cores=tensor_cores,
        shared_mem=0,
        launches=lambda M, N, K: (Planned(name, (-(-N // 32), -(-M // 32)), (32, 32), 0),),
        values=lambda A, B, C: (len(A), B.shape[1], len(B), 1, A, B, 0, C),
    )


@pytest.fixture
def simulated(monkeypatch):
    return SimulatedGPU(monkeypatch)


def run(steps, sizes, **options):
    return bench.benchmark(steps, sizes, **options)


def test_benchmark_measures_what_the_clock_says(simulated):
    found = run([step(simulated, "fast", 2.0), step(simulated, "slow", 8.0)], [64, (32, 64, 96)])
    assert [(r.step, r.M, r.N, r.K) for r in found.records] == [
        (name, *shape)
        for shape in ((64, 64, 64), (32, 64, 96))
        for name in ("cublas", "fast", "slow")
    ]
    for r, ms in zip(found.records, 2 * [1.0, 2.0, 8.0]):
        assert r.ms == r.ms_p10 == r.ms_p90 == pytest.approx(ms)
        assert r.repeats >= bench.MIN_REPEATS
        assert (r.sm_clock_mhz, r.throttle) == (1234.0, ("sw_power_cap",))
        assert found.share_of_cublas(r) == pytest.approx(1 / ms)
    assert found.left_out == () and not found.recorded
    assert found.provenance["cublas"] == "1.2.3"
    assert found.provenance["empty_launch_us"] == pytest.approx(1.0)
    assert found.provenance["protocol"]["max_ms_per_launch"] == bench.MAX_MS


@pytest.fixture
def shared(simulated, monkeypatch):
    """Which launches share rounds, a set for each call of `rounds`; beside "heavy", all take twice
    as long."""
    rounds, found = bench.rounds, []

    def slowed(works, flush, repeats, seconds, more=lambda: False):
        simulated.log.clear()
        times = rounds(works, flush, repeats, seconds, more)
        names = {name for name in simulated.log if name in ("cublas", "first", "heavy", "last")}
        if names:  # else a roof
            found.append(names)
        return [[(2 if "heavy" in names else 1) * ms for ms in of] for of in times]

    monkeypatch.setattr(bench, "rounds", slowed)
    return found


def with_a_heavy_one(simulated):
    heavy = step(simulated, "heavy", 1.0, tensor_cores=True)
    return [step(simulated, "first", 2.0), heavy, step(simulated, "last", 8.0)]


def test_tensor_cores_share_no_rounds_with_others(simulated, shared):
    """They lower the clock: what is timed beside them, cuBLAS too, is slower there and only
    there."""
    found = run(with_a_heavy_one(simulated), [32])
    assert [names for names in shared if len(names) > 1] == (
        3 * [{"cublas", "first", "last"}] + 3 * [{"cublas", "heavy"}]  # warm up, time, nvidia-smi
    )
    times = {"cublas": (1.0, 1.0), "first": (2.0, 1.0), "last": (8.0, 1.0), "heavy": (2.0, 2.0)}
    assert {r.step: pytest.approx((r.ms, r.cublas_ms)) for r in found.records} == times


def test_each_may_have_rounds_of_its_own(simulated, shared):
    """Then cuBLAS, in rounds without the heavy one, is what that is compared with."""
    found = run(with_a_heavy_one(simulated), [32], together=False)
    assert all(len(names) == 1 for names in shared)
    timed = [{"cublas"}, {"first"}, {"heavy"}, {"last"}]
    assert shared[-12:] == [names for names in timed for _ in range(3)]  # as above
    times = {"cublas": (1.0, 1.0), "first": (2.0, 1.0), "heavy": (2.0, 1.0), "last": (8.0, 1.0)}
    assert {r.step: pytest.approx((r.ms, r.cublas_ms)) for r in found.records} == times


def test_cublas_is_on_record_without_tensor_cores_beside_it(simulated, tmp_path):
    """Also where only they are timed: then it is by itself."""
    path = tmp_path / "out.json"
    run([step(simulated, "fast", 2.0)], [32], output=path)
    simulated.ms["cublas"] = 4.0
    heavy = step(simulated, "heavy", 1.0, tensor_cores=True)
    found = run([heavy], [32], output=path, merge=True)
    assert [r.step for r in found.records] == ["cublas", "heavy"]
    merged = Results.load(path)
    shares = {r.step: merged.share_of_cublas(r) for r in merged.records}
    assert shares == pytest.approx({"cublas": 1.0, "fast": 0.5, "heavy": 4.0})


def test_the_roofs_are_those_of_what_was_launched(simulated):
    """A multiply-add is two operations; how many a thread does is what the interpreter counts."""
    simulated.ms |= {"fma_peak": 3.0, "nothing": 0.004, "copy": 2.0}
    found = run([], [])
    of = {symbol: rest for symbol, *rest in simulated.launched}
    (grid,), (threads,), (trips, a, b, out), _ = of["fma_peak"]
    a_block = Kernel(bench._ROOFS, "fma_peak").trace(1, 32, (2, a, b, np.zeros(32, np.float32)))
    each = a_block.counters[FFMA] / 32 / 2  # for each thread and trip
    assert each == 512 and grid * threads >= 8 * 256
    floats = [shape for shape, dtype in simulated.empties if dtype == np.float32]
    assert floats == [grid * threads, 2**28, 2**28]  # 1 GiB each to copy, far beyond any L2
    operations = 2 * each * int(trips) * grid * threads
    assert found.fma_peak_tflops == pytest.approx(operations / 3e-3 / 1e12)
    assert of["nothing"][:2] == [(1,), (1,)]
    assert found.provenance["empty_launch_us"] == pytest.approx(4.0)
    (size,) = set(simulated.copied)  # read and written
    assert found.copy_gbs == pytest.approx(2 * size / 2e-3 / 1e9)


def test_progress_is_told_by_shapes(simulated, monkeypatch):
    told = []

    @contextlib.contextmanager
    def progress(*what):
        yield lambda *numbers: told.append(numbers)

    monkeypatch.setattr(bench, "progress", progress)
    bench.benchmark([], [32, 64])
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("l2_bytes, flushed", [(2**10, 2**28), (50 * 2**20, 2**28), (2**28, 2**30)])
def test_a_flush_writes_four_times_the_l2(simulated, l2_bytes, flushed):
    simulated.be("9.0", l2_bytes=l2_bytes)
    found = run([], [])
    assert simulated.empties[0] == (flushed, np.uint8)
    assert found.provenance["protocol"]["flush_bytes_before_each_launch"] == flushed


def test_a_gpu_that_was_idle_is_warmed_up_before_it_is_timed(simulated, monkeypatch):
    """Its clock is low for a while: none of the launches that count may be among the first."""
    rounds, calls = bench.rounds, []

    def recorded(works, flush, repeats, seconds, more=lambda: False):
        times = rounds(works, flush, repeats, seconds, more)
        calls.append((len(works), repeats, seconds, times))
        return times

    monkeypatch.setattr(bench, "rounds", recorded)
    monkeypatch.setattr(bench, "MIN_SECONDS", 0.01)
    monkeypatch.setattr(bench, "MIN_REPEATS", 4)
    run([step(simulated, "fast", 2.0)], [32])
    timed = [n for n, (_, repeats, _, _) in enumerate(calls) if repeats == 4]
    assert [calls[n][0] for n in timed] == [3, 2]  # the roofs; cuBLAS and the step
    for n in timed:
        works, repeats, seconds, times = calls[n - 1]
        assert works == calls[n][0] and repeats == 1 and seconds == 0.01
    assert calls[timed[0]][2] == 0.01 and calls[timed[1]][2] == 2 * 0.01  # for each of the two


def test_rounds_interleave_rotate_and_flush_before_every_launch(simulated):
    works = [lambda: simulated.run("copy"), lambda: simulated.run("nothing")]
    times = bench.rounds(works, lambda: simulated.log.append("flush"), 3, 0)
    head = bench.HEAD_START * ["flush"]
    one = [*head, "flush", "copy", "flush", "nothing", "synchronize"]
    other = [*head, "flush", "nothing", "flush", "copy", "synchronize"]
    assert simulated.log == one + other + one
    assert [[round(ms, 6) for ms in column] for column in times] == [3 * [1.0], 3 * [0.001]]


def test_rounds_go_on_for_the_time_asked_and_while_there_is_more_to_wait_for(simulated):
    begin = time.perf_counter()
    (ms,) = bench.rounds([lambda: time.sleep(0.001)], lambda: None, 1, 0.05)
    assert time.perf_counter() - begin >= 0.05 and ms
    answers = iter([True, True, True, False])
    (ms,) = bench.rounds([lambda: None], lambda: None, 1, 0, lambda: next(answers))
    assert len(ms) == 4


def test_the_percentiles_are_those_of_the_times():
    r = bench.record("x", (1, 1, 1), list(range(1, 102)), [3, 1, 9], nvidia_smi.Status())
    assert (r.ms_p10, r.ms, r.ms_p90, r.repeats) == (11, 51, 91, 101)
    assert r.cublas_ms == 3
    assert r.sm_clock_mhz is None and r.throttle is None


def test_a_step_that_is_too_slow_is_left_out_at_that_size(simulated):
    found = run([step(simulated, "slow", 5000.0)], [32])
    assert [r.step for r in found.records] == ["cublas"]
    assert found.left_out == (
        "slow at 32 x 32 x 32: one launch takes 5000 ms, the limit is 1000 ms",
    )
    assert simulated.log.count("slow") == 2  # checked, and timed once


def test_what_a_step_or_the_gpu_cannot_do_is_left_out(simulated):
    multiple = step(simulated, "tiled", 1.0, lambda M, N, K: "K % 64 == 0" if K % 64 else None)
    newer = step(simulated, "newer", 1.0, needs=(10, 0))
    found = run([multiple, newer], [32, 64])
    assert [(r.step, r.M) for r in found.records] == [("cublas", 32), ("cublas", 64), ("tiled", 64)]
    assert found.left_out == (
        "tiled at 32 x 32 x 32: it requires K % 64 == 0",
        "newer: it needs a GPU of compute capability 10.0, and the Simulated GPU 1 has 9.0",
    )


def make_nan(C):
    C[-1, 0] = np.nan


def transpose(C):
    C[:] = C.T.copy()


def one_element(C):
    C[50, 3] += 5.0  # not among the rows compared with float64: see below


@pytest.mark.parametrize("fault", [make_nan, transpose, one_element])
def test_a_wrong_result_is_never_timed(simulated, fault):
    simulated.wrong = lambda name, C: fault(C) if name == "bad" else None
    with pytest.raises(CheckError, match=r"bad at 64 x 64 x 64: C\["):
        run([step(simulated, "good", 1.0), step(simulated, "bad", 1.0)], [64])
    assert simulated.log.count("bad") == 1


def test_an_element_that_is_not_written_is_found(simulated, monkeypatch):
    monkeypatch.setattr(cublas, "sgemm", lambda A, B, C: simulated.run("cublas"))
    with pytest.raises(CheckError, match="cublas at 64 x 64 x 64.*nan"):
        run([], [64])


def test_cublas_is_checked_too(simulated, monkeypatch):
    def tf32(A, B, C):  # products of factors with 11 significant bits
        A, B = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (A, B))
        C[:] = A @ B
        simulated.run("cublas")

    monkeypatch.setattr(cublas, "sgemm", tf32)
    with pytest.raises(CheckError, match=r"cublas at 64 x 64 x 64: C\["):
        run([], [64])


def test_what_was_measured_is_saved_before_the_next_size(simulated, tmp_path):
    path = tmp_path / "out.json"

    def fail_at_64(M, N, K):
        if M == 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([step(simulated, "fast", 2.0, fail_at_64)], [32, 64], output=path)
    assert [(r.step, r.M) for r in Results.load(path).records] == [("cublas", 32), ("fast", 32)]


def test_a_run_that_was_interrupted_is_taken_up_again(simulated, tmp_path):
    """What was timed is not timed again, unless something else is asked for, or all is done."""
    path = tmp_path / "out.json"

    def stop_at_64(M, N, K):
        if M == 64 and stopping:
            raise KeyboardInterrupt
        return "M < 96" if M == 32 else None

    stopping = True
    steps = [step(simulated, "fast", 2.0), step(simulated, "other", 3.0, stop_at_64)]
    with pytest.raises(KeyboardInterrupt):
        run(steps, [32, 64], output=path)
    stopping = False
    simulated.log.clear()
    simulated.ms["fast"] = 5.0
    found = run([*steps, step(simulated, "added", 1.0)], [32, 64], output=path)
    times = {(r.step, r.M): round(r.ms) for r in found.records}
    assert times == {
        ("cublas", 32): 1, ("fast", 32): 2, ("added", 32): 1,
        ("cublas", 64): 1, ("fast", 64): 5, ("other", 64): 3, ("added", 64): 1,
    }  # fmt: skip
    assert found.left_out == ("other at 32 x 32 x 32: it requires M < 96",)
    whole = Results.load(path)
    assert set(whole.records) == set(found.records) and "unfinished" not in whole.provenance
    assert round(run(steps, [32], output=path).find("fast", 32).ms) == 5  # it was finished


def test_an_interrupted_run_under_other_circumstances_begins_anew(simulated, tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    run([step(simulated, "fast", 2.0)], [32], output=path)
    there = Results.load(path)
    for change in ({"unfinished": [r.name for r in there.records]}, {"driver": "0"}):
        there = replace(there, provenance=there.provenance | change)
    there.save(path)
    simulated.ms["fast"] = 5.0
    for merge in (False, True):  # all that was there is measured again: nothing is lost
        assert round(run([step(simulated, "fast", 5.0)], [32], output=path, merge=merge)
                     .find("fast", 32).ms) == 5  # fmt: skip
        there.save(path)
    with pytest.raises(records.MergeError, match="driver is '1' and was '0'"):
        run([step(simulated, "slow", 5.0)], [32], output=path, merge=True)


def test_merge_keeps_what_other_runs_saved(simulated, tmp_path):
    path = tmp_path / "out.json"
    fast, slow = step(simulated, "fast", 2.0), step(simulated, "slow", 8.0)
    run([fast, slow], [32], output=path, merge=True)  # nothing was there
    simulated.ms["fast"] = 3.0
    found = run([fast], [32, (32, 64, 96)], output=path, merge=True)
    assert [r.step for r in found.records] == 2 * ["cublas", "fast"]
    saved = Results.load(path).records
    at = {32: [("cublas", 1), ("fast", 3), ("slow", 8)], 64: [("cublas", 1), ("fast", 3)]}
    assert [(r.N, (r.step, round(r.ms))) for r in saved] == [(n, x) for n in at for x in at[n]]
    run([fast], [32], output=path)
    assert [r.step for r in Results.load(path).records] == ["cublas", "fast"]


def test_merge_refuses_before_anything_is_timed(simulated, tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    run([], [32, 64], output=path)
    before = path.read_text()
    monkeypatch.setattr(bench, "MIN_REPEATS", 21)
    with pytest.raises(records.MergeError, match="min_repeats is 21 and was 20"):
        run([step(simulated, "fast", 2.0)], [32], output=path, merge=True)
    assert "fast" not in simulated.log and path.read_text() == before


def test_a_variant_is_timed_under_its_label(simulated):
    one = step(simulated, "fast", 2.0)
    variant = types.SimpleNamespace(**vars(one) | {"label": "fast PAD=1", "id": "fast"})
    found = run([one, variant], [32])
    assert [r.step for r in found.records] == ["cublas", "fast", "fast PAD=1"]


@pytest.mark.parametrize("steps, merge, error, message", [
    ([], True, ValueError, "merge keeps what `output` holds .*: name the file"),
    (["02_naive"], False, TypeError, r"'02_naive' is no step: pass kernels.step\('02_naive'\)"),
    ([2], False, TypeError, r"2 is no step: pass kernels.step\(2\)"),
])  # fmt: skip
def test_what_is_refused_before_anything_runs(simulated, steps, merge, error, message):
    with pytest.raises(error, match=message):
        run(steps, [32], merge=merge)
    assert simulated.log == []


def test_a_matrix_that_no_step_can_index_is_left_out(simulated, monkeypatch):
    ones = lambda *shape: np.ones(shape, np.float32)
    monkeypatch.setattr(product, "inputs", lambda M, N, K: (ones(M, K), ones(K, N), None))
    monkeypatch.setattr(bench, "require_product", lambda *args: None)
    real = kernels.step(3)
    found = run([real], [(65535 * 16 + 1, 1, 1)])
    assert [r.step for r in found.records] == ["cublas"]
    (why,) = found.left_out
    assert why == "03_coalesced at 1048561 x 1 x 1: it requires (M + BM - 1) // BM <= 65535"


def test_without_a_gpu_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "it is on holiday")
    with pytest.raises(gpu.NoGPU, match="on holiday"):
        run([], [64])


def test_command_line(simulated, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setattr(timing, "chosen", lambda options: ())
    assert cli.main(["bench", "--sizes", "32", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [r["step"] for r in printed["records"]] == ["cublas"]
    assert cli.main(["bench", "--sizes", "32"]) == 0
    assert "cublas" in capsys.readouterr().out
    path = tmp_path / "out.json"
    for size in ("32", "64"):
        assert cli.main(["bench", "--sizes", size, "--output", str(path), "--merge"]) == 0
    assert [r.M for r in Results.load(path).records] == [32, 64]
    capsys.readouterr()
    monkeypatch.setattr(cublas, "sgemm", lambda A, B, C: None)
    assert cli.main(["bench", "--sizes", "32"]) == 1
    assert "error: cublas at 32" in capsys.readouterr().err


# ---------------------------------------------------------------------- on a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not gpu.available(), reason=f"no GPU: {gpu.why_not()}")
def test_benchmark_on_the_gpu(tmp_path):
    path = tmp_path / "out.json"
    found = run([kernels.step(2), kernels.step(3)], [128], output=path)
    assert Results.load(path) == found
    assert [r.step for r in found.records] == ["cublas", "02_naive", "03_coalesced"]
    assert found.fma_peak_tflops > 0 and found.copy_gbs > 0
    assert found.gpu == gpu.device().name
    for r in found.records:
        assert r.ms_p90 >= r.ms >= r.ms_p10 > 0 and r.repeats >= bench.MIN_REPEATS
        assert r.tflops < found.fma_peak_tflops
