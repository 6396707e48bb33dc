"""How Sphinx makes the site: ``sphinx-build -W --keep-going docs docs/_build/html``.

Pages are Markdown. Those in ``examples/`` are notebooks in Markdown, which are executed here; the
code of all other pages is run by the tests (``run_pages.py``).
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import MathError, tex2mathml
from sphinx import addnodes
from sphinx.util import logging

import shaketable

# Examples start `python` as this one, and compute on one core, as the tests do.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["OMP_NUM_THREADS"] = "1"

for _name in ("figures", "maite"):  # public modules under another name than that of their file
    sys.modules[f"shaketable.{_name}"] = getattr(shaketable, _name)

project = "shaketable"
author = "the shaketable developers"
version = release = shaketable.__version__
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "pipeline"]
templates_path = ["_templates"]
default_role = "py:obj"
suppress_warnings = ["myst.xref_missing"]  # links to files outside of docs/; the tests check them

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_output_stderr = "warn"  # with -W, an example that warns is an error

html_math_renderer = "mathml"  # see setup
autosummary_generate = True
autosummary_context = {"excluded": "set_fit_request, set_score_request"}  # of scikit-learn
autodoc_typehints = "none"  # docstrings have the types that a reader needs
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"shaketable {version}"
html_show_sourcelink = True
html_sourcelink_suffix = ""
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
    "footer_start": [],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Write formulas as MathML, which browsers draw without scripts from elsewhere.

    Markdown files of the repository that are no pages, such as measurements, can be downloaded, and
    so can examples as notebooks.
    """
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
    app.connect("doctree-read", _link_files, priority=400)  # before downloads are collected
    app.connect("doctree-read", _link_notebook, priority=400)


def _link_files(app: Any, doctree: Any) -> None:
    for node in list(doctree.findall(addnodes.pending_xref)):
        path = Path(f"{node['reftarget']}.md")  # absolute where it lies outside of this folder
        if path.is_absolute() and path.is_file():
            target = f"/{os.path.relpath(path, app.srcdir)}"
            node.replace_self(addnodes.download_reference("", "", *node.children, reftarget=target))


def _link_notebook(app: Any, doctree: Any) -> None:
    """Put a link below the title of an example: to the notebook with its outputs."""
    name = app.env.docname
    if "kernelspec" not in app.env.metadata[name]:
        return
    path = Path(app.outdir).parent / "jupyter_execute" / f"{name}.ipynb"  # myst_nb wrote it
    _tidy_notebook(path)
    link = addnodes.download_reference("", "", reftarget=f"/{os.path.relpath(path, app.srcdir)}")
    link += nodes.Text("Download as a notebook")
    next(doctree.findall(nodes.section)).insert(1, nodes.paragraph("", "", link))


def _tidy_notebook(path: Path) -> None:
    """Leave out what is for the site alone: cells that check the page, and links to its pages."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [c for c in notebook["cells"] if "remove-cell" not in c["metadata"].get("tags", [])]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            cell["source"] = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)
    path.write_text(json.dumps({**notebook, "cells": cells}), encoding="utf-8")


def _write_math(writer: Any, node: Any) -> None:
    tex = node.astext().replace(r"\dots", r"\ldots")
    try:
        writer.body.append(tex2mathml(tex, as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", tex, error, location=node)
    raise nodes.SkipNode
