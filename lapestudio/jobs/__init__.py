"""Start, watch, stop and list runs; imports neither torch nor Qt."""
