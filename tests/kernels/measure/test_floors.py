"""kernels.measure.floors. The timings are made up, for GPUs that do not exist."""

from __future__ import annotations

import json

import pytest

from anywarp import gpu
from kernels.analysis.reference import CheckError
from kernels.ladder import step as ladder
from kernels.measure import bench, floors
from kernels.measure.floors import Floors, Row
from kernels.records import Record, Results

FLOORS = Floors("Simulated GPU 1", 100, "made up", {"02_naive": 2.0, "03_coalesced": 5.0})
NAIVE, COALESCED = ladder.step(2), ladder.step(3)


def made_up(*rates, gpu="Simulated GPU 1", left_out=(), recorded=True):
    """Results with (label, TFLOPS) or (label, TFLOPS, N) at 100 x N x 100; cuBLAS has 10."""
    records = []
    for label, rate, N in ((*rate, 100)[:3] for rate in rates):
        ms = 2 * 100 * N * 100 / rate / 1e9
        records.append(Record(label, 100, N, 100, ms, ms, ms, 20, 2 * 100 * N * 100 / 10.0 / 1e9))
    return Results(
        {"gpu": gpu, "date": "2001-02-03"}, 10.0, 500.0, tuple(records), left_out, recorded
    )


def test_above_at_and_below_the_floor():
    found = made_up(("cublas", 10.0), ("02_naive", 2.0), ("03_coalesced", 4.999))
    standing = floors.standing(found, [NAIVE, COALESCED], FLOORS)
    naive, coalesced = standing.rows
    assert (naive.step, naive.floor, naive.verdict) == ("02_naive", 2.0, "ok")
    assert naive.tflops == pytest.approx(2) and naive.share_of_cublas == pytest.approx(0.2)
    assert (coalesced.floor, coalesced.verdict, standing.ok) == (5.0, "below", False)
    assert floors.standing(found, [NAIVE], FLOORS).ok
    assert Row("x", 2.0, None, 2.0).verdict == "ok"


def test_only_a_record_at_the_square_size_counts():
    found = made_up(("02_naive", 3.0, 200))
    standing = floors.standing(found, [NAIVE], FLOORS)
    assert (standing.rows[0].verdict, standing.ok) == ("no record", False)


def test_a_variant_stands_without_a_floor():
    variant = NAIVE.define(BM=32)
    standing = floors.standing(made_up((variant.label, 0.1)), [variant], FLOORS)
    assert (standing.rows[0].step, standing.rows[0].verdict) == ("02_naive BM=32", "no floor")
    assert standing.ok


def test_it_prints_as_a_table():
    found = made_up(
        ("cublas", 10.0),
        ("02_naive", 2.5),
        left_out=(
            "03_coalesced at 100 x 100 x 100: it is slow",
            "04_x: it needs compute capability 10.0",
        ),
    )
    lines = repr(floors.standing(found, [NAIVE, COALESCED], FLOORS)).splitlines()
    assert lines[0] == "Simulated GPU 1 at 100 x 100 x 100, recorded, not measured now, 2001-02-03"
    assert lines[1] == "floor: made up"
    assert [line.split() for line in lines[3:6]] == [
        ["step", "TFLOPS", "of", "cuBLAS", "floor"],
        ["02_naive", "2.50", "25.0%", "2.00", "ok"],
        ["03_coalesced", "-", "-", "5.00", "no", "record"],
    ]
    assert lines[6:] == ["left out: 03_coalesced at 100 x 100 x 100: it is slow"]


def test_the_heading_says_what_was_measured_and_where():
    live = made_up(("02_naive", 3.0), gpu="Simulated GPU 2", recorded=False)
    heading = floors.standing(live, [NAIVE], FLOORS).heading
    assert "Simulated GPU 2 at 100 x 100 x 100, measured, 2001-02-03" in heading
    assert heading.endswith("The floors are of another GPU, Simulated GPU 1.")
    assert "another GPU" not in floors.standing(made_up(), [], FLOORS).heading


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line; what is recorded, and what a GPU measures, is given."""
    measured = []

    def run(steps, live=None, output=None, json=False, recorded=False):
        monkeypatch.setattr(Floors, "load", lambda: FLOORS)
        monkeypatch.setattr(
            floors,
            "results",
            lambda name: made_up(
                ("cublas", 10.0), ("02_naive", 2.0), ("03_coalesced", 1.0), gpu=name
            ),
        )
        monkeypatch.setattr(gpu, "why_not", lambda: None if live else "it is on holiday")

        def benchmark(steps, sizes, output, merge):
            gpu.require()
            measured.append((list(steps), sizes, output, merge))
            if isinstance(live, Exception):
                raise live
            return live

        monkeypatch.setattr(bench, "benchmark", benchmark)
        status = floors.run_cli(steps, recorded, output, output is not None, json)
        printed = capsys.readouterr()
        return status, printed.out + printed.err, list(measured)

    return run


def test_without_a_gpu_the_recorded_is_compared(run):
    status, text, measured = run([NAIVE])
    assert status == 0 and "recorded, not measured now" in text and measured == []
    assert run([NAIVE, COALESCED])[0] == 1


def test_with_a_gpu_it_is_measured_first_unless_told_otherwise(run, tmp_path):
    live = made_up(("cublas", 10.0), ("02_naive", 1.0), recorded=False)
    status, text, measured = run([NAIVE], live=live)
    assert status == 1 and "measured" in text and "below" in text
    assert measured == [([NAIVE], [100], None, False)]
    status, text, measured = run([NAIVE], live=live, recorded=True)
    assert status == 0 and "recorded" in text and len(measured) == 1
    *_, measured = run([NAIVE], live=live, output=tmp_path)
    assert measured[-1] == ([NAIVE], [100], tmp_path, True)


def test_without_a_gpu_there_is_nothing_to_save(run, tmp_path):
    with pytest.raises(gpu.NoGPU, match="on holiday"):
        run([NAIVE], output=tmp_path)


def test_a_wrong_result_gives_status_1(run):
    status, text, _ = run([NAIVE], live=CheckError("C[1, 2] is wrong"))
    assert status == 1 and text == "error: C[1, 2] is wrong\n"


def test_json(run):
    status, text, _ = run([NAIVE, COALESCED], json=True)
    found = json.loads(text)
    assert status == 1 and found["ok"] is False and found["recorded"] is True
    assert (found["gpu"], found["floors_gpu"], found["size"]) == 2 * ("Simulated GPU 1",) + (100,)
    assert [row["verdict"] for row in found["steps"]] == ["ok", "below"]
    assert found["steps"][0] == {
        "step": "02_naive",
        "tflops": pytest.approx(2.0),
        "share_of_cublas": pytest.approx(0.2),
        "floor": 2.0,
        "verdict": "ok",
    }


# ---------------------------------------------------------------------- the shipped floors


def test_the_shipped_floors():
    shipped = Floors.load()
    assert shipped.size in bench.SIZES and shipped.what
    assert floors.results(shipped.gpu).gpu == shipped.gpu
    assert all(0 < floor < 1000 for floor in shipped.floors.values())
    assert {"02_naive", "03_coalesced"} <= set(shipped.floors)
