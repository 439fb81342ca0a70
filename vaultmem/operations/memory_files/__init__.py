"""Notes as the files under `/memories` that the API's memory tool reads and writes."""
