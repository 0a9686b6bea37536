"""What the source calls a symbol."""

import pytest

from anywarp.ptx.text.names import demangle


@pytest.mark.parametrize("symbol, qualified", [
    ("_ZZ1fE1s_$_0", "s"), ("_ZZ1fE1s_0", "s"), ("_ZZ1fE1s_$_12", "s"), ("_ZZ1fE4data_$_0", "data"),
    ("_ZZZ1fENKUliE_clEiE1q", "q"), ("_ZZN1K1gILi4EEEiiE1q", "q"), ("_ZZN2ns1fIiEEvPT_E1t", "t"),
    ("_ZZ5sgemmE6tile_a", "tile_a"), ("_ZZ4gemmILi4EEvPfE4tile", "tile"),
    ("_ZZ5sgemmE4tile_0", "tile"), ("_ZN2ns3arrE", "ns::arr"), ("smem", "smem"),
    ("_ZZ6kernelPKfS0_PfE2as", "as"), ("_ZL4data", "data"), ("_ZZ3f_5E3a_1", "a_1"),
    ("_Zwhat", "_Zwhat"), ("_Z4gemmPfS_", "gemm"), ("_ZN2ns4gemmILi4EEEvPf", "ns::gemm"),
    ("_ZNK3Tri4areaEv", "Tri::area"), ("_Z3f_5v", "f_5"), ("_Z2f23abc", "f2"),
])  # fmt: skip
def test_demangle(symbol, qualified):
    assert demangle(symbol, qualified=True) == qualified
    assert demangle(symbol) == qualified.rpartition("::")[2]
