"""What refits and replicates of an ensemble say: folds, verdict, noise, embeddings."""
