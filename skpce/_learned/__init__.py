"""A fit without settings: prior variances of all terms, learned from the samples."""
