"""The dossier: what a results file shows and what its user declares, in the order of an assessment.

`facts` reads what only the user knows, `evidence` takes from the results file what no finding has,
`crosswalk` maps topics of standards to sections (``crosswalk.toml``), `view` makes the sections,
and `dossier` puts them together. Sections of findings are those of the page.
"""
