"""The standard output, when nobody takes it any more."""

import os
import sys


def forget_output() -> None:
    """Send what the standard output still holds to nowhere: the interpreter tries again at its end.

    A stream that is no file of the system has nothing to hold.
    """
    try:
        number = sys.stdout.fileno()
    except OSError:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
