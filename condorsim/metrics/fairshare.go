package metrics

import (
	"cmp"
	"slices"
)

// fairshare returns the mean, over the jobs, of max(0, share − procs·run), once
// for equal shares and once for shares weighted by processors. A job's share is
// the integral from its submit time to its completion of
//
//	unweighted  min(U/A, p)
//	weighted    min(p·U/P, p), which is p·U/P, since no more is in use than asked for
//
// where p are the job's processors, U the processors in use, A the number of
// active jobs (arrived, not completed) and P the sum of their processors.
//
// Both come from cumulative integrals, read as a job arrives and again as it
// completes. The weighted one is p times an integral that all jobs share. The
// unweighted one depends on the width: see capped. One sweep over the events in
// time, each O(log widths), so n jobs take O(n log n).
func fairshare(jobs []Job) (unweighted, weighted float64) {
	widths := distinctWidths(jobs)
	equal := newCapped(widths)
	var perProcessor float64 // integral of U/P

	// Shares of each job: less the integral at arrival, plus that at completion.
	shares := make([]struct{ unweighted, weighted float64 }, len(jobs))
	var inUse, active, wanted int64
	var now int64
	for _, e := range events(jobs) {
		if inUse > 0 && e.time > now {
			dt := e.time - now
			equal.add(float64(inUse)/float64(active), dt)
			perProcessor += float64(inUse) / float64(wanted) * float64(dt)
		}
		now = e.time
		procs := jobs[e.job].Procs
		share := &shares[e.job]
		switch e.kind {
		case arrives:
			active++
			wanted += procs
			share.unweighted -= equal.integral(procs)
			share.weighted -= perProcessor
		case starts:
			inUse += procs
		case completes:
			inUse -= procs
			active--
			wanted -= procs
			share.unweighted += equal.integral(procs)
			share.weighted += perProcessor
		}
	}
	for i, j := range jobs {
		used := float64(j.Procs) * float64(j.Run)
		unweighted += max(0, shares[i].unweighted-used)
		weighted += max(0, shares[i].weighted*float64(j.Procs)-used)
	}
	n := float64(len(jobs))
	return unweighted / n, weighted / n
}

type kind uint8

const (
	arrives kind = iota
	starts
	completes
)

// event is a change of what is active or in use.
type event struct {
	time int64
	job  int32
	kind kind
}

// events returns arrival, start and completion of all jobs by time. How equal
// times are ordered makes no difference to the integrals; they stay in the order
// of jobs, and a job's own in theirs.
func events(jobs []Job) []event {
	list := make([]event, 0, 3*len(jobs))
	for i, j := range jobs {
		job := int32(i)
		list = append(list, event{j.Submit, job, arrives}, event{j.Start, job, starts}, event{j.end(), job, completes})
	}
	return sortByTime(list)
}

// sortByTime is a radix sort, stable and without comparisons: there are few
// seconds for many events.
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

func distinctWidths(jobs []Job) []int64 {
	widths := make([]int64, len(jobs))
	for i, j := range jobs {
		widths[i] = j.Procs
	}
	slices.Sort(widths)
	return slices.Compact(widths)
}

// capped is the integral of min(r, p) for a rate r that changes with time and
// every width p at once. The stretches of time with r ≤ p add r·dt to it, the
// others p·dt. So it keeps, by the smallest width that covers the rate, the sum
// of r·dt and the time, each in a Fenwick tree: prefix sums in O(log widths).
type capped struct {
	widths []int64   // ascending
	area   []float64 // Fenwick tree of r·dt
	time   []int64   // Fenwick tree of dt
	total  int64     // all time
}

func newCapped(widths []int64) *capped {
	return &capped{widths: widths, area: make([]float64, len(widths)+1), time: make([]int64, len(widths)+1)}
}

// add appends a stretch of time with the rate r. A rate above all widths is in
// no prefix; it counts only as time.
func (c *capped) add(r float64, dt int64) {
	c.total += dt
	at, _ := slices.BinarySearchFunc(c.widths, r, func(p int64, r float64) int { return cmp.Compare(float64(p), r) })
	for i := at + 1; i < len(c.time); i += i & -i {
		c.area[i] += r * float64(dt)
		c.time[i] += dt
	}
}

// integral is that of min(r, p) so far, for p among the widths.
func (c *capped) integral(p int64) float64 {
	at, _ := slices.BinarySearch(c.widths, p)
	var area float64
	var time int64
	for i := at + 1; i > 0; i &= i - 1 {
		area += c.area[i]
		time += c.time[i]
	}
	return area + float64(p)*float64(c.total-time)
}
