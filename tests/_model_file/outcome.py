"""What loading a file, and predicting with the model, leads to: for a process with limits.

    python outcome.py file [megabytes]

prints one JSON object. Only public names are used, so that earlier versions can be compared.
"""

import json
import resource
import sys
import time
import warnings

import numpy as np

METHODS = ["predict", "predict_proba", "transform", "typicality", "score_samples"]


def describe_answers(model, rows):
    """Return "finite", or what the first method without finite results does."""
    for name in METHODS:
        if not hasattr(model, name):
            continue
        try:
            values = np.asarray(getattr(model, name)(rows))
        except Exception as error:
            return f"{name} raises {type(error).__name__}: {str(error)[:100]}"
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            return f"{name} is not finite"
    return "finite"


def describe_load(path):
    """Return what happens, the seconds that loading took, and the increase in peak memory (MB)."""
    from opgd.model_file import ModelFileError, load_model

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model = None
    try:
        model = load_model(path)
        result = "loaded"
    except ModelFileError as error:
        result = f"refused: {error}"
    except BaseException as error:
        result = f"raises {type(error).__name__}"
    seconds = time.process_time() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if model is not None:
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            result += "; " + describe_answers(model, np.ones((2, model.n_features_in_)))
    return {"result": result, "seconds": round(seconds, 2), "megabytes": round(megabytes, 1)}


if __name__ == "__main__":
    limit = int(sys.argv[2]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.stdout.write(json.dumps(describe_load(sys.argv[1])))
