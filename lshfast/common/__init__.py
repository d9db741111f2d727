"""What every other part may use: threads, secret keys of a run."""
