"""The command line: one file per command.

`commands` lists them, `parser` reads the arguments, `main` runs one command and turns errors into
exit codes. `flags` and `output` hold what several commands share. Every other module is a
command: `ABOUT` describes it, `add_flags` declares its flags, `run` carries it out. Heavy libraries
are imported inside `run`, so that ``--help`` is quick.
"""
