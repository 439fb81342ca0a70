"""The lines of a session's journal: what they say of the work, and the summary made of them."""
