"""The worst case: adversarial accuracy, standard and genuine, and what is proven about it.

An adversary may move a point within its *region* (`region`): the ball of radius epsilon, the value
range and, for genuine accuracy, the points that are closer to it than to any other evaluated point,
its Voronoi cell (`voronoi`). Only points within twice the distance can be closer, so short lists of
neighbours are enough for an exact test. Cells are star-shaped, so a point that leaves its cell is
pulled back along the ray to its centre.

All *attacks* (`attacks`) follow one protocol and run one after the other, each on the points that
still withstand (`rounds`). What an attack finds is confirmed: rounded to the numbers that the model
takes, towards the original point so that rounding never leaves the ball, the point must lie in the
region in float64 and be misclassified. An example that was found is therefore a proof; that none
was found is not. Accuracies are upper bounds and list the attacks and their queries (`accuracy`).
They are exact only where nothing is left to find: by a theorem (1-NN on its own points) or by exact
computation (1-NN in L2, the attack ``1nn-exact``). In one and two dimensions the attack ``cover``
searches the whole region to a stated resolution.

`target` prepares the model and its points, `curve` repeats the search along a ladder of epsilon,
and `worst_case` joins models and constraints; `view` and `charts` display the result.
`agreement` compares two models with 1-NN where they differ. `smoothing` certifies the smoothed
version of any model.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
