"""Folders of datasets: finding one by id and version, and laying out a new project."""
