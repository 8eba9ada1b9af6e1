"""Vowel: how often an alternating search lowers the likelihood that it is meant to raise.

`AlternatingComponents` moves the axes with the Gaussians held, then fits these again. OPGD's
gradient knows that the Gaussians follow. Prints the number of iterations at which the
classification likelihood fell, and draws the likelihoods.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from opgd import OPGDClassifier
from opgd.baselines import AlternatingComponents
from opgd.datasets import load_dataset

BLUE, ORANGE, RED = "#3f90da", "#ffa90e", "#bd1f01"


def falls(curve: list[float]) -> Any:
    """Iterations after which the loss was higher than before."""
    return np.flatnonzero(np.diff(curve) > 0) + 1


def draw(axes: Any, curves: dict[str, list[float]], n_components: int) -> None:
    """Likelihoods per row by iteration, with a mark at every fall."""
    for (name, curve), color in zip(curves.items(), [ORANGE, BLUE], strict=True):
        values = -np.array(curve)
        fell = falls(curve)
        axes.plot(values, color=color, label=f"{name}: {len(fell)} falls in {len(curve) - 1}")
        axes.plot(fell, values[fell], ".", color=RED, markersize=5)
    axes.set_title(f"{n_components} axes")
    axes.set_xlabel("iteration (a red dot: the likelihood fell)")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def main(arguments: list[str] | None = None) -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description="Falls of the classification likelihood.")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of the picture")
    parser.add_argument("--axes", type=int, nargs="+", default=[2, 3, 5], help="numbers of axes")
    options = parser.parse_args(arguments)
    vowel = load_dataset("vowel")
    X, y = vowel.data, vowel.target
    figure = Figure(figsize=(4.5 * len(options.axes), 3.8), layout="constrained")
    panels = figure.subplots(1, len(options.axes), squeeze=False)[0]
    print("axes  method       iterations  falls  log-likelihood per row: start, best, end")
    for n_components, panel in zip(options.axes, panels, strict=True):
        models = {
            "alternating": AlternatingComponents(n_components),
            "OPGD": OPGDClassifier(n_components, init="lda"),
        }
        curves = {}
        for name, model in models.items():
            with warnings.catch_warnings():  # the alternation may never settle
                warnings.simplefilter("ignore", ConvergenceWarning)
                curve = curves[name] = model.fit(X, y).loss_curve_
            print(
                f"{n_components:4}  {name:11}  {len(curve) - 1:10}  {len(falls(curve)):5}  "
                f"{-curve[0]:.3f}, {-min(curve):.3f}, {-curve[-1]:.3f}"
            )
        draw(panel, curves, n_components)
    panels[0].set_ylabel("classification likelihood, log per row")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "alternating.png"
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
