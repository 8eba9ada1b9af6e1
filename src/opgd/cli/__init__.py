"""The command-line program `opgd`."""

from opgd.cli.errors import exit_on_errors, exit_on_sigterm

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the program; bad input ends it with a message and exit code 2, Ctrl-C with 130."""
    with exit_on_errors(), exit_on_sigterm():
        from opgd.cli.app import run_app  # its dependencies may be missing

        run_app(arguments)
