"""Networks on images: training noise against test noise (Table 3, Fig. 7)."""
