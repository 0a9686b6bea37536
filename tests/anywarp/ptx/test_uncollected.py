"""Python's search for garbage rests while kernels are read and decoded, and goes on afterwards."""

from __future__ import annotations

import gc

import pytest
from harness import entry

from anywarp import ptx
from anywarp.ptx.machine import machine
from anywarp.ptx.text import parser
from anywarp.ptx.text.parser import uncollected


def test_it_rests_and_goes_on():
    assert uncollected(gc.isenabled)() is False and gc.isenabled()
    assert uncollected(lambda a, b=1: (a, b))(2, b=3) == (2, 3)


def test_it_goes_on_after_an_error():
    with pytest.raises(ZeroDivisionError):
        uncollected(lambda: 1 / 0)()
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off():
    gc.disable()
    try:
        uncollected(int)()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_reading_and_decoding_do_so(monkeypatch):
    seen = []
    reads, decodes = parser._Parser.module, machine.decode_function
    monkeypatch.setattr(
        parser._Parser, "module", lambda self: seen.append(gc.isenabled()) or reads(self)
    )
    monkeypatch.setattr(
        machine, "decode_function", lambda *a: seen.append(gc.isenabled()) or decodes(*a)
    )
    [one] = ptx.parse(entry("")).entries.values()
    machine.decode(one)
    assert seen == [False, False] and gc.isenabled()
