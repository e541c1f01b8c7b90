"""What the paper claims, and how each claim is compared with ours."""
