"""Do predictive intervals cover held-out members of four kinds of ensemble?"""
