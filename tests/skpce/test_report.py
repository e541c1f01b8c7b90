"""The report is one file, safe to open, and never half written."""

import base64
import re

import numpy as np

from skpce._page import HtmlReport
from skpce.plotting import _style as style

PNG = b"\x89PNG any bytes"
EVIL = "<script>alert(\"1\")</script> & 'x'"


def test_text_of_every_kind_is_escaped():
    report = HtmlReport(EVIL)
    report.add_heading(EVIL)
    report.add_text(EVIL)
    report.add_preformatted(EVIL)
    report.add_table([EVIL], [[EVIL], [(EVIL, "b")]], EVIL)
    report.add_png(PNG, EVIL)
    page = report.to_html()
    assert "<script" not in page
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
    assert not re.search(r"<(script|link|iframe|object)|@import|url\(", page)
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
