"""wgmma against NumPy: products of small integers, which every order of summing gives alike.

Tiles are laid out here as the figures of the PTX ISA and the tensor copies do it, row by row, with
the units of a row exchanged by the number of the row: not by the function under test."""

import itertools

import numpy as np
import pytest
from harness import run_body

from kernels import ptx
from kernels.ptx.descriptor import Descriptor, addresses, decoded, encoded, stretches
from kernels.ptx.events import Fault, Finished, Started

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
    keywords = {"dynamic_shared": image.nbytes} | keywords
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
