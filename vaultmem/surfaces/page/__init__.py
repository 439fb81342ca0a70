"""The web page: what agents remember, seen, corrected and steered by a person.

Views are functions that return escaped text; the modules in `static` only enhance it.
"""
