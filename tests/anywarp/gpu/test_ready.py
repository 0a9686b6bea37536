"""Prepared launches: what the driver is handed."""

from __future__ import annotations

import struct
import threading

import numpy as np
import pytest

from anywarp import gpu
from anywarp.gpu.ready import Ready
from tests.stand_in import FakeGpu


@pytest.fixture
def fake(monkeypatch):
    return FakeGpu(monkeypatch, "iPfif")


def kernel(fake, name):
    return fake.load(b"\x7fELF", name)


def test_all_launches_get_the_arguments_of_the_call(fake):
    one, two = kernel(fake, "one"), kernel(fake, "two")
    ready = Ready([(one, (3,), (32, 2), 0), (two, (1, 2, 3), (64,), 4096)], fake.kinds)
    fake.current_stream = 5
    ready(-7, 2**63 + 1, np.float32(0.1), np.int32(2**31 - 1), float("inf"))
    values = (-7, 2**63 + 1, float(np.float32(0.1)), 2**31 - 1, float("inf"))
    assert fake.launched == [
        ("one", (3, 1, 1), (32, 2, 1), 0, 5, values),
        ("two", (1, 2, 3), (64, 1, 1), 4096, 5, values),
    ]
    ready(0, 1, 0.1, 0, float("nan"))
    assert fake.launched[-1][-1][:4] == (0, 1, float(np.float32(0.1)), 0)  # rounded to nearest


def test_no_launches(fake):
    Ready([], fake.kinds)(1, 2, 3, 4, 5)
    assert fake.launched == []


def test_more_shared_memory_is_asked_for_once(fake, monkeypatch):
    asked = []
    monkeypatch.setattr(gpu, "allow_dynamic_shared", lambda *what: asked.append(what))
    one = kernel(fake, "one")
    ready = Ready([(one, (1,), (1,), 0), (one, (1,), (1,), 99)], fake.kinds)
    for _ in range(2):
        ready(1, 2, 3, 4, 5)
    assert asked == [(one, 99)]


@pytest.mark.parametrize("values", [(1, 2, 3, 4), (2**31, 2, 3, 4, 5), (1, -2, 3, 4, 5)])
def test_what_does_not_fit_is_not_launched(fake, values):
    ready = Ready([(kernel(fake, "one"), (1,), (1,), 0)], fake.kinds)
    with pytest.raises(struct.error):
        ready(*values)
    assert fake.launched == []


def test_what_the_driver_refuses(fake):
    def launch(*words):
        raise ZeroDivisionError("too many resources")

    fake.launch = launch
    ready = Ready([(kernel(fake, "one"), (3,), (32,), 0)], fake.kinds)
    for _ in range(2):  # and nothing stays locked
        with pytest.raises(RuntimeError, match="one cannot be launched with grid .3,., block "
                           ".32,. and 0 bytes of dynamic shared memory: too many res"):  # fmt: skip
            ready(1, 2, 3, 4, 5)


def test_threads_take_turns(fake):
    """One launch queues while another thread's arguments wait: each gets its own."""
    begun, done = threading.Event(), threading.Event()
    queue, launched = fake.launch, []

    def launch(*words):
        if not begun.is_set():
            begun.set()
            done.wait(0.2)  # which the other thread sets only if nothing holds it up
        queue(*words)
        launched.append(threading.current_thread().name)

    fake.launch = launch
    ready = Ready([(kernel(fake, "one"), (1,), (1,), 0)], fake.kinds)
    first = threading.Thread(target=ready, args=(1, 1, 1, 1, 1), name="first")
    first.start()
    begun.wait()
    ready(2, 2, 2, 2, 2)
    done.set()
    first.join()
    assert [values for *_, values in fake.launched] == [(1, 1, 1, 1, 1), (2, 2, 2, 2, 2)]
    assert launched[0] == "first"
