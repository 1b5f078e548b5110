"""The settings that can be changed: values, limits, privileges, presets."""
