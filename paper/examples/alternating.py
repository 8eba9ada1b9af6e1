"""Compare alternating optimization with OPGD's gradient on the Vowel data.

`AlternatingComponents` updates the axes with fixed Gaussians and then re-estimates the Gaussians.
OPGD's gradient accounts for the dependence of the Gaussians on the axes. The script prints the
number of iterations that decreased the classification likelihood, and plots the likelihoods.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from opgd import OPGDClassifier
from opgd_paper.datasets import load_dataset
from opgd_paper.methods import AlternatingComponents

BLUE, ORANGE, RED = "#3f90da", "#ffa90e", "#bd1f01"


def find_increases(curve: list[float]) -> Any:
    """Return the iterations that increased the loss."""
    return np.flatnonzero(np.diff(curve) > 0) + 1


def draw(axes: Any, curves: dict[str, list[float]], n_components: int) -> None:
    """Plot the log-likelihood per sample by iteration and mark every decrease."""
    for (name, curve), color in zip(curves.items(), [ORANGE, BLUE], strict=True):
        values = -np.array(curve)
        worse = find_increases(curve)
        axes.plot(values, color=color, label=f"{name}: {len(worse)} of {len(curve) - 1}")
        axes.plot(worse, values[worse], ".", color=RED, markersize=5)
    axes.set_title(f"{n_components} axes")
    axes.set_xlabel("iteration (red dots: likelihood decreased)")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def main(arguments: list[str] | None = None) -> None:
    """Fit both models, print the table and save the figure."""
    parser = argparse.ArgumentParser(description="Decreases of the classification likelihood.")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of the figure")
    parser.add_argument("--axes", type=int, nargs="+", default=[2, 3, 5], help="numbers of axes")
    options = parser.parse_args(arguments)
    vowel = load_dataset("vowel")
    X, y = vowel.data, vowel.target
    figure = Figure(figsize=(4.5 * len(options.axes), 3.8), layout="constrained")
    panels = figure.subplots(1, len(options.axes), squeeze=False)[0]
    print("axes  method       iterations  decreases  log-likelihood per sample: start, best, end")
    for n_components, panel in zip(options.axes, panels, strict=True):
        models: dict[str, Any] = {
            "alternating": AlternatingComponents(n_components),
            "OPGD": OPGDClassifier(n_components, init="lda"),
        }
        curves = {}
        for name, model in models.items():
            with warnings.catch_warnings():  # the alternation may not converge
                warnings.simplefilter("ignore", ConvergenceWarning)
                curve = curves[name] = model.fit(X, y).loss_curve_
            print(
                f"{n_components:4}  {name:11}  {len(curve) - 1:10}  "
                f"{len(find_increases(curve)):9}  "
                f"{-curve[0]:.3f}, {-min(curve):.3f}, {-curve[-1]:.3f}"
            )
        draw(panel, curves, n_components)
    panels[0].set_ylabel("mean log posterior")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "alternating.png"
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})
    print(f"Figure: {path}")


if __name__ == "__main__":
    main()
