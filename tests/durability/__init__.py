"""Killing gridc at any instant of a study's life, and letting its disk fail."""
