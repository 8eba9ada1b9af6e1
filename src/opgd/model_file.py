"""save_model and load_model, which store fitted estimators in files that contain no code.

A model file is a zip archive, and a file of skops with two additions. It has these members, none of
them compressed:

- ``opgd.json``: the format, the versions that wrote the file, the names of the estimator and of the
  features, and the user's notes;
- ``schema.json``: the objects, as skops describes them;
- ``1.npy``, ``2.npy``, ...: the arrays, each of them once.

The comment of the archive is the SHA-256 of everything before it. It is read first, so that a
damaged file is refused as a whole; it is no protection from someone who can compute it again. What
a forged file can do is bounded by the checks of `_decode`: only the types in `TRUSTED`, and those
that skops trusts, are created; and the memory to load a file is proportional to its size, since
members are not compressed and no array or object is read twice.
"""

import copy
import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from opgd._utils.files import check_writable_path, write_atomically
from opgd._utils.versions import get_version

__all__ = ["load_model", "load_notes", "save_model"]

FORMAT = 5
"""Number of the format; 1 to 4 were those of opgd 0.1 and 0.2."""
N_DIGITS = 64
"""Length of the checksum."""
TRUSTED = [
    # estimators, and what their fitted attributes consist of
    "opgd.baselines.cpc.CommonPrincipalComponents",
    "opgd.baselines.lda.ReducedRankLDA",
    "opgd.baselines.mda.MixtureDiscriminantAnalysis",
    "opgd.baselines.rda.RegularizedDiscriminantAnalysis",
    "opgd.baselines.sliced_variance.SlicedAverageVariance",
    "opgd.classifier.OPGDClassifier",
    "opgd.classifier_cv.OPGDClassifierCV",
    "opgd.decisions.CostSensitiveClassifier",
    "opgd.mixture.OPGDMixture",
    "opgd.semi_supervised.OPGDSemiSupervised",
    "opgd.core.coordinates.Coordinates",
    "opgd.core.fitted.FittedProjection",
    "opgd.core.gaussians.DiagonalForm",
    "opgd.core.gaussians.FullForm",
    "opgd.core.gaussians.ProjectedGaussians",
    "opgd.core.held_out.HeldOut",
    "opgd.core.marginal.Completion",
    "opgd.model_file.LabelDict",
    "opgd.table_encoder.TableEncoder",
    # parameters `cv`
    "sklearn.model_selection._split.GroupKFold",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.LeaveOneOut",
    "sklearn.model_selection._split.RepeatedKFold",
    "sklearn.model_selection._split.RepeatedStratifiedKFold",
    "sklearn.model_selection._split.ShuffleSplit",
    "sklearn.model_selection._split.StratifiedGroupKFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.model_selection._split.StratifiedShuffleSplit",
    # ColumnTransformer
    "builtins.object",
    "numpy.dtype",
    "sklearn.compose._column_transformer.make_column_selector",
]
"""Types that a file may contain besides those that skops trusts: scikit-learn's estimators except
trees, NumPy's arrays, scalars and functions of numbers, and Python's containers.

A file decides with which arguments and attributes they are created. Add only classes for which this
is harmless: no functions, and no class that opens files, imports, calls its arguments or allocates
memory by a number.
"""
KINDS = [
    *["DTypeNode", "DictNode", "FunctionNode", "JsonNode", "ListNode", "MaskedArrayNode"],
    *["ConstructorFromReduceNode", "NdArrayNode", "ObjectNode", "RandomStateNode", "SetNode"],
    *["SliceNode", "TupleNode", "TypeNode"],
]
"""What skops may do to rebuild an object. Not among them are methods and partial functions, random
generators and sparse matrices, whose memory is not bounded by the size of the file."""
NOT_STORED = ("_metadata_request", "_skl_callbacks")
"""Attributes of scikit-learn's that matter only in a fit."""


class InvalidContent(ValueError):  # noqa: N818
    """The reason why a file is refused, or an estimator is not saved."""


