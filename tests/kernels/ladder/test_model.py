"""The model by which sgemm chooses: its labels, what it predicts, and that the record yields it."""

import json
import math
import statistics
from dataclasses import replace

import pytest

import kernels
from kernels import records
from kernels.ladder import choose, model
from kernels.ladder.product.product import Product
from kernels.measure import splits
from kernels.records import Results
from tests import stand_in
from tests.stand_in import FakeGpu, cupy_array

RECORD = records.model("NVIDIA H200")


def test_labels_are_those_of_steps():
    found = model.candidates(tensor_cores=True)
    assert len(set(found)) == len(found) > 50
    for label in found:
        assert kernels.step(label).label == label
    assert all(label.startswith((model.STEP, *model.OTHERS)) for label in found)
    without = model.candidates()
    assert set(found) - set(without) == {x for x in found if kernels.step(x).tensor_cores}
    assert "19_machine_code" in without and "21_warpgroups SPLITS=2" in found


def test_a_stream_has_as_many_blocks_for_an_sm_on_any_gpu():
    half = model.candidates(model.Gpu("half of one", 66), tensor_cores=True)
    here = model.candidates(tensor_cores=True)
    assert "23_skinny" in here and "23_skinny BM=64 BN=64 STAGES=2 STREAM=396" in here
    assert "23_skinny STREAM=66" in half and "23_skinny" not in half
    assert "23_skinny BM=64 BN=64 STAGES=2 STREAM=198 SWAP_AB=1" in half


def test_what_an_older_gpu_cannot_do_is_no_candidate():
    older = model.Gpu("older", 108, (8, 0))
    ampere = model.candidates(older)
    assert ampere and not any("CLUSTER" in label for label in ampere)
    assert not any(kernels.step(label).file.reordered for label in ampere)
    assert "20_tensor_cores" in model.candidates(older, tensor_cores=True)
    assert all(model.predicted(label, 300, 300, 300) > 0 for label in ampere)
    turing = model.candidates(model.Gpu("oldest", 40, (7, 5)), tensor_cores=True)
    assert turing and all(label.startswith(model.STEP) for label in turing)


OTHER_GPUS = {"7.5": 40, "8.0": 108, "8.6": 72, "8.9": 58, "12.0": 170}  # SMs


def other(of):
    device = replace(stand_in.device(of), multiprocessors=OTHER_GPUS[of], memory_gbs=1000.0)
    return model.gpu_of(device)


@pytest.mark.parametrize("of", OTHER_GPUS)
def test_another_gpu_holds_as_many_blocks_as_it_has_room_for(of):
    """Also of a stream, which has no more blocks than places."""
    on = other(of)
    labels = model.candidates(on)
    differs = set()
    for label in labels:
        tile = model.base(kernels.step(label)).label
        assert model._way(label, on).tile.resident == model.resident(tile, on) >= 1
        differs.add(model.resident(tile, on) != model.resident(tile, model.H200))
        stream = kernels.step(label).defines["STREAM"]
        assert stream % on.multiprocessors == 0
        assert stream <= on.multiprocessors * model.resident(tile, on)
    assert (True in differs) == (of != "8.0")
    assert any(kernels.step(label).defines["STREAM"] for label in labels)


@pytest.mark.parametrize("of, known", model._residents().items())
def test_the_table_of_residents_is_what_the_compiler_says(of, known):
    """Of one tile; `python -m benchmarks.residents` writes all of it."""
    label = list(known)[len(of) % 3 + 3]
    capability = tuple(map(int, of.split(".")))
    assert model.occupied(model.named(label, capability), capability) == known[label]


def test_what_is_in_no_table_is_compiled():
    on, tile = other("8.6"), "18_split_k BM=32 BN=32 BK=16 TM=4 TN=4 WM=16 WN=32"
    assert model.resident(tile, on) == kernels.step(tile).occupancy("8.6", "sm_86").blocks
    assert model.resident("18_split_k STAGES=8", on) == 0  # more than its SM has


