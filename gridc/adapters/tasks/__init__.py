"""Tasks of other packages, as task files: a module each, whose `Loader` works in a child process.

A task loader renders a task with the package's own code and gives one JSON document. gridc keeps that
document beside the spec and asks the package nothing more.
"""