class LabelDict:
    """A dict whose keys are not all strings, such as costs of pairs of labels.

    skops stores keys as JSON, which has strings only, so it gets lists of keys and values.
    Called by skops with these lists, the class returns the dict.
    """

    lists: tuple[list[Any], list[Any]]

    def __new__(cls, keys: Any, values: Any) -> Any:
        return dict(zip(keys, values, strict=True))

    def __reduce__(self) -> Any:
        return LabelDict, self.lists


def save_model(
    model: Any, path: Any, *, notes: dict[str, Any] | None = None, overwrite: bool = False
) -> None:
    """Save a fitted opgd estimator to a file.

    The file contains data but no code, so that `load_model` can read files from untrusted sources.
    The loaded estimator has the same parameters and fitted attributes, and its predictions are
    bitwise identical on the same machine with the same versions of NumPy, scikit-learn and opgd.

    Saving is atomic: the file is loaded once as a check before it appears under its name.

    Parameters
    ----------
    model : fitted estimator of opgd, or a Pipeline that contains one
        Estimator to save. Other steps of a Pipeline can be `TableEncoder` and most estimators of
        scikit-learn. Subclasses, functions and estimators of other libraries cannot be saved,
        because their code cannot be stored.
    path : str or path-like
        Path of the file, usually with the suffix ``.opgd``. Its directory must exist.
    notes : dict, default=None
        Information to store with the model, as data that JSON can represent: for example, how the
        samples were preprocessed. The model does not use it; `load_notes` returns it.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Raises
    ------
    TypeError
        If the estimator is not one of those above, if it contains an object that cannot be stored,
        or if `notes` cannot be represented in JSON.
    NotFittedError
        If the estimator is not fitted.
    FileExistsError
        If the file exists and ``overwrite=False``.

    See Also
    --------
    load_model : Load an estimator from a file.
    load_notes : Load the notes from a file.

    Notes
    -----
    A range is loaded as a list. Callbacks and metadata requests are not saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.opgd")
    ...     same = load_model(Path(folder) / "iris.opgd")
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    skops, name = _import_skops(), type(model).__name__
    if not isinstance(model, BaseEstimator) or not any(_find_ours(model)):
        raise TypeError(
            f"Cannot save an object of type {name}. Expected a fitted estimator of opgd, or a "
            "Pipeline that contains one."
        )
    check_is_fitted(model)
    if notes is not None and not _is_json(notes):
        raise TypeError(
            "notes must be a dict that JSON can represent, with str keys and finite numbers."
        )
    path = check_writable_path(path, overwrite)
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    facts = {
        "format": FORMAT,
        "versions": {"opgd": get_version(), "scikit-learn": sklearn.__version__, **versions},
        "estimator": name,
        "feature_names": [str(feature) for feature in getattr(model, "feature_names_in_", [])],
        "notes": notes or {},
    }
    try:
        data = _encode(skops, model, facts)
        if _encode(skops, _decode(skops, data), facts) != data:
            raise InvalidContent("an attribute would be loaded with another value or type")
    except Exception as error:  # skops passes on what any object raises
        reason = str(error)[:300] or type(error).__name__
        raise TypeError(
            f"Cannot save this {name}: {reason}. (Before saving, parameters can be replaced by "
            "set_params.)"
        ) from error
    write_atomically(path, data, overwrite)


def load_model(path: Any) -> Any:
    """Load a fitted estimator from a file written by `save_model`.

    No code from the file is executed: it contains numbers and strings, and names of classes, which
    must be in a fixed list. A checksum is verified first, and the estimator must give finite
    results for a few samples near the means of its classes.

    Parameters
    ----------
    path : str or path-like
        Path of the file.

    Returns
    -------
    model : object
        The fitted estimator.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model file, was written in another format, contains a type
        that is not in the list, or does not contain a valid model.

    See Also
    --------
    save_model : Save an estimator to a file; with an example.

    Notes
    -----
    scikit-learn warns if another version of it has written the other steps of a Pipeline.
    """
    skops = _import_skops()
    data = _read(path)
    with _explain(path):
        model = _decode(skops, data)
        _check_results(model)
    return model


def load_notes(path: Any) -> dict[str, Any]:
    """Load the notes from a file written by `save_model`, without loading the model.

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
    data = _read(path)
    with _explain(path):
        notes = json.loads(_open(data).read("opgd.json"))["notes"]
        if not isinstance(notes, dict):
            raise InvalidContent("its notes are not a JSON object")
    return notes


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "Model files need skops: the extra 'model' is missing; see Installation.", name="skops"
        ) from None
    return skops.io


