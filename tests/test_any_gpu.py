"""What a reader sees on another GPU than the recorded one. There is none here: `made_up` stands in
for it, and every timing is made up, as its name says."""

from __future__ import annotations

import json
from dataclasses import replace

import made_up
import pytest
from drawn import texts

import kernels
from anywarp import capability, gpu
from kernels import __main__ as cli, draw
from kernels.ladder import choose
from kernels.ladder.step import with_variants
from kernels.measure import cublas
from kernels.records import results
from tests import stand_in
from tests.stand_in import MadeUp

CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
EVERY = {one.label: one for one in with_variants(kernels.steps())}
# with roofs that no new record changes
RECORDED = replace(results("NVIDIA H200"), fma_peak_tflops=64.0, copy_gbs=4000.0)


@pytest.fixture
def t4(monkeypatch):
    made = MadeUp("7.5")
    made.install(monkeypatch.setattr)
    return made


# ---------------------------------------------------------------------- what is refused


def refusal(label, of):
    one = EVERY[label]
    return capability.lacking(one.compute_capability, one.shared_mem, stand_in.device(of))


def test_what_is_refused_and_why():
    """By the number of the step: the whole ladder on each compute capability."""
    refused = {
        of: sorted({EVERY[label].number for label in EVERY if refusal(label, of)})
        for of in CAPABILITIES
    }
    newer, hopper = [*range(16, 22), 23, 24, 25], [21, 23, 24, 25]
    small = [18, 20, *hopper]  # shared memory of a block, clusters, and 9.0a
    others = {"7.5": newer, "8.0": [18, *hopper], "9.0": [], "10.0": hopper}
    assert refused == others | dict.fromkeys(("8.6", "8.9", "12.0"), small)


@pytest.mark.parametrize(
    "label, of, needs, has",
    [
        ("16_async_copy", "7.5", "a GPU of compute capability 8.0", "7.5"),
        ("21_warpgroups", "12.0", "a GPU of compute capability 9.0a", "12.0"),
        ("18_split_k SPLITS=4 CLUSTER=1", "8.0", "a GPU of compute capability 9.0", "8.0"),
        ("18_split_k", "8.6", "131072 bytes of shared memory in a block", "101376"),
    ],
)
def test_a_refusal_is_a_sentence(label, of, needs, has, monkeypatch, capsys):
    words = f"needs {needs}, and the made-up GPU {of} has {has}"
    assert refusal(label, of) == words
    made = MadeUp(of)
    made.install(monkeypatch.setattr)
    one = EVERY[label]
    A, B, _ = kernels.inputs(128, 128, 32)
    with pytest.raises(gpu.NoGPU, match=f'this {words}: pass NumPy arrays and device="inter'):
        one(A, B, device="gpu")
    live = kernels.here.benchmark([one], [128])
    assert live.left_out == (f"{label}: it {words}",)
    assert f"left out: {label}: it {words}" in capsys.readouterr().out
    assert kernels.here.occupancy(one) is None
    picture = draw.gflops(RECORDED, [one], live)
    assert f"Not timed here: {label}: it {words}." in picture.caption
    assert f"live on made-up GPU {of}; dashed: recorded on NVIDIA H200" in picture.alt


SPACIOUS = "17_tile_space BM=32 BN=64 STAGES=4 TM=4 TN=4 BLOCKS=6 WM=16 WN=32"


@pytest.mark.parametrize(
    "label, of",
    [("02_naive", "7.5"), ("12_warp_tiling", "7.5"), ("15_any_shape", "12.0"),
     ("16_async_copy", "8.0"), (SPACIOUS, "8.6"), ("18_split_k", "10.0")],
)  # fmt: skip
def test_what_is_not_refused_compiles(label, of):
    """`python -m tests.made_up compile` does this for all of them."""
    assert "registers" in made_up.compiles(EVERY[label], of)


def test_what_is_not_refused_and_does_not_compile_is_found(monkeypatch):
    one = EVERY["18_split_k SPLITS=4 CLUSTER=1"]
    monkeypatch.setattr(type(one), "compute_capability", (8, 0))
    with pytest.raises(
        AssertionError, match=r"(?s)CLUSTER=1 is not refused for 8\.0: .*__cluster_dims"
    ):
        made_up.compiles(one, "8.0")


# ---------------------------------------------------------------------- what runs where


def test_a_newer_step_is_interpreted_and_an_older_one_is_not(t4):
    A, B, _ = kernels.inputs(8, 8, 8)
    for label, where in (("03_coalesced", ["03_coalesced"]), ("21_warpgroups", [])):
        t4.run.clear()
        EVERY[label](A, B)
        assert t4.run == where


@pytest.mark.parametrize("of", ["8.6", "12.0"])
def test_sgemm_takes_no_step_that_lacks_shared_memory(of):
    """Step 18, with more of it than there is, is the fastest on record at such shapes."""
    device, shape = stand_in.device(of), (256, 256, 16384)
    asked = choose.Asked(shape, device=device)
    for one in (choose.modelled(asked), choose.choose(kernels.steps(), RECORDED, asked)):
        assert not capability.lacking(one.compute_capability, one.shared_mem, device)


def test_without_a_gpu_there_is_nothing_to_show(no_gpu, capsys):
    step = EVERY["03_coalesced"]
    assert kernels.here.benchmark([step], [64]) is None
    assert kernels.here.occupancy(step) is None
    assert capsys.readouterr().out == ""


