"""Configuration of the documentation."""

import os
import shutil
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib

from skpce import __version__

matplotlib.use("Agg")

project = "skpce"
author = "The skpce developers"
copyright = "The skpce developers"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "tasks/table.md",
    "tasks/named_parts",
    "auto_examples/*.ipynb",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
    "**/GALLERY_HEADER.rst",
    "api/backreferences",
]
templates_path = ["_templates"]
default_role = "py:obj"  # a link where the name is known, else code

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Links to other projects need the network: DOCS_ONLINE=1 makes them, and then a name
# that is not there is an error too; without it their names are code.
_OTHERS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "sklearn": "https://scikit-learn.org/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "joblib": "https://joblib.readthedocs.io/en/stable",
    "torch": "https://docs.pytorch.org/docs/stable",
    "matplotlib": "https://matplotlib.org/stable",
}
_ONLINE = os.environ.get("DOCS_ONLINE") == "1"
intersphinx_mapping = {k: (v, None) for k, v in _OTHERS.items()} if _ONLINE else {}
nitpick_ignore_regex = [
    # a docstring that scikit-learn's bases give to get_feature_names_out
    (r"py:obj", r'\["class_name0.*'),
    (r"py:class", r"Module"),  # of torch, as it names itself
    # What methods return, which has no page of its own.
    (
        r"py:.*",
        r"(skpce\.)?(\w+\.)?(\w*SobolInd\w+|\w*Interval|\w*Indices|ExpansionMoments|"
        r"DerivativeSensitivity|SurrogateDiagnostics|Decision|"
        r"VacuousBoundWarning|DegenerateBeliefWarning|ZeroReplacedWarning)",
    ),
    # Properties in a section Attributes, which numpydoc links to pages of their own.
    (
        r"py:obj",
        "multi_indices_?|effective_sample_size_?|standard_deviation|mean|covariance|"
        "batch_shape|states|actions|n_steps",
    ),
]
if not _ONLINE:
    names = "|".join([*_OTHERS, "pooch", "rdkit", "zuko"])
    nitpick_ignore_regex += [(r"py:.*", rf"({names})(\..*)?")]

# Doctests end in an empty line, which is not shown.
highlight_options = {"python": {"stripnl": True}}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def pages_that_run():
    """Return a pattern of example pages; those whose data are missing are shown only.

    They find their data in the folder ``$SKPCE_DATA``, in the cache, or online.
    """
    from gflownet_envs.datasets import fetch_learning_curves, fetch_shakespeare

    fetch_data_of = {
        "11": partial(fetch_learning_curves, download_if_missing=False),  # 68 MB
        "15": partial(fetch_shakespeare, n_retries=0),
    }
    missing = []
    for page, fetch in fetch_data_of.items():
        try:
            fetch()
        except (OSError, ImportError) as error:
            missing.append(page)
            print(f"example plot_{page} is not run: {error}")
    shown_only = rf"(?!({'|'.join(missing)})_)" if missing else ""
    return rf"/(plot_{shown_only}|way_)"


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": pages_that_run(),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "default_thumb_file": str(Path(__file__).parent / "_static" / "logo.svg"),
    "show_memory": False,
    "min_reported_time": 5,
    "plot_gallery": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("skpce", "gflownet_envs"),
    # the last expression, if it is a picture or a table, but no text of an object
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}
warnings.filterwarnings("ignore", message=".*non-interactive.*")


def folder_of_mathjax():
    """Return a folder with MathJax, so that formulas need no network; None without.

    It is one file of the package django-static-mathjax, which is not imported.
    """
    found = find_spec("mathjax")
    folders = found.submodule_search_locations if found else []
    for folder in map(Path, folders or []):
        script = folder / "static" / "mathjax" / "es5" / "tex-svg.js"
        if script.exists():
            target = Path(__file__).parent / "_build" / "mathjax"
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(script, target / "mathjax.js")
            return str(target)
    print("MathJax is not installed: formulas will come from a network")
    return None


html_static_path = ["_static"]
if _mathjax := folder_of_mathjax():
    html_static_path.append(_mathjax)
    mathjax_path = "mathjax.js"

_SOURCE = "https://github.com/skpce/skpce"
html_theme = "pydata_sphinx_theme"
html_title = "skpce"
html_css_files = ["skpce.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [
        {"name": "Source", "url": _SOURCE, "icon": "fa-brands fa-github"},
    ],
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
# Pages without pages below them have no navigation at their side.
html_sidebars = {
    name: []
    for name in ("index", "install", "getting_started", "which_function", "concepts")
}
html_show_sourcelink = False


def write_llms_txt(app, exception):
    """List the pages for programs that read documentation (llmstxt.org)."""
    if exception is not None or app.builder.format != "html":
        return
    summary = (
        "Polynomial chaos estimators for scikit-learn that say when an attribution is "
        "not supported, and ensembles of GFlowNets under uncertain rewards."
    )
    lines = ["# skpce", "", f"> {summary}", "", "## Pages", ""]
    for page, title in sorted(app.env.titles.items()):
        if not any(part in page for part in ("generated/", "sg_execution")):
            lines.append(f"- [{title.astext()}]({app.builder.get_target_uri(page)})")
    text = "\n".join(lines) + "\n"
    (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_llms_txt)
