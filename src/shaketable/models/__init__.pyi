from shaketable.models.augmented import NoiseAugmented as NoiseAugmented
from shaketable.models.embedding import Embedding as Embedding
from shaketable.models.onnx_models import OnnxModel as OnnxModel
from shaketable.models.preprocess import Preprocess as Preprocess
