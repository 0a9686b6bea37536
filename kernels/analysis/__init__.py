"""What memory accesses cost: pure NumPy on addresses, grouped by warp."""

from .sectors import LINE_BYTES, SECTOR_BYTES, cache_lines, ideal_sectors, sectors
from .warps import by_warp

__all__ = ["LINE_BYTES", "SECTOR_BYTES", "by_warp", "cache_lines", "ideal_sectors", "sectors"]
