"""The printed table of columns."""

from opgd._tables.summary import ColumnSummary, TableSummary


def test_summary_fits_a_width_and_keeps_the_reference():
    city = "Cork, Gent, Graz, Porto, Turku, other (reference Lyon); 5 rare categories as other"
    entries = [
        ColumnSummary("city", "category", city, 8, ["city_Cork"]),
        ColumnSummary("name" * 10, "unsupported", "dropped: " + "why " * 30, 0, []),
    ]
    summary = TableSummary(100, entries)
    for width in (50, 60, 80, 100):
        lines = summary.to_text(width).splitlines()
        assert len(lines) == 3
        assert max(map(len, lines)) == width
    assert "Cork, Gent, Graz… (reference Lyon); …  " in TableSummary(9, entries[:1]).to_text(64)
    assert city in summary.to_text(200)
    assert "(reference Lyon)" in str(summary)
