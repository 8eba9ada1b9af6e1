"""The command `opgd info`."""

from opgd.cli.console import Terminal
from opgd.cli.model_summary import collect_facts, print_facts
from opgd.cli.options import AsJson, ModelFile


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Describe a model file.

    opgd info wine.opgd
    """
    from opgd.cli.models import open_model

    contents = open_model(model)
    facts = collect_facts(
        contents.estimator, contents.training, contents.fill_values, contents.encoder
    )
    print_facts({"model": model} | facts, Terminal(as_json=as_json), with_table=True)
