"""Agent frameworks and web APIs, one file each: each shapes tool results at the hook its framework has for them.

A file here imports its framework; nothing else in the package imports a file here.
"""
