"""Packed arrays."""

import numpy as np
import pytest

from opgd.report.rows import pack_centered, pack_steps
from tests.report.helpers import unpack


def test_packing_keeps_digits_of_offset_columns():
    values = 1e9 + np.linspace(0, 1, 101)
    assert np.allclose(unpack(pack_centered(values)), values, rtol=0, atol=1e-6)
    assert np.allclose(unpack(pack_steps(values)), values, rtol=0, atol=1e-4)
    assert np.all(unpack(pack_steps(np.full(3, 2.5))) == 2.5)


@pytest.mark.parametrize("extreme", [1e155, -1e300, 1e7])
def test_packing_keeps_other_values_next_to_an_extreme_one(extreme, rng):
    values = np.append(rng.normal(size=1000), extreme)
    for packed in (pack_centered(values), pack_steps(values)):
        assert np.allclose(unpack(packed), values, rtol=1e-3, atol=1)
        if abs(extreme) > 1e30:
            assert np.array_equal(unpack(packed), values)


def test_packing_keeps_denormal_numbers():
    values = np.array([0.0, 5e-324, 2e-310, 1e-308])
    assert np.array_equal(unpack(pack_centered(values)), values)
