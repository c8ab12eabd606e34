"""The forms of export, for whoever lists them."""

from gridc.reports.exchange import EXPORTS, Export

__all__ = ["EXPORTS", "Export"]
