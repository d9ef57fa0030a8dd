"""Input functions that keep the accelerator busy."""
