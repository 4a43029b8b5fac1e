"""The report: what is in the page, and what the page does in a real browser."""

import base64
import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.commands.report import report
from analysis.figures.registry import FIGURES, make_chart
from analysis.labels import USUAL
from analysis.report_page.page import report_page
from analysis.report_page.payload import numbers, payload
from analysis.tables import load_tables
from tests.support.analysis_tables import fail, made, make_tables, with_tests, write_start_rows, write_sweep

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
STARTS = [("mulex", "a", 1, 1, 4), ("mulex", "a", 1, 2, None), ("mulex", "b", 1, 2, 3), ("mulex", "b", 2, 1, None)]

# Put before the page's own script: errors are kept. After it: what a person would do, then what is to be seen.
WATCH = "<script>window.wrong = []; addEventListener('error', (e) => wrong.push(e.message));</script>"
ACT = """<script>{
const seen = { wrong };
const hit = (type, node, x, y) => {
  const b = node.getBoundingClientRect();
  const how = { bubbles: true, clientX: b.left + (x / 460) * b.width, clientY: b.top + (y / 320) * b.height };
  node.dispatchEvent(new (type === "click" ? MouseEvent : PointerEvent)(type, how));
};
const shown = (node) => getComputedStyle(node).display !== "none";
const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
seen.marks = Object.fromEntries([...document.querySelectorAll("figure")].map((f) =>
  [f.id, f.querySelectorAll("svg [data-s] path[d], svg [data-s] circle, svg [data-s] rect").length]));
seen.broken = document.querySelector("main").innerHTML.match(/NaN|undefined|Infinity/g);
seen.wide = document.documentElement.scrollWidth - innerWidth;
const violin = document.querySelector("#violins svg");
const group = violin.querySelector('[data-s="mulex"] circle').parentNode;
const toggle = document.querySelector('nav [data-method="mulex"]');
seen.before = shown(group);
toggle.click();
seen.off = [shown(group), toggle.getAttribute("aria-pressed"), shown(violin.querySelector('[data-s="additive"]'))];
toggle.click();
seen.on = shown(group);
const dot = violin.querySelector('[data-s="additive"] circle.dot');
const at = [+dot.getAttribute("cx"), +dot.getAttribute("cy")];
hit("pointermove", violin, ...at);
seen.tip = document.getElementById("tip").textContent;
hit("click", violin, ...at);
const card = document.getElementById("run");
seen.card = [card.hidden, card.querySelector("h3").textContent, card.querySelectorAll("svg path[stroke]").length];
press(document.body, "Escape");
seen.closed = card.hidden;
violin.focus();
press(violin, "ArrowRight");
press(violin, "Enter");
seen.keyboard = [card.hidden, document.activeElement === card];
press(document.body, "Escape");
seen.back = document.activeElement === violin;
document.querySelector("button.run").click();
seen.fromTable = !card.hidden;
parent.document.documentElement.dataset.seen = JSON.stringify(seen);
}</script>"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Every figure has something to show, one run failed, and its error is a line of HTML."""
    folder = tmp_path_factory.mktemp("report")
    methods = ["epsilon_greedy", "additive", "mulex", "two_task_heads"]
    runs, curves = fail(*make_tables(methods=methods, worlds=["w5", "w10"], draws=11), [4])
    runs.loc[runs["method"] == "additive", "engine"] = "my_module:train"
    curves["entropy"] = 1 / curves["iteration"]
    runs.loc[4, "error"] = "</script><script>wrong.push('injected')</script>"
    place = write_sweep(folder, *with_tests(runs, curves, top=2, seeds=3), planned=(12, 2))
    write_start_rows(folder, STARTS)
    return place


def test_the_page_needs_no_other_file_and_says_what_is_missing(sweep):
    page = report_page(load_tables([sweep]))
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "223 of 240 runs (1 failed)" in page
    assert "spec.yaml" in page
    assert "connect-src 'none'" in page


def test_what_a_run_wrote_cannot_become_part_of_the_page(sweep):
    page = report_page(load_tables([sweep]))
    assert "<script>wrong.push" not in page
    assert "&lt;/script&gt;&lt;script&gt;wrong.push" in page


