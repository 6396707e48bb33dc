"""Mean errors under suites: mCE_Lp, iCE, mCE and their like, by norm or kind and by level."""
