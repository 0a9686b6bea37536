"""Tensor copies against NumPy's slices: both ways, reductions, edges, swizzles, what they tell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness import run_body, run_cuda
from tensors import HELPERS, LOAD, STORE, expected_box, in_shared, load, room, source, store

import kernels
from anywarp import ptx
from anywarp.ptx.errors import MemoryFault, PTXError, UnknownOpcode
from anywarp.ptx.memory.events import Finished, MemoryBarrier, Started

RNG = np.random.default_rng(7)
SHAPES = {1: (72,), 2: (19, 48), 3: (5, 7, 32), 4: (3, 4, 5, 16), 5: (2, 3, 4, 3, 16)}
BOXES = {1: (16,), 2: (6, 8), 3: (2, 3, 8), 4: (2, 2, 3, 4), 5: (1, 2, 2, 3, 4)}
BULK = "mbarrier::complete_tx::bytes"


def floats(shape) -> np.ndarray:
    return RNG.random(shape, np.float32)


def check_load(array, tensor, corner, box, swizzle=0, shift=0, steps=None, fill=0) -> None:
    taken = expected_box(array, corner, box, steps, fill)
    size = room(taken.shape, array.itemsize, swizzle, shift)
    got = load(tensor, corner, taken.nbytes, size, shift)
    assert (got == in_shared(taken, swizzle, size, shift)).all(), (corner, box, swizzle)


def at_unit(corner, itemsize: int) -> tuple[int, ...]:
    """The corner with its innermost coordinate moved down to a multiple of 16 bytes."""
    each = 16 // itemsize
    return (*corner[:-1], corner[-1] // each * each)


# -- into shared memory -----------------------------------------------------------------------


@pytest.mark.parametrize("rank", SHAPES)
def test_boxes_of_every_rank_at_corners_inside_and_outside(rank):
    array, box = floats(SHAPES[rank]), BOXES[rank]
    tensor = kernels.TensorMap(array, box)
    last = tuple(n - 1 for n in array.shape)
    corners = [(0,) * rank, (1,) * rank, (-1,) * rank, last, tuple(-b for b in box)]
    corners += [tuple(int(RNG.integers(-3, n + 2)) for n in array.shape) for _ in range(4)]
    for corner in corners:
        check_load(array, tensor, at_unit(corner, 4), box)


@pytest.mark.parametrize("swizzle", (32, 64, 128))
@pytest.mark.parametrize("dtype", (np.uint8, np.float16, np.float32, np.float64))
def test_swizzles(swizzle, dtype):
    """Whole rows of the swizzle and shorter ones; the pattern is that of the address."""
    array = RNG.integers(0, 100, (40, 256)).astype(dtype)
    for row in {swizzle, 16, swizzle // 2}:
        box = (11, row // array.itemsize)
        tensor = kernels.TensorMap(array, box, swizzle=swizzle)
        for shift in (0, 128, 384):
            check_load(array, tensor, (30, 16 // array.itemsize), box, swizzle, shift)


def test_swizzled_boxes_of_three_dimensions():
    array = floats((4, 6, 64))
    tensor = kernels.TensorMap(array, (2, 5, 32), swizzle=128)
    check_load(array, tensor, (1, 2, 36), (2, 5, 32), 128)


@pytest.mark.parametrize("dtype", ("u1", "u2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"))
def test_types_of_elements(dtype):
    array = RNG.integers(0, 256, (9, 128), np.uint8).view(dtype)
    box = (3, 32 // array.itemsize)
    for column in (-16 // array.itemsize, 112 // array.itemsize):
        check_load(array, kernels.TensorMap(array, box), (7, column), box)


def test_bfloat16_stands_in_uint16():
    array = RNG.integers(0, 1 << 16, (9, 32)).astype(np.uint16)
    box = (3, 16)
    check_load(array, kernels.TensorMap(array, box, dtype="bfloat16"), (7, 24), box)
    filled = kernels.TensorMap(array, box, dtype="bfloat16", fill="nan")
    check_load(array, filled, (7, 24), box, fill=0x7FF7)


@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.float64))
def test_nan_outside(dtype):
    array = RNG.random((6, 32)).astype(dtype)
    nan = np.frombuffer(b"\xf7\x7f" * (array.itemsize // 2), dtype)[0]
    assert np.isnan(nan)
    tensor = kernels.TensorMap(array, (4, 16), fill="nan")
    check_load(array, tensor, (-2, 24), (4, 16), fill=nan)


@pytest.mark.parametrize("steps", ((2, 1, 1), (1, 3, 1), (3, 2, 1), (8, 5, 1)))
def test_element_strides(steps):
    """Every so many elements of the box; as many as begin in it."""
    array, box = floats((12, 14, 16)), (6, 7, 8)
    tensor = kernels.TensorMap(array, box, element_strides=steps)
    for corner in ((0, 0, 0), (-1, -1, 4), (8, 9, 12)):
        check_load(array, tensor, corner, box, steps=steps)


def test_a_part_of_an_array():
    whole = floats((20, 64))
    part = whole[3:17, 8:60]
    check_load(part, kernels.TensorMap(part, (5, 8)), (10, 48), (5, 8))
    tensor = kernels.TensorMap(floats((10, 10))[:, :8].copy(), (4, 4))
    assert tensor.tile.strides == (4, 32)


PIECES = (
    HELPERS
    + """
