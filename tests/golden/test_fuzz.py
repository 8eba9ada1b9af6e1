"""Damaged and forged model files, by the thousand; files of this format that must stay readable."""

import io
import json
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest

from opgd import load_model
from opgd._model_file import container
from opgd._model_file.schema import ESTIMATORS
from opgd.model_file import ModelFileError, load_notes, save_model
from tests.fuzzing import cases, damaged_bytes, damaged_json
from tests.golden.write import DATA, answers, training_rows

pytest.importorskip("safetensors")
GOLDEN = sorted(DATA.glob("*.opgd"))
NEWEST = {path.name.partition(".")[0]: path for path in GOLDEN}.values()
BYTES = [path.read_bytes() for path in GOLDEN]


# files of earlier versions


def test_there_is_a_file_of_every_estimator():
    kinds = {path.name.partition(".")[0] for path in GOLDEN}
    assert kinds == set(ESTIMATORS), "python -m tests.golden.write writes those that lack"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_old_files_are_read_and_answer_as_they_did(path):
    model = load_model(path)
    assert type(model).__name__ == path.name.partition(".")[0]
    assert model.feature_names_in_.tolist() == list(training_rows()[0].columns)
    expected, found = json.loads(path.with_suffix(".json").read_text("utf-8")), answers(model)
    assert set(found) == set(expected)
    for method, values in expected.items():
        if method == "predict":
            assert found[method] == values
        else:  # libraries of linear algebra differ in the last digits
            np.testing.assert_allclose(found[method], values, rtol=1e-9, atol=1e-12)


# other ways to keep a model


@pytest.mark.parametrize("path", NEWEST, ids=lambda path: path.stem)
def test_pickle_joblib_and_skops_keep_answers(path, tmp_path):
    skops = pytest.importorskip("skops.io")
    model = load_model(path)
    expected = answers(model)
    save_model(model, tmp_path / "own")  # in the golden file is the version that wrote it
    joblib.dump(model, tmp_path / "model.joblib")
    stored = skops.dumps(model)
    types = skops.get_untrusted_types(data=stored)
    assert all(own.startswith("opgd.") for own in types), "nothing but our classes needs trust"
    copies = {
        "pickle": pickle.loads(pickle.dumps(model)),
        "joblib": joblib.load(tmp_path / "model.joblib"),
        "skops": skops.loads(stored, trusted=types),
    }
    for how, copy in copies.items():
        assert answers(copy) == expected, how
        save_model(copy, tmp_path / how)
        assert (tmp_path / how).read_bytes() == (tmp_path / "own").read_bytes(), how


# damage


def header_of(data):
    length = int.from_bytes(data[:8], "little")
    return data[8 : 8 + length].decode(), data[8 + length :]


def with_header(text, rest):
    header = text.encode("utf-8", "surrogatepass")
    return len(header).to_bytes(8, "little") + header + rest


def damaged_header(rng, data):
    """Lengths agree; what the header says of the tensors, or of the model, is changed."""
    text, rest = header_of(data)
    header = json.loads(text)
    if rng.random() < 0.5:
        return with_header(json.dumps(damaged_json(rng, header)), rest)
    description = json.loads(header["__metadata__"]["opgd"])
    written = json.dumps(damaged_json(rng, description))
    if rng.random() < 0.3:
        written = damaged_bytes(rng, written.encode()).decode("utf-8", "replace")
    header["__metadata__"]["opgd"] = written
    return with_header(json.dumps(header), rest)


def forged(rng, data):
    """Another model with a checksum that is right."""
    model, tensors = container.unpack(io.BytesIO(data), len(data))
    if rng.random() < 0.8:
        model = damaged_json(rng, model)
    if rng.random() < 0.4:
        name = rng.choice(sorted(tensors))
        tensors[name] = np.ascontiguousarray(_other_tensor(rng, tensors[name]))
    model = {"format": container.FORMAT, "version": container.VERSION, **model}
    checksum = container._checksum(model, tensors)
    text = json.dumps(model | {"sha256": checksum})
    return container._safetensors().save(tensors, metadata={container.KEY: text})


