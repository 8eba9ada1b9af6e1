"""What loading a file, and predicting with the model, leads to: for processes with limits.

    python outcome.py megabytes seconds file...

prints one JSON object per file. Only public names are used, so that earlier versions can be
compared.
"""

import json
import os
import sys
import time
import warnings

import numpy as np

try:
    import resource
except ImportError:  # on Windows, where nothing is limited and memory is not measured
    resource = None

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


def read_peak_memory():
    """Return the largest memory of this process so far, in kilobytes; on Windows, zero."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if resource else 0


def describe_load(path):
    """Return what happens, the seconds that loading took, and the increase in peak memory (MB)."""
    from opgd.model_file import ModelFileError, load_model

    before = read_peak_memory()
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
    megabytes = (read_peak_memory() - before) / 1024
    if model is not None:
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            result += "; " + describe_answers(model, np.ones((2, model.n_features_in_)))
    return {"result": result, "seconds": round(seconds, 2), "megabytes": round(megabytes, 1)}


def print_load(path, megabytes, seconds):
    """Print the outcome of a file from a process of its own; imports are done once, before."""
    process = os.fork()
    if not process:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.write(sys.stdout.fileno(), f"{json.dumps(describe_load(path))}\n".encode())
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status:
        found = {"result": f"ended with {status}", "seconds": seconds, "megabytes": megabytes}
        os.write(sys.stdout.fileno(), f"{json.dumps(found)}\n".encode())


if __name__ == "__main__":
    import opgd.model_file  # noqa: F401

    for file in sys.argv[3:]:
        print_load(file, int(sys.argv[1]), int(sys.argv[2]))
