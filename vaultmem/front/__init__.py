"""The light way in: windows and commands ask the vault's engine before anything heavy is loaded.

Nothing here imports more than a handful of the standard library's smallest modules: a window is
to answer in a blink, and to stay small for as long as its client runs.
"""
