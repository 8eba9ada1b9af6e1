"""What is public is listed, documented, and nothing else."""

import inspect
import subprocess
import sys

import pytest

import opgd


def test_all_is_what_is_public():
    for name in opgd.__all__:
        assert getattr(opgd, name) is not None
    public = {
        name
        for name, value in vars(opgd).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public | {"__version__"} == set(opgd.__all__) == set(dir(opgd))
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        opgd.other  # noqa: B018


def test_the_command_does_not_wait_for_scikit_learn():
    code = "import sys, opgd.cli.app; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_classes_and_methods_have_docstrings():
    for name in set(opgd.__all__) - {"__version__"}:
        value = getattr(opgd, name)
        assert inspect.getdoc(value)
        for method, function in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("opgd"):
                assert inspect.getdoc(function), (name, method)


def test_every_parameter_and_attribute_is_documented():
    document = inspect.getdoc(opgd.OPGDClassifier)
    for name in inspect.signature(opgd.OPGDClassifier).parameters:
        assert f"\n{name} : " in document
    X, y = [[0.0, 1], [1, 0], [2, 2], [3, 1], [5, 5], [6, 4]], [0, 0, 0, 1, 1, 1]
    model = opgd.OPGDClassifier(shrinkage=0.5).fit(X, y)
    for name in vars(model):
        if name.endswith("_") and not name.startswith("_"):
            assert name in document, name
