"""Settings of fits that many tests share."""

RIDGE = {"solver": "ridge", "distribution": "normal"}
OLS = {"solver": "ols", "distribution": "normal"}
