"""Sphinx extension: pages are executed, and show the results under their code blocks.

Blocks remain ordinary Markdown (```python and ```console), which code hosts display. Every page
runs in a process of its own, and pages run in parallel while the gallery is drawn. Results are
kept in ``_build/executed`` until the code of the page or the package changes.
"""

import functools
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from docs._ext import pages

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ["numpy", "scipy", "scikit-learn", "matplotlib", "pandas"]
MAX_WIDTH = 100  # of printed lines that are not wrapped
logger = logging.getLogger(__name__)

pool = ThreadPoolExecutor(os.cpu_count())
running: dict[str, Future[dict[str, Any]]] = {}  # by page
results: dict[str, dict[str, Any]] = {}  # by page, known before pages are read


@functools.cache
def fingerprint_package() -> str:
    """Return a hash of everything besides the page that results depend on."""
    files = [*sorted((ROOT / "src").rglob("*.*")), Path(pages.__file__)]
    parts = [path.read_bytes() for path in files if "__pycache__" not in path.parts]
    parts.append(" ".join([sys.version, *map(version, LIBRARIES)]).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def get_folder(app: Sphinx) -> Path:
    """Return the folder of results."""
    return app.srcdir / "_build" / "executed"


def execute(page: Path, result: Path, files: list[Path], keep: list[str]) -> dict[str, Any]:
    """Execute a page, unless `result` is known.

    It runs in a temporary folder with copies of `files`. The files `keep` are copied from there to
    the folder of `result`, and named in the outcome.
    """
    if result.exists():
        return json.loads(result.read_text("utf-8"))
    name = result.stem.rsplit("-", 1)[0]
    for old in result.parent.glob(f"{name}-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            shutil.copy(path, folder)
        command = [sys.executable, pages.__file__, str(page), str(result)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        kept = {name: f"{result.stem}-{name}" for name in keep if Path(folder, name).exists()}
        for name, copy in kept.items():
            shutil.copy(Path(folder, name), result.parent / copy)
    if done.returncode:
        return {"outputs": [], "failure": {"line": 1, "message": done.stderr}}
    outcome = {**json.loads(result.read_text("utf-8")), "kept": kept}
    if "failure" in outcome or "missing" in outcome:
        result.unlink()  # is tried again by the next build
    else:
        result.write_text(json.dumps(outcome), "utf-8")
    return outcome


def submit(app: Sphinx, docname: str, path: Path) -> None:
    """Start the execution of a page, if it has code."""
    blocks = pages.find_blocks(path.read_text("utf-8"))
    if not blocks:
        return
    code = "".join(block.language + block.code for block in blocks)
    digest = hashlib.sha256((fingerprint_package() + code).encode()).hexdigest()[:12]
    result = get_folder(app) / f"{docname.replace('/', '.')}-{digest}.json"
    files = [*map(ROOT.joinpath, app.config.executed_files.get(docname, []))]
    keep = app.config.executed_keep.get(docname, [])
    running[docname] = pool.submit(execute, path, result, files, keep)


def start_execution(app: Sphinx) -> None:
    """Start the execution of all pages, those with commands and long ones first."""
    get_folder(app).mkdir(parents=True, exist_ok=True)
    found = [path for path in app.srcdir.rglob("*.md") if "_build" not in path.parts]
    texts = {path: path.read_text("utf-8") for path in found}
    for path in sorted(
        found, key=lambda path: ("```console" not in texts[path], -len(texts[path]))
    ):
        submit(app, path.relative_to(app.srcdir).with_suffix("").as_posix(), path)


def wait_for_execution(
    _app: Sphinx, env: BuildEnvironment, _added: Any, _changed: Any, _removed: Any
) -> list[str]:
    """Collect the results; return pages that were read with other results before."""
    for docname, future in running.items():
        results[docname] = future.result()
        seconds = sum(results[docname].get("seconds", []))
        logger.info("executed %s: %.1f s", docname, seconds)
        failure = results[docname].get("failure")
        if failure:
            logger.warning("%s", failure["message"], location=(docname, failure["line"]))
    before = getattr(env, "executed_results", {})
    env.executed_results = dict(results)  # type: ignore[attr-defined]
    return [
        name for name in results if name in env.found_docs and before.get(name) != results[name]
    ]


class InsertResults(SphinxTransform):
    """Insert results below the blocks of a page."""

    default_priority = 300

    def apply(self, **_: Any) -> None:
        docname = self.env.docname
        result = results.get(docname)
        if result is None:
            return
        text = self.env.doc2path(docname).read_text("utf-8")
        outputs_or_none = itertools.chain(result["outputs"], itertools.repeat(None))
        blocks = zip(pages.find_blocks(text), outputs_or_none, strict=False)
        block, outputs = next(blocks, (None, None))
        for node in list(self.document.findall(nodes.literal_block)):
            if block is not None and node.astext().rstrip() == block.code.rstrip():
                show(node, outputs, result.get("missing"))
                block, outputs = next(blocks, (None, None))
        if block is not None:
            logger.warning("the block is not on the page", location=(docname, block.line))


def show(node: nodes.literal_block, outputs: Any, missing: dict[str, Any] | None) -> None:
    """Put outputs below a block; those of commands replace the lines that the page shows."""
    if outputs is None:
        if missing is not None:
            text = f"Not executed when this page was built. {missing['message']}"
            insert_after(node, nodes.note("", nodes.paragraph(text=text)))
        return
    shown = nodes.container(classes=["executed"])
    for output in outputs:
        content = output["content"]
        is_long = max(map(len, content.splitlines()), default=0) > MAX_WIDTH
        if output["kind"] == "console":
            node.children[:] = [nodes.Text(content)]
            node.rawsource = content
            node["classes"] += ["long"] * is_long
        elif output["kind"] == "text":
            classes = ["output"] + ["long"] * is_long
            shown += nodes.literal_block(content, content, language="none", classes=classes)
        elif output["kind"] == "html":
            shown += nodes.raw("", f'<div class="output-html">{content}</div>', format="html")
        else:
            image = nodes.image(uri=f"/_build/executed/{content}", alt="The figure drawn above")
            image["width"] = output["width"]
            shown += image
    if shown.children:
        insert_after(node, shown)


def insert_after(node: nodes.Node, new: nodes.Node) -> None:
    """Insert a node as the next sibling of another."""
    node.parent.insert(node.parent.index(node) + 1, new)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.add_config_value("executed_files", {}, "env")  # by page, copied to where it runs
    app.add_config_value("executed_keep", {}, "env")  # files that a page writes, by page
    app.connect("builder-inited", start_execution, priority=100)  # before the gallery
    app.connect("env-get-outdated", wait_for_execution)
    app.add_transform(InsertResults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
