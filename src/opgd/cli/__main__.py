"""Entry point of `python -m opgd.cli`."""

from opgd.cli import main

main()
