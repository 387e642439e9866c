"""Reads a table of jobs as evalys does, and draws it: draw.py TABLE PICTURE PROCESSORS."""
import sys

import matplotlib

matplotlib.use("Agg")
from evalys.jobset import JobSet  # noqa: E402
from matplotlib import pyplot  # noqa: E402

jobs = JobSet.from_csv(sys.argv[1], resource_bounds=(0, int(sys.argv[3]) - 1))
print(f"{len(jobs.df)} jobs, {jobs.MaxProcs} processors, {jobs.mean_utilisation():.3f} busy")
jobs.plot(with_details=False)
pyplot.savefig(sys.argv[2])
