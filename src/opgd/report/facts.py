"""Facts about a fit, as names and values."""

from typing import Any

MAX_VALUE_LENGTH = 300


def list_facts(estimator: Any) -> list[tuple[str, str]]:
    """Return names and values that describe the fit."""
    facts = []
    if hasattr(estimator, "converged_"):
        outcome = "converged" if estimator.converged_ else "not converged"
        facts.append(("Optimization", f"{outcome} after {estimator.n_iter_} iterations"))
    if hasattr(estimator, "log_likelihood_"):
        facts.append(("Log-likelihood", f"{estimator.log_likelihood_:.6g}"))
    if hasattr(estimator, "best_params_"):
        settings = ", ".join(f"{key}={value}" for key, value in estimator.best_params_.items())
        facts.append(("Selected parameters", settings[:MAX_VALUE_LENGTH]))
        scoring = estimator.scoring
        scorer = f" ({scoring})" if isinstance(scoring, str) else ""
        facts.append((f"Cross-validation score{scorer}", f"{estimator.best_score_:.3f}"))
        selection = estimator.summary_
        facts.append(("Error corrected for the selection", f"{selection.corrected_error:.3f}"))
        facts.append(("Fewer components", selection.trade_off))
        facts.append(("Calibration temperature", f"{estimator.temperature_:.2f}"))
        facts.append(("Share of the priors", f"{estimator.background_:.2%}"))
    return facts


def list_parameters(estimator: Any) -> list[tuple[str, str]]:
    """Return the parameters of the estimator as text."""
    return [(key, _format_value(value)) for key, value in estimator.get_params(False).items()]


def list_shares(estimator: Any) -> list[float] | None:
    """Return the share of each axis in the gain, None if it is not known."""
    shares = getattr(estimator, "component_shares_", None)
    return None if shares is None else [float(share) for share in shares]


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
