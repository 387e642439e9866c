package check

// Small lets the tests try no more of everything than they need.
func (o Options) Small() Options {
	s := quick()
	s.pools, s.compared, s.samples, s.slots = 4, 2, 10, []int{1, 100}
	o.scale = &s
	return o
}
