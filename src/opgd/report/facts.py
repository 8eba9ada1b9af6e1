"""Facts about a fit, as names and values."""

from typing import Any

from opgd.inspection.estimators import has_classes

MAX_VALUE_LENGTH = 300


def list_facts(estimator: Any) -> list[tuple[str, str]]:
    """Return names and values that describe the fit, in words."""
    facts = []
    if hasattr(estimator, "converged_"):
        facts.append(("Optimization", _describe_search(estimator)))
    if hasattr(estimator, "log_likelihood_"):
        of = "labels" if has_classes(estimator) else "rows"
        facts.append((f"Log-likelihood of the {of}", _format_number(estimator.log_likelihood_)))
    if hasattr(estimator, "best_params_"):
        facts += _list_selection(estimator)
    if getattr(estimator, "temperature_", 1.0) != 1.0:
        facts.append(("Calibration of the probabilities", _describe_calibration(estimator)))
    return facts


def _describe_search(estimator: Any) -> str:
    n_iterations = int(estimator.n_iter_)
    if not n_iterations:
        return "none: the initial axes were kept"
    iterations = "1 iteration" if n_iterations == 1 else f"{n_iterations:,} iterations"
    return (
        f"{'converged' if estimator.converged_ else 'stopped, not converged,'} after {iterations}"
    )


def _list_selection(estimator: Any) -> list[tuple[str, str]]:
    """Return what cross-validation selected, and how good it was."""
    settings = ", ".join(f"{key}={value}" for key, value in estimator.best_params_.items())
    scoring = estimator.scoring
    scorer = f" ({scoring})" if isinstance(scoring, str) else ""
    selection = estimator.summary_
    weighted = ", weighted by class" if selection.class_weighted else ""
    facts = [
        ("Settings selected by cross-validation", settings[:MAX_VALUE_LENGTH]),
        (f"Score of these settings{scorer}{weighted}", f"{estimator.best_score_:.3f}"),
        (f"Expected error on new rows{weighted}", f"{selection.corrected_error:.1%}"),
    ]
    if len(estimator.components_) > 1:
        facts.append(("Fewer axes", selection.trade_off))
    return facts


def _describe_calibration(estimator: Any) -> str:
    """Return how probabilities were adjusted to held-out rows."""
    temperature = estimator.temperature_
    effect = "less" if temperature > 1 else "more"
    return (
        f"made {effect} extreme to agree with held-out rows (temperature {temperature:.2f}), with "
        f"{estimator.background_:.1%} of the class frequencies mixed in"
    )


def list_parameters(estimator: Any) -> list[tuple[str, str]]:
    """Return the parameters of the estimator as text."""
    return [(key, _format_value(value)) for key, value in estimator.get_params(False).items()]


def list_shares(estimator: Any) -> list[float] | None:
    """Return the share of each axis in the gain, None if it is not known."""
    shares = getattr(estimator, "component_shares_", None)
    return None if shares is None else [float(share) for share in shares]


def _format_number(value: float) -> str:
    text = f"{value:,.1f}" if abs(value) >= 0.1 else f"{value:.2g}"
    return text.replace("-", "\u2212")


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
