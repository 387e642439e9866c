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

// Moves says what can change a job's key while the job stays as it is; the zero value: nothing.
type Moves struct {
	WithTime     bool // the host asks again when each cycle opens, unless a curve says what it would be told
	WithCapacity bool // the host asks again when slots come, go or get another capacity
	// Curve says how the key changes with time, if it does so by itself and in a known way. An order that
	// alters the key of another one alters the curve, too, or drops it.
	Curve Curve
}

// And returns what changes a key that depends on more than one that has these moves.
func (m Moves) And(more Moves) Moves {
	return Moves{WithTime: m.WithTime || more.WithTime, WithCapacity: m.WithCapacity || more.WithCapacity}
}

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
	return func(j *Job, _ Moment) (float64, Moves) { return key(j), Moves{} }
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
	return largest, Moves{WithCapacity: true}
}

// wfp prefers wide jobs, and jobs that have waited long relative to their estimate: the utility
// function of Argonne's Blue Gene/P (Tang et al., CLUSTER 2009).
func wfp(j *Job, at Moment) (float64, Moves) {
	return Curve{kind: cube, submit: j.Submit, estimate: j.Estimate, width: float64(j.Width()), again: 1}.moves(at.Now)
}

// wfpWide is wfp with the cpus squared, so that wide jobs need not wait as long as the area that they
// take is large.
func wfpWide(j *Job, at Moment) (float64, Moves) {
	width := float64(j.Width())
	return Curve{kind: cube, submit: j.Submit, estimate: j.Estimate, width: width, again: width}.moves(at.Now)
}

// xfactor prefers jobs that have waited long relative to their estimate.
func xfactor(j *Job, at Moment) (float64, Moves) {
	return Curve{kind: expansion, submit: j.Submit, estimate: j.Estimate}.moves(at.Now)
}
