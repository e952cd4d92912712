"""The report and the page of a sweep: built from the committed results, and driven in a browser."""

import json
import pathlib
import re
import shutil
import types
from typing import Any

import numpy as np
import pytest

from experiments import report
from experiments.report_figures import FIGURES
from jaxopt_svm.html import page, sweep_page, table
from jaxopt_svm.html.formula import inline, lines
from tests.webdriver import browser, why_not

RESULTS = report.ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def html() -> str:
    return report.build(RESULTS)


@pytest.fixture
def results(tmp_path) -> pathlib.Path:
    """A copy of what the report reads, to be spoiled."""
    for path in [*RESULTS.glob("*.csv"), *RESULTS.glob("*.json")]:
        shutil.copy(path, tmp_path)
    return tmp_path


def test_the_committed_page_is_the_one_that_is_built(html):
    committed = (report.ROOT / "docs" / "report.html").read_text(encoding="utf-8")
    assert committed == html, "make report"


def test_nothing_is_loaded_from_elsewhere(html):
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    loaded = re.findall(r"\b(?:src|href|action|data)\s*=\s*[\"']([^\"']*)", markup)
    assert loaded and all(link.startswith(("#", "data:,")) for link in loaded)
    assert "@import" not in html and "url(" not in html and "fetch(" not in html
    assert len(html.encode()) < 5_000_000


def test_every_csv_is_inside_as_it_is(html):
    for path in RESULTS.glob("*.csv"):
        assert path.read_text(encoding="utf-8") in html, path.name


def test_every_figure_names_columns_of_its_csv():
    for name, specs in FIGURES.items():
        header = (RESULTS / f"{name}.csv").read_text().splitlines()[0]
        for spec in specs:
            melt = spec.get("melt", {"cols": [], "name": "", "value": ""})
            used = [x[0] for x in spec["x"]] + melt["cols"] + list(spec.get("where", {}))
            used += spec.get("series", []) + spec.get("choose", [])
            for y in spec["y"]:
                used += [y["col"], *y.get("spread", []), *(b[0] for b in y["bounds"])]
            made = {melt["name"], melt["value"]}
            missing = [c for c in used if c not in header and c not in made]
            assert not missing, (name, missing)


def test_every_anchor_of_the_contents_exists_once(html):
    anchors = re.findall(r'<li class="level\d"><a href="#([^"]+)"', html)
    assert len(anchors) > 20
    for anchor in anchors:
        assert html.count(f' id="{anchor}"') == 1, anchor


@pytest.mark.parametrize("name", ["pegasos.csv", "pegasos.json", "explorer.csv", "proofs.json"])
def test_a_missing_source_fails(results, name, capsys):
    (results / name).unlink()
    out = results / "report.html"
    assert report.main(["--results", str(results), "--out", str(out)]) == 1
    assert name in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda claims: claims[3].update(holds=False), "does not hold"),
        (lambda claims: claims[3].update(false_variant_fails=False), "false variant"),
        (lambda claims: claims.pop(3), "is not in proofs.json"),
        (lambda claims: claims.append(claims[3] | {"name": "gone"}), "not registered"),
    ],
)
def test_a_claim_that_fails_or_is_missing_fails(results, spoil, said):
    claims = json.loads((results / "proofs.json").read_text())
    spoil(claims)
    (results / "proofs.json").write_text(json.dumps(claims))
    with pytest.raises(report.Broken, match=said):
        report.read(results)


def test_a_quick_result_is_refused(results):
    record = json.loads((results / "huber.json").read_text())
    (results / "huber.json").write_text(json.dumps(record | {"quick": True}))
    with pytest.raises(report.Broken, match="quick"):
        report.read(results)


def test_the_page_says_when_the_benchmark_is_absent(results):
    for path in results.glob("bench_sweep.*"):
        path.unlink()
    assert 'id="headline-missing"' in report.build(results)
    header = "data,n,d,seconds,seconds_cold,peer_seconds,ratio,certified"
    (results / "bench_sweep.csv").write_text(f"{header}\na9a,10,2,1.5,3.5,6.25,4.17,32\n")
    record = {"name": "bench_sweep", "question": "?", "answer": "So much.", "quick": False}
    (results / "bench_sweep.json").write_text(json.dumps(record | {"seconds": 1.0}))
    built = report.build(results)
    assert 'id="headline-missing"' not in built and ">6.25<" in built and "So much." in built


