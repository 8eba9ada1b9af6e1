"""The report in a real browser: it opens without a network, works, and runs nobody's names."""

import csv
import io
import os
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_wine

from opgd import OPGDClassifier, OPGDMixture, write_report
from opgd.inspection.estimators import standardize_rows
from opgd.inspection.tour import compute_principal_axes, make_tour
from tests.inspection.tours import tour_matrices

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium: the report is not tried in a browser", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="no playwright to drive chromium")

ATTACK = "</script><img src=x onerror=alert(1)>"
COLUMNS = [
    ATTACK, "{{7*7}}", '=HYPERLINK("x")', "\u202e\u05e9\u05dc\u05d5\u05dd", "😀", "n" * 300,
    "<b>bold</b>&amp;", "%{x}", r"$\alpha$", "a\u2028b", "-1+1", "@x", "tab\tx",
]  # fmt: skip
CLASSES = np.array([ATTACK + "{{7*7}}", '=HYPERLINK("x")', "m" * 300])
WIDTHS = (1280, 390)


class Tab:
    """A page of a report, and all that went wrong on it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(offline=True, accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.troubles = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", self.refuse)
        self.page.on("request", self.look_at)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def refuse(self, dialog):
        self.troubles.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def look_at(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.troubles.append(f"asks for {request.url}")

    def ask(self, script, *arguments):
        return self.page.evaluate(script, *arguments)

    def settle(self):
        """Wait until pictures are drawn: a frame, and the one after it."""
        self.ask("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")


@pytest.fixture(scope="module")
def browser():
    arguments = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")  # chromium has none for root
    with playwright.sync_playwright() as driver:
        own = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield own
        own.close()


@pytest.fixture(scope="module")
def rows():
    wine = load_wine(as_frame=True)
    X = wine.data.set_axis(COLUMNS, axis=1)
    X.index = [f"=row{i}<i>" for i in range(len(X))]
    return X, CLASSES[wine.target]


@pytest.fixture(scope="module")
def model(rows):
    return OPGDClassifier(n_components=3).fit(*rows)


@pytest.fixture(scope="module")
def tab(browser, rows, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "report.html"
    write_report(model, *rows, path=path, title=f"{ATTACK} {{{{7*7}}}} {'t' * 300}")
    own = Tab(browser, path, viewport={"width": 1280, "height": 900})
    yield own
    own.context.close()


@pytest.fixture(autouse=True)
def no_troubles(tab):
    yield
    assert tab.troubles == []


def test_page_opens_and_names_are_text(tab):
    assert tab.ask("() => document.images.length") == 0
    assert tab.page.title().startswith(f"{ATTACK} {{{{7*7}}}}")
    assert tab.page.locator("h1").inner_text().startswith(f"{ATTACK} {{{{7*7}}}}")
    assert tab.page.locator("#legend button").count() == 3
    assert tab.page.locator("#legend bdi").first.inner_text().startswith("</script><img")
    options = tab.page.locator("#color option").all_inner_texts()
    assert {ATTACK, "{{7*7}}", "%{x}", "<b>bold</b>&amp;"} <= set(options)
    assert tab.ask("() => opgdReport.pointType") == "scattergl"


def test_nothing_is_wider_than_the_window(tab):
    for width in WIDTHS:
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.settle()
        assert tab.ask("() => document.documentElement.scrollWidth") <= width
    tab.page.set_viewport_size({"width": 1280, "height": 900})


def test_axes_and_colors_can_be_chosen(tab, rows, model):
    X, _ = rows
    scores = model.transform(X)
    drawn = "() => document.getElementById('plot').data.slice(0, 3).flatMap(t => [...t.x])"
    assert np.allclose(np.sort(tab.ask(drawn)), np.sort(scores[:, 0]), atol=1e-4)
    tab.page.select_option("#x", "2")
    tab.settle()
    assert np.allclose(np.sort(tab.ask(drawn)), np.sort(scores[:, 2]), atol=1e-4)
    title = "() => document.querySelector('#plot .xtitle').textContent"
    for name in (ATTACK, "<b>bold</b>&amp;", "%{x}"):  # a column as an axis, its name as its title
        tab.page.select_option("#x", label=name)
        tab.settle()
        assert tab.ask(title) == name
        tab.page.select_option("#color", label=name)
        tab.settle()
        values = tab.ask("() => [...document.getElementById('plot').data[0].marker.color]")
        assert np.allclose(values, X[name], rtol=1e-5)
    assert tab.page.locator("#legend").is_hidden()
    assert tab.ask("() => document.querySelectorAll('#plot a, #plot b, #plot img').length") == 0
    tab.page.select_option("#x", "0")
    tab.page.select_option("#color", "0")
    tab.settle()


def test_a_legend_entry_isolates_its_class(tab):
    shown = "() => opgdReport.scatter.state.parts.map(part => part.code)"
    entry = tab.page.locator("#legend button").nth(1)
    entry.focus()
    tab.page.keyboard.press("Enter")
    assert tab.ask(shown) == [1]
    assert entry.get_attribute("aria-pressed") == "true"
    assert tab.page.locator("#legend button[aria-pressed=false]").count() == 2
    tab.page.locator("#legend button").nth(2).click(modifiers=["Shift"])
    assert sorted(tab.ask(shown)) == [1, 2]
    entry.click(modifiers=["Shift"])
    tab.page.locator("#legend button").nth(2).click()
    assert sorted(tab.ask(shown)) == [0, 1, 2]
    tab.settle()


def test_rows_are_selected_with_the_mouse_and_downloaded(tab, rows):
    tab.page.locator("#tools input[value=select]").check()
    box = tab.page.locator("#plot .nsewdrag").first
    box.scroll_into_view_if_needed()
    area = box.bounding_box()
    tab.page.mouse.move(area["x"] + 3, area["y"] + 3)
    tab.page.mouse.down()
    corner = area["x"] + area["width"] * 0.6, area["y"] + area["height"] - 3
    tab.page.mouse.move(*corner, steps=4)
    tab.page.mouse.up()
    tab.page.wait_for_selector("#download:enabled")
    tab.settle()
    selected = sorted(tab.ask("() => [...opgdReport.scatter.state.selected]"))
    assert 10 < len(selected) < 178
    assert tab.page.locator("#selected").inner_text().startswith(f"{len(selected)} rows selected")
    with tab.page.expect_download() as download:
        tab.page.locator("#download").click()
    assert download.value.suggested_filename == "selected_rows.csv"
    text = download.value.path().read_text("utf-8")
    header, *lines = csv.reader(io.StringIO(text))
    assert header[:3] == ["row", "name", "class"]
    assert [int(line[0]) for line in lines] == selected
    X, y = rows
    assert [line[1] for line in lines] == [f"'{X.index[i]}" for i in selected]  # no formulae
    expected = [f"'{y[i]}" if y[i][0] == "=" else y[i] for i in selected]
    assert [line[2] for line in lines] == expected
    tab.page.locator("#clear").click()
    assert tab.page.locator("#download").is_disabled()


def test_all_shown_rows_are_selected_by_the_keyboard(tab):
    tab.page.locator("#select-shown").focus()
    tab.page.keyboard.press("Enter")
    assert tab.ask("() => opgdReport.scatter.state.selected.size") == 178
    tab.page.locator("#clear").click()


def test_pointing_at_a_row_and_finding_one_shows_its_values(tab, rows):
    X, y = rows
    tab.ask("() => document.getElementById('plot').scrollIntoView({behavior: 'instant'})")
    tab.settle()
    point = tab.ask(
        """() => {
            const plot = document.getElementById('plot'), {xaxis, yaxis} = plot._fullLayout;
            const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
            const own = plot.data[0];
            return [area.left + xaxis.d2p(own.x[0]), area.top + yaxis.d2p(own.y[0])];
        }"""
    )
    tab.page.mouse.move(point[0] + 40, point[1])
    tab.page.mouse.move(*point, steps=3)
    tip = tab.page.locator("#tip")
    tip.wait_for(state="visible")
    assert "=row" in tip.inner_text()
    assert tip.locator("img, b").count() == 0
    tab.page.mouse.move(5, 5)
    tab.page.fill("#find", "17")
    tab.page.keyboard.press("Enter")
    details = tab.page.locator("#details")
    assert "Row 17 (=row17<i>)" in details.inner_text()
    assert y[17][:20] in details.inner_text()
    assert f"{X.iloc[17, 0]:.4g}" in details.inner_text()
    tab.page.fill("#find", "9999")
    tab.page.keyboard.press("Enter")
    assert "not among the rows" in details.inner_text()


def test_the_tour_ends_at_the_scores(tab, rows, model):
    standardized = standardize_rows(model, rows[0].to_numpy())
    coefficients = (model.components_ * model._coordinates.scale)[:2]
    tour, axes = make_tour(compute_principal_axes(standardized), coefficients)
    pca, scores = standardized @ axes.T, standardized @ coefficients.T
    slider = tab.page.locator("#tour-slider")
    slider.focus()
    for key, t in (("Home", 0.0), ("ArrowRight", 0.01), ("End", 1.0)):
        tab.page.keyboard.press(key)
        tab.settle()
        assert float(slider.input_value()) == t
        first, second = tour_matrices(tour, t)
        expected = pca @ first + scores @ second
        found = np.array(tab.ask("t => opgdReport.tour.picture(t).map(own => [...own])", t)).T
        assert np.allclose(found, expected, atol=1e-4)
        drawn = tab.ask("() => opgdReport.tour.plot.data.flatMap(own => [...own.x])")
        assert np.allclose(np.sort(drawn), np.sort(expected[:, 0]), atol=1e-4)


def test_colors_of_the_page_can_be_dark(tab):
    color = "() => getComputedStyle(document.body).backgroundColor"
    light = tab.ask(color)
    tab.page.locator("#theme").click()
    tab.settle()
    assert tab.ask(color) != light
    assert tab.page.locator("#theme").inner_text() == "Light"
    tab.page.locator("#theme").click()
    assert tab.ask(color) == light


def test_report_on_clusters_opens_on_a_small_dark_screen(browser, rows, tmp_path):
    X, y = rows
    mixture = OPGDMixture((2, 3, 4), random_state=0).fit(X)
    path = write_report(mixture, X, y, path=tmp_path / "clusters.html")
    own = Tab(browser, path, viewport={"width": 390, "height": 800}, color_scheme="dark")
    assert own.troubles == []
    assert own.ask("() => document.documentElement.scrollWidth") <= 390
    assert own.page.locator("#clusters .matrix").count() == 2
    own.context.close()
