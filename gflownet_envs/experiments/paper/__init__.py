"""The whole paper on one page: every figure, table and claim beside ours."""
