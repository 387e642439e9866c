package fleet

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

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
	cluster, warnings, err := submit(ctx, r.Dir, fmt.Sprintf("%d.sub", s.N))
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !r.began:
		return err
	case err != nil:
		s.gone = true
		if err.Error() != r.refused {
			r.refused = err.Error()
			r.Say("the jobs could not be submitted; trying again: " + r.refused)
		}
		return nil
	}
	r.refused = ""
	s.Cluster, r.began, r.heard = cluster, true, now
	r.book.submitted(s)
	r.Say(fmt.Sprintf("%s submitted as cluster %d", count(len(tasks)), cluster))
	for _, text := range warnings {
		r.Say("condor_submit warns: " + text)
	}
	return r.state.save(r.Dir)
}

// ask asks the schedd whether the clusters are there that nothing is heard of, and says of one that is if
// none of all jobs has run for a while.
func (r *running) ask(ctx context.Context, awhile bool) error {
	for _, s := range r.state.Submissions {
		if s.gone || !r.book.hasJobs(s) {
			continue
		}
		there, err := false, error(nil)
		if s.Cluster > 0 {
			there, err = inQueue(ctx, s.Cluster)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.answers(err)
		if err != nil || there {
			r.absent[s] = 0
			if there && awhile {
				r.idle(s)
			}
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

// answers says, once, that the schedd does not answer, or that it does again.
func (r *running) answers(err error) {
	switch {
	case err != nil && !r.down:
		r.Say("the schedd does not answer; waiting for it: " + err.Error())
	case err == nil && r.down:
		r.Say("the schedd answers again")
	}
	r.down = err != nil
}

// idle says, once, that no job has run for a while, if that is so. The user holds those that are held.
func (r *running) idle(s *submission) {
	if counts := r.book.counts(); !r.stuck && counts.Running+counts.Held == 0 {
		r.stuck = true
		r.Say(fmt.Sprintf("no cell runs: 'condor_q -better-analyze %d' says whether slots match the jobs", s.Cluster))
	}
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
			if _, known := r.book.at[number]; !known {
				return true
			}
		}
		return all || s.left
	})
}

// remove removes the clusters that are chosen, and forgets all but one that may be there without its number
// being known, as its submission was interrupted: the next process finds it in the log.
func (r *running) remove(ctx context.Context, chosen func(*submission) bool) error {
	var clusters []string
	var unknown []*submission
	for _, s := range r.state.Submissions {
		if !s.gone && s.Cluster > 0 && chosen(s) {
			clusters = append(clusters, strconv.Itoa(s.Cluster))
		}
		if !s.gone && s.Cluster == 0 {
			unknown = append(unknown, s)
		}
	}
	if len(clusters) > 0 {
		if err := remove(ctx, clusters...); err != nil {
			return fmt.Errorf("the jobs could not be removed; the same command takes them over: %w", err)
		}
	}
	r.state.Submissions = unknown
	return r.state.save(r.Dir)
}
