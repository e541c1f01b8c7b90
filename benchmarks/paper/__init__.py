"""The paper's table of surrogates, its ablations and its controls, on all tasks."""
