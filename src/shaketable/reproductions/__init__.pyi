from shaketable.reproductions.result import Reproduced as Reproduced
