"""Print the lower bounds in pyproject.toml as pins: `make test-oldest` installs exactly these."""

import re
import tomllib
from pathlib import Path

EXTRAS = ["tables", "model", "cli"]


def pins() -> list[str]:
    """Name and oldest supported version of what the core and the estimators need."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in EXTRAS:
        others = project["optional-dependencies"][extra]
        wanted += [own for own in others if not own.startswith("opgd[")]
    bounds = [re.fullmatch(r"([\w-]+)>=([\d.]+)", own) for own in wanted]
    assert all(bounds), f"every one of {wanted} must be of the form name>=version"
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


if __name__ == "__main__":
    print("\n".join(pins()))
