"""From options to an estimator, and its error on rows left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opgd.cli.errors import BadInput
from opgd.cli.estimates import chosen_error, left_out_error
from opgd.cli.text import quoted
from opgd.cli.voice import Voice

SCORES = {"error": "accuracy", "log-loss": "neg_log_loss"}


@dataclass(frozen=True)
class Settings:
    """The options of a fit, as they were typed."""

    axes: str
    shrinkage: str | None
    ridge: str | None
    subclasses: str | None
    covariance: str | None
    cv: int | float
    scoring: str
    seed: int | None
    jobs: int

    def estimator(self) -> Any:
        """A classifier with these settings; where there are several, the search among them."""
        from opgd import OPGDClassifier, OPGDClassifierCV

        values: dict[str, list[Any]] = {
            "n_components": [] if self.axes == "auto" else _values("--axes", self.axes, int),
            "shrinkage": _values("--shrinkage", self.shrinkage, float, "auto"),
            "ridge": _values("--ridge", self.ridge, float),
            "n_subclasses": _values("--subclasses", self.subclasses, int, "auto"),
            "covariance_type": _values("--covariance", self.covariance, str),
        }
        given = {key: own for key, own in values.items() if own}
        if self.scoring not in SCORES:
            raise BadInput(f"--scoring is error or log-loss, not {quoted(self.scoring)}.")
        if self.axes == "auto" or any(len(own) > 1 for own in given.values()):
            several: Any = {key: tuple(own) for key, own in given.items()}
            return OPGDClassifierCV(
                **several,
                cv=self.cv,
                scoring=SCORES[self.scoring],
                n_jobs=self.jobs,
                random_state=self.seed,
            )
        single: Any = {key: own[0] for key, own in given.items()}
        return OPGDClassifier(**single, n_jobs=self.jobs, random_state=self.seed)

    def fitted(self, estimator: Any, training: Any, voice: Voice) -> tuple[Any, dict[str, Any]]:
        """The estimator fitted to the rows, and what is known of its error."""
        self._check_folds(training)
        if not hasattr(estimator, "cv"):
            with voice.watching("fitting", estimator):
                estimator.fit(training.X, training.y, sample_weight=training.weights)
            with voice.watching("estimating the error"):
                return estimator, left_out_error(estimator, training, self.cv)
        if training.groups is not None:
            from sklearn.model_selection import StratifiedGroupKFold

            estimator.set_params(cv=StratifiedGroupKFold(int(self.cv)))
        with voice.watching("choosing axes and settings", estimator):
            estimator.fit(
                training.X, training.y, sample_weight=training.weights, groups=training.groups
            )
        # a splitter is no data, which is all that model files hold
        return estimator.set_params(cv=self.cv), chosen_error(
            estimator, training.groups is not None
        )

    def _check_folds(self, training: Any) -> None:
        if training.groups is not None:
            n_groups = len(set(training.groups))
            if isinstance(self.cv, float) or n_groups < self.cv:
                raise BadInput(
                    f"--groups needs as many groups as folds: there are {n_groups}, "
                    f"and --cv is {self.cv}."
                )
        elif isinstance(self.cv, int):
            largest = max((training.y == label).sum() for label in set(training.y.tolist()))
            if largest < self.cv:
                raise BadInput(
                    f"{self.cv} folds (--cv) need a class with so many rows; the largest has "
                    f"{largest}."
                )


def whole_or_share(option: str, text: str) -> int | float:
    """A number of folds, or a share of rows."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < 1:
        return value
    if value >= 2 and value.is_integer():
        return int(value)
    raise BadInput(f"{option} is a whole number from 2 on, or a share below 1, not {quoted(text)}.")


def _values(
    option: str, text: str | None, kind: Callable[[str], Any], word: str | None = None
) -> list[Any]:
    """Values between commas."""
    values = []
    for part in [] if text is None else text.split(","):
        try:
            values.append(part.strip() if part.strip() == word else kind(part.strip()))
        except ValueError:
            wanted = "a whole number" if kind is int else "a number"
            also = " or auto" if word or option == "--axes" else ""
            raise BadInput(f"{option} is {wanted}{also}, not {quoted(part)}.") from None
    return values
