"""One file a package: adapters from (X, Y, laws, degree) to a fitted expansion."""
