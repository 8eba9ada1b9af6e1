"""The command-line program `opgd`."""

from opgd.cli.errors import exit_on_errors, exit_on_signals, use_safe_streams

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the program; bad input ends it with a message and exit code 2, Ctrl-C with 130."""
    with use_safe_streams(), exit_on_errors(), exit_on_signals():
        from opgd.cli.app import run_app  # its dependencies may be missing

        run_app(arguments)
