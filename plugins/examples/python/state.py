"""The plugin's copy of the host's state, for policies that give no guarantees.

Events and journals bring it from one revision to the next, exactly as in the host.
Everything is computed from running and reserved jobs by plain loops, which suit
some hundred slots.
"""

import copy
from collections import namedtuple
from fractions import Fraction

FOREVER = (2**63 - 1) // 4  # later than any instant
NEVER_FITS = "fits on no slot of the pool, even an empty one"  # the reason for which the state itself holds a job
SPREAD, PACK = 3, 2  # of PlacementRule


class Job:
    """A job and its status. Policies must not change it."""

    def __init__(self, spec, key):
        self.id, self.nodes, self.request = spec.id, spec.nodes, tuple(spec.request)
        self.whole = spec.whole  # it takes a whole bundle, whatever it requests
        self.submit, self.estimate, self.labels = spec.submit, spec.estimate, dict(spec.labels)
        self.runs = spec.running or spec.estimate  # the expected run time once it is started
        self.candidates = spec.candidates
        # the order of jobs
        self.place = (spec.submit, spec.place_queue, spec.place_cluster, spec.place_proc, spec.id)
        self.key = key  # in the queue's order, lower first
        self.running, self.held = False, ""
        self.at, self.start, self.end = None, 0, 0  # where it runs or is reserved: [(slot, chunks)]

    @property
    def waits(self):
        return not self.running and not self.held

    @property
    def width(self):
        """Returns the total number of cpus."""
        return self.nodes * self.request[0]

    @property
    def total(self):
        """Returns the amount of every resource that all chunks take together."""
        return tuple(self.nodes * amount for amount in self.request)

    def waited(self, now):
        """Returns for how many seconds the job has been in the pool."""
        return max(0, now - self.submit)


class Slot:
    def __init__(self, spec, up):
        self.name, self.capacity, self.up = spec.name, tuple(spec.capacity), up
        self.jobs = {}  # running or reserved here, with their amounts of each resource


# slots that a job takes together as a whole, such as a partition
Bundle = namedtuple("Bundle", "name slots")


