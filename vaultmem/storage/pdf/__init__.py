"""The text of PDFs, read beside and never written."""
