"""The explorer's variants: what they show is what a trace of each says."""

import re

import pytest
from drawn import bars

import kernels
from kernels import draw
from kernels.draw import PALETTE, explorer
from kernels.draw.steps import variants
from kernels.draw.steps.variants import control
from kernels.records import SAME_SM

SHAPE = (32, 32, 32)
CHOICES = {"TRANSPOSED SWIZZLE": [(0, 0), (1, 0)], "PAD": [0, 1, 2], "BM BN BK": [32, 64]}
ALL = [
    dict(TRANSPOSED=t, SWIZZLE=s, PAD=pad, BM=size, BN=size, BK=size)
    for t, s in CHOICES["TRANSPOSED SWIZZLE"]
    for pad in CHOICES["PAD"]
    for size in CHOICES["BM BN BK"]
]


@pytest.fixture(scope="module")
def made():
    return explorer("06", SHAPE, "tile_b", choices=CHOICES).still


def test_each_has_the_pictures_and_the_numbers_of_its_own_trace(made):
    assert len(made.tried) == len(made.pictures) == len(ALL)
    assert made.accesses[0] == "load from tile_b"
    assert set(made.accesses) == {
        f"{kind} tile_{name}" for kind in ("load from", "store to") for name in "ab"
    }
    for defines, one, frames in list(zip(ALL, made.tried, made.pictures))[::2]:
        step = kernels.step("06").define(**defines)
        trace = step.trace(*SHAPE)
        for name, frame in zip(made.accesses, frames):
            kind, _, array = name.split()
            alone = draw.banks(trace, array, kind, index=0)
            for colour in PALETTE.values():
                assert bars(made.stepper[frame], colour) == bars(alone, colour)
            found = trace.find(array, kind)
            assert made.verdicts[frame].startswith(f"{found.wavefronts} wavefront")
            assert made.verdicts[frame] in made.stepper.labels[frame]
        assert one.numbers["wavefronts per FMA"] == f"{trace.wavefronts_per_fma:.3f}"
        assert (
            one.numbers["shared memory"]
            == f"{step.kernel.resources('sm_90').shared:,} bytes a block"
        )


def test_what_is_refused_says_why(made):
    for defines, one, frames in zip(ALL, made.tried, made.pictures):
        assert bool(one.refused) == (defines["BM"] == 64) == (set(frames) == {-1})
    label = kernels.step("06").define(**defines).label
    assert one.refused.startswith(f"{label} requires M % BM == 0, which M = 32")
    found = explorer("10", (64, 64, 16), "tile_a", choices={"PAD": [2, 3, 4], "TM": [2, 4]}).still
    words = 'static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of tile_a")'
    assert found.tried[1].refused == f"10_transposed_tile PAD=2 is refused: {words}"
    assert [bool(one.refused) for one in found.tried] == [True] * 5 + [False]


def test_a_frame_is_there_once_and_the_first_is_that_of_the_given(made):
    frames = list(zip(made.stepper.frames, made.stepper.labels))
    assert len(set(frames)) == len(frames) < sum(map(len, made.pictures))
    assert made.pictures[0][0] == 0 and made.start == (0, 0, 0)
    later = explorer("06 TRANSPOSED=1 PAD=2", SHAPE, "tile_b", "store", choices=CHOICES).still
    assert later.pictures[10][0] == 0 and later.start == (1, 2, 0)
    assert later.accesses[0] == "store to tile_b"
    rate = kernels.results(SAME_SM).at("06_bank_conflicts TRANSPOSED=1 PAD=2", 4096).tflops
    assert made.tried[10].numbers[f"at 4096 on an {SAME_SM}"] == f"{rate:.2f} TFLOPS, recorded"


def test_without_scripts_its_picture_and_its_numbers_remain(made):
    text = re.sub("<script>.*?</script>", "", made._repr_html_())
    for word in made.verdicts[0], *made.given.numbers.values(), "<img ", made.caption:
        assert word in text


def test_sectors_of_global_memory_and_no_rows_about_nothing():
    found = explorer("03", (64, 64, 8), "B", choices={"BN": [16, 64]}).still
    assert found.accesses == ("load from B", "load from A", "store to C")
    assert [found.verdicts[row[0]] for row in found.pictures] == [
        "2 sectors of 1 cache line",
        "4 sectors of 1 cache line",
    ]
    text = found._repr_html_()
    assert "shared memory" not in text and "conflict" not in text and "registers" in text


@pytest.mark.parametrize(
    "name, values, expected",
    [
        ("PAD", range(3), ("PAD", ("0", "1", "2"), "range")),
        ("QUADS", (0, 1), ("QUADS", ("0", "1"), "select")),
        ("BM BN", [8, 16, 32], ("BM = BN", ("8", "16", "32"), "range")),
        ("WM WN", [(1, 2), (3, 4), (5, 6)], ("WM, WN", ("1, 2", "3, 4", "5, 6"), "select")),
    ],
)
def test_controls(name, values, expected):
    made = control(name, values)
    assert (made.name, made.texts, made.kind) == expected
    assert len(made.options) == len(values) and set(made.options[0]) == set(name.split())


def test_what_cannot_be_shown_is_an_error(monkeypatch):
    def of(label, **choices):
        return explorer(label, SHAPE, "tile_b", choices=choices)

    with pytest.raises(ValueError, match="06_bank_conflicts PAD=9 is none of the choices of PAD"):
        of("06 PAD=9", PAD=[0, 1])
    with pytest.raises(ValueError, match="has no define 'PADDING'"):
        of("06", PAD=[0], PADDING=[1])
    with pytest.raises(ValueError, match="BM=64.* requires M"):
        of("06 BM=64 BN=64 BK=64", PAD=[0, 1])
    monkeypatch.setattr(variants, "LARGEST", 1000)
    with pytest.raises(ValueError, match="2 variants take .* more than 1000"):
        of("06", PAD=[0, 1])


def test_other_accesses_than_the_first_can_be_chosen():
    swizzled = "06 TRANSPOSED=1 SWIZZLE=1"
    made = explorer(swizzled, SHAPE, "tile_b", choices={"PAD": [0, 1]}, numbers=(5, 0)).still
    assert made.accesses[:2] == ("load from tile_b, number 5", "load from tile_b, number 0")
    trace = kernels.step(swizzled).trace(*SHAPE)
    for place, number in enumerate((5, 0)):
        one = kernels.draw.banks(trace, "tile_b", index=number)
        shown = made.stepper.frames[made.pictures[0][place]]
        assert bars(shown, PALETTE["blue"]) == bars(one, PALETTE["blue"])
    assert made.pictures[0][0] != made.pictures[0][1]
