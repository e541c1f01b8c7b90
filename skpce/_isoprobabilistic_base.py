"""What isoprobabilistic maps share: marginal maps, and a joint law of the scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ._checks import (
    FloatArray,
    check_integer,
    check_option,
    check_real,
    checked_sample_weight,
    input_names,
    make_generator,
)
from ._input_laws import check_distribution, learn_input_laws
from ._marginal_maps import DistributionMap, MarginalMap, marginal_map
from ._score_correlation import best_shrinkage, checked_correlation, standardized
from ._score_laws import ScoreLaw


class IsoprobabilisticTransformer(TransformerMixin, BaseEstimator):
    """A map to independent standard normals; subclasses know the joint law."""

    distribution: Any
    shrinkage: Any
    maps_: tuple[MarginalMap, ...]
    shrinkage_: float
    correlation_: FloatArray
    law_: ScoreLaw

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Learn the law of each column, and the joint law of the normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row. Weights that add up to less than the number of rows
            are scaled up to it.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, a law that is not continuous, or scores with a
            singular correlation.
        """
        values = validate_data(self, X, dtype=np.float64)
        weights = _frequencies(checked_sample_weight(sample_weight, values))
        owner, names = type(self).__name__, input_names(self)
        self._check_parameters(owner, values.shape[1])
        specifications = check_distribution(owner, self.distribution, values.shape[1])
        self._laws = learn_input_laws(specifications, values, weights)
        self.maps_ = tuple(
            marginal_map(owner, name, law, column, weights)
            for name, law, column in zip(names, self._laws, values.T, strict=True)
        )
        scores = self._to_normal(values)
        correlation = self._correlation(scores, weights)
        self.correlation_ = checked_correlation(owner, correlation, names)
        self.law_ = self._learn_law(scores[weights > 0], weights[weights > 0])
        return self

    def _check_parameters(self, owner: str, n_features: int) -> None:
        if isinstance(self.shrinkage, str):
            check_option(owner, "shrinkage", self.shrinkage, ("auto",))
        else:
            check_real(owner, "shrinkage", self.shrinkage, low=0, high=1, closed="both")

    def _correlation(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        standard = standardized(scores, weights)
        correlation = (standard * weights[:, np.newaxis]).T @ standard / weights.sum()
        self.shrinkage_ = (
            best_shrinkage(standard, weights, correlation)
            if isinstance(self.shrinkage, str)
            else float(self.shrinkage)
        )
        correlation *= 1.0 - self.shrinkage_
        np.fill_diagonal(correlation, 1.0)
        return correlation

    @abstractmethod
    def _learn_law(self, scores: FloatArray, weights: FloatArray) -> ScoreLaw:
        """Return the joint law of the scores."""

    def _to_normal(self, X: FloatArray) -> FloatArray:
        columns = zip(self.maps_, X.T, strict=True)
        return np.column_stack([one.to_normal(column) for one, column in columns])

    def from_scores(self, scores: FloatArray) -> FloatArray:
        """Map dependent normal scores to inputs, each column by its own law.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_features)
            Normal scores, as ``law_`` draws them.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            In the units of the inputs.
        """
        columns = zip(self.maps_, scores.T, strict=True)
        return np.column_stack([one.from_normal(column) for one, column in columns])

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map inputs to independent standard normal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        normals : ndarray of shape (n_samples, n_features)
            Under the fitted law, independent and standard normal.

        Warns
        -----
        InputOutsideSupportWarning
            For values outside the support of a named or frozen law; a normal or an
            empirical one goes on.
        """
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        for i, name in enumerate(input_names(self)):
            if isinstance(self.maps_[i], DistributionMap):  # others go on beyond data
                self._laws[i].warn_outside(values[:, i], name)
        return self.law_.to_independent(self._to_normal(values))

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Map independent standard normals back to inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Independent normals.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            With the fitted law. A column that was constant comes back constant.
        """
        check_is_fitted(self)
        normals = check_array(X, dtype=np.float64)
        if normals.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {normals.shape[1]} columns; expected {self.n_features_in_}, "
                "one per input."
            )
        return self.from_scores(self.law_.from_independent(normals))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> FloatArray:
        """Draw inputs from the fitted joint law.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Randomness of the draws.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            Dependent as in the data.
        """
        check_is_fitted(self)
        check_integer(f"{type(self).__name__}.sample", "n_samples", n_samples, low=1)
        noise = make_generator(random_state).normal(
            size=(int(n_samples), self.law_.n_noise)
        )
        empty = np.zeros((len(noise), len(self.maps_)))
        return self.from_scores(self.law_.redraw(empty, [], noise))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return names such as ``x0``, ``x1|x0``, ``x2|x0..x1``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the inputs; by default those seen in ``fit``, else
            ``x0, x1, ...``.

        Returns
        -------
        names : ndarray of str of shape (n_features,)
            After the bar stand the inputs whose part is taken out. Those of a
            symmetric root are the names of the inputs.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        if not self._is_sequential:
            return np.asarray(names, dtype=object)
        given = ["", f"|{names[0]}"] + [f"|{names[0]}..{name}" for name in names[1:]]
        joined = [name + before for name, before in zip(names, given, strict=False)]
        return np.asarray(joined, dtype=object)

    @property
    def _is_sequential(self) -> bool:
        """Whether each output takes out the inputs before it."""
        return True


def _frequencies(weights: FloatArray) -> FloatArray:  # shape: (n_samples,)
    """Scale normalised weights so that each row counts once on average."""
    count, total = np.count_nonzero(weights), weights.sum()
    return weights * (count / total) if total < count else weights