def _is_json(notes: Any) -> bool:
    try:
        return isinstance(notes, dict) and json.loads(json.dumps(notes, allow_nan=False)) == notes
    except (TypeError, ValueError, RecursionError):
        return False


def _find_ours(value: Any) -> Iterator[BaseEstimator]:
    """Yield the estimators of opgd in a model, itself included."""
    if isinstance(value, BaseEstimator):
        if type(value).__module__.startswith("opgd."):
            yield value
        value = vars(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _find_ours(item)


def _walk(state: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a description of skops, in order."""
    stack = [state]
    while stack:
        state = stack.pop()
        if isinstance(state, dict):
            if isinstance(state.get("__loader__"), str):
                yield state
            state = list(state.values())
        if isinstance(state, list):
            stack.extend(reversed(state))


# writing


def _prepare(value: Any) -> Any:
    """Return a copy of estimators and containers in which skops can store everything.

    Arrays are not copied.
    """
    if hasattr(value, "__dask_graph__"):  # results for the samples of a fit with Dask
        value = value.compute()
    if isinstance(value, BaseEstimator):
        same = object.__new__(type(value))
        attributes = {key: item for key, item in vars(value).items() if key not in NOT_STORED}
        vars(same).update(_prepare(attributes))
        return same
    if type(value) is dict:
        items = {key: _prepare(item) for key, item in value.items()}
        if all(type(key) is str for key in items):
            return items
        stored = object.__new__(LabelDict)
        stored.lists = [_prepare(key) for key in items], list(items.values())
        return stored
    if isinstance(value, np.ndarray) and value.dtype == object:  # cells of cv_results_
        same = value.copy()
        cells = np.asarray(same)  # without the mask, if there is one
        for index in np.ndindex(cells.shape):
            cells[index] = _prepare(cells[index])
        return same
    if type(value) in (list, range):
        return [_prepare(item) for item in value]
    return tuple(map(_prepare, value)) if type(value) is tuple else value


def _encode(skops: Any, model: Any, facts: dict[str, Any]) -> bytes:
    """Return the bytes of a model file, the same for the same model."""
    stored = ZipFile(BytesIO(skops.dumps(_prepare(model))))
    schema = json.loads(stored.read("schema.json"))
    numbers: dict[str, int] = {}
    for node in _walk(schema):
        # skops numbers objects by their addresses; only arrays may occur more than once
        node.pop("__id__", None)
        if node["__loader__"] == "SetNode":
            node["content"].sort(key=json.dumps)
        if "file" in node:
            number = numbers.setdefault(node["file"], len(numbers) + 1)
            node |= {"__id__": number, "file": f"{number}.npy"}
    members = {
        "opgd.json": json.dumps(facts, indent=1).encode(),
        "schema.json": json.dumps(schema, separators=(",", ":")).encode(),
    }
    members |= {f"{number}.npy": stored.read(name) for name, number in numbers.items()}
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as archive:
        archive.comment = b"0" * N_DIGITS
        for name, content in members.items():
            member = ZipInfo(name)  # without the time
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)
    data = file.getvalue()[:-N_DIGITS]
    return data + hashlib.sha256(data).hexdigest().encode()


# reading


@contextmanager
def _explain(path: Any) -> Iterator[None]:
    """Turn whatever a file causes into a ValueError of one sentence."""
    try:
        yield
    except Exception as error:
        reason = "its contents do not fit together"
        if isinstance(error, InvalidContent):
            reason = str(error)[:300]  # it may quote long strings from the file
        elif isinstance(error, MemoryError):
            reason = "not enough memory"
        raise ValueError(f"Cannot load {str(path)!r}: {reason}.") from error


def _read(path: Any) -> bytes:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot load {str(path)!r}: it is a folder.")
    if not path.exists():
        raise FileNotFoundError(f"Cannot load {str(path)!r}: there is no such file.")
    if not path.is_file():  # reading from a pipe or a device may never end
        raise ValueError(f"Cannot load {str(path)!r}: it is not a regular file.")
    return path.read_bytes()


def _open(data: bytes) -> ZipFile:
    """Return the archive, if the checksum and the format are right."""
    if data[:2] != b"PK" and b"opgd model" in data:
        raise InvalidContent(
            "opgd 0.1 or 0.2 has written it, whose files this version does not read; fit the model "
            "again"
        )
    if hashlib.sha256(memoryview(data)[:-N_DIGITS]).hexdigest().encode() != data[-N_DIGITS:]:
        raise InvalidContent(
            "it is not a model file, as opgd fit and save_model write it, or it is damaged"
        )
    archive = ZipFile(BytesIO(data))
    members = archive.infolist()
    if any(member.compress_type != ZIP_STORED for member in members):
        raise InvalidContent("its members are compressed")
    if sum(member.file_size for member in members) > len(data):
        raise InvalidContent("its members are larger than the file")
    facts = json.loads(archive.read("opgd.json"))
    if facts["format"] != FORMAT:
        raise InvalidContent(
            f"opgd {facts['versions']['opgd']} has written it in format {facts['format']}; this "
            f"version reads format {FORMAT}"
        )
    return archive


def _decode(skops: Any, data: bytes) -> Any:
    """Return the model, after checks of everything that the file asks skops to do."""
    archive = _open(data)
    arrays: dict[int, str] = {}
    for node in _walk(json.loads(archive.read("schema.json"))):
        if node["__loader__"] not in KINDS:
            raise InvalidContent(
                f"it contains {node['__module__']}.{node['__class__']} as a {node['__loader__']}, "
                "which model files must not contain"
            )
        if "file" not in node:
            if "__id__" in node:
                raise InvalidContent("it refers to an object more than once")
            continue
        number = node["__id__"]
        if type(number) is not int or number < 1 or node["file"] != f"{number}.npy":
            raise InvalidContent("the numbers of its arrays are wrong")
        if number not in arrays:
            arrays[number] = _check_array(archive.read(node["file"]))
        if node["__class__"] not in ("ndarray", arrays[number]):
            raise InvalidContent("an array is not of the type that is stated")
    try:
        model = skops.loads(data, trusted=TRUSTED)
    except skops.exceptions.UntrustedTypesFoundException:
        names = sorted(set(skops.get_untrusted_types(data=data)) - set(TRUSTED))
        raise InvalidContent(
            f"it contains {', '.join(names)}, which model files must not contain"
        ) from None
    if not isinstance(model, BaseEstimator) or not any(_find_ours(model)):
        raise InvalidContent("it contains no estimator of opgd")
    return model


def _check_array(content: bytes) -> str:
    """Return the name of the type of an array in NumPy's format, whose size must be as stated."""
    stream = BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject:
        raise InvalidContent("an array contains pickled objects")
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise InvalidContent("the shape of an array does not match its size")
    name: str = dtype.type.__name__
    return name


def _check_results(model: Any) -> None:
    """Raise InvalidContent unless the estimators give finite results near the means of classes."""
    for estimator in _find_ours(model):
        if not hasattr(estimator, "means_"):  # an encoder, or a parameter that is not fitted
            continue
        probe = copy.copy(estimator)
        for name in ("feature_names_in_", "_sklearn_output_config"):  # the samples are an array
            vars(probe).pop(name, None)
        samples = np.vstack([probe.means_[:3], np.mean(probe.means_, axis=0)])
        for method in ("predict_proba", "transform"):
            if hasattr(probe, method) and not np.all(np.isfinite(getattr(probe, method)(samples))):
                raise InvalidContent(f"the results of {method} are not finite")
