"""The report in a real browser: it opens without a network, works, and runs nobody's names."""

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_wine

from opgd import OPGDClassifier, OPGDMixture, explore, write_report
from opgd.inspection.palette import STYLES
from tests.report.browser import Tab, require_browser

require_browser()

ATTACK = "</script><img src=x onerror=alert(1)>"
COLUMNS = [
    ATTACK, "{{7*7}}", '=HYPERLINK("x")', "\u202e\u05e9\u05dc\u05d5\u05dd", "😀", "n" * 300,
    "<b>bold</b>&amp;", "%{x}", r"$\alpha$", "a\u2028b", "-1+1", "@x", "tab\tx",
]  # fmt: skip
CLASSES = np.array([ATTACK + "{{7*7}}", '=HYPERLINK("x")', "m" * 300])
WIDTHS = (1280, 390)
SELECTED = "() => [...opgdReport.rows.state.selected].sort((a, b) => a - b)"
SHOWN = "() => opgdReport.rows.visibleParts().map(part => part.code).sort()"
OVERLAPS = """() => [...document.querySelectorAll(".controls, .selection")].flatMap((bar) => {
    const boxes = [...bar.querySelectorAll("select, button, input")].map((node) =>
        [node.id || node.textContent, node.getBoundingClientRect()]);
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return boxes.flatMap(([first, a], i) => boxes.slice(i + 1)
        .filter(([, b]) => meet(a, b)).map(([second]) => `${first} and ${second}`));
})"""
PIXELS = """() => {
    const area = opgdReport.scatter.chart.canvas.getBoundingClientRect();
    const [xs, ys] = opgdReport.scatter.pixels();
    return Array.from(xs, (x, i) => [area.left + x, area.top + ys[i]]);
}"""


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
    title = f"{ATTACK} {{{{7*7}}}} {'t' * 300}"
    write_report(model, *rows, path=path, title=title, cv=2, comparison=None)
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
    shapes = tab.ask("() => Object.keys(opgdReport.draw.SHAPES)")
    assert {style.symbol.removesuffix("-open") for style in STYLES} <= set(shapes)


def test_nothing_is_wider_than_the_window_or_covers_another_control(tab):
    for width in WIDTHS:
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.settle()
        assert tab.ask("() => document.documentElement.scrollWidth") <= width
        assert tab.ask(OVERLAPS) == []
    tab.page.set_viewport_size({"width": 1280, "height": 900})


def test_the_contents_lead_to_every_section(tab):
    links = tab.page.locator("nav a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    sections = tab.page.locator("main > section").evaluate_all("all => all.map(s => '#' + s.id)")
    assert sorted(links) == sorted(sections)


def test_axes_and_colors_can_be_chosen(tab, rows, model):
    X, _ = rows
    scores = model.transform(X) - model.components_ @ model._coordinates.center
    drawn = "key => [...opgdReport.scatter.coordinates[opgdReport.scatter.place[key]].numbers()]"
    assert np.allclose(tab.ask(drawn, "x"), scores[:, 0], atol=1e-4)
    tab.page.select_option("#x", "2")
    assert np.allclose(tab.ask(drawn, "x"), scores[:, 2], atol=1e-4)
    for name in (ATTACK, "<b>bold</b>&amp;", "%{x}"):
        tab.page.select_option("#x", label=name)
        tab.page.select_option("#color", label=name)
        tab.settle()
        assert np.allclose(tab.ask(drawn, "x"), X[name], rtol=1e-5)
        x = np.array(tab.ask(PIXELS))[:, 0]
        assert np.corrcoef(x, X[name])[0, 1] > 0.9999  # pixels are linear in the values
        picture = tab.ask("() => opgdReport.scatter.chart.toSVG()")
        assert "<img" not in picture
        assert "<b>" not in picture
    assert tab.page.locator("#legend").is_hidden()
    tab.page.select_option("#x", "0")
    tab.page.select_option("#color", "0")
    tab.settle()


def test_extreme_rows_are_counted_and_shown_on_request(tab):
    narrow = """() => {
        const { chart, coordinates } = opgdReport.scatter, [x] = coordinates;
        x.frame = [x.frame[0], (x.frame[0] + x.frame[1]) / 2];
        chart.redraw();
    }"""
    tab.ask(narrow)
    scores = np.array(tab.ask("() => [...opgdReport.scatter.coordinates[0].numbers()]"))
    limit = tab.ask("() => opgdReport.scatter.coordinates[0].frame[1]")
    words = tab.page.locator("#outside").inner_text()
    assert words.startswith(f"{np.sum(scores > limit)} points are outside")
    tab.page.locator("#show-all").click()
    tab.settle()
    assert tab.page.locator("#outside").is_hidden()
    tab.page.locator("#reset").click()
    widen = "() => { const { frame } = opgdReport.scatter.coordinates[0]; %s; %s; }"
    tab.ask(widen % ("frame[1] += frame[1] - frame[0]", "opgdReport.scatter.chart.redraw()"))
    tab.settle()


def test_the_view_is_zoomed_moved_and_reset(tab):
    view = "() => opgdReport.scatter.chart.getScale().range"
    home = tab.ask(view)
    area = tab.show("#plot")
    x, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    tab.drag((x, y), (x + 100, y + 100))
    zoomed = tab.ask(view)
    assert zoomed[1] - zoomed[0] < 0.2 * (home[1] - home[0])
    assert tab.page.locator("#outside").is_visible()
    tab.page.keyboard.press("ArrowRight")
    tab.settle()
    moved = tab.ask(view)
    assert moved[0] > zoomed[0]
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0])
    tab.page.keyboard.press("-")
    tab.settle()
    assert tab.ask(view)[1] > moved[1]
    tab.page.keyboard.press("0")
    tab.settle()
    assert tab.ask(view) == home


