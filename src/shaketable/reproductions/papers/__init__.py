"""What is reproduced: one module per subject, which declares its names, forms and claims."""
