"""One panel a step of the line."""
