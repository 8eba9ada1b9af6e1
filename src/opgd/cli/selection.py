"""Which columns of a table a model is made of."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from opgd.cli.errors import BadInput
from opgd.cli.reading import Table


@dataclass(frozen=True)
class Choice:
    """Which columns to take, and what to do with missing cells."""

    use: list[str]
    ignore: list[str]
    drop_missing: bool
    impute: str | None
    target: str | None = None
    weights: str | None = None
    groups: str | None = None


def chosen_columns(table: Table, choice: Choice, special: list[str]) -> list[str]:
    """Columns by name or pattern, without those that have another part to play."""
    ignored = set(_matching(table, choice.ignore, "--ignore")) | set(special)
    wanted = _matching(table, choice.use, "--use") if choice.use else table.frame.columns
    names = [name for name in wanted if name not in ignored]
    if not names:
        raise BadInput(f"No column of {table.source} is left for the model.")
    return names


def _matching(table: Table, patterns: list[str], option: str) -> list[str]:
    found = []
    for pattern in patterns:
        own = [name for name in table.frame.columns if name == pattern]
        own = own or [name for name in table.frame.columns if fnmatchcase(name, pattern)]
        if not own:
            table.column(pattern, option)
        found += own
    return list(dict.fromkeys(found))
