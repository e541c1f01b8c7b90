"""A report of a fit, as one HTML file."""
