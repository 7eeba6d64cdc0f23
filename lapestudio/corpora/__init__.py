"""Corpus files to text segments; imports no model library, since the window previews with it."""
