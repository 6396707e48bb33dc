from shaketable.separations.audit import Audit as Audit
from shaketable.separations.one_nn import OneNN as OneNN
from shaketable.separations.separation import Separation as Separation
