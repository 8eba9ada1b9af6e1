"""Errors that end the command with a sentence."""


class BadInput(ValueError):  # noqa: N818
    """Something that the user can put right; the message is all that is shown."""
