"""The command line: argv to one call to text and an exit code; one module a command."""
