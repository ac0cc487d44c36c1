"""The theorem's assumptions as measurements, label-free calibration, and the verdict."""
