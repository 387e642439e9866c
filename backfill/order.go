package backfill

import (
	"fmt"
	"strings"
)

// Order is the queue's priority function, apart from the policy: the key of a
// job at an instant, lower first. Equal keys fall to the order of jobs. Moves
// says that time alone may change the key; the host then asks again as each
// cycle opens.
type Order func(j *Job, now Time) (key float64, moves bool)

// OrderSpec is an order as it is known by name.
type OrderSpec struct {
	Name string
	// Doc says which job comes first.
	Doc   string
	Order Order
}

// Orders lists the orders that look at nothing but the job and the time.
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

// OrderNamed is the order of that name. The error lists those that there are
// and says which one may be meant.
func OrderNamed(name string) (Order, error) {
	var names []string
	for _, o := range Orders() {
		if o.Name == name {
			return o.Order, nil
		}
		names = append(names, o.Name)
	}
	return nil, fmt.Errorf("unknown order %q%s: choose one of %s", name, DidYouMean(name, names), strings.Join(names, ", "))
}

// fixed is an order by what time does not change.
func fixed(key func(*Job) float64) Order {
	return func(j *Job, _ Time) (float64, bool) { return key(j), false }
}

// wfp favours jobs that have waited long for their length, and wide ones: the
// utility function of Argonne's Blue Gene/P (Tang et al., CLUSTER 2009). Products
// and quotients of floats are rounded alike on every machine; their order is part
// of the definition.
func wfp(j *Job, now Time) (float64, bool) {
	r := float64(j.Waited(now)) / float64(j.Estimate)
	return -(r * r * r * float64(j.Width())), true
}

// xfactor favours jobs that have waited long for their length.
func xfactor(j *Job, now Time) (float64, bool) {
	return -float64(j.Waited(now)+j.Estimate) / float64(j.Estimate), true
}
