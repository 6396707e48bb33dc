"""Models: what they are to shaketable, where they come from and how they are fitted.

`classifier` turns a fitted model of any kind (scikit-learn estimator, torch module, ONNX file,
function) into a `Classifier`: points in, class codes out. `loading` finds the models that the
command line names; each kind of model file has a loader, declared in the module that reads it.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
