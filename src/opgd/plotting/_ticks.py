"""Ticks that count from an origin other than zero; importing this module imports matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import Formatter, MaxNLocator


class OriginLocator(MaxNLocator):
    """Ticks at round distances from an origin."""

    def __init__(self, origin: float) -> None:
        super().__init__(nbins="auto", steps=[1, 2, 2.5, 5, 10])
        self.origin = origin

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the positions of the ticks."""
        return np.add(super().tick_values(vmin - self.origin, vmax - self.origin), self.origin)


class OriginFormatter(Formatter):
    """Distances from an origin."""

    def __init__(self, origin: float) -> None:
        self.origin = origin

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the texts of all ticks, with the same number of digits."""
        distances = np.asarray(values, dtype=np.float64) - self.origin
        step = np.diff(distances).min() if len(distances) > 1 else 1.0
        digits = next((d for d in range(6) if abs(round(step, d) - step) < 1e-6 * step), None)
        texts = [f"{x:.3g}" if digits is None else f"{x:.{digits}f}" for x in distances]
        return [self.fix_minus("0" if float(text) == 0 else text) for text in texts]

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002
        """Return the text of a coordinate."""
        return self.fix_minus(f"{x - self.origin:.3g}")


def count_from(axis: Any, origin: float) -> None:
    """Make an axis count from an origin."""
    axis.set_major_locator(OriginLocator(origin))
    axis.set_major_formatter(OriginFormatter(origin))
