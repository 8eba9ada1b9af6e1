"""save_model and load_model: fitted estimators in files without code."""

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from opgd._model_file.container import pack, unpack
from opgd._model_file.encoding import NotStorable, Unfit, Writer
from opgd._model_file.schema import ESTIMATORS
from opgd._model_file.state import described, loaded
from opgd._utils.files import free_path, write_whole
from opgd._utils.versions import our_version
from opgd._utils.warnings import DataWarning, warn_caller

__all__ = ["ModelFileError", "load_model", "load_notes", "save_model"]


class ModelFileError(ValueError):
    """A file that is damaged, is no model of this package, or was made by a later version."""


def save_model(
    estimator: Any, path: Any, *, notes: dict[str, Any] | None = None, overwrite: bool = False
) -> None:
    """Write a fitted estimator of this package to a file that holds data only.

    The file is in the safetensors format and needs no trust: `load_model` runs nothing that is in
    it. A loaded model gives the same answers bit by bit (with the same versions of NumPy and of
    this package, on the same machine), and has the same fitted attributes.

    The file appears under its name when it is complete and has been read back, never before.

    Parameters
    ----------
    estimator : fitted OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, or \
one of `opgd.baselines`
        A subclass, a pipeline or an estimator of others is refused: its code cannot be stored.
    path : str or path-like
        Where to write, usually with the ending ``.safetensors``. The folder must exist.
    notes : dict, default=None
        Plain data (what JSON has) to be kept beside the model, which does not use it: how rows
        were prepared, on what it was trained. `load_notes` reads it.
    overwrite : bool, default=False
        Whether to replace a file that is there.

    Warns
    -----
    DataWarning
        When a parameter is no plain data: a splitter as `cv`, a callable as `scoring`, a
        RandomState as `random_state`, a fitted mixture as `init`. The loaded model has the default
        instead, which matters when it is fitted again (and to `OPGDMixture.sample`, which draws by
        `random_state`). A Series of `priors` comes back as a dict. Callbacks, metadata requests and
        attributes that are not ours are left out too.

    See Also
    --------
    load_model : The way back.

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
    if name not in ESTIMATORS or type(estimator) is not ESTIMATORS[name].estimator:
        raise TypeError(
            f"Cannot save an object of type {name}; these can be saved: {', '.join(ESTIMATORS)}."
        )
    check_is_fitted(estimator)
    _check_notes(notes)
    path = free_path(path, overwrite)
    writer, left_out = Writer(), dict[str, str]()
    try:
        model = {"opgd": our_version(), **described(estimator, writer, "", left_out)}
        model |= {"left_out": left_out} | ({} if notes is None else {"notes": notes})
        data = pack(model, writer.tensors)
        loaded(*unpack(BytesIO(data), len(data)))
    except NotStorable as error:
        raise TypeError(f"Cannot save this {name}: {error} cannot be stored.") from None
    except Unfit as error:
        raise ValueError(f"Cannot save this {name}: {error}.") from None
    if left_out:
        warn_caller(
            f"Model files hold data only, so these are left out: {', '.join(left_out.values())}. "
            "The loaded model has defaults instead, which matters when it is fitted again.",
            DataWarning,
        )
    write_whole(path, data, overwrite)


def load_model(path: Any) -> Any:
    """Read a fitted estimator from a file of `save_model`.

    Nothing in the file is run: it holds numbers and words, and says by one of our names which
    estimator they belong to. Sizes, types, shapes and a checksum are verified before use.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator : the fitted estimator

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, is no model of this package, or was made by a later
        version.

    See Also
    --------
    save_model : The way there, with an example.
    """
    return load_model_and_notes(path)[0]


def load_notes(path: Any) -> dict[str, Any]:
    """Read the notes that a file of `save_model` keeps beside its model.

    The command ``opgd fit`` notes its training (``"training"``) and the values for missing cells
    (``"preprocessing"``). Notes are as trustworthy as whoever wrote the file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    notes : dict
        Plain data; empty if there are none.

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
    """Both, from one reading of the file."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot load {str(path)!r}: it is a folder.")
    if not path.exists():
        raise FileNotFoundError(f"Cannot load {str(path)!r}: there is no such file.")
    if not path.is_file():  # a pipe would wait for ever, a device never end
        raise ModelFileError(f"Cannot load {str(path)!r}: it is not a regular file.")
    try:
        with path.open("rb") as stream:
            model, tensors = unpack(stream, os.fstat(stream.fileno()).st_size)
        notes = model.get("notes", {})
        if not isinstance(notes, dict):
            raise Unfit("its notes are none")
        return loaded(model, tensors), notes
    except Unfit as error:
        # what the file says of itself may be long
        raise ModelFileError(f"Cannot load {str(path)!r}: {str(error)[:300]}.") from None
    except MemoryError:
        raise ModelFileError(
            f"Cannot load {str(path)!r}: there is not the memory for it."
        ) from None


def _check_notes(notes: Any) -> None:
    """Refuse what would not come back as it is."""
    try:
        same = notes is None or json.loads(json.dumps(notes, allow_nan=False)) == notes
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same or not isinstance(notes, dict | None):
        raise TypeError("notes must be a dict of plain data: what JSON can hold.")
