"""Hooks in agent clients: what their own shell, search and fetch tools return is shaped before a model reads it.

A client runs `relay.py` for each result. That hands the result over to one resident process for each user, so that no
call waits for this package to be imported.
"""
