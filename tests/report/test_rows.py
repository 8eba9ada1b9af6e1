"""Packed arrays."""

import numpy as np

from opgd.report.rows import pack_centered, pack_steps
from tests.report.helpers import unpack


def test_packing_keeps_digits_of_offset_columns():
    values = 1e9 + np.linspace(0, 1, 101)
    assert np.allclose(unpack(pack_centered(values)), values, rtol=0, atol=1e-6)
    assert np.allclose(unpack(pack_steps(values)), values, rtol=0, atol=1e-4)
    assert np.all(unpack(pack_steps(np.full(3, 2.5))) == 2.5)
