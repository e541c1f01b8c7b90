"""What an expansion says: indices, marginals, moments, and how sure they are."""