def test_without_cublas_the_chapter_goes_on(t4, monkeypatch, capsys):
    def missing():
        raise ImportError("cuBLAS cannot be loaded")

    monkeypatch.setattr(cublas, "version", missing)
    assert kernels.here.benchmark([EVERY["03_coalesced"]], [64]) is None
    said = capsys.readouterr().out
    assert said == "No timings on the made-up GPU 7.5: cuBLAS cannot be loaded\n"


def test_the_compilers_own_code_is_called_so(monkeypatch, capsys):
    MadeUp("8.0").install(monkeypatch.setattr)
    kernels.here.benchmark([EVERY["19_machine_code"]], [128])
    said = capsys.readouterr().out
    assert "19_machine_code: the compiler's own code is timed: machine code is reordered" in said


def test_the_command_line_says_where_a_step_runs(t4, capsys, tmp_path):
    assert cli.main(["run", "16", "128"]) == 0
    words = "it needs a GPU of compute capability 8.0, and the made-up GPU 7.5 has 7.5"
    assert capsys.readouterr().err == f"16_async_copy is interpreted: {words}\n"
    assert cli.main(["run", "16", "128", "--device", "gpu"]) == 2
    assert f"error: this {words[3:]}" in capsys.readouterr().err
    output = tmp_path / "bits.json"
    assert cli.main(["bits", "03", "16", "--output", str(output)]) == 0
    assert f"16_async_copy is left out: {words}" in capsys.readouterr().err
    assert list(json.loads(output.read_text())) == ["03_coalesced"]
    assert cli.main(["bits", "16", "--output", str(output)]) == 2
    assert "error: the made-up GPU 7.5 can run none of these steps" in capsys.readouterr().err


# ---------------------------------------------------------------------- pictures


@pytest.fixture
def live(t4, capsys):
    """Two steps timed on the made-up GPU, one of which it cannot run."""
    found = kernels.here.benchmark([EVERY["03_coalesced"], EVERY["16_async_copy"]], [128, 256])
    said = capsys.readouterr().out
    assert said.startswith("\nmade-up GPU 7.5, measured ") and "03_coalesced" in said
    return found


def test_the_roofs_of_this_gpu(live):
    assert live.fma_peak_tflops == pytest.approx(8.0, rel=0.01)
    assert live.copy_gbs == pytest.approx(stand_in.GBS["copy"])
    assert live.provenance["shared_gbs"] == pytest.approx(stand_in.GBS["shared"])


def test_a_roofline_has_both_roofs(live):
    points = [
        ("counted", 1.0, None, "03_coalesced"),
        ("on the H200", 31.0, 5.0),
        ("all", 4.0, None),
    ]
    alt = draw.roofline(RECORDED, points, live).alt
    there, here = alt.split("ridge at 16 ")
    assert "solid: live on made-up GPU 7.5; dashed: recorded on NVIDIA H200" in there
    assert "on the H200 at 31 FLOP per byte: 5 TFLOPS." in here
    _, own = here.split("FMA peak 8 TFLOPS, copy bandwidth 250 GB/s, ridge at 32 FLOP per byte.")
    assert "counted, here at 1 FLOP per byte: 3 TFLOPS." in own
    assert "all, here at 4 FLOP per byte." in own and "on the H200" not in own


def test_gflops_of_both_with_what_was_left_out(live):
    picture = draw.gflops(RECORDED, ["03_coalesced", "16_async_copy"], live)
    assert "FMA peak 8 and 64" in picture.alt
    assert "Not timed here: 16_async_copy: it needs a GPU of compute cap" in picture.caption
    assert "Not timed" not in draw.gflops(RECORDED, ["03_coalesced"], live).caption


def test_occupancy_of_this_gpu(t4):
    step = EVERY["11_thread_tile_8x8"]
    here = kernels.here.occupancy(step)
    assert (here.gpu, here.sms, here.compute_capability, here.max_warps) == (
        "made-up GPU 7.5", stand_in.MULTIPROCESSORS, "7.5", 32,
    )  # fmt: skip
    caption = draw.occupancy(here).caption
    assert "Made-up GPU 7.5, compute capability 7.5: 2 blocks at a time, 16 of 32" in caption
    assert kernels.here.occupancy(EVERY["16_async_copy"]) is None  # which needs 8.0


def test_limits_that_are_not_known_are_not_made_up(t4, monkeypatch):
    known = {name: sm for name, sm in stand_in.SMS.items() if name != "7.5"}
    monkeypatch.setattr(kernels.here, "SMS", known)
    assert kernels.here.occupancy(EVERY["03_coalesced"]) is None


def test_waves_of_both(t4):
    step = EVERY["15_any_shape"]
    picture = draw.waves(step, 2048, 2048, live=kernels.here.occupancy(step))
    assert "Below: 40 SMs of the made-up GPU 7.5, 2 blocks on each, run 4 waves" in picture.caption
    assert "80.0% of the places" in picture.caption
    for gpu_and_blocks in "made-up GPU 7.5, 40 SMs: 80", "NVIDIA H200, 132 SMs: 264":
        assert f"{gpu_and_blocks} blocks at a time" in texts(picture).values()


def test_memories_of_both(live):
    alt = draw.memory(live=live).alt
    assert "NVIDIA H200: registers" in alt
    assert (
        "made-up GPU 7.5, here: registers 10 MiB = 40 x 256 KiB, 48 TB/s computed, shared memory "
        "and L1 3.75 MiB = 40 x 96 KiB, 4 TB/s measured, L2 4 MiB, not known, device memory "
        "17.2 GB, 250 GB/s measured"
    ) in alt.replace("47.9 TB/s", "48 TB/s")
    live.provenance["compute_capability"] = "6.1"
    assert draw.memory(live=live).alt == draw.memory().alt
