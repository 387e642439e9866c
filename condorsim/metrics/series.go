package metrics

// Series is what charts are drawn from: how things went over time and over the
// jobs, in a few hundred numbers whatever the length of the trace.
type Series struct {
	// WaitQuantiles are the waits, in seconds, at evenly spaced shares of the jobs:
	// entry i is the smallest wait that the share (i+1)/len of the jobs does not
	// exceed.
	WaitQuantiles []float64 `json:"wait_quantiles"`
	// Begin and Step divide time into bins, in whole seconds: bin i is
	// [Begin + i·Step, Begin + (i+1)·Step).
	Begin int64 `json:"begin"`
	Step  int64 `json:"step"`
	// Utilisation is the mean share of the processors in use in each bin, 0 to 1.
	Utilisation []float64 `json:"utilisation"`
	// Queue is the mean number of waiting jobs in each bin.
	Queue []float64 `json:"queue"`
	// Categories are the jobs by width and by length, narrow and short ones first.
	Categories []Category `json:"categories"`
}

// Category is the jobs of a class of widths and a class of lengths.
type Category struct {
	Width               string  `json:"width"`  // such as "5-8": processors
	Length              string  `json:"length"` // such as "10m-1h": run time
	Jobs                int     `json:"jobs"`
	MeanWait            float64 `json:"mean_wait"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
}
