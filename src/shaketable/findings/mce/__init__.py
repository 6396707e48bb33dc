"""Mean errors under suites: mCE_Lp, iCE and the variants of mCE, by norm or kind and by level."""
