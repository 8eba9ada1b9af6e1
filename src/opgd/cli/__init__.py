"""The command `opgd`: parse, call the library, print."""

from opgd.cli.errors import exit_on_errors, exit_on_sigterm

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command; bad input ends in a sentence and exit code 2, Ctrl-C in 130."""
    with exit_on_errors(), exit_on_sigterm():
        from opgd.cli.app import run_app  # its packages may be missing

        run_app(arguments)