def test_a_legend_entry_isolates_its_class(tab):
    entry = tab.page.locator("#legend button").nth(1)
    entry.focus()
    tab.page.keyboard.press("Enter")
    assert tab.ask(SHOWN) == [1]
    assert entry.get_attribute("aria-pressed") == "true"
    assert tab.page.locator("#legend button[aria-pressed=false]").count() == 2
    tab.page.locator("#legend button").nth(2).click(modifiers=["Shift"])
    assert tab.ask(SHOWN) == [1, 2]
    tab.page.locator("#legend button").nth(1).click(modifiers=["Shift"])
    tab.page.locator("#legend button").nth(2).click()
    assert tab.ask(SHOWN) == [0, 1, 2]


def test_rows_are_selected_everywhere_and_downloaded(tab, rows):
    for tool in ("lasso", "select"):
        tab.page.locator(f"#tools input[value={tool}]").check()
        area = tab.show("#plot")
        left, top = area["x"] + 70, area["y"] + 15
        right, bottom = area["x"] + 0.6 * area["width"], area["y"] + area["height"] - 60
        tab.page.mouse.move(left, top)
        tab.page.mouse.down()
        for corner in ((right, top), (right, bottom), (left, bottom))[tool == "select" :]:
            tab.page.mouse.move(*corner)
            if tool == "select":
                break
        tab.page.mouse.up()
        tab.settle()
        places = np.array(tab.ask(PIXELS))
        inside = np.all((places >= [left, top]) & (places <= [right, bottom]), axis=1)
        selected = tab.ask(SELECTED)
        assert selected == np.flatnonzero(inside).tolist()
        assert 10 < len(selected) < 178
    assert tab.page.locator("#selected").inner_text().startswith(f"{len(selected)} rows selected")
    bar = tab.page.locator(".selection").bounding_box()
    assert bar["y"] + bar["height"] <= 900  # the bar is on the screen with the plot
    tab.page.locator("#rows-selected").check()
    assert f"of {len(selected)} rows" in tab.page.locator("#rows-count").inner_text()
    assert tab.page.locator("#rows-table input:checked").count() == 12
    tab.page.locator("#rows-selected").uncheck()
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
    tab.page.locator("#tools input[value=zoom]").check()


