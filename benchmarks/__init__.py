"""Where the figures in docs/ come from: ratios against peers, measured side by side in one run."""
