package workload

// Collect makes a trace of jobs that were read elsewhere, and counted there: it
// settles estimates and run times, leaves out what the machine can never run, and
// applies the options as for a file. An estimate of 0 is unknown. The name stands in
// errors and, without folder and extension, in the trace.
func Collect(name string, jobs []Job, counted Cleaning, opts Options) (*Trace, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	c := newCleaner(name, opts)
	c.trace.Cleaning = counted
	c.trace.Jobs = make([]Job, len(jobs))
	for i, j := range jobs {
		j.Run, j.Estimate = c.times(j.Run, j.Estimate)
		if opts.Memory == 0 {
			j.Memory = 0
		}
		c.trace.Jobs[i] = j
	}
	return c.finish()
}
