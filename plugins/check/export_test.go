package check

import "context"

// Small reduces every check to what the tests need.
func (o Options) Small() Options {
	s := quick()
	s.pools, s.compared, s.samples, s.slots = 4, 2, 10, []int{1, 100}
	o.scale = &s
	return o
}

// Only leaves out all checks but those named.
func (o Options) Only(names ...string) Options {
	o.only = names
	return o
}

// After returns the result of a check that could not run, after one with a verdict.
func After(ctx context.Context, before Verdict, err error) (Check, error) {
	c := &checker{report: &Report{Checks: []Check{{Verdict: before}}}}
	return c.try(ctx, step{do: func(context.Context) (Check, error) { return Check{}, err }})
}
