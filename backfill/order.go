package backfill

import (
	"fmt"
	"strings"
)

// Order is the queue's priority function; it does not depend on the policy. It returns a job's key
// at an instant; jobs with lower keys come first. Jobs with equal keys stand in the order of
// [Compare]. If the key can change with time alone, moves is true, and the host asks again when
// each cycle opens.
type Order func(j *Job, now Time) (key float64, moves bool)

// OrderSpec is an order with its name and description.
type OrderSpec struct {
	Name string
	// Doc says which job comes first.
	Doc   string
	Order Order
}

// Orders lists the built-in orders, which depend only on the job and the time.
func Orders() []OrderSpec {
	fcfs := fixed(func(*Job) float64 { return 0 })
	return []OrderSpec{
		{"fcfs", "the earliest", fcfs},
		{"fifo", "the same as fcfs", fcfs},
		{"ljf", "the longest estimate", fixed(func(j *Job) float64 { return -float64(j.Estimate) })},
		{"narrowest", "the fewest cpus", fixed(func(j *Job) float64 { return float64(j.Width()) })},
		{"sjf", "the shortest estimate", fixed(func(j *Job) float64 { return float64(j.Estimate) })},
		{"wfp", "the largest (wait / estimate)³ × cpus", wfp},
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

// fixed makes an order of a key that does not change with time.
func fixed(key func(*Job) float64) Order {
	return func(j *Job, _ Time) (float64, bool) { return key(j), false }
}

// wfp prefers wide jobs, and jobs that have waited long relative to their estimate: the utility
// function of Argonne's Blue Gene/P (Tang et al., CLUSTER 2009). The sequence of the float
// operations is part of the definition: it makes the rounding the same on every machine.
func wfp(j *Job, now Time) (float64, bool) {
	r := float64(j.Waited(now)) / float64(j.Estimate)
	return -(r * r * r * float64(j.Width())), true
}

// xfactor prefers jobs that have waited long relative to their estimate.
func xfactor(j *Job, now Time) (float64, bool) {
	return -float64(j.Waited(now)+j.Estimate) / float64(j.Estimate), true
}
