"""save_model and load_model, which store fitted estimators in files that contain no code."""

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from opgd._model_file.container import pack, unpack
from opgd._model_file.encoding import InvalidContent, NotStorable, Writer
from opgd._model_file.pipelines import decode_model, encode_model, is_storable, list_supported
from opgd._utils.files import check_writable_path, write_atomically
from opgd._utils.versions import get_version
from opgd._utils.warnings import DataWarning, warn_caller

__all__ = ["ModelFileError", "load_model", "load_notes", "save_model"]


class ModelFileError(ValueError):
    """Raised for a file that is damaged, not a valid opgd model, or of a newer format version."""


def save_model(
    estimator: Any, path: Any, *, notes: dict[str, Any] | None = None, overwrite: bool = False
) -> None:
    """Save a fitted opgd estimator to a file.

    The file has the safetensors format and contains data but no code, so that `load_model` can read
    files from untrusted sources. The loaded estimator has the same fitted attributes, and its
    predictions are bitwise identical on the same machine with the same versions of NumPy and opgd.

    Saving is atomic: the file is encoded completely and decoded once as a check before it appears
    under its name.

    Parameters
    ----------
    estimator : fitted OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, \
one of `opgd.baselines`, or a Pipeline that ends in one
        Estimator to save. Steps of a Pipeline can be `TableEncoder` and scikit-learn's
        StandardScaler, MinMaxScaler, RobustScaler, PowerTransformer with ``standardize=False``,
        SimpleImputer, PCA, OneHotEncoder, OrdinalEncoder, ColumnTransformer, Pipeline, and
        FunctionTransformer without a function.
        Subclasses and other estimators cannot be saved, because their code cannot be stored.
    path : str or path-like
        Path of the file, usually with the suffix ``.safetensors``. Its directory must exist.
    notes : dict, default=None
        Information to store with the model, as data that JSON can represent: for example, how the
        samples were preprocessed. The model does not use it; `load_notes` returns it.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Warns
    -----
    DataWarning
        If a parameter cannot be stored, such as a splitter as `cv`, a callable as `scoring`, a
        RandomState as `random_state` or a fitted mixture as `init`. The loaded estimator has the
        default value instead, which affects only further calls of `fit` and
        `OPGDMixture.sample`. Callbacks, metadata requests and attributes that do not belong to the
        estimator are not saved either.

    Raises
    ------
    TypeError
        If the estimator or one of its fitted attributes cannot be stored, or if `notes` cannot be
        represented in JSON.
    ValueError
        If the fitted attributes do not form a valid model, for example if results are not finite.
    FileExistsError
        If the file exists and ``overwrite=False``.

    See Also
    --------
    load_model : Load an estimator from a file.
    load_notes : Load the notes from a file.

    Notes
    -----
    If `priors` is a pandas Series, it is stored and loaded as a dict.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.safetensors")
    ...     same = load_model(Path(folder) / "iris.safetensors")
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    name = type(estimator).__name__
    if not is_storable(estimator):
        if hasattr(estimator, "steps"):
            name += f" that ends in {type(estimator.steps[-1][1]).__name__}"
        raise TypeError(
            f"Cannot save an object of type {name}; supported types are {list_supported()}."
        )
    check_is_fitted(estimator)
    _check_notes(notes)
    path = check_writable_path(path, overwrite)
    writer, left_out = Writer(), dict[str, str]()
    try:
        model = {"opgd": get_version(), **encode_model(estimator, writer, left_out)}
        model |= {"left_out": left_out} | ({} if notes is None else {"notes": notes})
        data = pack(model, writer.tensors)
        decode_model(*unpack(BytesIO(data), len(data)))
    except NotStorable as error:
        raise TypeError(
            f"Cannot save this {name}: the file format cannot represent {error}."
        ) from None
    except InvalidContent as error:
        raise ValueError(f"Cannot save this {name}: {error}.") from None
    if left_out:
        warn_caller(
            f"Model files contain no code, so these are not saved: {', '.join(left_out.values())}. "
            "The loaded model has the default values instead, which matters if it is fitted again.",
            DataWarning,
        )
    write_atomically(path, data, overwrite)


def load_model(path: Any) -> Any:
    """Load a fitted estimator from a file written by `save_model`.

    No code from the file is executed: it contains numbers and strings, and names of estimators of
    opgd and of steps of a Pipeline, which are looked up in a fixed list. A checksum, and
    the types, shapes, ranges and relations of all fields, are verified before use, and the
    estimator must give finite results for samples near its center.

    Parameters
    ----------
    path : str or path-like
        Path of the file.

    Returns
    -------
    estimator : object
        The fitted estimator.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not an opgd model, does not contain a valid model, or has a newer
        format version. This is a ValueError.

    See Also
    --------
    save_model : Save an estimator to a file; with an example.
    """
    return load_model_and_notes(path)[0]


def load_notes(path: Any) -> dict[str, Any]:
    """Load the notes from a file written by `save_model`.

    The command ``opgd fit`` stores a description of the training (``"training"``) and the values
    for missing cells (``"preprocessing"``). Notes are not verified: trust them only if you trust
    the author of the file.

    Parameters
    ----------
    path : str or path-like
        Path of the file.

    Returns
    -------
    notes : dict
        The notes; empty if there are none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, save_model
    >>> from opgd.model_file import load_notes
    >>> model = OPGDClassifier().fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model", notes={"source": "Anderson's irises"})
    ...     load_notes(Path(folder) / "model")
    {'source': "Anderson's irises"}
    """
    return load_model_and_notes(path)[1]


def load_model_and_notes(path: Any) -> tuple[Any, dict[str, Any]]:
    """Load the estimator and the notes, reading the file once."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot load {str(path)!r}: it is a folder.")
    if not path.exists():
        raise FileNotFoundError(f"Cannot load {str(path)!r}: there is no such file.")
    if not path.is_file():  # reading from a pipe or a device may never end
        raise ModelFileError(f"Cannot load {str(path)!r}: it is not a regular file.")
    try:
        with path.open("rb") as stream:
            model, tensors = unpack(stream, os.fstat(stream.fileno()).st_size)
        notes = model.get("notes", {})
        if not isinstance(notes, dict):
            raise InvalidContent("its notes are not a JSON object")
        return decode_model(model, tensors), notes
    except InvalidContent as error:
        # the message may quote long strings from the file
        raise ModelFileError(f"Cannot load {str(path)!r}: {str(error)[:300]}.") from None
    except MemoryError:
        raise ModelFileError(f"Cannot load {str(path)!r}: not enough memory.") from None


def _check_notes(notes: Any) -> None:
    """Raise TypeError unless JSON represents the notes exactly."""
    try:
        same = notes is None or json.loads(json.dumps(notes, allow_nan=False)) == notes
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same or not isinstance(notes, dict | None):
        raise TypeError(
            "notes must be a dict that JSON can represent, with str keys and finite numbers."
        )
