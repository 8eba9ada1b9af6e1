"""Size of the memory."""

import os
from pathlib import Path

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
ASSUMED_BYTES = 8e9
"""Size that is assumed where the system does not tell it to Python, as on Windows."""


def get_memory() -> float:
    """Return the memory of the machine or of its container, in bytes."""
    try:
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return ASSUMED_BYTES
    try:
        return min(memory, float(CGROUP_LIMIT.read_text("ascii")))
    except (OSError, ValueError):  # no limit
        return memory