def test_curves_come_back_from_their_code(tmp_path):
    tables = load_tables([made(tmp_path, draws=2, iterations=50)])
    coded = payload(tables, [])["curves"]
    steps = np.frombuffer(base64.b64decode(coded["data"]), "<u2").reshape(len(tables.runs), -1)
    returns = coded["low"] + steps / 65534 * (coded["high"] - coded["low"])
    assert returns == pytest.approx(tables.matrices["eval_return"], abs=1e-3)
    assert coded["at"] == list(range(1, 51))


def test_long_curves_are_averaged(tmp_path):
    tables = load_tables([made(tmp_path, methods=["mulex"], draws=1, seeds=1, iterations=400)])
    coded = payload(tables, [])["curves"]
    steps = np.frombuffer(base64.b64decode(coded["data"]), "<u2")
    expected = tables.matrices["eval_return"].reshape(200, 2).mean(axis=1)
    assert coded["low"] + steps / 65534 * (coded["high"] - coded["low"]) == pytest.approx(expected, abs=1e-3)
    assert coded["at"][:2] == [1.5, 3.5]


def test_numbers_are_short_and_never_nan():
    assert numbers(np.array([1 / 3, np.nan, np.inf])) == [0.33333, None, None]
    assert numbers(np.array([3])) == [3]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine")
@pytest.mark.parametrize("width", [1200, 375])
def test_the_page_works_in_a_browser(sweep, tmp_path, width):
    page = report_page(load_tables([sweep]))
    page = page.replace('<script type="application/json"', WATCH + '<script type="application/json"', 1)
    page = html.escape(page.replace("</body>", ACT + "</body>"))
    file = tmp_path / "report.html"
    file.write_text(f'<meta charset="utf-8"><iframe style="width: {width}px; height: 800px" srcdoc="{page}"></iframe>')
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    command += ["--window-size=1300,900", "--enable-logging=stderr", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "CONSOLE" not in done.stderr, done.stderr
    attribute = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert attribute, done.stderr
    seen = json.loads(html.unescape(attribute.group(1)))
    assert seen["wrong"] == []
    assert seen["broken"] is None
    assert set(seen["marks"]) == set(FIGURES)
    assert min(seen["marks"].values()) > 0
    assert seen["wide"] <= 0, "nothing is wider than the window"
    assert seen["before"] is True
    assert seen["off"] == [False, "false", True]
    assert seen["on"] is True
    assert "Additive, w5, draw" in seen["tip"]
    assert "learning rate: " in seen["tip"]
    assert seen["card"][0] is False
    assert seen["card"][1].startswith("made-w5-additive-")
    assert seen["card"][2] >= 1
    assert seen["closed"] is True
    assert seen["keyboard"] == [False, True]
    assert seen["back"] is True
    assert seen["fromTable"] is True


def call(*arguments):
    """Run the command; what it raises is raised here."""
    return CliRunner().invoke(report, [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_command_writes_one_file(tmp_path):
    folder = made(tmp_path / "sweep", draws=2, planned=(3, 2))
    done = call(folder)
    assert done.stdout.strip() == f"{folder}/report.html"
    assert "12 of 18 runs" in done.stderr
    assert call(folder, "-o", tmp_path / "there/page.html").exit_code == 0
    assert (tmp_path / "there/page.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("how", [{"draws": 1, "seeds": 1, "iterations": 1, "methods": ["mulex"]}, {"draws": 2}])
def test_little_data_gives_a_page(tmp_path, how):
    assert "What was run" in report_page(load_tables([made(tmp_path, **how)]))


def test_a_sweep_without_a_finished_run_gives_a_page(tmp_path):
    runs, curves = make_tables(draws=1)
    folder = write_sweep(tmp_path, *fail(runs, curves, list(runs.index)), planned=(1, 2))
    assert "0 of 6 runs (6 failed)" in report_page(load_tables([folder]))


def test_no_method_is_black_on_a_page_that_may_be_dark():
    tables = load_tables(["docs/results/sb3"])
    assert "#000000" in {series.colour for series in USUAL.series(tables.methods)}, "as it is in a paper's figures"
    plain = payload(tables, [make_chart(tables, "violins")])
    colours = [one["colour"] for one in [*plain["methods"], *plain["charts"][0]["series"].values()]]
    assert "currentColor" in colours
    assert "#000000" not in colours
