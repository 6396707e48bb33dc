"""Tasks on workers: processes of this machine, or of a cluster.

`tasks.run_tasks` yields the outcome of every task as it is finished: its result, or the error that
it failed with, so that the others go on. A `Backend` says where tasks run. By default these are
processes that joblib starts (`joblib_backend`, which a surrounding ``joblib.parallel_config``
directs elsewhere); within ``with cluster("dask", address=…)`` those of a Dask cluster
(`dask_backend`), and likewise of Ray (`ray_backend`).

- Data are sent to a worker once. A task names the objects that others share (`Task.shared`); it is
  pickled without them, and they travel on their own (`packing`).
- Few tasks are under way at a time, about two per worker. So a plan may have any number of them,
  and each may be made when it is about to run.
- The cluster runs the tasks of a lost worker again; one whose workers are lost every time fails.
- A worker must have the versions of the packages that results depend on (`packing`), and takes one
  GPU of its machine for itself (`packing.take_gpu`).
"""
