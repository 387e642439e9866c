package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
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
	// farewell is how long the removal of jobs may take when all is given up.
	farewell = 8 * time.Second
	// doubts is how often a cluster must be missing from the queue until it counts as gone.
	doubts = 2
)

// Run runs the tasks until each has ended or was given up. Jobs of the folder that another process submitted
// and left are taken over. If the context ends or nothing can be kept, the jobs are removed; that of a
// process that is killed go on.
func (f *Fleet) Run(ctx context.Context, tasks []Task) error {
	r, err := f.begin(tasks)
	if err != nil {
		return err
	}
	for _, sub := range r.state.Submissions {
		f.Say(fmt.Sprintf("the jobs of cluster %d are taken over", sub.Cluster))
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

// running is what is known while tasks run.
type running struct {
	*Fleet
	state    *state
	tasks    map[int]Task
	order    []int // numbers of the tasks
	book     *book
	tails    []*tail
	absent   map[*submission]int // how often it was not in the queue
	attempts map[int]int
	heard    time.Time // when there was the last event, or answer
	next     time.Time // when something may be submitted
	down     bool      // the schedd does not answer, which was said
	began    bool      // something was submitted
}

func (f *Fleet) begin(tasks []Task) (*running, error) {
	if err := Look(); err != nil {
		return nil, err
	}
	s, err := load(f.Dir)
	if err != nil {
		return nil, err
	}
	if len(s.Submissions) > 0 && s.Host != f.Host {
		return nil, fmt.Errorf("jobs of %s were submitted on %s, and this is %s: go on there, or remove the folder if none is left",
			f.Dir, s.Host, f.Host)
	}
	s.Host = f.Host
	r := &running{
		Fleet: f, state: s, tasks: map[int]Task{}, absent: map[*submission]int{}, attempts: map[int]int{},
		began: len(s.Submissions) > 0,
	}
	for _, t := range tasks {
		r.tasks[t.Number] = t
		r.order = append(r.order, t.Number)
	}
	r.book = newBook(r.order)
	for _, sub := range s.Submissions {
		r.tails = append(r.tails, f.tail(sub))
		r.absent[sub] = doubts - 1 // the log has all of it by now
		for _, number := range sub.Tasks {
			if r.book.holder[number] != nil {
				r.attempts[number]++
			}
		}
		r.book.submitted(sub)
	}
	if len(s.Submissions) == 0 {
		r.heard = f.Now()
	}
	return r, nil
}

// tail returns the event log of a submission.
func (f *Fleet) tail(s *submission) *tail {
	return &tail{path: filepath.Join(f.Dir, fmt.Sprintf("%d.log", s.N))}
}

func (r *running) done() bool { return r.book.counts().Done == len(r.order) }

// step does what is to be done now.
func (r *running) step(ctx context.Context) error {
	heard, err := r.read(ctx)
	if err != nil || r.done() {
		return err
	}
	if heard && !r.heard.IsZero() { // jobs that are taken over are asked for at once
		r.heard = r.Now()
	}
	if r.Now().Sub(r.heard) >= silence {
		r.heard = r.Now()
		if err = r.ask(ctx); err != nil {
			return err
		}
	}
	return r.submit(ctx)
}

// read reads what the event logs say, and does what follows. It reports whether they said anything.
func (r *running) read(ctx context.Context) (heard bool, err error) {
	again := gathering{}
	for n, sub := range r.state.Submissions {
		events, err := r.tails[n].next()
		if err != nil {
			return heard, err
		}
		heard = heard || len(events) > 0
		var useless []string // jobs that are held for good
		for i, e := range events {
			if sub.Cluster == 0 { // the last process was killed before it knew
				sub.Cluster = e.cluster
			}
			if e.cluster != sub.Cluster {
				continue
			}
			switch e.kind {
			case paused:
				r.Say("the schedd makes no more jobs of cluster " + fmt.Sprint(e.cluster) + " for now: " + e.reason)
			case resumed:
				r.Say("the schedd goes on with cluster " + fmt.Sprint(e.cluster))
			}
			for _, told := range r.book.apply(sub, e) {
				if e.kind == held && !e.byUser() {
					useless = append(useless, fmt.Sprintf("%d.%d", e.cluster, e.proc))
				}
				followed := i+1 < len(events) && events[i+1].kind == held && events[i+1].proc == e.proc
				if err = r.heed(told, &again, followed); err != nil {
					return heard, err
				}
			}
		}
		if len(useless) > 0 {
			if err := remove(ctx, useless...); err != nil {
				r.Say("jobs that are held could not be removed: " + err.Error())
			}
		}
	}
	again.tell(r.Say)
	return heard, nil
}

// heed does what follows of news. The error ends all.
func (r *running) heed(told news, again *gathering, followed bool) error {
	name := r.tasks[told.task].Name
	switch told.what {
	case finished:
		useless, fatal := r.take(told.task)
		if useless == nil || fatal != nil {
			r.state.learn(r.tasks[told.task].Kind, told.e)
			return fatal
		}
		why := useless.Error()
		if how := told.e.end(); how != "" {
			why = how + ", and " + why
		}
		r.again(told.task, why, again)
	case cameToNothing:
		why := told.e.reason
		if told.e.kind == held {
			why = "held: " + why
		}
		r.again(told.task, why, again)
	case stopped:
		r.Say(name + " is held, and waits to be released: " + told.e.reason)
	case goesOn:
		r.Say(name + " was released")
	case setBack:
		if !followed {
			again.add("lost its slot, and will be given another one: "+cmp.Or(told.e.reason, "evicted"), name)
		}
	}
	return nil
}

// take keeps the result of a task.
func (r *running) take(number int) (useless, fatal error) {
	if useless, fatal = r.Take(number); useless != nil || fatal != nil {
		return useless, fatal
	}
	r.book.settle(number)
	text := r.printed(number)
	if text != "" {
		r.Printed(number, text)
	}
	for _, name := range []string{ResultOf(fmt.Sprint(number)), ErrorsOf(fmt.Sprint(number))} {
		_ = os.Remove(filepath.Join(r.Dir, name)) // the folder is removed in the end
	}
	return nil, nil
}

// printed returns the standard error of a task, the end if it is long.
func (r *running) printed(number int) string {
	const most = 4000
	text, _ := os.ReadFile(filepath.Join(r.Dir, ErrorsOf(fmt.Sprint(number)))) // there may be none
	return string(text[max(0, len(text)-most):])
}

// again notes that a task came to nothing: it will be run again, or is given up.
func (r *running) again(number int, why string, told *gathering) {
	if text := lastLine(r.printed(number)); text != "" {
		why += " (it said: " + text + ")"
	}
	r.attempts[number]++
	if r.attempts[number] > tries {
		r.book.settle(number)
		r.Lost(number, fmt.Errorf("its job came to nothing %d times: %s", r.attempts[number], why))
		return
	}
	told.add("will be run again: "+why, r.tasks[number].Name)
}

// submit submits the tasks that have no job, if it is time for that.
func (r *running) submit(ctx context.Context) error {
	now := r.Now()
	if now.Before(r.next) {
		return nil
	}
	var tasks []Task
	s := &submission{N: r.state.Next}
	for _, number := range r.order {
		if r.book.at[number] != ending {
			continue
		}
		if r.book.holder[number] != nil { // its result may have come late, over a shared file system
			if useless, fatal := r.take(number); useless == nil || fatal != nil {
				if fatal != nil {
					return fatal
				}
				continue
			}
		}
		tasks = append(tasks, r.tasks[number])
		s.Tasks = append(s.Tasks, number)
	}
	if len(tasks) == 0 {
		return nil
	}
	r.next = now.Add(lull)
	for name, text := range map[string]string{
		fmt.Sprintf("%d.sub", s.N):  r.description(s.N),
		fmt.Sprintf("%d.list", s.N): r.list(tasks, r.state.Took, r.attempts),
	} {
		if err := wholefile.WriteInside("the submit description", filepath.Join(r.Dir, name), func(out io.Writer) error {
			_, err := io.WriteString(out, text)
			return err
		}); err != nil {
			return err
		}
	}
	// It is remembered before: the log tells a successor whether there is a cluster.
	r.state.Submissions, r.state.Next = append(r.state.Submissions, s), s.N+1
	r.tails = append(r.tails, r.tail(s))
	if err := r.state.save(r.Dir); err != nil {
		return err
	}
	cluster, err := submit(ctx, r.Dir, fmt.Sprintf("%d.sub", s.N))
	switch {
	case err != nil && !r.began:
		return err
	case err != nil && ctx.Err() == nil:
		s.gone = true
		r.Say("the jobs could not be submitted; trying again: " + err.Error())
		return nil
	case err != nil:
		return ctx.Err()
	}
	s.Cluster, r.began, r.heard = cluster, true, now
	r.book.submitted(s)
	r.Say(fmt.Sprintf("%s submitted as cluster %d", count(len(tasks)), cluster))
	return r.state.save(r.Dir)
}

// ask asks the schedd whether the clusters are there that nothing is heard of.
func (r *running) ask(ctx context.Context) error {
	for _, s := range r.state.Submissions {
		waiting := 0
		for _, number := range s.Tasks {
			if place, known := r.book.at[number]; known && place < ending && r.book.holder[number] == s {
				waiting++
			}
		}
		if s.gone || waiting == 0 {
			continue
		}
		there, err := false, error(nil)
		if s.Cluster > 0 {
			there, err = inQueue(ctx, s.Cluster)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !r.down:
			r.down = true
			r.Say("the schedd does not answer; waiting for it: " + err.Error())
		case err != nil:
		case r.down:
			r.down = false
			r.Say("the schedd answers again")
		}
		if err != nil || there {
			r.absent[s] = 0
			continue
		}
		if r.absent[s]++; r.absent[s] < doubts {
			continue
		}
		again := gathering{}
		for _, told := range r.book.apply(s, event{kind: clusterGone, cluster: s.Cluster}) {
			told.e.reason = "its job is not in the queue any more"
			if err := r.heed(told, &again, false); err != nil {
				return err
			}
		}
		again.tell(r.Say)
	}
	return nil
}

// stop removes the jobs that nobody waits for: all, if all is given up.
func (r *running) stop(all bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if all {
		_, _ = r.read(ctx) // what is finished is kept
	} else if r.Slots > 0 && r.began {
		r.Pause(ctx, keepsClaim+time.Second)
		reschedule(ctx)
	}
	return r.remove(ctx, func(s *submission) bool {
		for _, number := range s.Tasks {
			if _, known := r.book.at[number]; all || !known {
				return true
			}
		}
		return false
	})
}

// remove removes the clusters that are chosen, and forgets them.
func (r *running) remove(ctx context.Context, chosen func(*submission) bool) error {
	var clusters []string
	for _, s := range r.state.Submissions {
		if !s.gone && s.Cluster > 0 && chosen(s) {
			clusters = append(clusters, fmt.Sprint(s.Cluster))
		}
	}
	if len(clusters) > 0 {
		if err := remove(ctx, clusters...); err != nil {
			return fmt.Errorf("the jobs could not be removed; the same command takes them over: %w", err)
		}
	}
	r.state.Submissions = nil
	return r.state.save(r.Dir)
}