@pytest.mark.parametrize(
    "text, parts",
    [
        ("lam/2 ||w||^2", ["<mi>λ</mi>", "‖", "<msup>", "<mn>2</mn>"]),
        ("phi*(-alpha_i)", ["<mi>φ</mi>", "∗", "<msub><mi>α</mi>"]),
        ("<x_i, w> <= 1", ["⟨", "⟩", "≤"]),
        ("lam gamma / (c_i v_i + lam gamma)", ["<mi>γ</mi>"]),
        ("n/(v_i + 1)", ["<mfrac><mrow><mi>n</mi></mrow>"]),
        ("B/sqrt(T)", ["<msqrt><mi>T</mi></msqrt>"]),
        ("phi'(z)", ["′"]),
        ("gamma0/(1 + t)", ["<mfrac><mrow><msub><mi>γ</mi><mn>0</mn></msub></mrow>"]),
        ("R(0)/G^2", ["</mrow><mo>/</mo><msup><mi>G</mi>"]),
        ("f_t(x)/(y + 1)", ["<mfrac><mrow><mrow><msub><mi>f</mi>"]),
        ("y' beta, count_i", ["<mi>y</mi><mo lspace", "<msub><mtext>count</mtext>"]),
        ("||a||/(2 sum ||b||)", ['<mfrac><mrow><mrow><mo stretchy="false">‖</mo><mi>a</mi>']),
        ("(1/gamma)-smooth", ["</math>-smooth"]),
        ("see (proofs_checks/eso.py), a word", ["(<code>proofs_checks/eso.py</code>),", "a word"]),
        ("an odd ( bracket_", ["odd", "bracket"]),
        ("a < b & c", ["&lt;", "&amp;"]),
    ],
)
def test_formulas(text, parts):
    shown = inline(text)
    assert all(part in shown for part in parts), shown
    assert shown.count("<math>") == shown.count("</math>")


def test_lines_and_tables_are_escaped():
    assert lines("w = 1    if <b>") == (
        '<div class="formula" tabindex="0"><div style="padding-left:0em"><span>'
        "<math><mi>w</mi></math> "
        "<math><mo>=</mo></math> <math><mn>1</mn></math></span><span>if <math><mo>&lt;</mo>"
        "<mi>b</mi><mo>&gt;</mo></math></span></div></div>"
    )
    assert "&lt;x&gt;" in table(["<x>"], [["1"]])
    with pytest.raises(ValueError, match="end the data"):
        page("t", "", {"bad": "a\n</script>\n"})


# --- in a browser ------------------------------------------------------------------------------

needs_browser = pytest.mark.skipif(bool(why_not()), reason=why_not())
DRAWN = "return document.querySelector('#fig-' + arguments[0] + ' svg').outerHTML"
CHANGE = """
const figure = document.querySelector('#fig-' + arguments[0]);
const box = figure.querySelectorAll('[data-control]')[arguments[1]];
if (box.closest('[hidden]')) return null;
if (box.type === 'checkbox') box.click();
else { box.selectedIndex = box.options.length - 1; box.dispatchEvent(new Event('change')); }
return box.dataset.control;
"""
CONTROLS = """
return [...document.querySelectorAll('figure.plot')].map((f) => [f.id.slice(4),
  f.querySelectorAll('[data-control]').length]);
"""
HOVER = """
const svg = document.querySelector('#fig-' + arguments[0] + ' svg');
const box = svg.getBoundingClientRect();
const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
svg.dispatchEvent(new PointerEvent('pointermove', at));
"""
CLIPPED = """
return [...document.querySelectorAll('figure.plot, .explorer, .formula, pre')].filter((f) => {
  const b = f.getBoundingClientRect();
  return b.width > 0 && (b.left < -1 || b.right > document.documentElement.clientWidth + 1);
}).map((f) => f.id || f.textContent.slice(0, 60));
"""


@pytest.fixture(scope="module")
def window(html, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html, encoding="utf-8")
    with browser() as made:
        made.size(1300, 900)
        made.open(path.as_uri())
        yield made


def quiet(window) -> None:
    assert [line for line in window.log() if line["level"] in ("SEVERE", "WARNING")] == []


@needs_browser
def test_browser_every_figure_is_drawn_and_every_control_changes_it(window):
    figures = window.run(CONTROLS)
    assert len(figures) >= len(FIGURES)
    for name, controls in figures:
        assert "<path" in window.run(DRAWN, name) or "<circle" in window.run(DRAWN, name), name
        assert controls >= 2
        for k in range(controls):
            before = window.run(DRAWN, name)
            control = window.run(CHANGE, name, k)
            assert control is None or window.run(DRAWN, name) != before, (name, control)
    quiet(window)