@pytest.mark.parametrize("M, N, K, splits", [
    (64, 64, 65536, True), (256, 256, 16384, True), (4096, 4096, 4096, False),
])  # fmt: skip
@pytest.mark.parametrize("of", OTHER_GPUS)
def test_other_gpus_share_out_k_where_tiles_are_few(fake, of, M, N, K, splits):
    fake.be(of, multiprocessors=OTHER_GPUS[of], memory_gbs=1000.0)
    best = chosen(M, N, K)
    blocks = best.launches(M, N, K)[0].grid
    assert math.prod(blocks) >= OTHER_GPUS[of] / 2  # most SMs work
    if splits:
        assert best.id == model.STEP and not model.is_whole(best)
    if of == "7.5":
        assert best.compute_capability <= (7, 5)
        assert splits or best.number <= 15


def test_without_asynchronous_copies_the_bits_are_the_same():
    A, B, _ = kernels.inputs(67, 71, 150)
    label = f"{model.STEP} {model.TILES[5]} SPLITS=4"
    older, newer = model.named(label, (7, 5)), kernels.step(label)
    assert older.label == newer.label and "cp.async" in str(newer.source)
    assert "cp.async" not in str(older.source) and older.kernel.cubin("sm_75")
    results = [one(A, B, device="interpreter") for one in (older, newer)]
    assert (results[0] == results[1]).all()
    assert not older.sanitize(67, 71, 150)


def test_the_bandwidth_is_that_of_the_gpu(monkeypatch, tmp_path):
    """As copies were measured there, or as its driver says."""
    on = model.Gpu("Simulated GPU 2", 132, (9, 0), model.GBS / 2)
    h200 = records.results("NVIDIA H200").copy_gbs
    monkeypatch.setenv(records.OWN, str(tmp_path))
    for name, share in ((None, 0.5), (records.TUNE, 0.25), (records.TIMINGS, 0.125)):
        if name:
            origin = {"gpu": on.name, "date": ""}
            Results(origin, 1.0, share * h200).save(records.own_path(on.name, name))
        forget()
        assert model._costs(on).gbs == pytest.approx(share * RECORD["costs"]["gbs"])
        here, there = (model._way("23_skinny", x).tile.gbs for x in (on, model.H200))
        assert here == pytest.approx(share * there) and there > 0
    forget()
    assert model._bandwidth(model.Gpu("Simulated GPU 3", 132)) == 1  # nothing is known of it


def test_the_model_of_this_gpu_is_that_of_the_user(monkeypatch, tmp_path):
    """Where there is one of as many SMs; else that of the recorded one."""
    monkeypatch.setenv(records.OWN, str(tmp_path))
    origin = {"gpu": "GPU 2", "multiprocessors": 40, "compute_capability": "8.6"}
    records.write(records.own_path("GPU 2", records.MODEL), json.dumps({"provenance": origin}))
    forget()
    for on, of in (
        (model.Gpu("GPU 1", 40, (8, 6)), "NVIDIA H200"),
        (model.Gpu("GPU 2", 40, (8, 6)), "GPU 2"),
        (model.Gpu("GPU 2", 20, (8, 6)), "NVIDIA H200"),  # half of it
        (model.Gpu("GPU 2", 40, (8, 9)), "NVIDIA H200"),
    ):
        assert model._record(on)["provenance"]["gpu"] == of
    forget()


def forget():
    for cache in (model._way, model._costs, model._sections, model._own, model._bandwidth):
        cache.cache_clear()


H100 = model.Gpu(records.SAME_SM, 132, (9, 0), 3352.0)


@pytest.mark.parametrize("on, tensor_cores", [(model.H200, False), (H100, False), (H100, True)])
def test_the_choices_are_those_that_were_timed(on, tensor_cores):
    """All but one, of ways that are predicted to be as fast."""
    others = []
    labels = model.candidates(on, tensor_cores)
    least = {x: kernels.step(x).defines.get("LEAST_K", 0) for x in labels}
    for row in records.shapes(on.name, tensor_cores)["shapes"]:
        shape = row["M"], row["N"], row["K"]
        able = [x for x in labels if least[x] <= shape[2]]
        slower = {x: choose.GAIN if kernels.step(x).tensor_cores else 1 for x in able}
        best = min(able, key=lambda x: slower[x] * model.predicted(x, *shape, on=on))
        others += [(best, row["step"])] * (best != row["step"])
    assert len(others) <= 1


