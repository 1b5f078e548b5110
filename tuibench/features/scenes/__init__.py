"""Scenes of a demonstration: the steps that a viewer plays."""
