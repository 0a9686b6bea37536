"""A machine of GPUs, fresh for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fake_gpus

from anywarp import gpu


@pytest.fixture
def machine(monkeypatch):
    """Gives a machine of so many GPUs, whose orders the seed decides: `machine(2, seed=1)`."""
    monkeypatch.setattr(gpu, "require", lambda: None)
    yield lambda *args, **more: fake_gpus.install(monkeypatch, *args, **more)
    fake_gpus.forget()
