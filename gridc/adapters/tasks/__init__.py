"""Tasks of other packages, rendered by the packages' own code into task files (`schema.tasks`).

A loader is a class whose methods run in a child process without keys and without a network. It imports its
package inside of them, so that importing a loader costs nothing and needs nothing.
"""