def test_the_alignment_counts_where_it_is_16_and_only_then():
    """For the formula, and for which shapes that were timed are near."""
    label = model.candidates()[0]
    at = {a: model.predicted(label, 1000, 1000, 1000, alignment=a) for a in (4, 8, 16, 32)}
    assert at[4] == at[8] != at[16] == at[32]
    shape = next(x for x in RECORD["shapes"] if x[1] % 4 == 0)
    place = RECORD["shapes"].index(shape)
    near = [model._near(*shape, aligned, 0, model.H200)[place] for aligned in (True, False)]
    assert near[0] == 1 > near[1]


@pytest.mark.parametrize("M, N, K, share", [
    (4096, 4096, 4096, 0.75), (8192, 8192, 8192, 0.7), (1024, 1024, 1024, 0.5),
])  # fmt: skip
def test_large_products_come_near_the_peak(M, N, K, share):
    best = min(model.predicted(label, M, N, K) for label in model.candidates())
    assert share < 2 * M * N * K / best / 66e12 < 1


def test_few_tiles_and_a_long_k_are_split():
    def chosen(M, N, K):
        return min(model.candidates(), key=lambda label: model.predicted(label, M, N, K))

    one = kernels.step(chosen(64, 64, 8192))
    assert one.defines["SPLITS"] > 1 or one.defines["STREAM"] > 0
    assert kernels.step(chosen(8192, 8192, 32)).defines.get("SPLITS", 1) == 1


def test_unaligned_rows_cost_more_and_transposes_have_other_rows():
    label = model.candidates()[0]
    even = model.predicted(label, 1000, 1000, 1000)
    odd = model.predicted(label, 1000, 1000, 1000, alignment=4)
    assert odd > even
    assert model.predicted(label, 1001, 1000, 1000, trans_a=True) == pytest.approx(odd, rel=0.02)
    assert model.predicted(label, 1000, 1000, 1000, trans_b=True) == pytest.approx(odd)


def test_what_has_not_been_timed_is_refused():
    with pytest.raises(ValueError, match="'15_any_shape' has not been timed; there are 18_split_k"):
        model.predicted("15_any_shape", 64, 64, 64)


@pytest.mark.slow
def test_the_record_yields_the_model(monkeypatch):
    """What was fitted is what its timings give."""
    monkeypatch.setattr(splits.gpu, "device", lambda: stand_in.device("9.0"))
    monkeypatch.setattr(splits.gpu, "arch", lambda: "sm_90")
    steps = [kernels.step(label) for label in RECORD["labels"]]
    costs, again = splits.fitted(steps, RECORD, RECORD["provenance"]["multiprocessors"])
    fits = [(again, RECORD, 0.11)]
    for name, section in RECORD["others"].items():
        steps = [kernels.step(label) for label in section["labels"]]
        assert {one.id for one in steps} == {name}
        _, again = splits.fitted(steps, section, int(costs.multiprocessors), costs)
        # 19 on products of a few steps along K, 23 of few along all sides
        most = {"19_machine_code": 0.23, "23_skinny": 0.18}.get(name, 0.11)
        fits.append((again, section, most))
    for again, recorded, most in fits:
        assert again["error"] == pytest.approx(recorded["error"], rel=1e-3)
        assert again["error"] < most
        for label, tile in again["tiles"].items():
            assert tile["step"] == pytest.approx(recorded["tiles"][label]["step"], rel=0.02), label
            sizes = ("BM", "BN", "BK", "resident")
            assert [tile[x] for x in sizes] == [recorded["tiles"][label][x] for x in sizes]


