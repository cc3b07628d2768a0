"""What detectors share when they fit."""
