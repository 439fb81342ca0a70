"""A note on the page: its text as HTML, what can be done with it, and its file, versions and uses."""
