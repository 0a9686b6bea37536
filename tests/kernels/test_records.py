"""kernels.records. The timings are made up, for a GPU that does not exist."""

from __future__ import annotations

import json
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import kernels
from kernels import analysis, records
from kernels.measure import bench
from kernels.records import Record, Results

PROVENANCE = {"gpu": "Simulated GPU 1", "date": "2001-02-03"}


def record(step="02_naive", size=1000, ms=2.0, **changes):
    return Record(
        **dict(step=step, M=size, N=size, K=size, ms=ms, ms_p10=0.5 * ms, ms_p90=2 * ms, repeats=20)
        | changes
    )


def test_tflops_count_two_operations_per_product():
    r = record(M=10, N=200, K=3000, ms=4.0)
    assert r.tflops == pytest.approx(2 * 10 * 200 * 3000 / 4e-3 / 1e12)
    assert r.tflops_p10 == pytest.approx(r.tflops / 2)  # slow is 10th percentile of the rate
    assert r.tflops_p90 == pytest.approx(r.tflops * 2)


def test_results_survive_a_file_and_say_that_they_were_recorded(tmp_path):
    saved = Results(
        PROVENANCE,
        10.0,
        200.0,
        (record(sm_clock_mhz=1000.0, throttle=("sw_power_cap",)), record(throttle=())),
        ("02_naive at 9 x 9 x 9: too slow",),
    )
    path = tmp_path / "new" / "folder" / "r.json"
    saved.save(path)
    loaded = Results.load(path)
    assert loaded == saved
    assert loaded.recorded and not saved.recorded
    assert [p.name for p in path.parent.iterdir()] == ["r.json"]
    assert "recorded" not in json.loads(path.read_text())


def test_select_and_share_of_cublas():
    step = types.SimpleNamespace(label="02_naive")
    found = Results(
        PROVENANCE,
        10.0,
        200.0,
        (record(size=2000, ms=16.0), record(size=1000, ms=4.0, cublas_ms=1.0), record("cublas")),
    )
    assert [r.M for r in found.select(step)] == [1000, 2000]
    assert found.select(step) == found.select("02_naive")
    assert found.select("03") == ()
    shares = [found.share_of_cublas(r) for r in found.select(step)]
    assert shares == [pytest.approx(0.25), None]  # another size, or other rounds, say nothing


def test_results_print_as_a_table():
    found = Results(
        PROVENANCE,
        65.25,
        4321.0,
        (record(ms=2.0, cublas_ms=1.0), record("cublas", ms=1.0, cublas_ms=1.0)),
        ("03_x at 1 x 1 x 1: it requires K % 4 == 0",),
    )
    lines = repr(found).splitlines()
    assert lines[0] == (
        "Simulated GPU 1, measured 2001-02-03: FMA peak 65.2 TFLOPS, copy 4321 GB/s"
    )
    assert lines[3].split() == "02_naive 1000 x 1000 x 1000 1 0.5 to 2 50.0%".split()
    assert lines[4].split()[-1] == "100.0%"
    assert lines[-1] == "left out: 03_x at 1 x 1 x 1: it requires K % 4 == 0"
    assert repr(replace(found, records=())).splitlines() == [lines[0], lines[-1]]
    long = "06_bank_conflicts PAD=1 TRANSPOSED=1"
    lines = repr(Results(PROVENANCE, 65.25, 4321.0, (record(), record(long)))).splitlines()
    assert len({len(line) for line in lines[2:]}) == 1 and lines[4].startswith(f"{long} ")


CONDITIONS = PROVENANCE | {
    "driver": "1",
    "nvrtc": "13.0",
    "cublas": "1.2.3",
    "commit": "old",
    "protocol": {"min_repeats": 20},
}


def results(*records, left_out=(), fma_peak_tflops=10.0, **changes):
    return Results(CONDITIONS | changes, fma_peak_tflops, 200.0, records, left_out)


