from shaketable.statistics.estimate import Estimate as Estimate
from shaketable.statistics.families import use_intervals as use_intervals
from shaketable.statistics.intervals import change_difference as change_difference
from shaketable.statistics.intervals import (
    change_difference_over_runs as change_difference_over_runs,
)
from shaketable.statistics.intervals import error_upper_bound as error_upper_bound
from shaketable.statistics.intervals import mean_difference as mean_difference
from shaketable.statistics.intervals import mean_difference_over_runs as mean_difference_over_runs
from shaketable.statistics.intervals import mean_share as mean_share
from shaketable.statistics.intervals import mean_share_over_runs as mean_share_over_runs
from shaketable.statistics.intervals import proportion as proportion
from shaketable.statistics.intervals import relative_change as relative_change
from shaketable.statistics.intervals import relative_change_over_runs as relative_change_over_runs
from shaketable.statistics.sequences import hold_at_any_size as hold_at_any_size
