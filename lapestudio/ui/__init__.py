"""The window: a thin face on specs, events and run folders."""
