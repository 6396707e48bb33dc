from shaketable.corruptions.balls.numbers import Overlap as Overlap
from shaketable.corruptions.balls.numbers import VolumeFactor as VolumeFactor
from shaketable.corruptions.balls.numbers import log_volume as log_volume
from shaketable.corruptions.balls.numbers import overlap as overlap
from shaketable.corruptions.balls.numbers import samples as samples
from shaketable.corruptions.balls.numbers import volume_factor as volume_factor
from shaketable.corruptions.balls.numbers import volume_table as volume_table
