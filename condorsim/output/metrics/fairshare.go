package metrics

import (
	"math"
	"slices"
)

// fairshare returns the mean, over the jobs, of max(0, share − procs·run), once for equal shares
// and once for shares weighted by processors. A job's share is the integral from its submit time to
// its completion of
//
//	unweighted  min(U/A, p)
//	weighted    min(p·U/P, p), which is p·U/P, since U ≤ P
//
// where p are the job's processors, U the processors in use, A the number of active jobs (arrived,
// not completed) and P the sum of their processors.
//
// Both come from cumulative integrals, read when a job arrives and again when it completes. The
// weighted share is p times an integral that all jobs have in common. The unweighted one depends on
// the width: see capped. One pass over the events costs O(log widths) for each, so n jobs cost O(n
// log n).
func fairshare(jobs []Job, list []event) (unweighted, weighted float64) {
	widths := distinctWidths(jobs)
	equal := newCapped(widths)
	var perProcessor float64 // integral of U/P

	// Shares of each job: the integral at completion less that at arrival.
	shares := make([]struct{ unweighted, weighted float64 }, len(jobs))
	var inUse, active, wanted int64
	var now int64
	for _, e := range list {
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
		used := float64(j.Procs) * float64(j.work())
		unweighted += max(0, shares[i].unweighted-used)
		weighted += max(0, shares[i].weighted*float64(j.Procs)-used)
	}
	n := float64(len(jobs))
	return unweighted / n, weighted / n
}

func distinctWidths(jobs []Job) []int64 {
	widths := make([]int64, len(jobs))
	for i, j := range jobs {
		widths[i] = j.Procs
	}
	slices.Sort(widths)
	return slices.Compact(widths)
}

// capped is the integral of min(r, p) for a rate r that changes with time, for every width p at
// once. A stretch dt of time adds r·dt to it if r ≤ p, else p·dt. So capped sums up r·dt and dt for
// each smallest width that is at least r, in Fenwick trees, which give prefix sums in O(log
// widths).
type capped struct {
	widths []int64   // ascending
	area   []float64 // Fenwick tree of r·dt
	time   []int64   // Fenwick tree of dt
	total  int64     // all time
}

func newCapped(widths []int64) *capped {
	return &capped{widths: widths, area: make([]float64, len(widths)+1), time: make([]int64, len(widths)+1)}
}

// add appends a stretch of time with the rate r. If r is above all widths, only the total time
// grows, since min(r, p) is p for every width then.
func (c *capped) add(r float64, dt int64) {
	c.total += dt
	at, _ := slices.BinarySearch(c.widths, int64(math.Ceil(r)))
	for i := at + 1; i < len(c.time); i += i & -i {
		c.area[i] += r * float64(dt)
		c.time[i] += dt
	}
}

// integral returns the integral of min(r, p) so far, for p among the widths.
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
