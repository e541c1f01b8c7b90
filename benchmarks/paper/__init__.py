"""The paper's table of surrogates and what its indices mean, on all tasks."""