extern "C" __global__ void pieces(const __grid_constant__ CUtensorMap map,
                                  const __grid_constant__ CUtensorMap other, float* out)
{
    __shared__ __align__(128) float tile[4][8][32];
    __shared__ __align__(8) unsigned long long bar;
    unsigned at = shared_address(&bar);
    int t = threadIdx.x;
    if (t == 0)
        init(at);
    __syncthreads();
    if (t == 0)
        expect(at, sizeof(tile));
    __syncthreads();
    if (t < 4)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
            ".mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;"
            :: "r"(shared_address(tile[t])), "l"(t & 1 ? &other : &map), "r"(at),
               "r"(32 * (int)blockIdx.x), "r"(8 * t), "l"(0x1000000000000000) : "memory");
    wait(at, 0);
    for (int n = t; n < 1024; n += 64)
        out[1024 * blockIdx.x + n] = tile[0][0][n];
}"""
)


def test_many_threads_with_several_tensor_maps():
    one, two, out = floats((32, 96)), floats((30, 90)), np.zeros((3, 4, 8, 32), np.float32)
    two = np.ascontiguousarray(np.pad(two, ((0, 0), (0, 2))))
    maps = kernels.TensorMap(one, (8, 32)), kernels.TensorMap(two, (8, 32))
    kernels.Kernel(PIECES, "pieces")(3, 64, [*maps, out], device="interpreter")
    for b, t in np.ndindex(3, 4):
        expected = expected_box((one, two)[t % 2], (8 * t, 32 * b), (8, 32))
        assert (out[b, t] == expected).all()


def test_the_source_is_read_at_once_and_lands_with_the_wait():
    text = source(LOAD, 1).replace("wait(bar, 0);", "__syncthreads();")
    array, out = floats((32,)), np.zeros(128, np.uint8)
    tensor = kernels.TensorMap(array, (32,))
    corner = np.zeros(1, np.int32)
    kernels.Kernel(text, "load")(1, 64, [tensor, corner, out, 128, 128, 0], shared_mem=144)
    assert (out == 0xEE).all()


@pytest.mark.parametrize("bytes_", (512 - 16, 512 + 16))
def test_a_wrong_number_of_bytes_is_never_complete(bytes_):
    tensor = kernels.TensorMap(floats((64, 64)), (4, 32))
    with pytest.raises(ptx.Deadlock, match=r"mbarrier .*-?16 bytes"):
        load(tensor, (62, 0), bytes_, 512)


MULTICAST = (
    HELPERS
    + """
