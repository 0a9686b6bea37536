"""benchmarks.sustained: rates and energies of a made-up GPU, and the record of a real one."""

from __future__ import annotations

import itertools
import json

import pytest
from stand_in import MadeUp

import kernels
from benchmarks import sustained
from kernels.records import CUBLAS, FOLDER

MEASURED = sorted(FOLDER.glob("*/sustained.json"))
WATTS, MHZ = 250, 1410


class Nvml:
    """NVML of a GPU that draws WATTS; its energy counter moves at every third reading."""

    def __init__(self):
        self.readings = itertools.count()

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByPciBusId_v2(self, address, handle):
        return 0 if address == b"0000:01:00.0" else 6

    def nvmlDeviceGetTotalEnergyConsumption(self, handle, value):
        if next(self.readings) % 3 == 0:
            self.joules = WATTS * sustained.time.perf_counter()
        value._obj.value = round(1000 * self.joules)
        return 0

    def nvmlDeviceGetClockInfo(self, handle, kind, value):
        assert kind == 1
        value._obj.value = MHZ
        return 0

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle, value):
        value._obj.value = 4
        return 0

    def nvmlDeviceGetEnforcedPowerLimit(self, handle, value):
        value._obj.value = 700_000
        return 0

    def nvmlDeviceGetTemperature(self, handle, value):
        return 3  # not supported


def nvml():
    return sustained.Meter(Nvml(), "0000:01:00.0")


@pytest.mark.parametrize("path", MEASURED)
def test_the_record_is_of_what_it_measures_today_and_agrees_with_itself(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert kernels.sustained(record["provenance"]["gpu"]) == record
    found = [(row["size"], row["step"]) for row in record["products"]]
    assert found == list(itertools.product(sustained.SIZES, sustained.LABELS))
    limit, most = (record["provenance"][x] for x in ("power_limit_watts", "max_sm_clock_mhz"))
    for row in record["products"]:
        alone, long = row["alone"], row["sustained"]
        assert long["watts"] < 1.01 * limit and long["sm_clock_mhz"] <= most
        assert ("in turns" in row) == (row["step"] != CUBLAS)
        # as many cycles, but the caches are warm and nothing lies between two launches
        cycles = long["ms"] * long["sm_clock_mhz"] / (alone["ms"] * alone["sm_clock_mhz"])
        assert 0.85 < cycles < 1.15, row


def test_what_the_book_says_of_power():
    record = kernels.sustained("NVIDIA H100 80GB HBM3")
    limit = record["provenance"]["power_limit_watts"]
    assert limit == 700
    for row in record["products"]:
        long = row["sustained"]
        assert (long["watts"] > 0.98 * limit) == (row["step"] != "11_thread_tile_8x8"), row
        slow = "sw_power_cap" in long["throttle"]
        assert slow == (long["sm_clock_mhz"] < record["provenance"]["max_sm_clock_mhz"]), row
    joules = {(row["step"][:2], row["size"]): row["sustained"]["watts"] * row["sustained"]["ms"]
              for row in record["products"]}  # fmt: skip
    for size in sustained.SIZES:
        order = [joules[step, size] for step in ("11", "14", "cu", "19", "20", "23", "21")]
        assert order == sorted(order, reverse=True)


def test_nvml_is_asked_when_its_counter_has_moved():
    one = nvml()
    for _ in range(2):
        sample = one.sample(sustained.time.perf_counter())
        assert (sample["mhz"], sample["throttle"]) == (MHZ, ("sw_power_cap",))
        assert next(one.nvml.readings) % 3 == 1  # just after it has moved
    with pytest.raises(OSError, match="NVML does not say Temperature: error 3"):
        one.ask("Temperature")
    with pytest.raises(OSError, match="does not know the GPU at 0000:02:00.0"):
        sustained.Meter(one.nvml, "0000:02:00.0")


def test_rates_are_of_what_comes_after_the_clock_has_settled():
    samples = [
        {"s": s, "joules": joules, "mhz": mhz, "throttle": why}
        for s, joules, mhz, why in (
            *((0.4, 100, 1980, ("hw_slowdown",)), (2.5, 1000, 1500, ("sw_power_cap",))),
            *((3.5, 1700, 1500, ("sw_power_cap",)), (4.5, 2400, 1485, ())),
        )
    ]
    assert sustained.summary(10, [1000, 1500, 2000, 2000], samples) == {
        "ms": 200,
        "watts": 700,
        "sm_clock_mhz": 1500,
        "throttle": ["sw_power_cap"],
    }


def test_all_is_measured_on_a_made_up_gpu(monkeypatch):
    MadeUp("9.0").install(monkeypatch.setattr)
    labels = CUBLAS, "11_thread_tile_8x8", "21_warpgroups"
    quick = {"SIZES": (256,), "LABELS": labels, "BATCH_MS": 0.2, "PAUSE": 0.01, "SETTLE": 0.1}
    for name, value in (quick | {"SECONDS": 0.6, "wait": lambda event: None}).items():
        monkeypatch.setattr(sustained, name, value)
    record = sustained.measure(nvml())
    assert record["provenance"]["power_limit_watts"] == 700
    assert [row["step"] for row in record["products"]] == list(labels)
    for row, tflops in zip(record["products"], (6.0, 3.0, 1.5)):  # 21 has two launches
        ms = pytest.approx(2 * 256**3 / (tflops * 1e9), rel=1e-3)
        assert row["alone"]["ms"] == ms and row["sustained"]["ms"] == ms
        assert row["sustained"]["watts"] == pytest.approx(WATTS, rel=0.1)
        assert row["sustained"]["sm_clock_mhz"] == MHZ
        assert row["step"] == CUBLAS or row["in turns"]["cublas_ms"] == pytest.approx(0.005592)
