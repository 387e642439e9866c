"""The round that a policy acts on, with the copy of the state."""

from state import FOREVER


class Cycle:
    """A round for a policy to act on, after all events have been applied."""

    def __init__(self, state, round, action):
        self.state, self._action, self._events = state, action, len(round.events)
        self.journal = []  # what the policy did
        self._failed = {}  # the shortest estimate that did not fit, by kind of job
        state.open(round)
        for event in round.events:
            state.apply(event)

    @property
    def now(self):
        return self.state.now

    @property
    def resources(self):
        """The names of the pool's resources, in the order of all amounts."""
        return self.state.resources

    @property
    def capacity(self):
        """What the slots that are up have together of each resource."""
        up = [slot.capacity for slot in self.state.slots if slot.up]
        return tuple(sum(amounts) for amounts in zip(*up)) or (0,) * len(self.resources)

    @property
    def use(self):
        """What running jobs take together of each resource."""
        held = [amount for slot in self.state.slots for job, amount in slot.jobs.items() if job.running]
        return tuple(sum(amounts) for amounts in zip(*held)) or (0,) * len(self.resources)

    def running(self):
        """The running jobs, by expected end."""
        return sorted((j for j in self.state.jobs.values() if j.running), key=lambda j: (j.end, j.place))

    def queue(self):
        """The waiting jobs in the queue's order."""
        return sorted((j for j in self.state.jobs.values() if j.waits), key=lambda j: (j.key, j.place))

    def reserved(self):
        """The waiting jobs that have a reservation."""
        return [j for j in self.queue() if j.at is not None]

    def release(self, job):
        """Releases the job's reservation, if it has one; returns whether it had."""
        if not job.waits or job.at is None:
            return False
        self._do("RELEASE", job)
        self._failed.clear()
        return True

    def start(self, job):
        """Starts the job if it waits and fits beside running and reserved jobs; returns whether it did."""
        if not job.waits:
            return False
        kind = job.candidates, job.nodes, job.request
        if job.estimate >= self._failed.get(kind, FOREVER):
            return False
        at = self.state.place(job, self.now)
        if at is None:
            self._failed[kind] = job.estimate
            return False
        self._do("START", job, placement=at)
        return True

    def reserve(self, job):
        """Reserves the earliest place for a waiting job without a reservation; returns its start.

        It returns None if the job never fits, does not wait, or has a reservation: release that first.
        """
        earliest = self.state.earliest(job) if job.waits and job.at is None else None
        if earliest is None:
            return None
        self._do("RESERVE", job, at=earliest[0], placement=earliest[1])
        return earliest[0]

    def hold(self, job, reason):
        """Takes the job out of the queue if it waits; its owner is shown the reason. Returns whether it did."""
        if not job.waits:
            return False
        self._do("HOLD", job, reason=reason)
        return True

    def _do(self, kind, job, placement=None, **fields):
        action = self._action(after=self._events, kind="ACTION_KIND_" + kind, job=job.id, **fields)
        if placement is not None:
            action.placement.slots.extend(slot for slot, _ in placement)
            action.placement.counts.extend(n for _, n in placement)
        self.journal.append(action)
        self.state.act(action)
