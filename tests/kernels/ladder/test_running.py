"""Steps of several launches: called, checked, traced, sanitized, timed; and what breaks them."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from several import changed, several

import kernels
from anywarp import gpu
from anywarp.kernel import Kernel
from kernels import __main__ as cli
from kernels.analysis.reference import CheckError, assert_close, inputs
from kernels.command import looking, words
from kernels.ladder.check import cases, digest
from kernels.ladder.product.layout import laid_out
from kernels.ladder.product.product import Product
from kernels.measure import product, profiling
from tests.stand_in import FakeGpu, SimulatedGPU, cupy_array

STEP = several()
LABELS = ["18", "18 SPLITS=1", "18 SPLITS=3 BM=8 BK=3", "18 TRANS_A=1 TRANS_B=1"]


@pytest.mark.parametrize("label", LABELS)
def test_the_fixture_is_right_and_clean(label):
    one = several(label)
    assert len(one.check("interpreter").rows) == len(cases(one)) == 19
    for shape in ((2 * one.defines["BM"], 2 * one.defines["BN"], 8), (33, 41, 29), (7, 5, 1)):
        assert one.sanitize(*shape) == ()


def test_a_call():
    A, B, C = inputs(33, 41, 29)
    before = C.copy()
    assert STEP(A, B, C, 1.5, -0.5, device="interpreter") is C
    assert_close(C, A, B, before, 1.5, -0.5)
    assert_close(STEP(A, B, device="interpreter"), A, B)
    A[:] = np.nan
    STEP(A, B, C, 0, 2, device="interpreter")
    assert STEP(A[:0], B, device="interpreter").shape == (0, 41)


def test_all_kernels_are_compiled_in_one_go(monkeypatch):
    from anywarp import build

    asked = []
    real = build.compile
    monkeypatch.setattr(build, "compile", lambda *args: asked.append(args) or real(*args))
    one = STEP.define(BK=5)
    assert list(one.kernels) == ["pack", "sgemm", "reduce"]
    assert one.kernel is one.kernels["sgemm"]
    assert len(asked) == 3 and len(set(asked)) == 1
    assert one.kernels["pack"].resources() != one.kernel.resources()


def test_the_workspace_is_new_and_full_of_a_large_number_in_every_call(monkeypatch):
    seen = []
    real = Kernel.launch
    monkeypatch.setattr(
        Kernel,
        "launch",
        lambda self, grid, block, values, *rest: (
            seen.append((self.name, values[-1].copy(), values[-1])),
            real(self, grid, block, values, *rest),
        ),
    )
    A, B, _ = inputs(16, 8, 4)
    for _ in range(2):
        STEP(A, B, device="interpreter")
    assert [name for name, *_ in seen] == 2 * ["pack", "sgemm", "reduce"]
    assert all(x.nbytes == STEP.workspace(16, 8, 4) == 1280 for _, x, _ in seen)
    assert [(x > 1e36).sum() for _, x, _ in seen] == 2 * [320, 256, 0]
    assert seen[0][2] is seen[2][2] and not np.shares_memory(seen[0][2], seen[3][2])


# ------------------------------------------------------------------------ ways to be wrong


@pytest.mark.parametrize("old, new, message", [
    ("if (row < M)\n        a", "if (row < M - 1)\n        a", "elements are wrong"),
    ("split < SPLITS; ++split", "split < SPLITS - 1; ++split", "elements are wrong"),
    ("k < end ? workspace", "k + 1 < end ? workspace", "elements are wrong"),
    ("C[i / N * ldc + i % N]", "C[i]", "slices .*the step wrote outside C"),
    ("A[row * lda + k]", "A[row * K + k]", "slices .*elements are wrong"),
    ("B[k * ldb + j]", "B[k * N + j]", "slices .*elements are wrong"),
    ("sum += part[split * M * N]", "sum += part[split * M * N] * 1.0001f", "elements are wrong"),
])  # fmt: skip
def test_check_finds(old, new, message):
    with pytest.raises(CheckError, match=message):
        changed((old, new)).check("interpreter")


def test_check_finds_a_wrong_pitch_of_a_variant():
    broken = changed(("C[row * ldc + col]", "C[row * N + col]"))
    broken.check("interpreter")  # which stores in `reduce`
    with pytest.raises(CheckError, match="SPLITS=1, slices .*the step wrote outside C"):
        broken.define(SPLITS=1).check("interpreter")


@pytest.mark.parametrize("old, new, kind, words", [
    ("workspace[k * gridDim.x * BM + row] = a;",
     "if (k) workspace[k * gridDim.x * BM + row] = a;", "uninitialised", r"workspace\[0\]"),
    ("split < SPLITS; ++split", "split <= SPLITS; ++split", "out of bounds", "workspace"),
    ("*c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;\n}",
     "*c = alpha * sum + beta * *c;\n}", "uninitialised", r"C\[0\]"),
    ("            sum += tile_a[k * BM + row] * tile_b[k * BN + col];\n        __syncthreads();",
     "            sum += tile_a[k * BM + row] * tile_b[k * BN + col];", "race", r"tiles\["),
    ("float a = 0;\n", "float a = workspace[k * gridDim.x * BM + row];\n",
     "uninitialised", "workspace"),
])  # fmt: skip
def test_sanitize_finds_what_a_launch_does(old, new, kind, words):
    found = changed((old, new)).sanitize(33, 41, 29)
    assert {finding.kind for finding in found} == {kind}
    assert any(re.search(words, str(finding)) for finding in found)


def test_what_an_earlier_launch_wrote_may_be_read_and_nothing_else():
    """Half of the packed columns are written by another kernel than the one that reads them."""
    half = changed(("float a = 0;", "if (blockIdx.x > 0) return;\n    float a = 0;"))
    found = half.sanitize(33, 41, 29)
    assert {finding.kind for finding in found} == {"uninitialised"}
    assert half.sanitize(16, 41, 29) == ()  # one block packs it all


def test_wrong_signatures_are_refused():
    fewer = STEP.edit(arguments="lda ldb workspace")
    with pytest.raises(ValueError, match=r"pack takes 12 arguments, not the 11 .*B, beta, C, lda"):
        fewer.kernel  # noqa: B018
    unknown = STEP.edit(launch=["sgemm(grid=1, block=1)", "packs(grid=1, block=1)"])
    with pytest.raises(kernels.CompileError, match="packs"):
        unknown.kernel  # noqa: B018


@pytest.mark.parametrize("old, new, message", [
    ("const float* A", "const int* A", r"\(const int\* A\): is an array .* a step are float"),
    ("float alpha", "double alpha", "sgemm: alpha must be of type float, of 4 bytes"),
    ("float alpha", "int alpha", r"\(int alpha\): is a float32, but must be a whole number"),
    ("int M", "long long M", "sgemm: M must be of type int, of 4 bytes"),
    ("int M", "float M", "sgemm: M must be of type int, of 4 bytes"),
])  # fmt: skip
def test_parameters_of_other_types_are_refused(old, new, message):
    """On a GPU they would be read as they are not."""
    plain = kernels.step("03")
    assert plain.source.count(old) == 1
    with pytest.raises(ValueError, match=f"03_coalesced_edited.cu: .*{message}"):
        plain.edit(source=plain.source.replace(old, new)).kernel  # noqa: B018


# ------------------------------------------------------------------------ trace, pipeline, attempt


def test_trace_of_each_launch():
    M, N, K = 32, 16, 8
    pack, sgemm, reduce = (STEP.trace(M, N, K, launch=name) for name in STEP.kernels)
    assert STEP.trace(M, N, K).counters == sgemm.counters
    stored = lambda found: {p.array for p in found.costs if p.kind == "store"}
    assert stored(pack) == stored(sgemm) - {"tiles"} == {"workspace"} and stored(reduce) == {"C"}
    assert sgemm.counters[kernels.metrics.FFMA] == M * N * K
    assert sgemm.shapes["A"] == (M, K) and sgemm.shapes["tiles"] == (4 * (16 + 8),)
    transposed = several("18 TRANS_A=1").trace(M, N, K, launch="pack")
    assert transposed.shapes["A"] == (K, M)
    assert pack.find("A").array == "A" and reduce.find("C", "store").line > 100


def test_a_launch_that_is_not_there():
    with pytest.raises(ValueError, match="18_several does not launch unpack for M = 8, N = 8, K ="
                       " 8; it launches pack, sgemm, reduce"):  # fmt: skip
        STEP.trace(8, 8, 8, launch="unpack")
    with pytest.raises(ValueError, match="does not launch reduce .* launches pack, sgemm"):
        several("18 SPLITS=1").trace(8, 8, 8, launch="reduce")


def test_pipeline_sees_dynamic_shared_memory():
    found = STEP.pipeline(16, 8, 4)
    assert found.arrays["tiles"][1] == 384
    assert {one.what for one in found.events} >= {"store", "read"}
    assert not STEP.pipeline(16, 8, 4, launch="pack").arrays


def test_attempt_counts_dynamic_shared_memory():
    found = STEP.attempt(shared_bytes=(384, 384), conflicts=10**6)
    assert found.passed and found.rows[-2].found.startswith("384 bytes")
    broken = changed(("split < SPLITS; ++split", "split < 1; ++split"))
    assert [row.what for row in broken.attempt().rows if not row.passed] == ["right"]


def test_digest_is_of_what_the_variant_reads():
    assert digest(STEP, 33, 20, 9) == digest(several("18 TRANS_A=1 TRANS_B=1"), 33, 20, 9)


# ------------------------------------------------------------------------ on a GPU


@pytest.mark.parametrize("label", ["18", "18 TRANS_A=1 TRANS_B=1"])
def test_a_timed_launch_is_all_of_them(monkeypatch, label):
    simulated, one = SimulatedGPU(monkeypatch), several(label)
    simulated.ms |= dict.fromkeys(one.kernels, 0.0)
    A, B, C = inputs(33, 41, 29)
    stored = {"A": A, "B": B}
    launch = product.launch_of(
        one,
        product.loaded_of(one),
        lambda name, t: np.ascontiguousarray(stored[name].T).T if t else stored[name],
        C,
    )
    for _ in range(2):
        launch()
    assert simulated.empties == 2 * [(one.workspace(33, 41, 29) // 4, np.float32)]
    plan = [(x.kernel, x.grid, x.block) for x in one.launches(33, 41, 29)]
    assert [x[:3] for x in simulated.launched] == 2 * plan
    assert [x[4] for x in simulated.launched] == 2 * [0, 384, 0]
    each = [x[3] for x in simulated.launched]
    values = each[0]
    pitches = (33, 29, 41) if "TRANS_A" in label else (29, 41, 41)
    assert values[:4] == (33, 41, 29, 1) and values[8:11] == pitches
    assert len({id(x) for x in each[: len(plan)]}) == len({id(x) for x in each[len(plan) :]}) == 1
    assert len({id(x[-1]) for x in each}) == 2  # a workspace of its own for each call


ALL = "iiifPPfPiiiP"  # what its kernels take


@pytest.mark.parametrize("label", ["18", "18 SPLITS=1"])
def test_a_call_queues_all_launches_on_the_current_stream(monkeypatch, label):
    fake, one = FakeGpu(monkeypatch, ALL), several(label).define(BK=8)  # whose kernels are new
    A, B, C = cupy_array((33, 29)), cupy_array((29, 41), 8192), cupy_array((33, 41), 16384)
    fake.current_stream = 7
    assert one(A, B, C, 1.1, -0.5) is C
    plan = [(x.kernel, (*x.grid, 1, 1)[:3], (*x.block, 1, 1)[:3]) for x in one.launches(33, 41, 29)]
    assert [x[:3] for x in fake.launched] == plan and len(plan) == 2 + ("SPLITS" not in label)
    assert [x[3] for x in fake.launched] == [0, 4 * 8 * 24, 0][: len(plan)]
    (room,) = fake.rooms
    assert room.size == one.workspace(33, 41, 29)
    values = (33, 41, 29, float(np.float32(1.1)), 4096, 8192, -0.5, 16384, 29, 41, 41)
    assert {x[4:] for x in fake.launched} == {(7, (*values, room.ptr))}
    fake.launched.clear()
    fake.current_stream = 8
    assert one(A, B, C) is C
    assert len(fake.loaded) == len(plan) and len(fake.rooms) == 2  # nothing is loaded again
    values = (33, 41, 29, 1.0, 4096, 8192, 0.0, 16384, 29, 41, 41)
    assert {x[4:] for x in fake.launched} == {(8, (*values, fake.rooms[1].ptr))}


def test_a_call_on_another_device_loads_there(monkeypatch):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=12)
    for fake.number in (0, 1, 0, 1):
        A, B, C = (cupy_array((8, 8), n * 4096, fake.number) for n in (1, 2, 3))
        one(A, B, C)
    assert fake.loaded == [(n, name) for n in (0, 1) for name in ("pack", "sgemm", "reduce")]


def test_slices_and_transposes_on_a_gpu(monkeypatch):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=16)
    A, B, C = cupy_array((29, 40)), cupy_array((50, 32), 1 << 14), cupy_array((33, 60), 1 << 16)
    one(A[:, 2:35].T, B[3:44, :29].T, C[:, 10:51], 1, 0)
    moved = (4096 + 8, (1 << 14) + 4 * 96, (1 << 16) + 40)
    (values,) = {x[-1] for x in fake.launched}
    assert values[:3] == (33, 41, 29) and values[8:11] == (40, 32, 60)
    assert (values[4], values[5], values[7]) == moved
    (chosen,) = (s for s in [one._stored_as(Product.of(A[:, 2:35].T, B[3:44, :29].T))])
    assert chosen.defines["TRANS_A"] == chosen.defines["TRANS_B"] == 1


def test_nothing_is_packed_where_nothing_is_read(monkeypatch):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=24)
    A, B, C = (cupy_array((8, 8), n * 4096) for n in (1, 2, 3))
    for alpha in (0, 1e-60):
        fake.launched.clear()
        one(A, B, C, alpha, 2)
        assert [x[0] for x in fake.launched] == ["sgemm", "reduce"]
        assert {x[-1][:4] for x in fake.launched} == {(8, 8, 0, 0.0)}


def test_threads_do_not_mix_their_arguments(monkeypatch):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=20)
    matrices = [cupy_array((8, 8), n * 4096) for n in range(1, 9)]
    one(*matrices[:3])

    def calls(C):
        for _ in range(200):
            one(matrices[0], matrices[1], C)

    fake.launched.clear()
    threads = [threading.Thread(target=calls, args=(C,)) for C in matrices[2:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    groups = [fake.launched[n : n + 3] for n in range(0, len(fake.launched), 3)]
    assert len(groups) == 200 * len(threads)
    assert all([x[0] for x in group] == ["pack", "sgemm", "reduce"] for group in groups)
    assert all(len({x[-1] for x in group}) == 1 for group in groups)


def test_numpy_arrays_are_copied_once_for_all_launches(monkeypatch):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=32)
    there, back = [], []
    monkeypatch.setattr(
        gpu, "to_device", lambda x: there.append(x.shape) or cupy_array(x.shape, 4096 * len(there))
    )
    A, B, C = inputs(33, 41, 29)
    expected = C + 1
    monkeypatch.setattr(gpu, "to_host", lambda x: back.append(x.data.ptr) or expected)
    assert one(A, B, C, device="gpu") is C
    assert there == [(33, 29), (29, 41), (33, 41)] and back == [3 * 4096]
    assert [x[-1][7] for x in fake.launched] == 3 * [3 * 4096] and (C == expected).all()


@pytest.mark.parametrize("transposed", ["A", "B"])
def test_numpy_transposes_stay_transposed_on_a_gpu(monkeypatch, transposed):
    fake, one = FakeGpu(monkeypatch, ALL), STEP.define(BK=36)

    def to_device(x):
        return to_device(x.T).T if x.flags.f_contiguous else cupy_array(x.shape, 4096)

    monkeypatch.setattr(gpu, "to_device", to_device)
    monkeypatch.setattr(gpu, "to_host", lambda x: np.zeros(x.shape, np.float32))
    A, B, C = inputs(33, 41, 29)
    A, B = laid_out(A, B, {f"TRANS_{transposed}": 1})
    one(A, B, C, device="gpu")
    pitches = {"A": (33, 41, 41), "B": (29, 29, 41)}[transposed]
    assert {x[-1][8:11] for x in fake.launched} == {pitches}
    assert [x.defines[f"TRANS_{transposed}"] for x in [one._stored_as(Product.of(A, B, C))]] == [1]


def test_counters_of_each_launch_are_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(profiling, "provenance", lambda **more: {"gpu": "none"})
    one, asked = several("18 SPLITS=1"), []

    def ncu(command, names, metrics):
        asked.append((command, names))
        order = ["pack", "sgemm"] * profiling.LAUNCHES + ["pack", "sgemm", "reduce"] * 5
        return [
            {"name": name} | dict.fromkeys(metrics, 100 - n + 1000 * (name == "pack"))
            for n, name in enumerate(order)
        ]

    monkeypatch.setattr(profiling, "run_ncu", ncu)
    found = profiling.profile([one, STEP], 32, tmp_path / "x.json")["steps"]
    assert {label: set(counts.values()) for label, counts in found.items()} == {
        "18_several SPLITS=1": {91}, "18_several SPLITS=1:pack": {1092},
        "18_several": {77}, "18_several:pack": {1078}, "18_several:reduce": {76},
    }  # fmt: skip
    assert {names for _, names in asked} == {"^(pack|sgemm|reduce)$"}
    monkeypatch.setattr(profiling, "run_ncu", lambda *args: ncu(*args)[::-1])
    with pytest.raises(profiling.ProfileError, match="or in another order"):
        profiling.profile([one, STEP], 32, tmp_path / "x.json")


@pytest.mark.gpu
@pytest.mark.parametrize("label", LABELS)
def test_on_a_gpu(label):
    one = several(label)
    assert repr(one.check("gpu")) == repr(one.check("interpreter"))
    assert digest(one, 67, 71, 73, "gpu") == digest(one, 67, 71, 73, "interpreter")


# ------------------------------------------------------------------------ the command line


@pytest.fixture
def commands(monkeypatch):
    """The command line, which knows the step of several launches alone."""
    monkeypatch.setattr(words, "step", several)
    for module in words, looking:
        monkeypatch.setattr(module, "steps", lambda: (STEP,))
    return cli.main


def test_commands(commands, capsys):
    assert commands(["trace", "18", "32", "--launch", "pack"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("18_several:pack, 32 x 32 x 32\n") and "workspace" in out
    assert commands(["trace", "18", "32"]) == 0
    assert capsys.readouterr().out.startswith("18_several, 32 x 32 x 32\n")
    assert commands(["list"]) == 0
    assert "TRANS_B=0, launches pack, sgemm, reduce" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        commands(["trace", "18", "32", "--launch", "unpack"])
    assert "does not launch unpack" in capsys.readouterr().err
