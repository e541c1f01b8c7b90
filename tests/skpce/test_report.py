"""The report is one file, safe to open, and never half written."""

import base64
import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from skpce._page import HtmlReport
from skpce.plotting import _style as style

PNG = b"\x89PNG any bytes"
EVIL = "<script>alert(\"1\")</script> & 'x'"

TEMPLATE = files("skpce").joinpath("_page.html").read_text("utf-8")
SCRIPT = TEMPLATE.partition("<script>")[2].partition("</script>")[0]


def test_text_of_every_kind_is_escaped():
    report = HtmlReport(EVIL)
    report.add_heading(EVIL)
    report.add_text(EVIL)
    report.add_preformatted(EVIL)
    report.add_table([EVIL], [[EVIL], [(EVIL, "b")]], EVIL)
    report.add_png(PNG, EVIL)
    page = report.to_html()
    assert page.count("<script") == 1  # ours
    assert page.rpartition("<script>")[2] == f"{SCRIPT}</script></body></html>\n"
    assert page.count("&lt;script&gt;") == 11
    assert re.search(r'<img alt="&lt;script&gt;alert\(&quot;1&quot;\)', page)


def test_the_page_needs_nothing_from_elsewhere():
    report = HtmlReport("A run")
    report.add_text("See http://example.org for nothing.")
    report.add_png(PNG, "A line.")
    row = ["step", 1 / 3, np.float64(np.nan), True, 12, "Q² ≥ ¼"]
    report.add_table(list("abcdef"), [row])
    page = report.to_html()
    sources = re.findall(r"(?:src|href|action)\s*=\s*(\S{6})", page)
    assert sources == ['"data:']
    assert page.count("<script>") == 1
    assert not re.search(r"<script |<(link|iframe|object)|@import|url\(", page)
    assert not re.search(r"fetch|XMLHttp|import|eval", SCRIPT)
    assert page.startswith("<!doctype html>")
    assert '<meta charset="utf-8">' in page
    (encoded,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(encoded, validate=True) == PNG
    assert 'alt="A line."' in page
    assert "<figcaption>A line.</figcaption>" in page
    cells = re.findall("<td>(.*?)</td>", page)
    assert cells == ["step", "0.33", "–", "yes", "12", "Q² ≥ ¼"]


def test_the_file_is_the_page_in_utf8_with_the_usual_rights(tmp_path):
    report = HtmlReport("Q² – Holm’s p")
    report.save(tmp_path / "report.html")
    path = tmp_path / "report.html"
    assert path.read_bytes().decode("utf-8") == report.to_html()
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_lone_surrogate_in_a_name_is_shown_by_its_number():
    page = HtmlReport("a\ud800")
    page.add_text("b\udcff")
    assert "<h1>a\\ud800</h1><p>b\\udcff</p>" in page.to_html()
    assert style.label("c\ud800") == "c\\ud800"


CLICKS = """
const made = [];
const cell = text => ({textContent: text});
const row = texts => ({cells: texts.map(cell), textContent: texts.join(" ")});
const listens = element => Object.assign(element, {
  addEventListener: (kind, act) => { element.click = act; }});
const table = {
  tHead: {rows: [{cells: HEADINGS.map(text => listens(cell(text)))}]},
  tBodies: [{rows: ROWS.map(row), append(...rows) { this.rows = rows; }}],
  before: element => made.push(element)};
const document = {
  querySelectorAll: () => [table], createElement: () => listens({})};
SCRIPT
const shown = () => table.tBodies[0].rows.map(row => row.cells[0].textContent);
const found = [];
for (const head of table.tHead.rows[0].cells) {
  head.click();
  found.push(shown());
}
table.tHead.rows[0].cells[1].click();
found.push(shown());
const before = made[0].textContent;
made[0].click();
const hidden = table.tBodies[0].rows.filter(row => row.hidden).length;
console.log(JSON.stringify({found, before, after: made[0].textContent, hidden}));
"""


def test_a_click_on_a_heading_sorts_and_a_button_hides():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    rows = [
        ["rate", "drives", "86 % [82, 90]", "1.5e-05"],
        ["units", "not settled", "<1 %", "0.3"],
        ["kind", "does not matter", "1 % [0, 2]", "–"],
        ["beta", "does not matter", "−2", "about 180"],
    ]
    script = CLICKS.replace("SCRIPT", SCRIPT)
    script = script.replace("HEADINGS", json.dumps(["input", "state", "in all", "p"]))
    script = script.replace("ROWS.map", f"{json.dumps(rows)}.map")
    told = subprocess.run(
        [node, "-e", script], capture_output=True, text=True, check=True
    )
    found = json.loads(told.stdout)
    assert [" ".join(names) for names in found["found"]] == [
        "units rate kind beta",  # from z to a
        "units rate kind beta",  # of one state as they stood
        "rate kind units beta",
        "beta units rate kind",
        "beta kind rate units",  # and back, from a to z
    ]
    assert found["before"] == "hide what does not matter"
    assert (found["after"], found["hidden"]) == ("show all 4", 2)
