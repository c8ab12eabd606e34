"""The forms of export, for whoever lists them."""

from collections.abc import Mapping

from gridc.reports.exchange import EXPORTS, TRACKERS, Export, Tracker

__all__ = ["EXPORTS", "TABLES", "TRACKERS", "Export", "Tracker"]

TABLES: Mapping[str, str] = {
    "samples": "Every sample with its item, what was read of it and its score.",
    "calls": "Every distinct call with its prompt and its answer.",
    "cells": "The score of every cell, with what it is made of and its sampling error.",
    "pairs": "The certificate's pairs: one row for each pair of models in each scope of each benchmark.",
    "hypotheses": "The certificate's hypotheses, decided.",
    "statistics": "The statistics that the spec states, of each model under each configuration.",
}
"""The tables that are exported as files, by name."""
