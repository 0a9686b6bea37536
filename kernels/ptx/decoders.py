"""The decoders of all instructions that do more than compute, and do not end a basic block.

A decoder takes an instruction and its site and returns `execute(state, mask)`. `control.CONTROL`
has those that end a block, `ops.OPS` what only computes.
"""

from __future__ import annotations

from .access import MEMORY
from .bulk import BULK
from .control import SIMPLE
from .copies import COPIES
from .mbarrier_ops import MBARRIERS
from .remote import REMOTE
from .tensor_copies import TENSORS

FAMILIES = {**MEMORY, **COPIES, **BULK, **MBARRIERS, **REMOTE, **TENSORS, **SIMPLE}
