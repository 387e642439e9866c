package backfill

import (
	"fmt"
	"strings"
)

// Order is the queue's priority function; it does not depend on the policy. It returns a job's key
// at a moment; jobs with lower keys come first. Jobs with equal keys stand in the order of
// [Compare]. The result moves says what can change the key while the job stays as it is; when that
// has changed, the host asks again.
type Order func(j *Job, at Moment) (key float64, moves Moves)

// Moment is what an order may know besides the job.
type Moment struct {
	Now Time
	// Capacity is the summed capacity of the slots that are up at the end of the round. It must not
	// be changed or kept.
	Capacity Vector
}

// Moves says what can change a job's key while the job stays as it is; 0: nothing.
type Moves uint8

// What can change a key.
const (
	WithTime     Moves = 1 << iota // the host asks again when each cycle opens
	WithCapacity                   // the host asks again when slots come, go or get another capacity
)

// OrderSpec is an order with its name and description.
type OrderSpec struct {
	Name string
	// Doc says which job comes first.
	Doc   string
	Order Order
}

// Orders lists the built-in orders, which depend only on the job and the moment.
func Orders() []OrderSpec {
	fcfs := fixed(func(*Job) float64 { return 0 })
	return []OrderSpec{
		{"area", "the smallest estimate × largest share of a resource of the slots that are up", area},
		{"fcfs", "the earliest", fcfs},
		{"fifo", "the same as fcfs", fcfs},
		{"ljf", "the longest estimate", fixed(func(j *Job) float64 { return -float64(j.Estimate) })},
		{"narrowest", "the fewest cpus", fixed(func(j *Job) float64 { return float64(j.Width()) })},
		{"sjf", "the shortest estimate", fixed(func(j *Job) float64 { return float64(j.Estimate) })},
		{"wfp", "the largest (wait / estimate)³ × cpus", wfp},
		{"wfp-wide", "the largest (wait / estimate)³ × cpus²", wfpWide},
		{"widest", "the most cpus", fixed(func(j *Job) float64 { return -float64(j.Width()) })},
		{"xfactor", "the largest expansion factor, (wait + estimate) / estimate", xfactor},
	}
}

// OrderNamed returns the built-in order with the given name. The error lists all names and suggests
// the most similar one.
func OrderNamed(name string) (Order, error) {
	var names []string
	for _, o := range Orders() {
		if o.Name == name {
			return o.Order, nil
		}
		names = append(names, o.Name)
	}
	return nil, fmt.Errorf("unknown order %q%s: choose one of %s", name, DidYouMean(name, names),
		strings.Join(names, ", "))
}

// fixed makes an order of a key that depends on the job alone.
func fixed(key func(*Job) float64) Order {
	return func(j *Job, _ Moment) (float64, Moves) { return key(j), 0 }
}

// area prefers jobs that take little of the pool for a short time: of the resources that the pool
// has, it takes the one of which all chunks together ask for the largest share. A job that takes a
// bundle whole counts with what it asks for, as in its width. If the pool has nothing, all keys are
// 0. To multiply first and to round each operation once is part of the definition: while products
// and capacities are below 2^53, the key is the number nearest to the exact one, on every machine.
func area(j *Job, at Moment) (float64, Moves) {
	largest := 0.0
	for i, capacity := range at.Capacity {
		if capacity > 0 {
			asked := float64(j.Estimate) * float64(int64(j.Nodes)*j.Request[i])
			largest = max(largest, asked/float64(capacity))
		}
	}
	return largest, WithCapacity
}

// wfp prefers wide jobs, and jobs that have waited long relative to their estimate: the utility
// function of Argonne's Blue Gene/P (Tang et al., CLUSTER 2009). The sequence of the float
// operations is part of the definition: it makes the rounding the same on every machine.
func wfp(j *Job, at Moment) (float64, Moves) {
	return -(waited(j, at) * float64(j.Width())), WithTime
}

// wfpWide is wfp with the cpus squared, so that wide jobs need not wait as long as the area that they
// take is large. As in wfp, the sequence of the operations is part of the definition.
func wfpWide(j *Job, at Moment) (float64, Moves) {
	width := float64(j.Width())
	return -(waited(j, at) * width * width), WithTime
}

// waited returns the third power of how often a job has waited for its estimate.
func waited(j *Job, at Moment) float64 {
	r := float64(j.Waited(at.Now)) / float64(j.Estimate)
	return r * r * r
}

// xfactor prefers jobs that have waited long relative to their estimate.
func xfactor(j *Job, at Moment) (float64, Moves) {
	return -float64(j.Waited(at.Now)+j.Estimate) / float64(j.Estimate), WithTime
}
