"""Try all pairs; print the tables of the guide and the numbers."""

import sys

from sklearn.base import clone

from tests.hostile import containers
from tests.hostile.everything import ESTIMATORS, markdown, pairs, statement


def main() -> int:
    print(markdown())
    print(containers.markdown())
    tried, failed = pairs(), 0
    for own, name in tried:
        try:
            own.check(clone(ESTIMATORS[name]))
        except BaseException as error:  # pytest's own failures are no Exceptions
            if isinstance(error, KeyboardInterrupt):
                raise
            failed += 1
            message = str(error).strip().split("\n")[0][:150]
            print(f"{name}: {own.name}: {type(error).__name__}: {message}", flush=True)
    print(statement(failed))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
