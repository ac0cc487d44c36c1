"""Positions made by another program, judged by what ``track`` proves of the same clip."""