class State:
    def __init__(self, snapshot):
        self.rule, self.now, self.revision = snapshot.rule, snapshot.now, snapshot.revision
        self.resources = list(snapshot.resources)
        # slots of jobs started in this round that are expected to exceed their estimates
        self._outlasted = set()
        self.slots = [Slot(s.slot, s.up) for s in snapshot.slots]
        self.bundles, self.jobs = [], {}
        self.sets = {}  # sets of slots, or of bundles for whole jobs, with the rank of each
        self._redefine(snapshot)
        for j in snapshot.jobs:
            job = self.jobs[j.job.id] = Job(j.job, j.key)
            job.running, job.held = j.running, j.held
            if j.HasField("placement"):
                self.put(job, placement(j.placement), j.start, j.end)

    def fork(self):
        """Returns an independent copy."""
        return copy.deepcopy(self)

    # What is free when.

    def free(self, slot, start, end):
        """Returns the minimum that is free of each of the slot's resources during [start, end)."""
        slot = self.slots[slot]
        spans = [(job.start, job.end, amount) for job, amount in slot.jobs.items()
                 if job.start < end and job.end > start]
        least = None
        for t in {start}.union(s[0] for s in spans if s[0] > start):  # the free amount drops where a span begins
            left = list(slot.capacity)
            for begin, until, amount in spans:
                if begin <= t < until:
                    left = [a - b for a, b in zip(left, amount)]
            least = left if least is None else [min(a, b) for a, b in zip(least, left)]
        return least

    def chunks(self, job, slot, start):
        """Returns how many of the job's chunks fit the slot from start through its estimate."""
        return within(self.free(slot, start, start + job.estimate), job) if self.slots[slot].up else 0

    def all_free(self, start, end):
        """Returns the slots that are completely free during [start, end)."""
        up = [(s, slot.capacity) for s, slot in enumerate(self.slots) if slot.up]
        return {s for s, capacity in up if all(f >= c for f, c in zip(self.free(s, start, end), capacity) if c > 0)}

    def bundles_of(self, job):
        """Returns the available bundles that the job may take, each with its rank."""
        return [(self.bundles[b], rank) for b, rank in self.sets[job.candidates].items() if b < len(self.bundles)]

    def slots_of(self, job):
        """Returns the slots that the job may use and that are up."""
        slots = self.sets[job.candidates]
        if job.whole:
            slots = {s for bundle, _ in self.bundles_of(job) for s in bundle.slots}
        return [s for s in slots if s < len(self.slots) and self.slots[s].up]

    def fits(self, job, at, start):
        """Returns whether the job fits a placement from start through its estimate."""
        if job.whole:
            slots = tuple(s for s, _ in at)
            known = any(b.slots == slots for b, _ in self.bundles_of(job))
            return known and self.all_free(start, start + job.estimate).issuperset(slots)
        return all(s in self.sets[job.candidates] and self.chunks(job, s, start) >= n for s, n in at)

    def ever_fits(self, job):
        """Returns whether the empty pool could run the job."""
        slots, chunks = self.slots_of(job), 0
        if job.whole:
            return any(set(bundle.slots).issubset(slots) for bundle, _ in self.bundles_of(job))
        for s in slots:
            chunks += within(self.slots[s].capacity, job)
            if chunks >= job.nodes:  # usually the first slot suffices
                return True
        return False

    def place(self, job, start):
        """Returns where the host would place the job from start on; None if it does not fit."""
        if job.whole:
            return self._place_whole(job, start)
        hosts, total = [], 0
        for slot, rank in self.sets[job.candidates].items():
            free = self.free(slot, start, start + job.estimate) if self.slots[slot].up else []
            n = within(free, job) if free else 0
            if n > 0:
                hosts.append((self._preference(job, slot, rank, free), slot, n))
                total += n
        if total < job.nodes:
            return None
        hosts.sort()
        hosts = [(slot, n) for _, slot, n in hosts]
        if self.rule == SPREAD:
            return spread(hosts, job.nodes)
        at, left = [], job.nodes
        for slot, n in hosts:
            at.append((slot, min(n, left)))
            left -= min(n, left)
            if left == 0:
                break
        return at

    def _place_whole(self, job, start):
        """Returns the free bundle with the best rank, then fewest blocked others, then first name."""
        slots = self.all_free(start, start + job.estimate)
        free = [bundle for bundle in self.bundles if slots.issuperset(bundle.slots)]
        choices = []
        for bundle, rank in self.bundles_of(job):
            if bundle in free:
                blocks = sum(not set(bundle.slots).isdisjoint(other.slots) for other in free)
                choices.append((-rank if self.rule not in (SPREAD, PACK) else 0, blocks, bundle))
        return [(slot, 1) for slot in min(choices)[-1].slots] if choices else None

    def _preference(self, job, slot, rank, free):
        """Sorts slots by rank, then by the least fraction left free by one chunk, then by name."""
        slot = self.slots[slot]
        left = min((Fraction(f - need, c) for f, need, c in zip(free, job.request, slot.capacity) if c > 0), default=1)
        if self.rule == SPREAD:
            return -left, slot.name
        return (0 if self.rule == PACK else -rank), left, slot.name

    def earliest(self, job):
        """Returns the earliest start with its place, or None. Only ends of spans free anything."""
        ends = {j.end for s in self.slots_of(job) for j in self.slots[s].jobs if self.now < j.end < FOREVER}
        for start in sorted(ends | {self.now}):
            at = self.place(job, start)
            if at is not None:
                return start, at
        return None

    # The places of jobs.

    def put(self, job, at, start, end):
        """Replaces a job's place; None means no place."""
        for slot, _ in job.at or ():
            del self.slots[slot].jobs[job]
        job.at, job.start, job.end = at, start, end
        for slot, n in at or ():
            taken = self.slots[slot].capacity if job.whole else job.request
            self.slots[slot].jobs[job] = [n * amount for amount in taken]

    def _requeue(self, job):
        job.running = False
        self.put(job, None, 0, 0)

    def _hold_if_it_never_fits(self, job):
        if job.waits and job.at is None and not self.ever_fits(job):
            job.held = NEVER_FITS

    def _displace(self, slots):
        """Voids the reservations that no longer fit on these slots.

        In the order of planned starts, each that fits beside running jobs and earlier ones stays.
        """
        slots = {s for s in slots if not self.slots[s].up or min(self.free(s, self.now, FOREVER)) < 0}
        planned = {j for s in slots for j in self.slots[s].jobs if not j.running}
        places = [(j, j.at, j.start, j.end) for j in sorted(planned, key=lambda j: (j.start, j.place))]
        for job in planned:
            self.put(job, None, 0, 0)
        for job, at, start, end in places:
            if start >= self.now and self.fits(job, at, start):
                self.put(job, at, start, end)

    # Events, named as in EventKind.

    def open(self, round):
        """Opens a round and applies what holds from its start."""
        self.now = round.now
        self._redefine(round)
        for k in round.keys:
            self.jobs[k.job].key = k.key

    def close(self):
        """Ends a round."""
        self._displace(self._outlasted)
        self._outlasted = set()
        self.revision += 1

    def apply(self, event):
        """Applies one event."""
        kind = event.DESCRIPTOR.fields_by_name["kind"].enum_type.values_by_number[event.kind].name
        getattr(self, "_on_" + kind.removeprefix("EVENT_KIND_").lower())(event)

    def _redefine(self, message):
        self.bundles += [Bundle(b.name, tuple(b.slots)) for b in message.bundles]
        for c in message.candidates:
            ids = c.slots or c.bundles
            self.sets[c.id] = dict(zip(ids, c.rank or [0] * len(ids)))

    def _on_policy_changed(self, event):
        pass

    def _on_wake(self, event):
        pass

    def _on_slot_added(self, event):
        self._set_slot(event.slot)

    def _on_slot_changed(self, event):
        self._set_slot(event.slot)

    def _set_slot(self, spec):
        if spec.id == len(self.slots):
            self.slots.append(Slot(spec, False))
        slot = self.slots[spec.id]
        before = slot.capacity if slot.up else None
        slot.name, slot.capacity, slot.up = spec.name, tuple(spec.capacity), True
        self._displace([spec.id])
        if before is not None:
            self._hold_outgrown(spec.id)
        for job in self.jobs.values():
            if job.held == NEVER_FITS and self.ever_fits(job):
                job.held = ""

    def _on_slot_lost(self, event):
        slot = self.slots[event.slot.id]
        requeued = [j for j in slot.jobs if j.running]
        for job in requeued:
            self._requeue(job)
        slot.up = False
        self._displace([event.slot.id])
        self._hold_outgrown(event.slot.id)
        for job in requeued:
            self._hold_if_it_never_fits(job)

    def _hold_outgrown(self, slot):
        for job in self.jobs.values():
            if self._may_use(job, slot):
                self._hold_if_it_never_fits(job)

    def _may_use(self, job, slot):
        if job.whole:
            return any(slot in bundle.slots for bundle, _ in self.bundles_of(job))
        return slot in self.sets[job.candidates]

    def _on_completed(self, event):
        self.put(self.jobs.pop(event.job), None, 0, 0)

    _on_removed = _on_completed

    def _on_start_failed(self, event):
        job = self.jobs[event.job]
        if job.at is not None:  # else it lost its slot in this round
            self._requeue(job)
            self._hold_if_it_never_fits(job)

    def _on_found(self, event):
        if event.spec.id in self.jobs:
            self.put(self.jobs.pop(event.spec.id), None, 0, 0)
        job = self.jobs[event.spec.id] = Job(event.spec, event.key)
        job.running = True
        self.put(job, placement(event.placement), event.start, event.end)
        self._displace([s for s, _ in job.at])

    def _on_estimate_changed(self, event):
        job = self.jobs[event.job]
        if job.running:  # else it lost its slot in this round
            job.end = event.end
            self._displace([s for s, _ in job.at])

    def _on_changed(self, event):
        self.put(self.jobs.pop(event.spec.id), None, 0, 0)
        self._on_submitted(event)

    def _on_submitted(self, event):
        job = self.jobs[event.spec.id] = Job(event.spec, event.key)
        self._hold_if_it_never_fits(job)

    # Decisions that were made elsewhere.

    def replay(self, round, journal):
        """Applies a round that was decided elsewhere."""
        self.open(round)
        applied = 0
        for action in journal:
            for event in round.events[applied:action.after]:
                self.apply(event)
            applied = action.after
            self.act(action)
        for event in round.events[applied:]:
            self.apply(event)
        self.close()

    def act(self, action):
        """Applies one action."""
        kind = action.DESCRIPTOR.fields_by_name["kind"].enum_type.values_by_number[action.kind].name
        job = self.jobs.get(action.job)
        if kind == "ACTION_KIND_START":
            self.put(job, placement(action.placement), self.now, self.now + job.runs)
            job.running = True
            if job.runs > job.estimate:
                self._outlasted.update(action.placement.slots)
        elif kind == "ACTION_KIND_RESERVE":
            self.put(job, placement(action.placement), action.at, action.at + job.estimate)
        elif kind == "ACTION_KIND_RELEASE":
            self.put(job, None, 0, 0)
        elif kind == "ACTION_KIND_HOLD":
            self.put(job, None, 0, 0)
            job.held = action.reason
        # Other kinds do not affect this copy.


def placement(message):
    """Returns the slots with their numbers of chunks."""
    return list(zip(message.slots, message.counts or [1] * len(message.slots)))


def within(amount, job):
    """Returns how many of the job's chunks fit an amount."""
    return min([job.nodes] + [max(0, a) // need for a, need in zip(amount, job.request) if need > 0])


def spread(hosts, nodes):
    """Deals out chunks to the slots in turn, one at a time."""
    hosts, counts = hosts[:nodes], {}
    while nodes > 0:
        for slot, n in hosts:
            if nodes > 0 and counts.get(slot, 0) < n:
                counts[slot] = counts.get(slot, 0) + 1
                nodes -= 1
    return list(counts.items())
