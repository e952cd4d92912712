"""Pages for people: one html file with its figures, its data and nothing from elsewhere."""

from jaxopt_svm.html.page import explorer, figure, page, table
from jaxopt_svm.html.sweep_page import sweep_page, sweep_rows

__all__ = ["explorer", "figure", "page", "sweep_page", "sweep_rows", "table"]
