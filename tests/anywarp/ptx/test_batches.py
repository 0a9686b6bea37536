"""What makes the interpreter fast changes no result: batches, temporaries, patterns, views."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from harness import entry, launch

from anywarp import ptx
from anywarp.ptx.arithmetic import floats
from anywarp.ptx.machine.batches import in_batches
from anywarp.ptx.memory import allocations
from anywarp.ptx.memory.patterns import loops, pattern
from anywarp.ptx.text.temporaries import last_uses, temporaries


def code_of(body: str):
    return ptx.parse(entry(body)).entries["k"].instructions


FLOATS = ".reg .f32 %f<10>;\n"


def test_independent_multiply_adds_are_one_batch():
    code = code_of(
        FLOATS + "fma.rn.f32 %f4, %f0, %f1, %f4;\nfma.rn.f32 %f5, %f0, %f2, %f5;\n"
        "mov.f32 %f9, 0f3F800000;\nfma.rn.f32 %f6, %f0, %f3, %f6;\n"
    )
    assert in_batches(code[:4]) == [[2], [0, 1, 3]]


@pytest.mark.parametrize(
    "second",
    [
        "fma.rn.f32 %f5, %f4, %f2, %f5;",  # needs the first one's result
        "fma.rn.f32 %f4, %f0, %f2, %f5;",  # writes the same register
        "fma.rn.f32 %f1, %f0, %f2, %f5;",  # writes what the first one reads
        "mov.f32 %f0, 0f3F800000;",
        "add.f32 %f5, %f4, %f1;",
    ],
)
def test_what_depends_on_a_multiply_add_comes_after_it(second):
    code = code_of(FLOATS + "fma.rn.f32 %f4, %f0, %f1, %f4;\n" + second)
    assert in_batches(code[:2]) == [[0], [1]]


def test_only_plain_multiply_adds_wait():
    code = code_of(
        FLOATS + ".reg .pred %p;\n@%p fma.rn.f32 %f4, %f0, %f1, %f4;\n"
        "fma.rz.f32 %f5, %f0, %f1, %f5;\nfma.rn.ftz.f32 %f6, %f0, %f1, %f6;\n"
    )
    assert in_batches(code[:3]) == [[0], [1], [2]]


def test_a_batch_equals_its_multiply_adds_one_by_one():
    """Sums near the middle between two floats, subnormals, infinities and NaN among them."""
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 32, (9, 2, 64), np.uint32)
    bits[3:6] = random.integers(0x3F800000, 0x40000000, (3, 2, 64), np.uint32) & 0xFFFFF000
    bits[6:] = random.integers(0, 1 << 24, (3, 2, 64), np.uint32) | 0x00800000
    values = bits.view(np.float32)
    with np.errstate(all="ignore"):
        terms = [tuple(values[n] for n in (i, i + 1, (i + 2) % 9)) for i in range(8)]
        wide = [(a.astype(np.float64), b.astype(np.float64), c) for a, b, c in terms]
        found = floats.fma32_each(wide, (2, 64))
        for result, (a, b, c) in zip(found, terms):
            assert result.tobytes() == floats.fma32(a, b, c).tobytes()
            for x, y, z, r in zip(*(v.ravel().tolist() for v in (a, b, c, result))):
                if np.isfinite([x, y, z, r]).all() and abs(r) >= 2.0**-126:
                    exact = Fraction(x) * Fraction(y) + Fraction(z)
                    near = [
                        float(np.nextafter(np.float32(r), np.float32(s))) for s in (-9e38, 9e38)
                    ]
                    distance = abs(Fraction(r) - exact)
                    assert all(distance <= abs(Fraction(n) - exact) for n in near if abs(n) < 3e38)


def test_a_batch_of_unlike_shapes():
    uniform, whole = np.full((1, 1), 3.0), np.arange(8.0).reshape(2, 4)
    c = np.ones((1, 4), np.float32)
    some, other = floats.fma32_each([(uniform, uniform, c), (uniform, whole, c)], (2, 4))
    assert some.shape == (1, 4) and (some == 10).all()
    assert other.tobytes() == (whole * 3 + 1).astype(np.float32).tobytes()


# --- temporaries ------------------------------------------------------------------------


def test_a_temporary_is_written_first_and_used_in_one_block():
    body = FLOATS + (
        ".reg .pred %p;\n"
        "mov.f32 %f0, 0f3F800000;\n"  # used in the next block
        "mov.f32 %f1, 0f3F800000;\nadd.f32 %f2, %f1, %f1;\n"
        "@%p mov.f32 %f3, %f2;\nadd.f32 %f4, %f3, %f3;\n"  # perhaps not written
        "L:\nadd.f32 %f5, %f5, %f0;\n"  # carried around
    )
    code = code_of(body)
    blocks = [range(5), range(5, len(code))]
    assert temporaries(code, blocks) == {"%f1", "%f2", "%f4"}
    steps = [[i] for i in code[:5]]
    assert last_uses(steps, {"%f1", "%f2"}) == [[], [], ["%f1"], ["%f2"], []]


VIEWED = """
.shared .align 16 .b8 s[4096];
.reg .b32 %t, %a, %n; .reg .b64 %p; .reg .pred %q; .reg .f32 %x, %y, %sum;
mov.u32 %t, %tid.x;
shr.u32 %a, %t, 4;
mad.lo.u32 %a, %a, {padding}, %t;
shl.b32 %a, %a, 2;
cvt.rn.f32.u32 %x, %t;
mov.u32 %n, 0;
mov.f32 %sum, 0f00000000;
LOOP:
st.shared.f32 [%a], %x;
bar.sync 0;
ld.shared.f32 %y, [%a];
{between}
fma.rn.f32 %sum, %y, %y, %sum;
add.f32 %x, %x, 0f3F800000;
bar.sync 0;
add.u32 %n, %n, 1;
setp.lt.u32 %q, %n, 5;
@%q bra LOOP;
ld.param.u64 %p, [out];
mad.wide.u32 %p, %t, 4, %p;
st.global.f32 [%p], %sum;
"""


@pytest.mark.parametrize("between", ["", "st.shared.f32 [%a], 0f00000000;"])
@pytest.mark.parametrize("padding", [0, 1])  # of rows of 16 floats
def test_views_of_shared_memory_hold_what_was_loaded(between, padding):
    out = np.zeros(64, np.float32)
    text = entry(VIEWED.format(between=between, padding=padding), "u64 out")
    launch(text, "k", 2, 64, (out,))
    t = np.arange(64)
    assert (out == sum((t + n) ** 2 for n in range(5))).all()


# --- patterns ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers, nest",
    [
        (range(32), [(32, 1)]),
        ([7] * 8, [(8, 0)]),
        ([y * 33 + x for y in range(4) for x in range(8)], [(4, 33), (8, 1)]),
        ([100 * z - 3 * y + x for z in range(2) for y in range(3) for x in range(5)],
         [(2, 100), (3, -3), (5, 1)]),
        ([y * 8 + (x ^ y) for y in range(8) for x in range(8)], None),
        ([0, 1, 2, 3, 9], None),
        ([5], []),
    ],
)  # fmt: skip
def test_loops_through_addresses(numbers, nest):
    assert loops(np.array(list(numbers))) == nest


def shared(size: int) -> allocations.Space:
    homes = [allocations.Allocation("s", 0, size)]
    space = allocations.rowed_space("shared", homes, size, (3, 1), lambda *_: None)
    space.data[:] = np.random.default_rng(1).integers(0, 256, space.data.size, np.uint8)
    return space


@pytest.mark.parametrize("offset", [0, 64])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_windows_are_what_a_load_reads(offset, count):
    space = shared(4096)
    address = np.array([[16 * (y * 9 + x) for y in range(4) for x in range(16)]])
    windows = space.windows(pattern(address), offset, 4, count)
    expected = space.load(address + offset, None, 4, count)
    assert len(windows) == count and windows[0].shape == (3, 4, 16)
    assert all((w.reshape(3, -1) == e).all() for w, e in zip(windows, expected))


@pytest.mark.parametrize("offset, count", [(-4, 1), (2, 1), (4096 - 60, 1), (4096 - 64, 2), (4, 2)])
def test_no_window_out_of_bounds_or_misaligned(offset, count):
    address = 4 * np.arange(16)[None]
    assert shared(4096).windows(pattern(address), 4096 - 64, 4, 1) is not None
    assert shared(4096).windows(pattern(address), offset, 4, count) is None


SHARED = """
.shared .align 16 .b8 s[1024];
.reg .b32 %t, %a, %v, %w, %n; .reg .b64 %p; .reg .pred %q;
mov.u32 %t, %tid.x;
mad.lo.u32 %a, %t, {step}, {start};
mov.u32 %n, 0;
LOOP:
add.u32 %v, %t, %n;
st.shared.u32 [%a], %v;
bar.sync 0;
ld.shared.u32 %w, [%a+{read}];
bar.sync 0;
add.u32 %n, %n, 1;
setp.lt.u32 %q, %n, 5;
@%q bra LOOP;
ld.param.u64 %p, [out];
mad.wide.u32 %p, %t, 4, %p;
st.global.u32 [%p], %w;
"""


@pytest.mark.parametrize("step", [4, 8, 0])
def test_stores_and_loads_that_repeat(step):
    """The last of several threads that store to one address wins, each time."""
    out = np.zeros(32, np.uint32)
    launch(entry(SHARED.format(step=step, start=64, read=0), "u64 out"), "k", 1, 32, (out,))
    expected = np.arange(32) + 4 if step else np.full(32, 35)
    assert out.tolist() == expected.tolist()


def test_a_load_that_repeats_is_still_checked():
    """The base register is the same, the second instruction's offset is not."""
    with pytest.raises(ptx.MemoryFault, match="out of bounds"):
        out = np.zeros(32, np.uint32)
        text = entry(SHARED.format(step=4, start=64, read=1000), "u64 out")
        launch(text, "k", 1, 32, (out,))


