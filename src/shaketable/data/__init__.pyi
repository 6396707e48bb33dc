from shaketable.data.arrays import make_dataset as make_dataset
from shaketable.data.bounds import Bounds as Bounds
from shaketable.data.dataset import Dataset as Dataset
from shaketable.data.files import load as load
