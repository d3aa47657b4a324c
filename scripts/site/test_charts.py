"""Tests of the charts: python3 -m unittest discover -s scripts/site"""

import pathlib
import re
import unittest
import xml.etree.ElementTree

import charts

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = """# A page

<!-- servers:begin -->

Measured.

| CPU / ours  |  arena | 1kib       |
|-------------|-------:|------------|
| one         | 1.20 ~ | 2.00       |
| <two> & Co. |      - | other work |

<!-- servers:end -->
"""


def drawings(page):
    return [xml.etree.ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page)]


def of(drawing, tag):
    return drawing.findall(tag)


class Charts(unittest.TestCase):
    def test_a_chart_for_each_column_and_a_bar_for_each_row(self):
        arena, kib = drawings(charts.put_in(PAGE))
        self.assertEqual([text.text for text in of(arena, "text")], ["one", "1.20 ~", "<two> & Co.", "-"])
        self.assertEqual([text.text for text in of(kib, "text")], ["one", "2.00", "<two> & Co.", "other work"])
        widths = [float(bar.get("width")) for bar in of(kib, "rect")]
        self.assertEqual(widths, [charts.WIDTH - charts.NAMES - charts.VALUES, 0.0])

    def test_lengths_are_in_proportion_and_the_line_is_at_equal(self):
        arena, kib = drawings(charts.put_in(PAGE))
        full = charts.WIDTH - charts.NAMES - charts.VALUES
        for drawing, most in [(arena, 1.2), (kib, 2.0)]:
            line, = of(drawing, "line")
            self.assertAlmostEqual(float(line.get("x1")), charts.NAMES + full / most, places=0)

    def test_the_table_stays_and_no_empty_line_ends_the_html(self):
        page = charts.put_in(PAGE)
        self.assertIn("| one         | 1.20 ~ | 2.00       |\n", page)
        block = page[page.index('<div class="charts">'):page.index("</div>")]
        self.assertNotIn("\n\n", block)

    def test_what_has_no_chart_is_an_error(self):
        for page in ["no markers", PAGE.replace("servers:", "unheard_of:"), PAGE.replace("|", "")]:
            with self.assertRaises(ValueError):
                charts.put_in(page)

    def test_the_benchmarks_have_charts_for_every_study(self):
        page = charts.put_in((ROOT / "BENCHMARKS.md").read_text())
        self.assertGreaterEqual(page.count('<div class="charts">'), len(charts.STUDIES))
        for study in charts.STUDIES:
            part = page.split(f"<!-- {study}:begin -->")[1].split(f"<!-- {study}:end -->")[0]
            self.assertEqual(part.count('<div class="charts">'), len(charts.TABLE.findall(part)), study)
        self.assertGreater(len(drawings(page)), 20)


if __name__ == "__main__":
    unittest.main()
