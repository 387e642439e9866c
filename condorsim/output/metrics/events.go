package metrics

type kind uint8

const (
	arrives kind = iota
	starts
	completes
)

// event is a change of which jobs are active or which processors are in use.
type event struct {
	time int64
	job  int32
	kind kind
}

// events returns the arrival, start and completion of each job, by time. Events at one time are in
// order of jobs, and a job's own in the order named; this makes no difference to the integrals.
func events(jobs []Job) []event {
	list := make([]event, 0, 3*len(jobs))
	for i, j := range jobs {
		job := int32(i)
		list = append(list, event{j.Submit, job, arrives}, event{j.Start, job, starts}, event{j.end(), job, completes})
	}
	return sortByTime(list)
}

// sortByTime sorts events by time, and keeps the order of those at one time; it may overwrite the
// list. It is a radix sort: the times of a trace have few digits, so it takes few passes.
func sortByTime(list []event) []event {
	if len(list) == 0 {
		return list
	}
	first, last := list[0].time, list[0].time
	for _, e := range list {
		first, last = min(first, e.time), max(last, e.time)
	}
	const digit = 11 // bits
	sorted := make([]event, len(list))
	var ends [1 << digit]int
	for shift := 0; uint64(last-first)>>shift > 0; shift += digit {
		clear(ends[:])
		at := func(e event) *int { return &ends[uint64(e.time-first)>>shift%(1<<digit)] }
		for _, e := range list {
			*at(e)++
		}
		sum := 0
		for i, n := range ends {
			ends[i], sum = sum, sum+n
		}
		for _, e := range list {
			i := at(e)
			sorted[*i] = e
			*i++
		}
		list, sorted = sorted, list
	}
	return list
}

// load is the number of waiting jobs and of processors in use.
type load struct{ waiting, inUse int64 }

// loads calls the callback, in order of time, for each stretch of time between two events. The load
// stays the same in a stretch.
func loads(jobs []Job, list []event, tell func(from, to int64, l load)) {
	var l load
	for i, e := range list {
		if i > 0 && e.time > list[i-1].time {
			tell(list[i-1].time, e.time, l)
		}
		procs := jobs[e.job].Procs
		switch e.kind {
		case arrives:
			l.waiting++
		case starts:
			l.waiting--
			l.inUse += procs
		case completes:
			l.inUse -= procs
		}
	}
}

// lost returns how many processor seconds were idle while jobs waited. Divided by all processor
// seconds of the makespan, this is the loss of capacity
//
//	κ = Σ (t[i+1] − t[i])·n[i]·δ[i] / (T·N)
//
// where n[i] processors are idle between the events i and i+1, and δ[i] is 1 if jobs wait then and
// else 0 (Zhang, Franke, Moreira and Sivasubramaniam, An integrated approach to parallel scheduling
// using gang-scheduling, backfilling, and migration, IEEE TPDS 14(3), 2003).
func lost(machine Machine, jobs []Job, list []event) (idle float64) {
	loads(jobs, list, func(from, to int64, l load) {
		if l.waiting > 0 {
			idle += float64(machine.Processors-l.inUse) * float64(to-from)
		}
	})
	return idle
}
