"""The pictures: heatmaps, neuron map, curves."""
