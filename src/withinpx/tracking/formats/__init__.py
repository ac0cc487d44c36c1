"""Tracks in the formats of other tools, one file per family; ``tracking/exports.py`` lists them."""
