"""A network over frames: positions, reconstructions, residuals. No label anywhere."""
