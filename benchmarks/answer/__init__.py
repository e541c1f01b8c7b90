"""Is the answer of ``skpce.explain`` right? Error rates, power, coverage, cost."""