def test_what_it_chooses_is_nearly_the_best_of_those_timed():
    losses = []
    for shape, times in zip(RECORD["shapes"], RECORD["us"]):
        timed = {x: us for x, us in zip(RECORD["labels"], times) if us is not None}
        chosen = min(timed, key=lambda label: model.predicted(label, *shape))
        losses.append(math.log(timed[chosen] / min(timed.values())))
    assert math.exp(statistics.fmean(losses)) < 1.06
    assert RECORD["error"] < 0.15


def test_a_gpu_with_fewer_sms_needs_longer():
    """The same costs, in more rounds."""
    half = model.Gpu("Simulated GPU 1", 66)
    for label in "18_split_k", "21_warpgroups":
        whole, slower = (model.predicted(label, 4096, 4096, 4096, on=x) for x in (model.H200, half))
        assert 1.8 < slower / whole < 2.1


@pytest.fixture
def fake(monkeypatch):
    choose._remembered.cache_clear()
    yield FakeGpu(monkeypatch, "iiifPPfPiiiP")
    choose._remembered.cache_clear()


def chosen(M, N, K, **options):
    A, B = cupy_array((M, K)), cupy_array((K, N), 1 << 24)
    best, fits = choose.chosen(Product(M, N, K, A, B, None), **options)
    assert fits
    return best


def test_sgemm_takes_what_the_model_says(fake):
    best = chosen(64, 64, 8192)
    assert best.id == "18_split_k"
    seconds = [model.predicted(x, 64, 64, 8192) for x in model.candidates()]
    assert model.predicted(best.label, 64, 64, 8192) == min(seconds)


def test_sgemm_chooses_for_the_gpu_at_hand(fake):
    """Not what it remembers of another one, with the same compute capability."""
    shape = 1024, 1024, 1024
    first = chosen(*shape)
    fake.be("9.0", name="Simulated GPU 1", multiprocessors=16)
    second = chosen(*shape)
    assert first != second and second.defines["BM"] * second.defines["BN"] > (
        first.defines["BM"] * first.defines["BN"]
    )
    fake.be("9.0", name="Simulated GPU 1", multiprocessors=132)
    assert chosen(*shape) == first


def test_large_products_take_the_reordered_code_where_it_is_known(fake, monkeypatch):
    asked = []

    def unordered(kernel, arch):
        asked.append(arch)
        return reason

    monkeypatch.setattr(kernels.Kernel, "why_not_rewritten", unordered)
    reason = None
    assert chosen(8192, 8192, 8192).id == "19_machine_code" and asked == ["sm_90"]
    choose._remembered.cache_clear()
    reason = "this machine code is not known"
    assert chosen(8192, 8192, 8192).id == "18_split_k"


def test_tensor_cores_are_chosen_where_they_are_faster(fake):
    """And only if asked for, and not where the step would fall back to FMAs."""
    large = 4096, 4096, 4096
    assert not chosen(*large).tensor_cores
    assert chosen(*large, tensor_cores=True).label == "24_halves"
    assert chosen(1024, 1024, 1024, tensor_cores=True).label == "24_halves BM=64"
    assert not chosen(64, 64, 8192, tensor_cores=True).tensor_cores
    fake.be("8.0", multiprocessors=132)
    assert chosen(*large, tensor_cores=True).id == "20_tensor_cores"


@pytest.mark.parametrize("others", [1.04, 1.06])
def test_tensor_cores_have_to_gain_a_twentieth(fake, monkeypatch, others):
    seconds = lambda label, *rest: 1.0 if kernels.step(label).tensor_cores else others
    monkeypatch.setattr(model, "predicted", seconds)
    assert chosen(512, 512, 512, tensor_cores=True).tensor_cores == (others > choose.GAIN)


def test_tensor_cores_are_used_from_their_least_k_on(fake, monkeypatch):
    """Below it there are FMAs only, though the formula may say that they are faster."""
    monkeypatch.setattr(model, "predicted", lambda label, *rest: float(label != "21_warpgroups"))
    least = kernels.step("21_warpgroups").defines["LEAST_K"]
    for K in (least - 1, least):
        assert chosen(512, 512, K, tensor_cores=True).tensor_cores == (K == least)
