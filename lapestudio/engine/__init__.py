"""The stages that need torch, one module each, in the order of the data."""
