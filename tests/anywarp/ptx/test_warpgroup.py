"""wgmma against NumPy: products of small integers, which every order of summing gives alike.

Tiles are laid out here as the figures of the PTX ISA and the tensor copies do it, row by row, with
the units of a row exchanged by the number of the row: not by the function under test."""

import itertools

import numpy as np
import pytest
from harness import run_body

from anywarp import ptx
from anywarp.ptx.memory.events import Fault, Finished, Started
from anywarp.ptx.warps.descriptor import MODES, Descriptor, decoded, stretches, tile_addresses

STORED = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "s8": np.int8, "u8": np.uint8}
SUMS = {"f32": np.float32, "f16": np.float16, "s32": np.int32}


def stored(values, kind):
    """Small integers as elements of a type."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint32)
    return values.astype(STORED[kind])


def k_major(tile, swizzle):
    """(rows, k) as bytes: columns of `swizzle` bytes (16 without) one after another, each with all
    of its rows; and how far it is from eight rows to the next, and from column to column."""
    rows, width = len(tile), swizzle or 16
    lines = np.ascontiguousarray(tile).view(np.uint8).reshape(rows, -1, width).swapaxes(0, 1)
    return exchanged(lines.reshape(-1, width), swizzle), 8 * width, rows * width


def mn_major(tile, swizzle):
    """The same for the transposed tile: rows of `swizzle` bytes of one k, for all of k."""
    flat, eight, column = k_major(tile.T, swizzle)
    return flat, eight, column


def exchanged(lines, swizzle):
    """Rows of `swizzle` bytes with their units of 16 bytes exchanged."""
    if not swizzle:
        return lines.reshape(-1)
    units = swizzle // 16
    every = 128 // swizzle  # rows after which the exchange is another one
    lines = lines.reshape(-1, units, 16).copy()
    for row, line in enumerate(lines.copy()):
        for unit in range(units):
            lines[row, unit ^ row // every % units] = line[unit]
    return lines.reshape(-1)


def encoded(descriptor):
    """The 64 bits of a descriptor, as a kernel hands them to wgmma."""
    start, leading, stride, base, swizzle = descriptor
    fields = (start >> 4, 0), (leading >> 4, 16), (stride >> 4, 32), (base, 49)
    return sum(value << at for value, at in fields) | MODES.index(swizzle) << 62


def placed(tile, start, swizzle, major):
    """The bytes of a tile, and the descriptor that finds it at `start`."""
    if major == "K":
        flat, eight, column = k_major(tile, swizzle)
        return flat, Descriptor(start, column if not swizzle else 16, eight, 0, swizzle)
    flat, eight, column = mn_major(tile, swizzle)
    offsets = (column, eight) if swizzle else (eight, column)
    return flat, Descriptor(start, *offsets, 0, swizzle)


def body(multiplies, registers, kind, image, after="", a_registers=0, wait=True):
    """A kernel that copies bytes into shared memory, multiplies and stores all registers."""
    names = [f"%d{n}" for n in range(registers)]
    width = "f32" if kind == "f32" else "b32"
    lines = [
        f".reg .{width} %d<{registers}>; .reg .b32 %a<5>; .reg .b32 %i, %n, %t, %s;",
        ".reg .b64 %p, %q, %x, %y; .reg .pred %l, %yes, %no;",
        "setp.eq.u32 %yes, 0, 0; setp.ne.u32 %no, 0, 0;",
        "ld.param.u64 %p, [image]; mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x;",
        "COPY:",
        f"setp.ge.u32 %l, %i, {image // 4};",
        "@%l bra DONE;",
        "mad.wide.u32 %q, %i, 4, %p; ld.global.u32 %t, [%q];",
        "mov.u32 %s, tile; mad.lo.u32 %s, %i, 4, %s; st.shared.u32 [%s], %t;",
        "add.u32 %i, %i, %n; bra COPY;",
        "DONE: bar.sync 0; mov.u32 %i, %tid.x;",
        "ld.param.u64 %p, [start]; mov.u32 %t, %ctaid.x; mad.lo.u32 %t, %t, %n, %i;",
        f"mad.wide.u32 %p, %t, {4 * registers}, %p;",
        *[f"ld.global.{width} {name}, [%p+{4 * n}];" for n, name in enumerate(names)],
    ]
    if a_registers:
        lines += ["ld.param.u64 %q, [factors]; mad.wide.u32 %q, %i, 16, %q;"]
        lines += [f"ld.global.u32 %a{n}, [%q+{4 * n}];" for n in range(4)]
    lines += ["wgmma.fence.sync.aligned;", *multiplies]
    if wait:
        lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    lines += [after]
    lines += [f"st.global.{width} [%p+{4 * n}], {name};" for n, name in enumerate(names)]
    return "\n".join(lines)


def wgmma(n, kinds, a, b, flags="", scale="%yes", registers=None):
    """The text of one instruction; a and b are Descriptors, or registers."""
    total, first, second = kinds
    k = 32 // STORED[first]().itemsize
    count = registers or n // 2 // (2 if total == "f16" else 1)
    target = "{" + ", ".join(f"%d{r}" for r in range(count)) + "}"
    lines = []
    operands = []
    for name, each in (("%x", a), ("%y", b)):
        if isinstance(each, Descriptor):
            lines.append(f"mov.b64 {name}, {encoded(each):#x};")
            each = name
        operands.append(each)
    shape = f"m64n{n}k{k}"
    lines.append(
        f"wgmma.mma_async.sync.aligned.{shape}.{total}.{first}.{second} "
        f"{target}, {operands[0]}, {operands[1]}, {scale}{flags};"
    )
    return " ".join(lines)


def launched(text, image, start, threads=128, factors=None, blocks=1, **keywords):
    """Run; `start` is what registers hold before, (blocks, threads, registers), and what they hold
    at the end is returned."""
    found = start.copy()
    args, params = [image, found], "u64 image, u64 start"
    if factors is not None:
        args, params = [*args, factors], params + ", u64 factors"
    module = ".extern .shared .align 1024 .b8 tile[];"
    keywords = {"shared_mem": image.nbytes} | keywords
    run_body(text, params, blocks, threads, args, module=module, **keywords)
    return found


def matrix(registers, n, total):
    """What 128 threads hold, (128, registers), as the figures of the PTX ISA have it: (64, n)."""
    values = np.ascontiguousarray(registers).view(SUMS[total])
    found = np.zeros((64, n), SUMS[total])
    for thread, of in enumerate(values):
        warp, lane = divmod(thread, 32)
        for r, value in enumerate(of):
            row = 16 * warp + lane // 4 + 8 * (r // 2 % 2)
            found[row, 8 * (r // 4) + lane % 4 * 2 + r % 2] = value
    return found


def registers_of(wanted, total):
    """The inverse, as uint32 (1, 128, registers)."""
    where = matrix(np.arange(128 * wanted.shape[1] // 2, dtype=np.int32).reshape(128, -1),
                   wanted.shape[1], "s32")  # fmt: skip
    flat = np.empty(wanted.size, SUMS[total])
    flat[where.reshape(-1)] = wanted.reshape(-1)
    return flat.reshape(128, -1).view(np.uint32)[None]


def numbers(rng, shape, kind):
    low = 0 if kind == "u8" else -4
    return rng.integers(low, 5, shape)


def flags_of(kinds, major_a="K", major_b="K", signs=(1, 1), in_registers=False):
    if kinds[1] in ("s8", "u8"):
        return ""
    turned = [int(major_a == "MN")] * (not in_registers) + [int(major_b == "MN")]
    chosen = [*signs, *(turned if kinds[1] in ("f16", "bf16") else ())]
    return "".join(f", {value}" for value in chosen)


def image_of(*parts):
    """The bytes of tiles at their descriptors' start addresses."""
    size = max(d.start + len(flat) for flat, d in parts)
    found = np.full(-(-size // 16) * 16, 0x77, np.uint8)
    for flat, d in parts:
        found[d.start : d.start + len(flat)] = flat
    return found


def check(n, kinds, swizzle, major_a="K", major_b="K", signs=(1, 1), start_b=16384, seed=0):
    total, first, second = kinds
    rng = np.random.default_rng(seed)
    k = 32 // STORED[first]().itemsize
    # tiles as wide as the swizzle's rows, of which one wgmma takes the first 32 bytes
    wide = max(k, swizzle // STORED[first]().itemsize)
    rows_a = 64
    rows_b = n if major_b == "K" else -(-n // (max(swizzle, 16) // 2)) * max(swizzle, 16) // 2
    left, right = numbers(rng, (rows_a, wide), first), numbers(rng, (rows_b, wide), second)
    a, da = placed(stored(left, first), 1024, swizzle, major_a)
    b, db = placed(stored(right, second), start_b, swizzle, major_b)
    before = rng.integers(-9, 10, (64, n)).astype(SUMS[total])
    start = registers_of(before, total)
    text = body(
        [wgmma(n, kinds, da, db, flags_of(kinds, major_a, major_b, signs))],
        start.shape[2], total, len(image_of((a, da), (b, db))),
    )  # fmt: skip
    found = launched(text, image_of((a, da), (b, db)), start)
    wanted = signs[0] * signs[1] * left[:, :k] @ right[:n, :k].T + before
    assert (matrix(found[0], n, total) == wanted).all()


BF16 = ("f32", "bf16", "bf16")
TWO_BYTES = [BF16, ("f32", "f16", "f16"), ("f16", "f16", "f16")]
ONE_BYTE = [("s32", a, b) for a, b in itertools.product(("s8", "u8"), repeat=2)]
KINDS = [*TWO_BYTES, ("f32", "tf32", "tf32"), *ONE_BYTE]


@pytest.mark.parametrize("swizzle", (0, 32, 64, 128))
@pytest.mark.parametrize("kinds", KINDS, ids=".".join)
def test_every_type_and_swizzle(kinds, swizzle):
    check(48, kinds, swizzle, seed=swizzle)


@pytest.mark.parametrize("swizzle", (0, 32, 64, 128))
@pytest.mark.parametrize("majors", (("MN", "K"), ("K", "MN"), ("MN", "MN")), ids="-".join)
@pytest.mark.parametrize("n", (8, 64, 200))
def test_both_majors(n, majors, swizzle):
    check(n, BF16, swizzle, *majors)


@pytest.mark.parametrize("n", (8, 16, 24, 40, 96, 128, 248, 256))
def test_columns(n):
    check(n, BF16, 128)
    if n % 16 == 0 or n in (8, 24):
        check(n, ONE_BYTE[0], 32)


@pytest.mark.parametrize("signs", ((-1, 1), (1, -1), (-1, -1)))
@pytest.mark.parametrize("kinds", KINDS[:4], ids=".".join)
def test_negation(kinds, signs):
    check(16, kinds, 64, signs=signs)


@pytest.mark.parametrize("swizzle, step", ((32, 256), (64, 512), (128, 1024)))
def test_the_swizzle_goes_by_the_address(swizzle, step):
    """A tile that starts at a multiple of the pattern's length, whichever it is."""
    for n in range(3):
        check(16, BF16, swizzle, start_b=16384 + n * step)


@pytest.mark.parametrize("kinds", KINDS, ids=".".join)
def test_a_from_registers(kinds):
    """Register r of lane l: row l / 4, and eight below it if r is odd; from r = 2 on, 16 bytes of
    k farther; four bytes of k from 4 (l % 4) on."""
    total, first, second = kinds
    rng = np.random.default_rng(1)
    size = STORED[first]().itemsize
    k, n = 32 // size, 24
    left, right = numbers(rng, (64, k), first), numbers(rng, (n, k), second)
    words = np.ascontiguousarray(stored(left, first)).view(np.uint32)  # (64, 8)
    factors = np.zeros((128, 4), np.uint32)
    for thread, r in itertools.product(range(128), range(4)):
        warp, lane = divmod(thread, 32)
        factors[thread, r] = words[16 * warp + lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)]
    b, db = placed(stored(right, second), 0, 32, "K")
    before = rng.integers(-9, 10, (64, n)).astype(SUMS[total])
    start = registers_of(before, total)
    a = "{%a0, %a1, %a2, %a3}"
    flags = flags_of(kinds, signs=(-1, 1), in_registers=True)
    text = body([wgmma(n, kinds, a, db, flags)], start.shape[2], total, len(b), a_registers=4)
    found = launched(text, b, start, factors=factors)
    sign = -1 if flags else 1
    assert (matrix(found[0], n, total) == sign * left @ right.T + before).all()


@pytest.mark.parametrize("scale, kept", (("%yes", True), ("%no", False)))
def test_scale_d(scale, kept):
    """Without it, what the registers held does not count, be it NaN."""
    rng = np.random.default_rng(2)
    left, right = numbers(rng, (64, 16), "bf16"), numbers(rng, (8, 16), "bf16")
    a, da = placed(stored(left, "bf16"), 0, 0, "K")
    b, db = placed(stored(right, "bf16"), 4096, 0, "K")
    before = np.full((64, 8), 3.0 if kept else np.nan, np.float32)
    image = image_of((a, da), (b, db))
    text = body([wgmma(8, BF16, da, db, flags_of(BF16), scale)], 4, "f32", len(image))
    found = matrix(launched(text, image, registers_of(before, "f32"))[0], 8, "f32")
    assert (found == left @ right.T + (3 if kept else 0)).all()


def test_integers_wrap_or_stay_in_range():
    left, right = np.full((64, 32), 127), np.full((8, 32), 127)
    a, da = placed(stored(left, "s8"), 0, 0, "K")
    b, db = placed(stored(right, "s8"), 4096, 0, "K")
    most = np.iinfo(np.int32).max
    before = np.full((64, 8), most, np.int32)
    image = image_of((a, da), (b, db))
    plain = wgmma(8, ("s32", "s8", "s8"), da, db)
    for text, value in ((plain, -(2**31) + 32 * 127**2 - 1),
                        (plain.replace("k32", "k32.satfinite"), most)):  # fmt: skip
        text = body([text], 4, "s32", len(image))
        found = launched(text, image, registers_of(before, "s32"))
        assert (matrix(found[0], 8, "s32") == value).all()


def test_a_tile_taken_in_steps_of_k():
    """Four products on rows of 128 bytes: the descriptors' addresses go on by 32 bytes, within
    the eight rows that the swizzle permutes; then on to a second tile."""
    rng = np.random.default_rng(3)
    parts, multiplies, wanted = [], [], np.zeros((64, 32), np.int64)
    for stage in range(2):
        left, right = numbers(rng, (64, 64), "bf16"), numbers(rng, (32, 64), "bf16")
        a, da = placed(stored(left, "bf16"), stage * 16384, 128, "K")
        b, db = placed(stored(right, "bf16"), stage * 16384 + 8192, 128, "K")
        parts += [(a, da), (b, db)]
        wanted += left @ right.T
        for step in range(0, 128, 32):
            here = [d._replace(start=d.start + step) for d in (da, db)]
            multiplies.append(wgmma(32, BF16, *here, flags_of(BF16)))
    image = image_of(*parts)
    start = np.zeros((1, 128, 16), np.uint32)
    found = launched(body(multiplies, 16, "f32", len(image)), image, start)
    assert (matrix(found[0], 32, "f32") == wanted).all()


def two_groups(threads=256, blocks=2):
    """Warpgroups with a tile of A each, in several blocks: the image, and the text that
    multiplies."""
    rng = np.random.default_rng(4)
    lefts = [numbers(rng, (64, 16), "bf16") for _ in range(threads // 128)]
    right = numbers(rng, (16, 16), "bf16")
    b, db = placed(stored(right, "bf16"), 0, 32, "K")
    parts = [(b, db)]
    for n, left in enumerate(lefts):
        parts.append(placed(stored(left, "bf16"), 1024 + 2048 * n, 32, "K"))
    (_, first), step = parts[1], 2048 // 16
    text = (
        f"shr.u32 %t, %i, 7; mul.lo.u32 %t, %t, {step}; cvt.u64.u32 %q, %t; "
        f"mov.b64 %x, {encoded(first):#x}; add.u64 %x, %x, %q; "
        + wgmma(16, BF16, "%x", db, flags_of(BF16))
    )
    return image_of(*parts), text, [left @ right.T for left in lefts]


def test_warpgroups_and_blocks():
    image, text, wanted = two_groups()
    start = np.zeros((2, 256, 8), np.uint32)
    found = launched(body([text], 8, "f32", len(image)), image, start, 256, blocks=2)
    for block, group in itertools.product(range(2), range(2)):
        part = found[block, 128 * group : 128 * (group + 1)]
        assert (matrix(part, 16, "f32") == wanted[group]).all()


def test_a_warpgroup_alone_and_after_divergence():
    """Only the second of three warpgroups multiplies, and its warps come one after another."""
    image, text, wanted = two_groups(384)
    part = "setp.lt.u32 %l, %i, 128; @%l bra OUT; setp.ge.u32 %l, %i, 256; @%l bra OUT;"
    part += "setp.lt.u32 %l, %i, 192; @%l bra FIRST; mov.u32 %n, 0; FIRST:"
    start = np.zeros((1, 384, 8), np.uint32)
    text = body([part, text, "OUT:"], 8, "f32", len(image))
    found = launched(text, image, start, 384)
    assert not found[0, :128].any() and not found[0, 256:].any()
    assert (matrix(found[0, 128:256], 16, "f32") == wanted[1]).all()


# -- what the sink is told ------------------------------------------------------------------------


def heard(text, image, start, threads=128, blocks=1, kinds=(Started, Finished), **keywords):
    events = []
    launched(text, image, start, threads, blocks=blocks, sink=events.append, **keywords)
    return [event for event in events if isinstance(event, kinds)]


def test_what_is_read_and_until_when():
    image, text, _ = two_groups()
    again = text.replace("mov.b64 %x", "wgmma.commit_group.sync.aligned; mov.b64 %x")
    multiplies = [text, again, "wgmma.commit_group.sync.aligned;",
                  "wgmma.wait_group.sync.aligned 1;", "mov.u32 %n, 0;"]  # fmt: skip
    start = np.zeros((2, 256, 8), np.uint32)
    found = heard(body(multiplies, 8, "f32", len(image)), image, start, 256, 2)
    one, two, first, second = found
    assert isinstance(one, Started) and isinstance(two, Started)
    assert one.block.tolist() == [0, 0, 1, 1] and one.thread.tolist() == [0, 128] * 2
    assert len({*one.ticket.tolist(), *two.ticket.tolist()}) == 8 and one.writes == ()
    (reads,) = one.reads
    assert reads.space == "shared"
    each = sorted(zip(*(x.tolist() for x in (reads.operation, reads.row, reads.start, reads.size))))
    assert each == sorted(
        (operation, operation // 2, start, size)
        for operation in range(4)
        for start, size in ((0, 512), (1024 + 2048 * (operation % 2), 2048))
    )
    assert (first.ticket == one.ticket).all() and (second.ticket == two.ticket).all()
    assert first.mask.all() and first.mask.shape == (2, 256) and not first.reading_only
    assert {one.threads, two.threads, first.threads, second.threads} == {256}
    assert first.row is first.address is None and first.step <= second.step


def test_groups_that_nobody_waits_for_are_not_finished():
    image, text, _ = two_groups(128)
    start = np.zeros((1, 128, 8), np.uint32)
    for after in ("", "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;"):
        found = heard(body([text, after], 8, "f32", len(image), wait=False), image, start)
        assert [type(event) for event in found] == [Started]
    # what has not been committed is not waited for
    late = "wgmma.commit_group.sync.aligned; " + text + " wgmma.wait_group.sync.aligned 0;"
    found = heard(body([text, late], 8, "f32", len(image), wait=False), image, start)
    assert [type(event) for event in found] == [Started, Started, Finished]
    assert found[2].ticket == found[0].ticket


def test_warps_wait_one_by_one():
    image, text, _ = two_groups(128)
    after = "wgmma.commit_group.sync.aligned; setp.lt.u32 %l, %i, 32; @!%l bra OUT; "
    after += "wgmma.wait_group.sync.aligned 0; OUT:"
    start = np.zeros((1, 128, 8), np.uint32)
    _, finished = heard(body([text, after], 8, "f32", len(image), wait=False), image, start)
    assert finished.mask.sum() == 32 and finished.mask[0, :32].all()


# -- what goes wrong ------------------------------------------------------------------------------


def refused(message, multiplies, image, threads=128, registers=8, **keywords):
    text = body(multiplies, registers, "f32", len(image), wait=False)
    start = np.zeros((1, threads, registers), np.uint32)
    with pytest.raises(ptx.PTXError, match=message) as caught:
        launched(text, image, start, threads, **keywords)
    return str(caught.value)


def test_who_has_to_come():
    image, text, _ = two_groups(128)
    refused("a warpgroup is 128 threads, of which the last one of this block of 160 has 32",
            [text], image, 160)  # fmt: skip
    refused("32 threads of the warpgroup have exited, and all 128 must come here",
            ["setp.lt.u32 %l, %i, 32; @%l ret;", text], image)  # fmt: skip
    message = refused("not all 128 threads of the warpgroup come here",
                      ["setp.lt.u32 %l, %i, 32; @%l bra STAY;", text, "bra ON;",
                       "STAY: bar.sync 1, 128; ON:"], image)  # fmt: skip
    assert "wgmma.mma_async" in message and "thread (32, 0, 0)" in message


def test_descriptors_and_scale_are_those_of_the_whole_warpgroup():
    image, text, _ = two_groups(128)
    other = "setp.eq.u32 %l, %i, 77; @%l add.u64 %x, %x, 2; wgmma"
    words = "the descriptor of A must be the same in all threads of a warpgroup; its first thread "
    message = refused(words + "has 0x.*, this one 0x", [text.replace("wgmma", other)], image)
    assert "thread (77, 0, 0)" in message
    other = "setp.lt.u32 %l, %i, 64; wgmma"
    text = text.replace("wgmma", other).replace("%yes", "%l")
    refused("scale-d must be the same in all threads", [text], image)


def test_out_of_bounds():
    image, _, _ = two_groups(128)
    inside = Descriptor(0, 16, 256, 0, 32)
    outside = Descriptor(1024, 16, 512, 0, 32)
    text = wgmma(16, BF16, outside, inside, flags_of(BF16))
    message = refused("wgmma reads A out of bounds of shared memory: address 0xc00, 0 bytes past "
                      r"the end of tile \(3072 bytes\); its descriptor has start address 0x400, "
                      "leading offset 16, stride offset 512, base offset 0, 32-byte swizzle",
                      [text], image)  # fmt: skip
    assert "thread (0, 0, 0)" in message
    text = wgmma(16, BF16, inside, outside._replace(start=2816), flags_of(BF16))
    refused("wgmma reads B out of bounds", [text], image)
    start = np.zeros((1, 128, 8), np.uint32)
    text = body([text], 8, "f32", len(image))
    fault, started = heard(text, image, start, kinds=(Fault, Started), tolerant=True)
    assert (fault.kind, fault.space, fault.width) == ("load", "shared", 16)
    assert fault.address.tolist() == [[3328]]
    assert (fault.threads, fault.blocks.tolist()) == (128, [0])
    assert np.argwhere(fault.mask).tolist() == [[0, 0]]
    (reads,) = started.reads  # only what is there
    assert sorted(zip(reads.start.tolist(), reads.size.tolist())) == [(0, 2048), (2816, 256)]


def test_bits_that_mean_nothing():
    """Those of no field, and the base offset without a swizzle: the hardware leaves them out."""
    image, text, wanted = two_groups(128, 1)
    start = np.zeros((1, 128, 8), np.uint32)
    for bits in (0xC000, 0xC000_0000, 0x0001_C000_0000_0000, 0x3FF0_0000_0000_0000):
        more = text.replace("wgmma", f"or.b64 %x, %x, {bits:#x}; wgmma", 1)
        found = launched(body([more], 8, "f32", len(image)), image, start)
        assert (matrix(found[0], 16, "f32") == wanted[0]).all(), hex(bits)
    descriptor = Descriptor(512, 4096, 1024, 0, 0)
    found = tile_addresses(descriptor._replace(base=5), 96, 16, 2)
    assert (found == tile_addresses(descriptor, 96, 16, 2)).all()


@pytest.mark.parametrize("old, new, reason", [
    ("m64n16k16", "m64n12k16", ".m64n12k16 of bf16"),
    ("m64n16k16", "m64n264k16", ".m64n264k16 of bf16"),
    ("m64n16k16", "m64n16k8", ".m64n16k8 of bf16"),
    ("m64n16k16", "m64n16k16.satfinite", ".satfinite"),
    ("f32.bf16.bf16", "f16.bf16.bf16", "f16.bf16.bf16"),
    ("f32.bf16.bf16", "f32.e4m3.e4m3", "f32.e4m3.e4m3"),
    ("mma_async.sync", "mma_async.sp.sync", "mma_async.sp.sync"),
    ("m64n16k16", "m32n16k16", "mma_async.sync.aligned.m32n16k16"),
    ("1, 1, 0, 0;", "1, 1, 0;", "3 operands after scale-d"),
    ("1, 1, 0, 0;", "2, 1, 0, 0;", "a scale other than 1 and -1"),
    ("1, 1, 0, 0;", "1, 1, 0, -1;", "a transposition other than 0 and 1"),
    ("%d7}", "%d7, %d7}", "9 registers where the shape has 8"),
])  # fmt: skip
def test_forms_that_there_are_not(old, new, reason):
    image, text, _ = two_groups(128)
    assert old in text
    message = refused("the interpreter does not know 'wgmma", [text.replace(old, new)], image)
    assert reason in message.partition(" (")[2].partition("): ")[0]


@pytest.mark.parametrize("text", [
    "setmaxnreg.inc.sync.aligned.u32 256;", "setmaxnreg.dec.sync.aligned.u32 24;",
    "wgmma.fence.sync.aligned;",
])  # fmt: skip
def test_what_computes_nothing(text):
    run_body(text, "", 1, 128, [])


@pytest.mark.parametrize("text", [
    "setmaxnreg.inc.sync.aligned.u32 36;", "setmaxnreg.dec.sync.aligned.u32 16;",
    "setmaxnreg.inc.sync.aligned.u32 264;", "setmaxnreg.set.sync.aligned.u32 40;",
    "setmaxnreg.inc.sync.u32 40;", "wgmma.fence;", "wgmma.wait_group.sync 0;",
])  # fmt: skip
def test_what_is_refused(text):
    with pytest.raises(ptx.UnknownOpcode):
        run_body(text, "", 1, 128, [])


# -- descriptors ----------------------------------------------------------------------------------


def test_the_fields_of_a_descriptor():
    one = Descriptor(0x1230, 16, 1024, 5, 128)
    assert encoded(one) == 0x123 | 1 << 16 | 64 << 32 | 5 << 49 | 1 << 62
    for swizzle in (0, 32, 64, 128):
        other = one._replace(swizzle=swizzle)
        assert decoded(encoded(other)) == other
    assert str(one) == ("start address 0x1230, leading offset 16, stride offset 1024, base offset "
                        "5, 128-byte swizzle")  # fmt: skip
    assert decoded(encoded(one) | ~0xC00E_3FFF_3FFF_3FFF & (1 << 64) - 1) == one


def test_addresses_of_elements():
    """Some places of the figures, by hand."""
    plain = tile_addresses(Descriptor(0, 256, 128), 16, 16, 2)
    assert plain.shape == (16, 16) and plain.dtype == np.int64
    assert [plain[0, 1], plain[1, 0], plain[8, 0], plain[0, 8]] == [2, 16, 128, 256]
    wide = tile_addresses(Descriptor(0, 16, 1024, 0, 128), 16, 16, 2)
    assert [wide[0, 8], wide[1, 0], wide[1, 8], wide[8, 0]] == [16, 128 + 16, 128, 1024]
    turned = tile_addresses(Descriptor(0, 256, 128), 16, 16, 2, "MN")
    assert [turned[1, 0], turned[0, 1], turned[8, 0], turned[0, 8]] == [2, 16, 128, 256]
    turned = tile_addresses(Descriptor(0, 4096, 1024, 0, 128), 128, 16, 2, "MN")
    assert [turned[1, 0], turned[8, 0], turned[0, 1], turned[64, 0], turned[0, 8]] == [
        2, 16, 128 + 16, 4096, 1024
    ]  # fmt: skip
    four = tile_addresses(Descriptor(0, 64, 128), 8, 8, 4)
    assert [four[0, 1], four[1, 0], four[0, 4]] == [4, 16, 64]


def test_the_leading_offset_of_a_swizzled_tile_along_k_does_not_count():
    one = Descriptor(1024, 16, 1024, 0, 128)
    assert (
        tile_addresses(one, 64, 16, 2) == tile_addresses(one._replace(leading=8192), 64, 16, 2)
    ).all()


def test_a_pattern_that_does_not_start_at_a_multiple_of_its_length():
    """The base offset counts from where it starts."""
    at_zero = tile_addresses(Descriptor(0, 16, 1024, 0, 128), 64, 16, 2)
    shifted = tile_addresses(Descriptor(384, 16, 1024, 3, 128), 64, 16, 2)
    assert (shifted == at_zero + 384).all()


@pytest.mark.parametrize("swizzle", (0, 32, 64, 128))
@pytest.mark.parametrize("major", ("K", "MN"))
def test_stretches_are_the_bytes_of_the_elements(swizzle, major):
    descriptor = Descriptor(512, 4096, 1024, 0, swizzle)
    each = tile_addresses(descriptor, 96, 16, 2, major)[..., None] + np.arange(2)
    start, size = stretches(descriptor, 96, 16, 2, major)
    covered = np.concatenate([np.arange(a, a + n) for a, n in zip(start, size)])
    assert (covered == np.unique(each)).all()
    assert (start[1:] > start[:-1] + size[:-1]).all()
