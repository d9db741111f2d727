"""The command line; it has no logic of its own.

Files:

- main.py, overview.py: the table of the commands and the modules that declare them; their overview.
- generated.py, completion.py: commands from declarations; columns that shells complete.
- terminal.py, console.py: what commands need of the terminal, and questions that a person answers
  by one key; progress and tables.
- errors.py: errors in one line, which name only options that the command has.
- dedup.py, explain.py, index.py, stage.py, tune.py, demo.py, demo_data.py: the commands of no
  application, and the data of the demo.
"""