def test_merging_replaces_what_was_measured_again_and_keeps_the_rest():
    old = results(
        record("cublas", 64),
        record("02_naive", 64, 5.0),
        record("cublas", 32),
        record("02_naive", 32),
        record("03_x", 64, commit="older"),
        record("04_y", 64),
        left_out=(
            "04_y at 32 x 32 x 32: slow",
            "02_naive at 8 x 8 x 8: slow",
            "05_z: it needs compute capability 10.0",
        ),
    )
    new = results(
        record("02_naive", 8),
        record("02_naive", 64, 3.0),
        record("cublas", 64, 7.0),
        left_out=("04_y at 64 x 64 x 64: slow",),
        fma_peak_tflops=11.0,
        commit="new",
    )
    found = new.merged(old)
    assert [(r.step, r.M, r.ms, r.commit) for r in found.records] == [
        ("02_naive", 8, 2.0, None),
        ("cublas", 32, 2.0, "old"),
        ("02_naive", 32, 2.0, "old"),
        ("cublas", 64, 7.0, None),
        ("02_naive", 64, 3.0, None),
        ("03_x", 64, 2.0, "older"),
    ]
    assert found.left_out == (
        "04_y at 64 x 64 x 64: slow",
        "04_y at 32 x 32 x 32: slow",
        "05_z: it needs compute capability 10.0",
    )
    assert found.fma_peak_tflops == 11.0 and found.provenance["commit"] == "new"
    assert found.merged(found) == found
    (kept,) = results().merged(results(record())).records
    assert kept.commit is None  # of the same tree


def test_a_merge_changes_no_share_of_cublas():
    """A later run of another step had other clocks, and so another cuBLAS."""
    old = results(
        record("cublas", ms=2.0, cublas_ms=2.0), record("02_naive", ms=4.0, cublas_ms=2.0)
    )
    new = results(record("cublas", ms=3.0, cublas_ms=3.0), record("21_x", ms=1.0, cublas_ms=3.0))
    found = new.merged(old)
    assert found.at("cublas", 1000).ms == 3.0
    shares = {r.step: found.share_of_cublas(r) for r in found.records}
    assert shares == {"cublas": 1.0, "02_naive": 0.5, "21_x": 3.0}


@pytest.mark.parametrize("change, message", [
    ({"gpu": "Abacus"}, "gpu is 'Abacus' and was 'Simulated GPU 1'; save them elsewhere"),
    ({"driver": "2"}, "driver is '2' and was '1'"),
    ({"nvrtc": "13.1"}, "nvrtc is '13.1' and was '13.0'"),
    ({"cublas": "1.2.4"}, "cublas is '1.2.4' and was '1.2.3'"),
    ({"protocol": {"min_repeats": 10}}, "min_repeats is 10 and was 20"),
    ({"protocol": {}}, "min_repeats is None and was 20"),
])  # fmt: skip
def test_records_of_other_circumstances_are_not_merged(change, message):
    with pytest.raises(records.MergeError, match=message):
        results(**change).merged(results())
    assert results(date="2002-01-01", python="3.99").merged(results())


@pytest.mark.parametrize("read, name, text", [
    (records.results, records.TIMINGS, Results(PROVENANCE, 10.0, 200.0).to_json()),
    (records.counters, records.COUNTERS, json.dumps({"provenance": PROVENANCE})),
])  # fmt: skip
def test_records_are_found_by_the_gpu_name(tmp_path, read, name, text):
    with pytest.raises(ValueError, match="nothing is recorded for 'x'; recorded: nothing yet"):
        read("x", tmp_path)
    path = records.recorded_path("Simulated GPU 1", name, tmp_path)
    assert path == tmp_path / "simulated_gpu_1" / name
    assert records.slug("NVIDIA GeForce RTX 4090 (24 GB)") == "nvidia_geforce_rtx_4090_24_gb"
    records.write(path, text)
    assert read("Simulated GPU 1", tmp_path)
    for other in ("Abacus", "Simulated GPU 1 peers"):
        with pytest.raises(ValueError, match=f"nothing is recorded for '{other}'; recorded: Simul"):
            read(other, tmp_path)
    with pytest.raises(ValueError, match="'H200 peers'; recorded: .*NVIDIA H200"):
        read("H200 peers")


