"""What the engine, the jobs and the window must agree on: numpy, pydantic and the standard library alone."""