def test_the_table_is_sorted_and_selects_rows(tab):
    button = tab.page.locator("#rows-table thead button", has_text="typicality")
    button.focus()
    tab.page.keyboard.press("Enter")
    typicality = np.array(tab.ask("() => [...opgdReport.rows.values[1].numbers()]"))
    assert tab.ask("() => opgdReport.table.getOrder()[0]") == int(np.argmin(typicality))
    tab.page.locator("#rows-next").click()
    assert tab.page.locator("#rows-count").inner_text().startswith("13\u201324 of 178")
    tab.page.locator("#rows-table tbody input").nth(2).check()
    assert tab.ask(SELECTED) == [int(np.argsort(typicality, kind="stable")[14])]
    assert tab.page.locator("#selected").inner_text().startswith("1 row selected")
    tab.page.locator("#clear").click()


def test_pointing_at_a_row_and_finding_one_shows_its_values(tab, rows):
    X, y = rows
    tab.show("#plot")
    point = tab.ask(PIXELS)[0]
    tab.page.mouse.move(point[0] + 40, point[1])
    tab.page.mouse.move(*point, steps=3)
    tip = tab.page.locator("#tip")
    tip.wait_for(state="visible")
    assert "=row" in tip.inner_text()
    assert tip.locator("img, b").count() == 0
    inner, outer = tip.bounding_box(), tab.page.locator("#plot").bounding_box()
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
    assert inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1
    tab.page.mouse.click(*point)
    assert "Row =row0<i>" in tab.page.locator("#details").inner_text()
    tab.page.mouse.move(5, 5)
    tab.page.fill("#find", "=row17<i>")
    tab.page.keyboard.press("Enter")
    details = tab.page.locator("#details")
    assert "Row =row17<i>" in details.inner_text()
    assert y[17][:20] in details.inner_text()
    assert f"{X.iloc[17, 0]:.4g}" in details.inner_text()
    tab.page.fill("#find", "9999")
    tab.page.keyboard.press("Enter")
    assert "not among the 178 rows" in details.inner_text()
    assert details.bounding_box()["y"] < tab.page.locator("#plot").bounding_box()["y"]


def test_listed_rows_lead_to_the_projection_and_back(tab):
    button = tab.page.locator("#check [data-row]").first
    row = int(button.get_attribute("data-row"))
    button.click()
    assert tab.ask("() => opgdReport.rows.positions[opgdReport.rows.state.marked]") == row
    assert tab.page.locator("#details h3").inner_text() == f"Row {button.inner_text()}"
    box = tab.page.locator("#details").bounding_box()
    assert 0 <= box["y"] < 450  # on the screen, above the plot
    tab.page.keyboard.press("Enter")  # the way back has the focus
    assert tab.ask("() => document.activeElement.dataset.row") == str(row)
    assert 0 <= button.bounding_box()["y"] < 900


def test_listed_rows_are_downloaded_with_reasons_and_columns(tab, rows):
    X, _ = rows
    with tab.page.expect_download() as download:
        tab.page.locator("[data-csv=rows_to_check]").click()
    assert download.value.suggested_filename == "rows_to_check.csv"
    header, *lines = csv.reader(io.StringIO(download.value.path().read_text("utf-8")))
    listed = tab.page.locator("#check [data-row]").evaluate_all(
        "all => all.map(b => b.dataset.row)"
    )
    assert [line[0] for line in lines] == listed
    assert header[2] == "reason"
    assert all(line[2] for line in lines)
    assert len(header) == len(lines[0]) == 3 + 3 + 2 + X.shape[1]
    name = '=HYPERLINK("x")'
    column = header.index(f"'{name}")
    values = [float(line[column]) for line in lines]
    assert values == pytest.approx(X[name].to_numpy()[list(map(int, listed))], rel=1e-6)


@pytest.mark.parametrize("chart", ["plot", "calibration"])
def test_charts_are_saved(tab, chart):
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        with tab.page.expect_download() as download:
            tab.page.locator(f"[data-save={chart}][data-kind={kind}]").click()
        assert download.value.suggested_filename == f"{chart}.{kind}"
        content = download.value.path().read_bytes()
        assert content.startswith(start)
        assert len(content) > 2000
    assert b"onerror" not in content or b"<img" not in content


def test_colors_of_the_page_can_be_dark(tab):
    color = "() => getComputedStyle(document.body).backgroundColor"
    light = tab.ask(color)
    tab.page.locator("#theme").click()
    tab.settle()
    assert tab.ask(color) != light
    assert tab.page.locator("#theme").inner_text() == "Light"
    tab.page.locator("#theme").click()
    assert tab.ask(color) == light


