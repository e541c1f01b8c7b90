"""What it is worth to know an input before deciding."""
