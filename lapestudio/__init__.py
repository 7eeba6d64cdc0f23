"""LAPE Studio: give a language model an under-represented language by training only that language's neurons."""

__version__ = "0.1.0"
