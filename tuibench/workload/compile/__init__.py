"""Profile compiler: semantic checks, compilation to programs, profiles from ad-hoc SQL."""
