from shaketable.adversary.accuracy import AdversarialAccuracy as AdversarialAccuracy
from shaketable.adversary.curve import adversarial_accuracy as adversarial_accuracy
from shaketable.adversary.curve import adversarial_curve as adversarial_curve
from shaketable.adversary.distances import Distances as Distances
from shaketable.adversary.smoothing.model import Smoothed as Smoothed
from shaketable.adversary.smoothing.numbers import Certificates as Certificates
from shaketable.adversary.worst_case import WorstCase as WorstCase