def test_samples_of_an_h100_stand_for_no_gpu_but_the_h200(tmp_path):
    stored = {"steps": {"02_naive": {"counted": 1}}}
    for gpu, sampled in ("Simulated GPU 1", False), (records.RECORDED_ON, True):
        path = records.recorded_path(gpu, records.STALLS, tmp_path)
        records.write(path, json.dumps(stored))
        row = records.stalls(gpu, tmp_path)["steps"]["02_naive"]
        assert row["counted"] == 1 and (len(row) > 1) == sampled


def test_a_record_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "r.json"
    records.write(path, "old")
    real = records.os.replace

    def replace(part, there):
        assert path.read_text() == "old"  # all is written before anything is replaced
        assert part.read_text() == "new" and part.parent == path.parent
        real(part, there)

    monkeypatch.setattr(records.os, "replace", replace)
    records.write(path, "new")
    assert path.read_text() == "new" and [p.name for p in path.parent.iterdir()] == ["r.json"]

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(records.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        records.write(path, "newer")
    assert path.read_text() == "new" and [p.name for p in path.parent.iterdir()] == ["r.json"]


def test_what_the_repository_records_can_be_read():
    for path in sorted(records.FOLDER.glob(f"*/{records.TIMINGS}")):
        found = Results.load(path)
        assert path.parent.name == records.slug(found.gpu)
        for key in ("driver", "cuda_driver", "cublas", "cupy", "nvrtc", "date", "protocol"):
            assert found.provenance[key], key
        for r in found.records:
            assert 0 < r.ms_p10 <= r.ms <= r.ms_p90 and r.repeats >= bench.MIN_REPEATS
            peak = found.fma_peak_tflops
            if r.step != records.CUBLAS:
                peak = analysis.arithmetic_peak(kernels.step(r.step), found)
            assert r.tflops < peak
            assert found.share_of_cublas(r) is not None


def test_many_writers_write_whole_records(tmp_path):
    """Each has a file of its own until it is done."""
    path = tmp_path / "r.json"
    texts = [str(n) * 200_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda text: records.write(path, text), 20 * texts):
            assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_the_users_own_records_come_first(tmp_path, monkeypatch):
    monkeypatch.setenv(records.OWN, str(tmp_path))
    assert records.results("NVIDIA H200").copy_gbs > 1000  # the package's
    Results(PROVENANCE | {"gpu": "NVIDIA H200"}, 1.0, 2.0).save(
        records.own_path("NVIDIA H200", records.TIMINGS)
    )
    assert records.results("NVIDIA H200").copy_gbs == 2.0
    monkeypatch.setenv(records.OWN, "none")
    assert records.results("NVIDIA H200").copy_gbs > 1000
    with pytest.raises(OSError, match="SGEMM_RECORDS=none: name a file"):
        records.own_path("NVIDIA H200", records.TIMINGS)


@pytest.mark.parametrize("system, root", [
    ("linux", "data"), ("win32", "local"), ("darwin", "home/Library/Application Support"),
])  # fmt: skip
def test_the_users_folder(tmp_path, monkeypatch, system, root):
    monkeypatch.delenv(records.OWN)
    monkeypatch.setattr(records.sys, "platform", system)
    for name, folder in (("XDG_DATA_HOME", "data"), ("LOCALAPPDATA", "local"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    assert records.own_folder() == tmp_path / root / "sgemm-book" / "records"


def test_find_and_at():
    found = results(record(size=8), record(size=4, N=2))
    assert found.find("02_naive", 8) == found.at("02_naive", (8, 8, 8)) == found.records[0]
    assert found.find("02_naive", (4, 2, 4)) == found.records[1]
    assert found.find("02_naive", 4) is None
    for eight in (np.int64(8), (np.int64(8), 8, 8), np.array([8, 8, 8])):
        assert found.find("02_naive", eight) == found.best(eight) == found.records[0]
    with pytest.raises(TypeError):
        found.find("02_naive", 8.0)
    with pytest.raises(ValueError, match="no record of 02_naive at 4; there is 4 x 2 x 4, 8 x 8 x"):
        found.at("02_naive", 4)
