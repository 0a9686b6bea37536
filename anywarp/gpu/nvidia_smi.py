"""What nvidia-smi says of the current GPU: driver, clock and what holds the clock down."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """What nvidia-smi says of the current GPU at one moment; None where it does not say."""

    driver: str | None = None
    sm_clock_mhz: float | None = None
    throttle: tuple[str, ...] | None = None  # reasons why the clock is held down just now


# The bits of nvmlClocksEventReasons (NVML API reference), by NVML's names.
_THROTTLE = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


def status() -> Status:
    """Driver, SM clock and throttle reasons just now. Never raises; takes 0.1 to 2 seconds."""
    for reasons in ("clocks_event_reasons.active", "clocks_throttle_reasons.active"):
        query = f"--query-gpu=pci.bus_id,driver_version,clocks.sm,{reasons}"
        command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.SubprocessError):
            return Status()
        if answer.returncode == 0:  # drivers before 535 know only the second name
            return _parse_status(answer.stdout, _pci_bus_id())
    return Status()


def _pci_bus_id() -> str | None:
    """The PCI address of the current GPU as CUDA writes it, "0000:3B:00.0"."""
    try:
        from cupy.cuda import runtime

        address: str = runtime.deviceGetPCIBusId(runtime.getDevice())
        return address
    except Exception:
        return None


def _parse_status(text: str, pci_bus_id: str | None) -> Status:
    """Status from nvidia-smi's lines, one per GPU: the GPU at pci_bus_id, or the only one.

    nvidia-smi writes the PCI domain with eight digits and CUDA with four, and CUDA's device
    numbers need not be nvidia-smi's.
    """
    rows = [[field.strip() for field in line.split(",")] for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 4]
    if len(rows) > 1:
        rows = [row for row in rows if pci_bus_id and row[0].lower().endswith(pci_bus_id.lower())]
    if not rows:
        return Status()
    _, driver, clock, reasons = rows[0]
    return Status(driver, _number(clock), _throttle_names(reasons))


def _number(field: str) -> float | None:
    """The number in a field, None where it has none."""
    try:
        return float(field)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None


def _throttle_names(field: str) -> tuple[str, ...] | None:
    """The reasons that stand in a mask, in hexadecimal; None where it is none."""
    try:
        mask = int(field, 16)
    except ValueError:
        return None
    names = [name for bit, name in _THROTTLE.items() if mask & bit]
    unknown = mask & ~sum(_THROTTLE)
    return tuple(names + ([hex(unknown)] if unknown else []))
