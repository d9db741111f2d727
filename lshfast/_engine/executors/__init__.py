"""Ways to run the engine: `memory` runs over items in memory, `local` over files on one machine."""
