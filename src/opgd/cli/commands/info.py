"""opgd info."""

from opgd.cli.console import Terminal
from opgd.cli.model_summary import collect_facts, print_facts
from opgd.cli.options import AsJson, ModelFile


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Say what is in a model file.

    opgd info wine.opgd
    """
    from opgd.cli.models import open_model

    opened = open_model(model)
    facts = collect_facts(opened.estimator, opened.training, opened.fill_values)
    print_facts({"model": model} | facts, Terminal(as_json=as_json))
