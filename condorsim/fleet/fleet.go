package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Task is one of the tasks.
type Task struct {
	// Number tells tasks apart; Name is for people. What tasks of a Kind took says what others will need.
	Number     int
	Name, Kind string
	// Megabytes and Seconds are guesses of what it needs; 0: there is none.
	Megabytes, Seconds int64
	// Files are the files of the folder that it reads. Their names need no quotes.
	Files []string
}

// Fleet says how to run tasks.
type Fleet struct {
	// Dir is the folder of all files; Name is that of the jobs.
	Dir, Name string
	// Program is an executable in Dir, and Arguments what it is called with. $(number) and $(megabytes) in
	// them are those of the task. It must write the file ResultOf(number) and exit with 0.
	Program   string
	Arguments []string
	// Slots is how many jobs are in the queue at most; 0: the pool decides.
	Slots int
	// Lines are further ones of the submit description; see [CheckLine].
	Lines []string
	// Host is this machine, whose schedd gets the jobs.
	Host string

	// Take keeps the result of a task. It returns why there is none that can be used, or that nothing can be
	// kept any more, which ends all.
	Take func(number int) (useless, fatal error)
	// Lost is told of a task that is given up.
	Lost func(number int, why error)
	// Say tells people what happens, Printed what the program printed to its standard error.
	Say     func(text string)
	Printed func(number int, text string)
	// Progress is called often.
	Progress func(Counts)
	// Now is the clock, and Pause waits.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration)
}

// ResultOf returns the name of the file that a task writes.
func ResultOf(number string) string { return "cell-" + number + ".json" }

// ErrorsOf returns the name of the file with the standard error of a task.
func ErrorsOf(number string) string { return "cell-" + number + ".err" }

const (
	// tries is how often a task is run again that came to nothing.
	tries = 3
	// lull is between two submissions, so that tasks are collected.
	lull = 20 * time.Second
	// silence is after how long without events the schedd is asked.
	silence = time.Minute
	// look is between two looks at the event log.
	look = 300 * time.Millisecond
	// breath is between two nudges of the schedd.
	breath = time.Second
	// farewell is how long the removal of jobs may take when all is given up.
	farewell = 8 * time.Second
	// doubts is how often a cluster must be missing from the queue until it counts as gone.
	doubts = 2
)

// Run runs the tasks until each has ended or was given up. Jobs of the folder that another process submitted
// and left are taken over. If the context ends or nothing can be kept, the jobs are removed; those of
// a process that is killed go on.
func (f *Fleet) Run(ctx context.Context, tasks []Task) error {
	r, err := f.begin(tasks)
	if err != nil {
		return err
	}
	for _, sub := range r.state.Submissions {
		if !sub.gone {
			f.Say(fmt.Sprintf("the jobs of cluster %d are taken over", sub.Cluster))
		}
	}
	for err == nil && !r.done() {
		if err = r.step(ctx); err == nil {
			f.Progress(r.book.counts())
			if !r.done() {
				f.Pause(ctx, look)
			}
			err = ctx.Err()
		}
	}
	return errors.Join(err, r.stop(err != nil))
}

// Abandon removes the jobs that were submitted from a folder, if there are any.
func (f *Fleet) Abandon(ctx context.Context) error {
	r, err := f.begin(nil)
	if err != nil || len(r.state.Submissions) == 0 {
		return err
	}
	if _, err = r.read(ctx); err != nil {
		return err
	}
	return r.remove(ctx, func(*submission) bool { return true })
}
