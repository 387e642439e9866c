package fleet

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

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
	stuck    bool      // no job runs, which was said
	refused  string    // why the schedd took no jobs the last time, which was said
	began    bool      // something was submitted
	made     bool      // the schedd has made jobs, which kept slots wait for
	nudged   time.Time // when the schedd was last told of that
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
	}
	for _, t := range tasks {
		r.tasks[t.Number] = t
		r.order = append(r.order, t.Number)
	}
	r.book = newBook(r.order)
	for _, sub := range s.Submissions {
		r.tails = append(r.tails, f.tail(sub))
		if sub.Cluster == 0 {
			events, err := f.tail(sub).next()
			if err != nil {
				return nil, err
			}
			if sub.gone = len(events) == 0; sub.gone { // it was refused; a cluster that comes yet is removed in the end
				continue
			}
			sub.Cluster = events[0].cluster
		}
		r.began = true
		r.absent[sub] = doubts - 1 // the log has all of it by now
		for _, number := range sub.Tasks {
			if r.book.holder[number] != nil {
				r.attempts[number]++
			}
		}
		r.book.submitted(sub)
	}
	if !r.began {
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
		awhile := !r.heard.IsZero()
		r.heard = r.Now()
		if err = r.ask(ctx, awhile); err != nil {
			return err
		}
	}
	r.nudge(ctx)
	return r.submit(ctx)
}

// nudge has the schedd give kept slots to the jobs that it has made since. It would do so only in the next
// negotiation cycle.
func (r *running) nudge(ctx context.Context) {
	if now := r.Now(); r.Slots > 0 && r.made && now.Sub(r.nudged) >= breath {
		r.made, r.nudged = false, now
		reschedule(ctx)
	}
}

// read reads what the event logs say, and does what follows. It reports whether they said anything.
func (r *running) read(ctx context.Context) (heard bool, err error) {
	again := gathering{}
	for n, sub := range r.state.Submissions {
		events, err := r.tails[n].next()
		if err == nil {
			err = r.follow(ctx, sub, events, &again)
		}
		if err != nil {
			return heard, err
		}
		heard = heard || len(events) > 0
	}
	again.tell(r.Say)
	return heard, nil
}

// follow does what follows of the events of a submission, and removes jobs that HTCondor holds.
func (r *running) follow(ctx context.Context, s *submission, events []event, again *gathering) error {
	var useless []string
	for i, e := range events {
		if s.Cluster == 0 { // the last process was killed before it knew, or condor_submit failed behind its work
			s.Cluster, s.left, s.gone = e.cluster, s.gone, false
		}
		if e.cluster != s.Cluster {
			continue
		}
		switch e.kind {
		case submits:
			r.made = true
		case executes:
			r.stuck = false
		case paused:
			r.Say(fmt.Sprintf("the schedd makes no more jobs of cluster %d for now: %s", e.cluster, e.reason))
		case resumed:
			r.Say(fmt.Sprintf("the schedd goes on with cluster %d", e.cluster))
		}
		for _, told := range r.book.apply(s, e) {
			if told.what == cameToNothing && e.kind == held {
				useless = append(useless, fmt.Sprintf("%d.%d", e.cluster, e.proc))
			}
			followed := i+1 < len(events) && events[i+1].kind == held && events[i+1].proc == e.proc
			if err := r.heed(told, again, followed); err != nil {
				return err
			}
		}
	}
	if len(useless) == 0 {
		return nil
	}
	if err := remove(ctx, useless...); err != nil {
		s.left = true
		r.Say("jobs that are held could not be removed yet: " + err.Error())
	}
	return nil
}

// heed does what follows of news. The error ends all.
func (r *running) heed(told news, again *gathering, followed bool) error {
	name := r.tasks[told.task].Name
	switch told.what {
	case nothing:
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
	for _, name := range []string{ResultOf(strconv.Itoa(number)), ErrorsOf(strconv.Itoa(number))} {
		_ = os.Remove(filepath.Join(r.Dir, name)) // the folder is removed in the end
	}
	return nil, nil
}

// printed returns the standard error of a task, the end if it is long.
func (r *running) printed(number int) string {
	const most = 4000
	text, _ := os.ReadFile(filepath.Join(r.Dir, ErrorsOf(strconv.Itoa(number)))) // there may be none
	return string(text[max(0, len(text)-most):])
}

// again notes that a task came to nothing: it will be run again, or is given up.
func (r *running) again(number int, why string, told *gathering) {
	if text := complaint(r.printed(number), r.Program); text != "" {
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
