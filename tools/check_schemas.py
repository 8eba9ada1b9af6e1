"""Validate workflows and settings with the schemas that check-jsonschema ships."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "custom.github-workflows-require-timeout": ".github/workflows/*.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/*_*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.readthedocs": ".readthedocs.yaml",
    "vendor.citation-file-format": "CITATION.cff",
}
"""Files by the name of their schema."""


def main() -> int:
    """Check all files; return 1 if one is invalid."""
    failed = False
    for schema, pattern in SCHEMAS.items():
        paths = sorted(ROOT.glob(pattern))
        call = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
        call += ["--default-filetype", "yaml", *map(str, paths)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        print(f"{schema}: {len(paths)} files, {'ok' if done.returncode == 0 else 'invalid'}")
        if done.returncode or not paths:
            print(done.stdout + done.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
