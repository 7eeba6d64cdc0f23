"""Small widgets that several panels use."""
