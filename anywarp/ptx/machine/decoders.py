"""The decoders of all instructions that do more than compute, and do not end a basic block.

A decoder takes an instruction and its site and returns `execute(state, mask)`. `control.CONTROL`
has those that end a block, `ops.OPS` what only computes.
"""

from __future__ import annotations

from ..asynchronous.bulk import BULK
from ..asynchronous.copies import COPIES
from ..asynchronous.mbarrier_ops import MBARRIERS
from ..asynchronous.remote import REMOTE
from ..asynchronous.tensor_copies import TENSORS
from ..memory.access import MEMORY
from .control import SIMPLE

FAMILIES = {**MEMORY, **COPIES, **BULK, **MBARRIERS, **REMOTE, **TENSORS, **SIMPLE}
