"""Independent jobs on this machine or on a Ray cluster."""
