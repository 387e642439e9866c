package fleet

import "slices"

// place is where a task is.
type place int

const (
	waits   place = iota // for its turn: it is no job yet, or an idle one
	runs                 // it has a slot
	isHeld               // by a user, who will release it
	ending               // it came to nothing, and waits to be submitted again
	settled              // its result is there, or it was given up
)

// Counts says how many tasks are where.
type Counts struct{ Waiting, Running, Held, Done int }

// submission is one cluster of jobs, whose procs are the tasks in this order.
type submission struct {
	N       int   `json:"n"`       // its files are called N.sub, N.list and N.log
	Cluster int   `json:"cluster"` // 0: it may not have been submitted
	Tasks   []int `json:"tasks"`   // by number

	gone bool // nothing is to be heard of it any more
	left bool // jobs of it are to be removed in the end: held ones, or all of a submission that seemed to fail
}

// book keeps where each task is, by the events of the clusters.
type book struct {
	at     map[int]place // by number of the task
	holder map[int]*submission
}

func newBook(tasks []int) *book {
	b := &book{at: map[int]place{}, holder: map[int]*submission{}}
	for _, number := range tasks {
		b.at[number] = ending // none is submitted
	}
	return b
}

// submitted says that the jobs of a submission stand for its tasks from now on.
func (b *book) submitted(s *submission) {
	for _, number := range s.Tasks {
		if place, known := b.at[number]; known && place != settled {
			b.at[number], b.holder[number] = waits, s
		}
	}
}

// news is what an event means for a task.
type news struct {
	task int
	what happening
	e    event
}

type happening int

const (
	nothing  happening = iota
	finished           // the job left the queue by itself: its result should be there
	cameToNothing
	stopped // a user holds it
	goesOn  // it was released
	setBack // it lost its slot, and will be run again
)

// apply notes an event of a submission, and returns what it means, for each task that it concerns.
func (b *book) apply(s *submission, e event) (all []news) {
	if e.kind == clusterGone {
		s.gone = true
		for _, number := range s.Tasks {
			if b.holder[number] == s && b.at[number] < ending {
				b.at[number] = ending
				e.reason = "its cluster was removed"
				all = append(all, news{number, cameToNothing, e})
			}
		}
		return all
	}
	if e.proc < 0 || e.proc >= len(s.Tasks) {
		return nil
	}
	number := s.Tasks[e.proc]
	before, known := b.at[number]
	if !known || before >= ending || b.holder[number] != s {
		return nil // it is about a job that does not count any more
	}
	what, after := nothing, before
	switch e.kind {
	case submits:
		after = waits
	case executes:
		after = runs
	case released:
		what, after = goesOn, waits
	case evicted, shadowFailed, lostTouch:
		after = waits
		if before == runs || e.kind == shadowFailed { // else it was said: touch is lost, then it counts as evicted
			what = setBack
		}
	case held:
		what, after = cameToNothing, ending
		if e.byUser() {
			what, after = stopped, isHeld
		}
	case aborted:
		what, after = cameToNothing, ending
	case terminated:
		what, after = finished, ending
	}
	b.at[number] = after
	if what == nothing {
		return nil
	}
	return []news{{number, what, e}}
}

// settle says that nothing more is to be done for a task. It reports false if that was so before.
func (b *book) settle(number int) bool {
	before, known := b.at[number]
	b.at[number] = settled
	return known && before != settled
}

// hasJobs reports whether a submission should have jobs in the queue that count.
func (b *book) hasJobs(s *submission) bool {
	return slices.ContainsFunc(s.Tasks, func(number int) bool {
		place, known := b.at[number]
		return known && place < ending && b.holder[number] == s
	})
}

// counts counts the tasks by their places.
func (b *book) counts() (c Counts) {
	for _, place := range b.at {
		switch place {
		case waits, ending:
			c.Waiting++
		case runs:
			c.Running++
		case isHeld:
			c.Held++
		case settled:
			c.Done++
		}
	}
	return c
}