extern "C" __global__ void __cluster_dims__(4) many(const __grid_constant__ CUtensorMap map,
                                                    float* out, int ranks)
{
    __shared__ __align__(128) float tile[4][32];
    __shared__ __align__(8) unsigned long long bar;
    unsigned at = shared_address(&bar), rank = blockIdx.x % 4;
    for (int n = threadIdx.x; n < 128; n += 32)
        tile[0][n] = -1;
    if (threadIdx.x == 0) {
        init(at);
        expect(at, (ranks >> rank & 1) * sizeof(tile));
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
    if (rank == 2 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
            ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
            :: "r"(shared_address(tile)), "l"(&map), "r"(at), "r"(4), "r"((int)blockIdx.x),
               "h"((short)ranks) : "memory");
    wait(at, 0);
    for (int n = threadIdx.x; n < 128; n += 32)
        out[128 * blockIdx.x + n] = tile[0][n];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
}"""
)


@pytest.mark.parametrize("ranks", (0b1111, 0b0100, 0b1001))
def test_a_box_for_several_blocks(ranks):
    array, out = floats((9, 64)), np.zeros((2, 4, 4, 32), np.float32)
    events = []
    run_cuda(
        MULTICAST, "many", 8, 32, [kernels.TensorMap(array, (4, 32)), out, np.int32(ranks)],
        sink=events.append,
    )  # fmt: skip
    for cluster, rank in np.ndindex(2, 4):
        box = expected_box(array, (4 * cluster + 2, 4), (4, 32))
        assert (out[cluster, rank] == (box if ranks >> rank & 1 else -1)).all()
    (started,) = [event for event in events if isinstance(event, Started)]
    assert len(started.ticket) == 2 * ranks.bit_count()
    (reads,), (writes,) = started.reads, started.writes
    rows = [i % 8 for i in writes.row.tolist()]
    assert rows == [4 * c + r for c in range(2) for r in range(4) if ranks >> r & 1]
    assert reads.size.sum() == 512 + 3 * 128  # once for each cluster, what is in the array


def test_ranks_that_the_cluster_lacks():
    args = [kernels.TensorMap(floats((9, 64)), (4, 32)), np.zeros(1024, np.float32)]
    with pytest.raises(PTXError, match="the cluster has 4"):
        run_cuda(MULTICAST, "many", 8, 32, [*args, np.int32(0b10001)])


# -- into global memory -----------------------------------------------------------------------


def stored(array, box, corner, new, combine=lambda old, x: x) -> np.ndarray:
    """The array after a copy of a box into it."""
    found = array.copy()
    for at in np.ndindex(*box):
        where = tuple(c + n for c, n in zip(corner, at))
        if all(0 <= w < n for w, n in zip(where, array.shape)):
            found[where] = combine(array[where], new[at])
    return found


@pytest.mark.parametrize("rank", SHAPES)
def test_boxes_go_back_but_for_what_is_outside(rank):
    first, box = floats(SHAPES[rank]), BOXES[rank]
    new = floats(box)
    last = tuple(n - 1 for n in first.shape)
    for corner in ((0,) * rank, (4,) * rank, last, tuple(n + 5 for n in first.shape)):
        array = first.copy()
        corner = at_unit(corner, 4)
        store(kernels.TensorMap(array, box), corner, new.view(np.uint8).ravel())
        assert (array == stored(first, box, corner, new)).all(), corner


@pytest.mark.parametrize("swizzle", (32, 64, 128))
def test_swizzled_boxes_go_back(swizzle):
    first = floats((40, 64))
    for row in {swizzle, swizzle // 2}:
        box = (9, row // 4)
        new, array = floats(box), first.copy()
        image = in_shared(new, swizzle, room(box, 4, swizzle, 128), 128)
        store(kernels.TensorMap(array, box, swizzle=swizzle), (35, 4), image, 128)
        assert (array == stored(first, box, (35, 4), new)).all()


def test_boxes_go_back_with_element_strides():
    first, new = floats((10, 16)), floats((3, 8))
    array, expected = first.copy(), first.copy()
    store(kernels.TensorMap(array, (5, 8), element_strides=(2, 1)), (5, 4), new.view("u1").ravel())
    expected[5::2, 4:12] = new
    assert (array == expected).all()


WHOLE = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
         "or": np.bitwise_or, "xor": np.bitwise_xor,
         "inc": lambda old, x: np.where(old >= x, 0, old + 1),
         "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - 1)}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_reductions_of_whole_numbers(name):
    for dtype in ("u4", "i4", "u8", "i8"):
        if (name == "add" and dtype == "i8") or (name in ("inc", "dec") and dtype != "u4"):
            continue
        first = RNG.integers(0, 256, (8, 64), np.uint8).view(dtype)
        box = (3, 32 // first.itemsize)
        new, array = RNG.integers(0, 256, (3, 32), np.uint8).view(dtype), first.copy()
        corner = (6, first.shape[1] - 16 // first.itemsize)
        store(kernels.TensorMap(array, box), corner, new.view("u1").ravel(), reduction=name)
        with np.errstate(over="ignore"):
            assert (array == stored(first, box, corner, new, WHOLE[name])).all(), dtype


def test_reductions_of_floats():
    for dtype, name in itertools.product((np.float16, np.float32, np.float64), ("add", "max")):
        if name == "max" and dtype != np.float16:
            continue
        first, new = (RNG.random(n).astype(dtype) for n in ((8, 32), (3, 16)))
        array = first.copy()
        tensor = kernels.TensorMap(array, (3, 16))
        store(tensor, (2, 8), new.view("u1").ravel(), reduction=name)
        assert (array == stored(first, (3, 16), (2, 8), new, WHOLE[name])).all()
    # bfloat16: 1 + 2^-8 is half way, and rounds to the even 1
    array, new = np.full((8, 32), 0x3F80, np.uint16), np.full((2, 8), 0x3B80, np.uint16)
    tensor = kernels.TensorMap(array, (2, 8), dtype="bfloat16")
    store(tensor, (0, 0), new.view("u1").ravel(), reduction="add")
    assert (array == 0x3F80).all()
    new[:] = 0x3C00  # 2^-7
    store(tensor, (0, 0), new.view("u1").ravel(), reduction="add")
    assert (array[:2, :8] == 0x3F81).all() and (array[2:] == 0x3F80).all()


def test_sums_of_subnormal_floats_and_a_box_of_which_nothing_is_inside():
    tiny = np.full((8, 8), 1e-40, np.float32)
    array, whole = tiny.copy(), np.ones((8, 8), np.uint32)
    tensor = kernels.TensorMap(array, (8, 8))
    store(tensor, (0, 0), tiny.view("u1").ravel(), reduction="add")
    assert (array == tiny + tiny).all() and array[0, 0] > 0
    for each in (tensor, kernels.TensorMap(whole, (8, 8))):
        store(each, (8, 0), tiny.view("u1").ravel(), reduction="add")
    assert (array == tiny + tiny).all() and (whole == 1).all()


def test_blocks_that_add_to_one_box():
    array = np.zeros((4, 32), np.uint32)
    kernel = kernels.Kernel(source(STORE, 2, "add"), "store")
    data = np.arange(128, dtype=np.uint32)
    args = [kernels.TensorMap(array, (4, 32)), np.zeros(2, np.int32), data.view("u1"), 512, 0]
    kernel(5, 64, args, device="interpreter", shared_mem=512)
    assert (array.ravel() == 5 * data).all()


@pytest.mark.parametrize("name, dtype", (("min", "f4"), ("add", "i8"), ("inc", "i4"), ("or", "f4")))
def test_reductions_that_there_are_not(name, dtype):
    tensor = kernels.TensorMap(np.zeros((8, 32), dtype), (2, 4))
    with pytest.raises(PTXError, match=rf"\.{name} is not for elements of type"):
        store(tensor, (0, 0), np.zeros(128, np.uint8), reduction=name)


def test_a_store_before_its_wait_has_not_happened():
    text = source(STORE, 1).replace(
        'asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");', "seen[0] = line[0];"
    )
    text = text.replace("int shift)", "int shift, float* line, float* seen)")
    array, seen = np.ones(32, np.float32), np.zeros(1, np.float32)
    data = np.full(32, 7, np.float32).view("u1")
    args = [kernels.TensorMap(array, (32,)), np.zeros(1, np.int32), data, 128, 0, array, seen]
    kernels.Kernel(text, "store")(1, 64, args, device="interpreter", shared_mem=128)
    assert seen[0] == 1 and (array == 7).all()  # done when the block is over


# -- what is told -----------------------------------------------------------------------------


def events_of(text, name, args, shared):
    events = []
    run_cuda(text, name, 2, 64, args, shared_mem=shared, sink=events.append)
    return events


def test_what_a_load_tells():
    array, out = floats((8, 64)), np.zeros(1024, np.uint8)
    args = [kernels.TensorMap(array, (4, 64)), np.array([-4, 6], np.int32), out]
    args += [np.int32(n) for n in (1024, 1024, 0)]
    events = events_of(source(LOAD, 2), "load", args, 1040)
    (started,) = [event for event in events if isinstance(event, Started)]
    assert started.block.tolist() == [0, 1] and started.thread.tolist() == [0, 0]
    (reads,), (writes,) = started.reads, started.writes
    assert writes.space == "shared" and writes.size.tolist() == [1024, 1024]
    assert writes.row.tolist() == [0, 1] and writes.operation.tolist() == [0, 1]
    # of the two rows in the array, all but the last four elements
    assert reads.space == "global" and reads.operation.tolist() == [0, 0, 1, 1]
    assert reads.size.tolist() == [240] * 4 and np.diff(reads.start).tolist() == [256, -256, 256]
    finished = [event for event in events if isinstance(event, Finished)]
    assert np.concatenate([e.ticket for e in finished]).tolist() == started.ticket.tolist()
    complete = [e for e in events if isinstance(e, MemoryBarrier) and e.what == "complete"]
    assert [n for e in complete for n in e.count.tolist()] == [1024, 1024]


def test_rows_that_touch_are_one_stretch():
    array = floats((8, 32))
    args = [kernels.TensorMap(array, (4, 32)), np.zeros(2, np.int32), np.zeros(512, np.uint8)]
    args += [np.int32(n) for n in (512, 512, 0)]
    events = events_of(source(LOAD, 2), "load", args, 528)
    (started,) = [event for event in events if isinstance(event, Started)]
    assert started.reads[0].size.tolist() == [512, 512]


def test_what_a_store_tells():
    array = floats((8, 64))
    args = [kernels.TensorMap(array, (4, 64)), np.array([0, 5], np.int32)]
    args += [np.zeros(1024, np.uint8), np.int32(1024), np.int32(0)]
    events = events_of(source(STORE, 2), "store", args, 1024)
    (started,) = [event for event in events if isinstance(event, Started)]
    reads = started.reads[0]  # the row that is cut off is not read
    assert reads.space == "shared" and reads.size.tolist() == [768, 768]
    assert reads.row.tolist() == [0, 1] and reads.start.tolist() == [0, 0]
    assert started.writes[0].space == "global" and started.writes[0].size.tolist() == [768, 768]
    (finished,) = [event for event in events if isinstance(event, Finished)]
    assert finished.mask.sum() == 2 and not finished.reading_only


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("shift", (16, 64))
def test_shared_memory_not_at_a_multiple_of_128(shift):
    tensor = kernels.TensorMap(floats((8, 64)), (4, 32))
    with pytest.raises(MemoryFault, match="must be a multiple of 128"):
        load(tensor, (0, 0), 512, 1024, shift)
    with pytest.raises(MemoryFault, match="must be a multiple of 128"):
        store(tensor, (0, 0), np.zeros(1024, np.uint8), shift)


@pytest.mark.parametrize(
    "dtype, column, each",
    (("f4", 1, 4), ("f4", -1, 4), ("f2", 4, 8), ("u1", 100, 16), ("f8", 3, 2)),
)
def test_an_innermost_coordinate_between_multiples_of_16_bytes(dtype, column, each):
    array = np.zeros((8, 64), dtype)
    tensor = kernels.TensorMap(array, (4, 16))
    words = (
        rf"innermost coordinate is {column}, in elements of {array.itemsize} bytes: it must be a "
        rf"multiple of {each}.*\n.*kernel\.cu:\d+"
    )
    with pytest.raises(PTXError, match=words):
        load(tensor, (0, column), 64 * array.itemsize, 1024)
    with pytest.raises(PTXError, match=words):
        store(tensor, (0, column), np.zeros(1024, np.uint8))
    with pytest.raises(PTXError, match=words):
        store(tensor, (0, column), np.zeros(1024, np.uint8), reduction="add")


@pytest.mark.parametrize("corner", ((-1, 0), (0, -4), (-4, -8)))
def test_a_box_that_is_stored_begins_in_the_tensor_or_after_it(corner):
    tensor = kernels.TensorMap(np.zeros((8, 64), np.float32), (4, 16))
    row, column = corner
    words = rf"coordinates \({column}, {row}\): none may be negative"
    for reduction in ("", "add"):
        with pytest.raises(PTXError, match=words):
            store(tensor, corner, np.zeros(256, np.uint8), reduction=reduction)


def test_the_thread_that_names_a_wrong_coordinate_is_named():
    text = PIECES.replace('"r"(32 * (int)blockIdx.x)', '"r"(t == 2 ? 30 : 32)')
    maps = [kernels.TensorMap(floats((32, 96)), (8, 32)) for _ in range(2)]
    with pytest.raises(PTXError, match=r"coordinate is 30,(.|\n)*thread \(2, 0, 0\)"):
        run_cuda(text, "pieces", 1, 64, [*maps, np.zeros(1024, np.float32)])


def test_boxes_that_do_not_fit_in_shared_memory():
    tensor = kernels.TensorMap(floats((8, 64)), (4, 16), swizzle=128)
    with pytest.raises(MemoryFault, match="512-byte access to shared memory out of bounds"):
        store(tensor, (0, 0), np.zeros(256, np.uint8))


def test_a_read_only_array_is_not_stored_to():
    array = floats((8, 64))
    array.flags.writeable = False
    with pytest.raises(MemoryFault, match="store to map, which is read-only") as error:
        store(kernels.TensorMap(array, (4, 32)), (2, 0), np.zeros(512, np.uint8))
    assert "thread (0, 0, 0)" in str(error.value) and "kernel.cu:" in str(error.value)
    # nothing of the box is in the array, so that nothing is stored
    store(kernels.TensorMap(array, (4, 32)), (8, 0), np.zeros(512, np.uint8))


def test_a_map_of_other_dimensions():
    with pytest.raises(PTXError, match="of 3 dimensions, the instruction of 2"):
        load(kernels.TensorMap(floats((4, 8, 8)), (4, 8, 4)), (0, 0), 512, 512)


def test_bytes_that_are_no_tensor_map():
    with pytest.raises(PTXError, match=r"the 128 bytes at .* load_param_0 .* are no tensor map"):
        load(bytes(128), (0, 0), 512, 512)


def test_a_copy_of_the_map_in_local_memory():
    text = source(LOAD, 2).replace("const __grid_constant__ CUtensorMap map", "CUtensorMap map")
    text = text.replace("expect(bar, bytes);", "expect(bar, bytes); map.opaque[corner[0]] += 0;")
    args = [kernels.TensorMap(floats((8, 64)), (4, 32)), np.zeros(2, np.int32)]
    args += [np.zeros(512, np.uint8), 512, 512, 0]
    with pytest.raises(PTXError, match="lies in local memory.*__grid_constant__"):
        kernels.Kernel(text, "load")(1, 64, args, device="interpreter", shared_mem=528)


def test_a_map_in_global_memory_and_one_kept_from_another_launch():
    text = source(LOAD, 1).replace('extern "C"', '__device__ CUtensorMap kept;\nextern "C"', 1)
    text = text.replace('"l"(&map)', '"l"(&kept)')
    text = text.replace("init(bar);", "{ init(bar); if (shift == 0) kept = map; }")
    kernel = kernels.Kernel(text.replace("tile + shift", "tile"), "load")
    array, out = floats((1 << 14,)), np.zeros(128, np.uint8)
    tensor, corner = kernels.TensorMap(array, (32,)), np.array([16000], np.int32)
    keywords = dict(device="interpreter", shared_mem=144)
    kernel(1, 64, [tensor, corner, out, 128, 128, 0], **keywords)
    assert (out.view(np.float32) == array[16000:16032]).all()
    small = kernels.TensorMap(array[:64], (32,))
    with pytest.raises(MemoryFault, match="out of bounds"):
        kernel(1, 64, [small, corner, out, 128, 128, 1], **keywords)


UNBUILT = [
    ("cp.async.bulk.tensor.3d.shared::cluster.global.im2col." + BULK, "im2col"),
    ("cp.async.bulk.tensor.6d.shared::cluster.global.tile." + BULK, "6d"),
    ("cp.async.bulk.tensor.2d.shared::cluster.global.tile.cta_group::1." + BULK, "cta_group"),
    ("cp.async.bulk.tensor.2d.shared::cluster.global.tile", "tile"),
    ("cp.async.bulk.tensor.2d.shared::cluster.shared::cta.tile." + BULK, "shared::cta"),
    ("cp.async.bulk.tensor.3d.global.shared::cta.tile." + BULK, "mbarrier"),
    ("cp.reduce.async.bulk.tensor.3d.global.shared::cta.mul.bulk_group", "mul"),
    ("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile." + BULK, "mbarrier"),
]


@pytest.mark.parametrize("text, word", UNBUILT)
def test_forms_that_are_not_built(text, word):
    body = f".reg .b64 %g;\n.reg .b32 %c;\nmov.b32 %c, 0;\n{text} [%c], [%g, {{%c, %c, %c}}], [%c];"
    with pytest.raises(UnknownOpcode, match=word):
        run_body(body, "u64 x", 1, 1, [np.zeros(4, np.float32)])


@pytest.mark.parametrize("form", ["tile.taste.global.b1024.b64", "im2col.rank.global.b1024.b64"])
def test_other_fields_of_a_map_are_refused(form):
    body = f".reg .b64 %g;\ntensormap.replace.{form} [%g], %g;"
    with pytest.raises(UnknownOpcode, match="tensormap.replace"):
        run_body(body, "u64 x", 1, 1, [np.zeros(4, np.float32)])


def test_a_coordinate_too_few():
    text = LOAD.replace("@R", "2").replace("@C", "%3").replace("@V", '"r"(corner[0])')
    with pytest.raises(UnknownOpcode, match="1 coordinates"):
        args = [kernels.TensorMap(floats((8, 64)), (4, 32)), np.zeros(2, np.int32)]
        args += [np.zeros(512, np.uint8), 512, 512, 0]
        kernels.Kernel(text, "load")(1, 64, args, device="interpreter", shared_mem=528)


HINTS = (
    HELPERS
    + """
extern "C" __global__ void hints(const __grid_constant__ CUtensorMap map, int* out)
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(&map) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];"
                 :: "l"(&map), "r"(-4), "r"(1000) : "memory");
    out[0] = 1;
}"""
)


def test_hints_and_fences():
    out = np.zeros(1, np.int32)
    kernel = kernels.Kernel(HINTS, "hints")
    kernel(1, 1, [kernels.TensorMap(floats((8, 64)), (4, 32)), out], device="interpreter")
    assert out[0] == 1


CHANGED = (
    HELPERS
    + r"""// A map made of nothing, or of another one, in shared memory; a warp publishes it.
