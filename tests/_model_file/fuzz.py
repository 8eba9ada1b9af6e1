"""Load mutated files, and judge the results, the time and the memory."""

import time
import tracemalloc
import warnings
from dataclasses import dataclass

import numpy as np

from opgd.model_file import ModelFileError, load_model
from tests._model_file.outcome import METHODS
from tests.golden.write import training_rows

MAX_SECONDS, MAX_SECONDS_PER_MB = 2.0, 2.0
MAX_MEGABYTES, MAX_MEGABYTES_PER_MB = 50.0, 20.0
SAMPLES = training_rows()[0].to_numpy()


@dataclass
class Verdict:
    """What loading a file led to; `finding` is None if it is as it must be."""

    finding: str | None
    accepted: bool
    size: float  # in MB
    seconds: float
    megabytes: float = 0.0


def judge(data, path, *, memory=False):
    """Load a file, and predict if it is accepted."""
    path.write_bytes(data)
    size = len(data) / 2**20
    start = time.process_time()
    model, finding = _load(path)
    seconds = time.process_time() - start
    verdict = Verdict(finding, model is not None, size, seconds)
    if memory:
        tracemalloc.start()
        _load(path)
        verdict.megabytes = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    if model is not None:
        verdict.finding = find_invalid_result(model)
    if seconds > MAX_SECONDS + MAX_SECONDS_PER_MB * size:
        verdict.finding = f"{seconds:.1f} s for {size:.2f} MB"
    if verdict.megabytes > MAX_MEGABYTES + MAX_MEGABYTES_PER_MB * size:
        verdict.finding = f"{verdict.megabytes:.0f} MB for {size:.2f} MB"
    return verdict


def _load(path):
    """Return the model if there is one, and what is wrong with the error if there is another."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return load_model(path), None
    except ModelFileError as error:
        sentence = str(error)
        fine = sentence.startswith("Cannot load") and sentence.endswith(".")
        return None, None if fine and "\n" not in sentence else f"message {sentence!r}"
    except Exception as error:
        return None, f"load_model raises {type(error).__name__}: {str(error)[:150]}"


def find_invalid_result(model):
    """Return what a loaded model does wrong for the samples of golden files, or None."""
    p = model.n_features_in_
    samples = SAMPLES if p == SAMPLES.shape[1] else np.ones((3, p))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            repr(model)
            for name in METHODS:
                if hasattr(model, name):
                    values = np.asarray(getattr(model, name)(samples))
                    if values.shape[0] != len(samples):
                        return f"{name} has {len(values)} results for {len(samples)} samples"
                    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
                        return f"{name} is not finite"
            if hasattr(model, "sample"):
                model.sample(3)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:150]}"
    return None
