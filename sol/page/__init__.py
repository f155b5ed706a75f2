"""The page of a run: one HTML file to look into everything that happened, or the same page live. Changes nothing."""

from sol.page.data import About, page_data
from sol.page.render import render, write_page

__all__ = ["About", "page_data", "render", "write_page"]