def _other_tensor(rng, tensor):
    with np.errstate(all="ignore"):
        changes = [
            lambda: tensor[1:] if tensor.ndim else tensor,
            lambda: tensor.T,
            lambda: tensor[None],
            lambda: tensor.astype(rng.choice(["f4", "f8", "i8", "?"])),
            lambda: np.roll(tensor, 1),
            lambda: tensor * rng.choice([0, -1, 2, 1e300]),
            lambda: tensor + np.array(rng.choice([np.nan, np.inf, 1])),
            lambda: np.full_like(tensor, rng.choice([0, 1, 5])),
            lambda: np.concatenate([tensor.ravel()] * 2),
        ]
        changed = rng.choice(changes)()
    return changed.astype(changed.dtype if changed.dtype.str in ("<f4", "<i8", "|b1") else "<f8")


DAMAGE = {"bytes": damaged_bytes, "header": damaged_header, "forged": forged}


def assert_read_or_refused(kind, generators, folder):
    """Whatever a file holds, it is a model or a ModelFileError of one sentence."""
    accepted, count = 0, 0
    path = folder / "hostile"
    for count, rng in enumerate(generators, 1):
        try:
            data = DAMAGE[kind](rng, rng.choice(BYTES))
        except (ValueError, RecursionError, TypeError, AttributeError):
            continue  # a forger could not have written it either
        path.write_bytes(data)
        try:
            model = load_model(path)
            load_notes(path)
        except ModelFileError as error:
            sentence = str(error)
            assert sentence.startswith("Cannot load")
            assert "\n" not in sentence
        except BaseException as error:
            error.add_note(f"{kind}, case {count}; the file is {path}")
            raise
        else:
            accepted += 1
            assert type(model).__name__ in ESTIMATORS
            assert repr(model)
    return count, accepted


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_refused_in_words(kind, tmp_path):
    count, accepted = assert_read_or_refused(kind, cases(kind, 200), tmp_path)
    assert accepted < count / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_refused_in_words_for_long(kind, tmp_path):
    count, accepted = assert_read_or_refused(kind, cases(f"long {kind}"), tmp_path)
    print(f"{kind}: {count} files, {accepted} of them models")  # noqa: T201


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
from opgd.model_file import ModelFileError, load_model
try:
    load_model("huge.opgd")
except ModelFileError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_tensors_larger_than_memory_are_refused_in_words(tmp_path):
    text, _ = header_of(BYTES[0])
    n_bytes = 2**36
    metadata = json.loads(text)["__metadata__"]
    tensor = {"dtype": "F64", "shape": [n_bytes // 8], "data_offsets": [0, n_bytes]}
    data = with_header(json.dumps({"__metadata__": metadata, "large": tensor}), b"")
    with (tmp_path / "huge.opgd").open("wb") as stream:  # sparse: takes no room
        stream.write(data)
        stream.truncate(len(data) + n_bytes)
    call = [sys.executable, "-c", LIMITED]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "Cannot load 'huge.opgd': not enough memory.\n", done.stderr


def deep(levels):
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    "description",
    [
        pytest.param(lambda own: own.replace('"version":1', '"version":1,"x":1e999'), id="1e999"),
        *[
            pytest.param(
                lambda own, n=n: own.replace('"version":1', f'"version":1,"x":{deep(n)}'), id=f"{n}"
            )
            for n in (100, 700, 850, 900, 950, 990)
        ],
        pytest.param(
            lambda own: own.replace('"version":1', f'"version":{"1" * 5000}'), id="digits"
        ),
        pytest.param(lambda own: own.replace('"version":1', '"version":1,"\\ud800":1'), id="half"),
    ],
)
def test_descriptions_that_cannot_be_summed_are_refused(description, tmp_path):
    text, rest = header_of(BYTES[0])
    header = json.loads(text)
    before = header["__metadata__"]["opgd"]
    header["__metadata__"]["opgd"] = description(before)
    assert header["__metadata__"]["opgd"] != before
    (tmp_path / "model").write_bytes(with_header(json.dumps(header), rest))
    with pytest.raises(ModelFileError, match=r"^Cannot load"):
        load_model(tmp_path / "model")
