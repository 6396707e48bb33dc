from shaketable.evaluation.records import Record as Record
from shaketable.evaluation.records import Records as Records
from shaketable.evaluation.rerun import Rerun as Rerun
from shaketable.evaluation.store import Store as Store
