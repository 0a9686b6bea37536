"""What only a GPU can record, of every step: timings, counters, bits."""

import json

import kernels
from kernels.ladder.step import step, steps, with_variants
from kernels.records import BITS, SAME_SM, Results, recorded_path

GPU = "NVIDIA H200"
FOLDER = "kernels/records/nvidia_h200"
FILES = {"bench": "timings.json --merge", "profile": "counters.json", "bits": BITS}
SIZES = (256, 512, 1024, 4096)
AS = {"25_tensor_maps": "24_halves"}  # has the same bits: tests/kernels/ladder/test_tensor_maps.py


def missing(chosen, timings, counters, bits) -> list[str]:
    """The commands that record what is not there, a line each."""
    labels = [one.label for one in with_variants(chosen)]
    there = {(r.step, side) for r in timings.records for side in {r.M, r.N, r.K}}
    wanting = {
        "bench": [x for x in labels if not all((x, size) in there for size in SIZES)],
        "profile": [label for label in labels if label not in counters],
        "bits": [one.label for one in chosen if AS.get(one.label, one.label) not in bits],
    }
    return [
        f"python -m kernels {command} "
        + " ".join(f"'{label}'" for label in wanted)
        + f" --output {FOLDER}/{FILES[command]}"
        for command, wanted in wanting.items()
        if wanted
    ]


def test_every_step_was_recorded_on_a_gpu():
    """On an H200, else all of it on an H100."""
    chosen = list(steps())
    for gpu in (GPU, SAME_SM):
        bits = json.loads(recorded_path(gpu, BITS).read_text(encoding="utf-8"))
        records = kernels.results(gpu), kernels.counters(gpu)["steps"], bits
        chosen = [one for one in chosen if missing([one], *records)]
    commands = missing(chosen, kernels.results(GPU), kernels.counters(GPU)["steps"], [])
    assert not commands, f"to be recorded on an {GPU}:\n" + "\n".join(commands)


def test_what_is_missing_is_named_with_its_command():
    naive = step("02_naive")
    everything = kernels.results(GPU)
    assert missing([naive], everything, ["02_naive"], ["02_naive"]) == []
    bench, profile, bits = missing([naive], Results({}, 1.0, 1.0), [], [])
    assert bench == f"python -m kernels bench '02_naive' --output {FOLDER}/timings.json --merge"
    assert profile == f"python -m kernels profile '02_naive' --output {FOLDER}/counters.json"
    assert bits == f"python -m kernels bits '02_naive' --output {FOLDER}/bits.json"
    few = Results({}, 1.0, 1.0, tuple(r for r in everything.records if r.M != 4096))
    assert len(missing([naive], few, ["02_naive"], ["02_naive"])) == 1