@needs_browser
def test_browser_legend_keys_slider_tables_theme_and_contents(window):
    window.run("location.reload()")
    # a line is taken away and comes back
    before = window.run(DRAWN, "quartz_vs_sdca")
    window.click("#fig-quartz_vs_sdca .legend button")
    assert window.run(DRAWN, "quartz_vs_sdca") != before
    window.click("#fig-quartz_vs_sdca .legend button")
    assert window.run(DRAWN, "quartz_vs_sdca") == before
    # values by the keyboard
    said = "return document.querySelector('#fig-quartz_vs_sdca .readout').textContent"
    window.run("document.querySelector('#fig-quartz_vs_sdca svg').focus()")
    window.type("#fig-quartz_vs_sdca svg", "\ue014")
    first = window.run(said)
    window.type("#fig-quartz_vs_sdca svg", "\ue014")
    assert "duality gap" in first and window.run(said) != first
    # and by the pointer
    window.run(HOVER, "averaging")
    read = window.run("return document.querySelector('#fig-averaging .readout').textContent")
    assert "steps t: " in read and "P - P*: " in read and "from " in read
    # the slider moves every number of the explorer
    values = (
        "return [...document.querySelectorAll('.explorer [data-value]')].map((b) => b.textContent)"
    )
    middle = window.run(values)
    window.type(".explorer input", "\ue011")  # Home
    assert len(middle) == 5 and all(a != b for a, b in zip(middle, window.run(values)))
    # a table is sorted both ways
    cells = "return [...document.querySelectorAll('table')].find((t) => t.rows.length > 9)"
    cells += ".querySelectorAll('tbody td:nth-child(4)')"
    numbers = f"return [...(() => {{ {cells} }})()].map((c) => Number(c.textContent))"
    press = "[...document.querySelectorAll('table')].find((t) => t.rows.length > 9)"
    press += ".querySelectorAll('th button')[3].click()"
    window.run(press)
    up = window.run(numbers)
    window.run(press)
    assert up == sorted(up) and window.run(numbers) == sorted(up, reverse=True) and len(set(up)) > 1
    # dark and light
    ground = "return getComputedStyle(document.body).backgroundColor"
    one = window.run(ground)
    window.click("#theme")
    assert window.run(ground) != one
    window.click("#theme")
    assert window.run(ground) == one
    # contents
    window.click('#contents a[href="#erm-errata"]')
    top = "return document.getElementById('erm-errata').getBoundingClientRect().top"
    assert abs(window.run(top)) < 100
    quiet(window)


@needs_browser
@pytest.mark.parametrize("width", [1300, 390])
def test_browser_nothing_is_wider_than_the_window(window, width):
    window.size(width, 844)
    window.run("location.reload()")
    assert window.run(CLIPPED) == []
    assert window.run("return document.documentElement.scrollWidth") <= width
    window.size(1300, 900)


@needs_browser
def test_browser_print_has_no_clipped_figure(window):
    window.size(718, 1000)  # A4 within its margins, at 96 dots an inch
    window.devtools("Emulation.setEmulatedMedia", {"media": "print"})
    window.run("dispatchEvent(new Event('beforeprint'))")
    assert window.run(CLIPPED.replace("figure.plot,", "figure.plot, table,")) == []
    assert (
        window.run("return getComputedStyle(document.querySelector('.controls')).display") == "none"
    )
    assert window.run("return document.querySelectorAll('details:not([open])').length") == 0
    window.devtools("Emulation.setEmulatedMedia", {"media": ""})
    window.size(1300, 900)


@needs_browser
def test_browser_the_page_of_a_sweep(window, tmp_path):
    lam, nan = [1.0, 0.1], float("nan")
    columns = {"passes": [[0, 1, 2], [0, 1, 2]], "seconds": [[0.0, 0.1, nan], [0.0, 0.1, 0.3]]}
    columns |= {"primal": [[1.0, 0.8, nan], [1.0, 0.5, 0.4]], "dual": [[0.0, 0.7, nan]] * 2}
    columns |= {"gap": [[1.0, 0.1, nan], [1.0, 0.2, 0.1]]}
    trace = types.SimpleNamespace(**{name: np.array(v) for name, v in columns.items()})
    lane = {"primal": 0.8, "dual": 0.7, "gap": 0.1, "relative_gap": 0.125, "status": "converged"}
    lane |= {"train_error": 0.1, "held_out_error": None}
    lane |= {"passes": 1}
    lanes = [{"lam": l, **lane, "support_vectors": 30 + k} for k, l in enumerate(lam)]
    data = {"name": "<mine>", "note": "", "rows": 40, "columns": 3, "held_out_rows": 0}
    said = {"data": data, "loss": "hinge", "method": "sdca", "dtype": "float64", "rtol": 0.2}
    said |= {"seconds": 0.3, "error": "share of wrong labels", "lanes": lanes}
    path = tmp_path / "sweep.html"
    solved: Any = types.SimpleNamespace(trace=trace)
    path.write_text(sweep_page(said, solved), encoding="utf-8")
    window.open(path.as_uri())
    assert window.run("return document.querySelector('h1').textContent").startswith("<mine>")
    # what nobody measured is not shown; what was done is not drawn further
    values = "return [...document.querySelectorAll('[data-value]')].map((b) => b.dataset.value)"
    shown = ["relative_gap", "primal", "train_error", "support_vectors"]
    assert window.run(values) == shown
    circles = "return document.querySelectorAll('#fig-sweep-gap svg circle:not(.cursor)').length"
    assert window.run(CHANGE, "sweep-gap", 2) == "logx"  # pass 0 has no place on a log axis
    assert window.run(circles) == 5
    quiet(window)
