"""Work in pieces, on this machine or on a Ray cluster."""
