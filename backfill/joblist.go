package backfill

// jobList is a [jobTree] with an owner of its own: a list of jobs that can be copied at once.
type jobList struct {
	tree  jobTree
	owner *owner
}

// newJobList returns an empty list.
func newJobList() *jobList { return &jobList{owner: new(owner)} }

// Len returns the number of jobs.
func (l *jobList) Len() int { return l.tree.size }

// Min returns the first entry; false if there is none.
func (l *jobList) Min() (queued, bool) {
	if first := l.tree.first(); first != nil {
		return *first, true
	}
	return queued{}, false
}

// Scan calls the callback with each entry until the callback returns false. The callback must not
// change the list.
func (l *jobList) Scan(yield func(queued) bool) { l.tree.ascend(nil, yield) }

// Set lists a job.
func (l *jobList) Set(q queued) { l.tree.set(l.owner, listed{queued: q}) }

// Delete takes a job off the list, if it is there.
func (l *jobList) Delete(q queued) {
	if l.tree.has(q) {
		l.tree.remove(l.owner, q)
	}
}

// Copy returns an independent copy that shares what neither side changes.
func (l *jobList) Copy() *jobList {
	l.owner = new(owner)
	return &jobList{l.tree, new(owner)}
}

// ending is the entry of a job by its expected end. A float64 holds every whole number of seconds of
// the next hundred million years.
func ending(end Time, j *Job) queued { return queued{float64(end), j} }