def test_extreme_missing_and_test_rows_do_not_break_the_page(browser, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = X[:, :6].copy()
    X[:, 1] = X[:, 1] > 2  # few different values
    model = OPGDClassifier(2).fit(X[:120], y[:120] % 2)
    X[3:9, 0] = np.nan
    X[20] = 1e155
    X[21, 2] = -1e300
    X[:, 5] = np.arange(178) * 5e-324
    arguments = {"X_test": X[120:], "y_test": y[120:] % 2, "comparison": None}
    path = write_report(model, X[:120], y[:120] % 2, path=tmp_path / "r.html", **arguments)
    own = Tab(browser, path, viewport={"width": 1280, "height": 900})
    assert own.page.locator("#outside").inner_text().startswith("2 points are outside")
    for quantity in ("x", "color"):
        for number in range(own.page.locator(f"#{quantity} option").count()):
            own.page.select_option(f"#{quantity}", str(number))
            own.settle()
    own.page.select_option("#x", "0")
    assert "NaN" not in own.ask("() => opgdReport.scatter.chart.toSVG()")
    own.page.locator("#show-all").click()
    own.settle()
    assert own.page.locator("#outside").is_hidden()
    own.page.fill("#find", "20")
    own.page.keyboard.press("Enter")
    assert "1.00e155" in own.page.locator("#details").inner_text()
    own.page.select_option("#color", label="set")
    own.page.locator("#legend button").nth(1).click()
    own.page.locator("#select-shown").click()
    assert "58 rows selected" in own.page.locator("#selected").inner_text()
    row = own.page.locator("#check [data-row]").first
    assert row.inner_text().startswith("test ")
    row.click()
    assert own.page.locator("#details h3").inner_text() == f"Row {row.inner_text()}"
    assert own.troubles == []
    own.context.close()


def test_report_on_clusters_opens_on_a_small_dark_screen(browser, rows, tmp_path):
    X, y = rows
    mixture = OPGDMixture((2, 3, 4), random_state=0).fit(X)
    path = write_report(mixture, X, y, path=tmp_path / "clusters.html")
    own = Tab(browser, path, viewport={"width": 390, "height": 800}, color_scheme="dark")
    assert own.ask("() => document.documentElement.scrollWidth") <= 390
    assert own.page.locator("#clusters .matrix").count() == 2
    assert own.page.locator("#selection-curve circle").count() == 3
    assert own.page.locator(".profile tbody tr").count() >= 13
    own.page.locator("#contents summary").click()
    own.page.locator("nav a[href='#far']").click()
    assert own.page.locator("#contents[open]").count() == 0
    assert own.troubles == []
    own.context.close()


def test_the_projection_of_a_notebook_works_in_its_frame(browser, rows, model, tmp_path):
    shown = explore(model, *rows)
    path = tmp_path / "notebook.html"
    ready = "<html data-ready><meta charset='utf-8'>"
    path.write_text(ready + shown._repr_html_(), "utf-8", "replace")
    own = Tab(browser, path, viewport={"width": 900, "height": 900})
    frame = own.page.frame_locator("iframe")
    frame.locator("#legend button").nth(1).click()
    assert frame.locator("#legend button[aria-pressed=false]").count() == 2
    frame.locator("#select-shown").click()
    assert "71 rows selected" in frame.locator("#selected").inner_text()
    with own.page.expect_download() as download:
        frame.locator("[data-save=plot][data-kind=png]").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    assert own.troubles == []
    own.context.close()


@pytest.mark.parametrize("prefix", ["", "\n", "\t", "\ufeff", "\u200b"])
@pytest.mark.parametrize("sign", "=+-@\uff1d\uff0b\uff0d\uff20")
def test_downloads_contain_no_formulas(sign, prefix, tab):
    found = tab.page.evaluate("text => report.selection.csvText(text)", f"{prefix}{sign}1")
    assert found == f'"\'{prefix}{sign}1"'
    assert tab.page.evaluate("text => report.selection.csvText(text)", "1-1") == '"1-1"'
