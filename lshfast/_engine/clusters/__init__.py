"""Groups whose ids last from run to run (`lasting`), and their file (`file`)."""
