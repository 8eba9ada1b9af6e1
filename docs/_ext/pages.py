"""Execute the code blocks of a Markdown page, and collect what they print and draw.

The tests use the same functions. As a script, in an empty folder: ``pages.py PAGE RESULT.json``.
"""

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(python|console)\n(.*?)^```", flags=re.S | re.M)
FIGURE_DPI = 144
TERMINAL_WIDTH = 100


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str  # python or console
    code: str
    line: int  # of its first line in the page, from 1


def find_blocks(text: str, *languages: str) -> list[Block]:
    """Return the blocks of a page in these languages (all, if none is given)."""
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in FENCE.finditer(text)
        if not languages or match[1] in languages
    ]


def find_commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines of output that the page shows."""
    commands: list[tuple[str, list[str]]] = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return commands


def run_python(block: Block, namespace: dict[str, Any], name: str) -> Iterator[dict[str, str]]:
    """Execute a block; yield its printed text and the value of a last expression."""
    tree = ast.parse(block.code, name)
    ast.increment_lineno(tree, block.line - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    if printed.getvalue():
        yield {"kind": "text", "content": printed.getvalue().rstrip()}
    if value is not None:
        yield from show_value(value)


def show_value(value: Any) -> Iterator[dict[str, str]]:
    """Yield a value as a notebook would show it, but displays and estimators as nothing."""
    module = type(value).__module__
    if hasattr(value, "_repr_html_") and not hasattr(value, "get_params"):
        yield {"kind": "html", "content": value._repr_html_()}
    elif not module.startswith(("opgd.", "sklearn.", "matplotlib.")):
        yield {"kind": "text", "content": repr(value)}


def take_figures(folder: Path, prefix: str) -> Iterator[dict[str, str]]:
    """Save and close all open figures."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        path = folder / f"{prefix}-{number}.png"
        figure.savefig(path, dpi=FIGURE_DPI, bbox_inches="tight")
        width = round(figure.get_tightbbox().width * 100)  # in pixels, at the size of the text
        yield {"kind": "figure", "content": path.name, "width": f"{width}px"}
    pyplot.close("all")


def run_console(block: Block) -> Iterator[dict[str, str]]:
    """Run the commands of a block in a shell; yield the block with its complete output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": str(TERMINAL_WIDTH)}
    lines = []
    for command, shown in find_commands(block):
        done = subprocess.run(
            command,
            shell=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode and not any(line.startswith("opgd: ") for line in shown):
            raise RuntimeError(f"{command} returned {done.returncode}: {done.stdout}")
        lines += [f"$ {command}", *[line.rstrip() for line in done.stdout.splitlines()]]
    yield {"kind": "console", "content": "\n".join(lines)}


def is_missing_data(error: BaseException) -> bool:
    """Whether a data set is neither on this machine nor could be fetched."""
    return type(error).__name__ == "DatasetUnavailableError"


def describe_failure(name: str, block: Block, error: BaseException) -> tuple[int, str]:
    """Return the line of the page at which a block failed, and the error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__, -20)
        if frame.filename == name and frame.lineno
    ]
    return (lines or [block.line])[-1], "".join(traceback.format_exception_only(error)).strip()


def run_page(page: Path, folder: Path, prefix: str) -> dict[str, Any]:
    """Execute a page in the current folder; return the outputs of each block.

    Figures are saved in `folder`. Execution ends at the first block that fails, or whose data set
    is missing.
    """
    os.environ["MPLBACKEND"] = "Agg"
    namespace: dict[str, Any] = {"__name__": "__main__"}
    result: dict[str, Any] = {"outputs": [], "seconds": []}
    for index, block in enumerate(find_blocks(page.read_text("utf-8"))):
        start = time.perf_counter()
        try:
            if block.language == "python":
                outputs = list(run_python(block, namespace, str(page)))
                outputs += take_figures(folder, f"{prefix}-{index}")
            else:
                outputs = list(run_console(block))
        except Exception as error:
            line, message = describe_failure(str(page), block, error)
            key = "missing" if is_missing_data(error) else "failure"
            return {**result, key: {"line": line, "message": message}}
        result["outputs"].append(outputs)
        result["seconds"].append(round(time.perf_counter() - start, 2))
    return result


if __name__ == "__main__":
    page, result = Path(sys.argv[1]), Path(sys.argv[2])
    outputs = run_page(page, result.parent, result.stem)
    result.write_text(json.dumps(outputs, indent=1), "utf-8")
