"""opgd info."""

from opgd.cli.options import AsJson, ModelFile
from opgd.cli.voice import Voice


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Say what is in a model file.

    opgd info wine.opgd
    """
    from opgd.cli.facts import model_facts, page
    from opgd.cli.models import open_model

    own = open_model(model)
    facts = {"model": model} | model_facts(own.estimator, own.training, own.imputation)
    Voice(as_json=as_json).result(facts, page(facts, f"Model {model}"))
