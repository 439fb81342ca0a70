"""Changes of a part of a note: text appended, words replaced, tasks, the daily note of today."""