OVERLAPPING = """
.shared .align 16 .b8 s[1024];
.reg .b32 %t, %a, %b, %c, %d, %v, %w, %n; .reg .b64 %p; .reg .pred %q;
mov.u32 %t, %tid.x;
and.b32 %a, %t, 7;
shr.u32 %b, %t, 3;
sub.u32 %a, %a, %b;
shl.b32 %a, %a, 2;
add.u32 %a, %a, 64;
mad.lo.u32 %c, %t, 4, 256;
mov.u32 %n, 0;
LOOP:
st.shared.u32 [%a], %t;
bar.sync 0;
ld.shared.u32 %w, [%a];
st.shared.u32 [%c], %t;
add.u32 %c, %c, 64;
setp.lt.u32 %q, %n, 4;
add.u32 %n, %n, 1;
@%q bra LOOP;
sub.u32 %d, %c, 64;
ld.shared.u32 %v, [%d];
mad.lo.u32 %w, %w, 100, %v;
ld.param.u64 %p, [out];
mad.wide.u32 %p, %t, 4, %p;
st.global.u32 [%p], %w;
"""


def test_stores_that_overlap_and_bases_that_move():
    """t % 8 - t / 8: loops whose numbers meet, one of them backwards."""
    out = np.zeros(32, np.uint32)
    launch(entry(OVERLAPPING, "u64 out"), "k", 1, 32, (out,))
    places = [t % 8 - t // 8 for t in range(32)]
    last = {place: t for t, place in enumerate(places)}
    assert out.tolist() == [100 * last[place] + t for t, place in enumerate(places)]