#define CHANGE(field, type, constraint, value) asm volatile("tensormap.replace.tile." field \
    ".shared::cta.b1024." type " [%0], %1;" \
    :: "r"(shared_address(map)), constraint(value) : "memory")
#define CHANGE_ONE(field, type, n, constraint, value) asm volatile("tensormap.replace.tile." field \
    ".shared::cta.b1024." type " [%0], " #n ", %1;" \
    :: "r"(shared_address(map)), constraint(value) : "memory")
extern "C" __global__ void changed(const __grid_constant__ CUtensorMap old, int rows, int columns,
                                   const float* x, unsigned* maps, float* out)
{
    __shared__ alignas(128) unsigned map[32];
    __shared__ alignas(128) float tile[8 * 16];
    __shared__ alignas(8) unsigned long long bar;
    int t = threadIdx.x, block = blockIdx.x;
    map[t] = block ? 0 : ((const unsigned*)&old)[t];
    __syncwarp();
    if (t == 0) {
        CHANGE("global_address", "b64", "l", x);
        if (block) {
            CHANGE("rank", "b32", "n", 1);
            CHANGE_ONE("box_dim", "b32", 0, "r", BOX);
            CHANGE_ONE("box_dim", "b32", 1, "r", 8);
            CHANGE_ONE("element_stride", "b32", 0, "r", 1);
            CHANGE_ONE("element_stride", "b32", 1, "r", 1);
            CHANGE("elemtype", "b32", "n", 7);
            CHANGE("interleave_layout", "b32", "n", 0);
            CHANGE("swizzle_mode", "b32", "n", 0);
            CHANGE("fill_mode", "b32", "n", 0);
        }
        CHANGE_ONE("global_dim", "b32", 0, "r", columns);
        CHANGE_ONE("global_dim", "b32", 1, "r", rows);
        CHANGE_ONE("global_stride", "b64", 0, "l", (long long)columns * 4);
    }
    __syncwarp();
    unsigned *mine = maps + block * 32, to = shared_address(tile), on = shared_address(&bar);
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                 "aligned [%0], [%1], 128;" :: "l"(mine), "r"(shared_address(map)) : "memory");
    if (t == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
                     :: "l"(mine) : "memory");
        init(on);
        expect(on, 512);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                     "bytes [%0], [%1, {%3, %4}], [%2];"
                     :: "r"(to), "l"(mine), "r"(on), "r"(0), "r"(block * 8) : "memory");
    }
    __syncwarp();
    wait(on, 0);
    for (int i = t; i < 128; i += 32)
        if (block * 8 + i / 16 < rows && i % 16 < columns)
            out[(block * 8 + i / 16) * columns + i % 16] = tile[i] * 2;
}"""
)


@pytest.mark.parametrize("columns, box", [(12, 16), (12, 15), (12, 0), (10, 16)])
def test_maps_that_a_kernel_changes(columns, box):
    """A row of 15 elements, of none, or of 40 bytes is none that a GPU takes."""
    x, out, maps = floats((20, columns)), np.zeros((20, columns), np.float32), np.zeros(96, "u4")
    old = kernels.TensorMap(floats((64, 64)), (8, 16))
    kernel = kernels.Kernel(CHANGED, "changed", [f"-DBOX={box}"])
    launch = (3,), (32,), (old, 20, columns, x, maps, out)
    if (columns, box) != (12, 16):
        with pytest.raises(PTXError, match="no tensor map that a GPU takes"):
            kernel(*launch, device="interpreter")
        return
    assert kernel.sanitize(*launch, uninitialised=[4, 5]) == ()
    assert (out == 2 * x).all()
    out[:] = 0
    kernel(*launch, device="interpreter")
    assert (out == 2 * x).all()


def test_a_map_is_published_by_a_whole_warp():
    form = "global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    body = f""".shared .align 128 .b8 s[128]; .reg .b64 %a; ld.param.u64 %a, [x];
    tensormap.cp_fenceproxy.{form} [%a], [s], 128;"""
    with pytest.raises(PTXError, match="needs all 32 lanes"):
        run_body(body, "u64 x", 1, 31, [np.zeros(32, np.uint32)])
