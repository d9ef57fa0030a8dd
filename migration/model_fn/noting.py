"""The model_fn as the Estimator is given it: any signature, and the spec that it returned kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["NotingModelFn", "noting"]


class NotingModelFn:
    """Calls a model_fn with the arguments that it takes, and notes what it returned.

    Args:
      model_fn: a function of features, and of any of labels, mode, params and config.
      params: what the Estimator will hand over, None for nothing.

    Raises:
      OptionError: the function does not take what the Estimator gives, or asks for more.
    """

    def __init__(self, model_fn: Callable[..., Any], params: Mapping[str, Any] | None) -> None:
        self.spec: Any = None
        self._model_fn = model_fn
        self._taken = _taken(model_fn, params)

    def __call__(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        """Returns the EstimatorSpec of the model_fn; the Estimator calls this."""
        return self._call(features, labels=labels, mode=mode, config=config, params={})

    def _call(self, features: Any, *, labels: Any, **given: Any) -> Any:
        if labels is not None and "labels" not in self._taken:
            raise OptionError(
                "The data has labels, but model_fn has no parameter 'labels'. Add it, or give"
                " features alone."
            )
        given["labels"] = labels
        kwargs = {name: value for name, value in given.items() if name in self._taken}
        self.spec = self._model_fn(features, **kwargs)
        return self.spec


class NotingModelFnOfParams(NotingModelFn):
    """The same for an Estimator that has params: it looks at the signature of what it calls."""

    def __call__(self, features: Any, labels: Any, mode: str, config: Any, params: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] (the Estimator passes params by name)
        """Returns the EstimatorSpec of the model_fn; the Estimator calls this."""
        return self._call(features, labels=labels, mode=mode, config=config, params=params)


def noting(model_fn: Callable[..., Any], params: Mapping[str, Any] | None) -> NotingModelFn:
    """Returns `model_fn` as the Estimator shall be given it; arguments as of `NotingModelFn`."""
    kind = NotingModelFn if params is None else NotingModelFnOfParams
    return kind(model_fn, params)


def _taken(model_fn: Callable[..., Any], params: Mapping[str, Any] | None) -> set[str]:
    if not callable(model_fn):
        raise OptionError(f"model_fn is no function. Received: {model_fn!r}.")
    parameters = inspect.signature(model_fn).parameters
    given = {"features", "labels", "mode", "params", "config"}
    for name, parameter in parameters.items():
        plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if plain and name not in given and parameter.default is parameter.empty:
            raise OptionError(
                f"model_fn asks for {name!r}, which nobody gives. Expected: among features, labels,"
                " mode, params and config. Bind other arguments with functools.partial."
            )
    taken = given & set(parameters)
    if "features" not in taken:
        raise OptionError("model_fn has no parameter 'features'. Expected: as its first one.")
    if params is not None and "params" not in taken:
        raise OptionError(
            f"params was given, but model_fn has no parameter 'params'. Received: {params!r}."
        )
    return taken
