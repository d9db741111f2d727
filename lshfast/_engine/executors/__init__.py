"""Ways to run the engine: where rows, links and texts are."""
