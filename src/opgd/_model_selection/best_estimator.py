"""Attributes of an estimator that has selected and fitted another one."""

from typing import Any

from opgd.core.held_out import HeldOut


def delegate_to_best(name: str, absent: str = "the selected model has none") -> Any:
    """Return a property that reads an attribute of `best_estimator_`.

    `absent` explains why the selected model may not have it.
    """

    def read_attribute(self: Any) -> Any:
        try:
            best = self.__dict__["best_estimator_"]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r} before fit."
            ) from None
        try:
            return getattr(best, name)
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}: {absent}."
            ) from None

    return property(read_attribute, doc=f"`{name}` of `best_estimator_`.")


class BestEstimatorMixin:
    """Attributes that are read from `best_estimator_` and from the results of the selection."""

    best_estimator_: Any
    best_index_: int
    cv_results_: dict[str, Any]

    @property
    def best_params_(self) -> dict[str, Any]:
        """Hyperparameters of the selected model."""
        params: dict[str, Any] = self.cv_results_["params"][self.best_index_]
        return params

    @property
    def best_score_(self) -> float:
        """Mean score of the selected model on held-out samples."""
        return float(self.cv_results_["mean_test_score"][self.best_index_])

    @property
    def temperature_(self) -> float:
        """Temperature by which log joint densities are divided."""
        return self._projection.temperature

    @property
    def background_(self) -> float:
        """Share of the prior probabilities in the predicted probabilities."""
        return self._projection.background

    _held_out = delegate_to_best("_held_out")
    _projection = delegate_to_best("_projection")
    _coordinates = delegate_to_best("_coordinates")
    _covariances = delegate_to_best("_covariances")
    classes_ = delegate_to_best("classes_")
    priors_ = delegate_to_best("priors_")
    means_ = delegate_to_best("means_")
    components_ = delegate_to_best("components_")
    n_components_ = delegate_to_best("n_components_")
    projected_means_ = delegate_to_best("projected_means_")
    projected_variances_ = delegate_to_best("projected_variances_")
    gaussian_classes_ = delegate_to_best("gaussian_classes_")
    log_likelihood_ = delegate_to_best("log_likelihood_")
    component_log_likelihoods_ = delegate_to_best("component_log_likelihoods_")
    component_shares_ = delegate_to_best("component_shares_")
    n_iter_ = delegate_to_best("n_iter_")
    n_evaluations_ = delegate_to_best("n_evaluations_")
    converged_ = delegate_to_best("converged_")
    loss_curve_ = delegate_to_best("loss_curve_")
    feature_order_ = delegate_to_best(
        "feature_order_",
        "all features are used; pass sparsity='auto' or a number of features to order them",
    )

    def _set_held_out(self, held_out: HeldOut) -> None:
        self.best_estimator_._set_held_out(held_out)
