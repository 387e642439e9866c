package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// explainCommand is negotiator explain.
type explainCommand struct {
	Job  string `arg:"" help:"The job, such as 1.23, or a cluster of jobs, such as 1, of a real pool."`
	JSON bool   `group:"Ask a running negotiator" name:"json" help:"Print JSON: an array; with --at one object."`
	atFlag
	poolFlags
}

// atFlag makes a question one about a simulation.
type atFlag struct {
	At      *int64 `group:"Or look into a simulation, of what all flags below say" placeholder:"T" help:"${ask_at}"`
	Futures *int   `group:"Or look into a simulation, of what all flags below say" placeholder:"N" help:"${futures}"`
	Seed    uint64 `name:"futures-seed" group:"Or look into a simulation, of what all flags below say" default:"1" help:"${futures_seed}"`
}

// Help is shown below the usage.
func (*explainCommand) Help() string {
	return `Without --at the negotiator at work in the pool of this machine's HTCondor is asked.

Examples:
  negotiator explain 12.0
  negotiator explain 12
  negotiator explain 12.0@schedd.site --json
  negotiator explain 12.0 --pool htcondor://cm.site:9618 --token condor.token
  negotiator explain 1.23 --at 60 --policy conservative

Orders and estimators: negotiator run --help.`
}

// startTimesCommand is negotiator start-times.
type startTimesCommand struct {
	Owner string `group:"Ask a running negotiator" help:"List this user's jobs alone."`
	Limit int    `group:"Ask a running negotiator" placeholder:"N" help:"List the first N jobs of the queue."`

	Accuracy bool `group:"Ask a running negotiator" help:"Tell how true the start times were of jobs that have started."`
	JSON     bool `group:"Ask a running negotiator" name:"json" help:"Print a JSON array."`
	atFlag
	poolFlags
}

// futures says in which futures of a simulation starts are looked for.
func (f atFlag) futures(s config.Config) outlook.FuturesOptions {
	return outlook.FuturesOptions{Futures: ahead.Futures{Count: *cmp.Or(f.Futures, &s.Futures)}, Seed: f.Seed}
}

// check returns an error if the flags cannot be meant: ask says that a real pool is asked.
func (f atFlag) check(ask bool) error {
	switch {
	case f.Futures == nil:
		return nil
	case *f.Futures < 1 || *f.Futures > config.MostFutures:
		return fmt.Errorf("--futures %d: must be from 1, without ranges, to %d", *f.Futures, config.MostFutures)
	case ask:
		return errors.New("--futures is of a simulation (--at T); for a pool BACKFILL_FUTURES says it")
	default:
		return nil
	}
}

// Help is shown below the usage.
func (*startTimesCommand) Help() string {
	return `Without --at the negotiator at work in the pool of this machine's HTCondor is asked.

Examples:
  negotiator start-times
  negotiator start-times --owner alice --limit 20
  negotiator start-times --accuracy
  negotiator start-times --json
  negotiator start-times --pool htcondor://cm.site:9618 --token condor.token
  negotiator start-times --at 60 --policy conservative

Orders and estimators: negotiator run --help.`
}

// Validate refuses a negative limit; the parser of the command line calls it.
func (c *startTimesCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit %d: must be 0, for all, or more", c.Limit)
	}
	return nil
}

// first returns the first elements, up to the limit; 0: all.
func first[T any](all []T, limit int) []T {
	if limit == 0 {
		return all
	}
	return all[:min(limit, len(all))]
}

// more is the line below a table with the number of jobs that are not in it.
func more(jobs int) string {
	if jobs == 0 {
		return ""
	}
	return fmt.Sprintf(" … and %d more\n", jobs)
}

// expectation is what is printed about a job.
type expectation struct {
	Job       string `json:"job"`
	Command   string `json:"command"`
	Situation string `json:"situation"`
	// Start is the actual or the expected start; nil if there is none.
	Start *int64 `json:"start"`
	// Guarantee is the latest start that was promised; nil if none was.
	Guarantee *int64 `json:"guarantee"`
	Reason    string `json:"reason"`
	// P10, P50 and P90: of ten futures the job starts by then in one, in five, in nine; nil if they
	// are not known. P50 is the expected start.
	P10 *int64 `json:"p10,omitempty"`
	P50 *int64 `json:"p50,omitempty"`
	P90 *int64 `json:"p90,omitempty"`
	// Requested and Predicted are run times; nil if the job is expected to run for as long as it
	// requests.
	Requested *int64 `json:"requested_seconds,omitempty"`
	Predicted *int64 `json:"predicted_seconds,omitempty"`

	why   string // the reason without the start
	where string // on which slots it starts
}

// Run explains one job.
func (c *explainCommand) Run(ctx context.Context) error {
	switch ask, err := c.asksPool(c.At); {
	case cmp.Or(err, c.check(ask)) != nil:
		return cli.Bad(cmp.Or(err, c.check(ask)))
	case ask:
		return c.askExplain(ctx)
	}
	p, err := c.prepare(ctx, "warn")
	if err != nil {
		return cli.Bad(err)
	}
	defer p.policy.Close()
	job := findJob(p.workload, c.Job)
	if job == nil {
		return cli.Bad(fmt.Errorf("there is no job %s in %s", c.Job, p.workload.Name))
	}
	state, err := p.stateAt(ctx, backfill.Time(*c.At), c.futures(p.settings))
	if err != nil {
		return err
	}
	e := p.expect(state, job)
	if c.JSON {
		return printJSON(e)
	}
	text := fmt.Sprintf("%s %s: %s\n", e.Job, e.Command, e.Reason)
	if e.Predicted != nil {
		text += fmt.Sprintf("it requests %d s and is expected to run for %d s\n", *e.Requested, *e.Predicted)
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

// Run lists the waiting jobs.
func (c *startTimesCommand) Run(ctx context.Context) error {
	switch ask, err := c.asksPool(c.At); {
	case cmp.Or(err, c.check(ask)) != nil:
		return cli.Bad(cmp.Or(err, c.check(ask)))
	case ask:
		return c.askStartTimes(ctx)
	case c.Accuracy:
		return cli.Bad(errors.New("--accuracy is what a running negotiator has seen; of a simulation, condorsim run " +
			"--eta tells it"))
	}
	p, err := c.prepare(ctx, "warn")
	if err != nil {
		return cli.Bad(err)
	}
	defer p.policy.Close()
	last, err := p.stateAt(ctx, backfill.Time(*c.At), c.futures(p.settings))
	if err != nil {
		return err
	}
	all := []expectation{}
	if state := last.state; state != nil {
		for _, j := range state.FirstWaiting(state.Waiting()) {
			job := p.workload.Jobs[j.ID].Job
			if owner, _ := job.Ad.Text("Owner"); c.Owner == "" || owner == c.Owner {
				all = append(all, p.expect(last, job))
			}
		}
	}
	shown := first(all, c.Limit)
	if c.JSON {
		return printJSON(shown)
	}
	t := plainTable("waiting", "command", "expected start", "80 % range", "guaranteed by", "slots", "reason")
	text := func(n *int64) any {
		if n == nil {
			return ""
		}
		return *n
	}
	for _, e := range shown {
		in := ""
		if e.P10 != nil {
			in = span(ahead.Range{Low: backfill.Time(*e.P10), High: backfill.Time(*cmp.Or(e.P90, secondsOf(backfill.Forever)))})
		}
		t.AppendRow(table.Row{e.Job, e.Command, text(e.Start), in, text(e.Guarantee), e.where, e.why})
	}
	_, err = os.Stdout.WriteString(t.Render() + "\n" + more(len(all)-len(shown)))
	return err
}

func printJSON(v any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func findJob(w *condorsim.Workload, name string) *negotiator.Job {
	for _, j := range w.Jobs {
		if j.Name == name {
			return j.Job
		}
	}
	return nil
}

// errReached ends a simulation at the instant that the user asked about.
var errReached = errors.New("the time has been reached")

// snapshot is the schedule at an instant.
type snapshot struct {
	at    backfill.Time
	state *backfill.State           // nil if nothing has happened yet
	held  map[backfill.JobID]string // why jobs are held
	last  *negotiator.Report        // of the last cycle
	// Set at the end: the predicted run times, and when waiting jobs start by them.
	predictions outlook.Predictions
	told        told
	ranges      map[backfill.JobID]ahead.Range

	unordered bool // the order's expression gave no job a number
}

// Cycle keeps the state after a cycle, and the reasons why jobs are held.
func (s *snapshot) Cycle(r *negotiator.Report) error {
	s.state, s.unordered, s.last = r.State, r.Unordered, r
	for _, h := range r.Held {
		s.held[h.Job.ID] = h.Reason
	}
	return nil
}

// stateAt simulates the pool up to an instant and returns the schedule at that time.
func (p *prepared) stateAt(ctx context.Context, at backfill.Time, f outlook.FuturesOptions) (*snapshot, error) {
	last := &snapshot{at: at, held: map[backfill.JobID]string{}}
	_, err := condorsim.Run(ctx, p.workload, p.config, func(_ context.Context, t backfill.Time) error {
		if t > at {
			return errReached
		}
		return nil
	}, last, p)
	if err != nil && !errors.Is(err, errReached) {
		return nil, err
	}
	p.warnUnordered(last.unordered)
	if last.state == nil {
		return last, nil
	}
	var twins outlook.Twins
	defer twins.Close()
	future := outlook.New(last.last.Negotiator())
	last.predictions = future.Predictions
	if last.told, err = lookAhead(ctx, &twins, future, ahead.Bounds{}); err != nil || !future.Learned() || f.Count < 2 {
		return last, err
	}
	last.ranges, err = twins.Ranges(ctx, future, f, ahead.Bounds{}, nil)
	return last, err
}

// expect says when a job starts, and why not earlier.
func (p *prepared) expect(s *snapshot, job *negotiator.Job) expectation {
	e := expectation{Job: job.Name, Command: command(job)}
	if job.Submit > s.at || s.state == nil {
		e.Situation, e.Reason = "to come", fmt.Sprintf("will be submitted at %d", job.Submit)
		return e
	}
	reason, known := s.state.Reason(job.ID)
	if !known {
		e.Situation, e.Reason = "ended", "has ended"
		return e
	}
	if why, held := s.held[job.ID]; held && reason.Why == backfill.HeldBack {
		reason.Text = why
	}
	e.Situation, e.Reason = reason.Why.String(), p.describe(s, job.ID, reason)
	e.why, e.where = why(reason, p.name), s.state.DescribePlacement(reason.Placement)
	if begins, known := s.told[job.ID]; known {
		e.where = s.state.DescribePlacement(begins.Placement)
	}
	if times, known := s.predictions.Of(job.ID); known {
		e.Requested, e.Predicted = secondsOf(times.Requested), secondsOf(times.Predicted)
	}
	if r, known := s.ranges[job.ID]; known && r.Mid < backfill.Forever {
		e.Start, e.P10, e.P50 = secondsOf(r.Mid), secondsOf(r.Low), secondsOf(r.Mid)
		if r.High < backfill.Forever {
			e.P90 = secondsOf(r.High)
		}
	} else if begins, known := s.told[job.ID]; known {
		e.Start = secondsOf(begins.At)
	} else if reason.Placement != nil {
		e.Start = secondsOf(reason.At)
	}
	if reason.Promised {
		guarantee := int64(reason.Latest)
		e.Guarantee = &guarantee
	}
	return e
}

// name is what users call a job.
func (p *prepared) name(j *backfill.Job) string { return p.workload.Jobs[j.ID].Name }

// why is the reason for a table that has columns for start and slots.
func why(r backfill.Reason, name func(*backfill.Job) string) string {
	switch {
	case r.Why == backfill.Reserved:
		return fmt.Sprintf("reserved for %d", r.At)
	case r.Behind != nil:
		return "behind job " + name(r.Behind)
	case r.Text != "":
		return r.Text
	default:
		return r.Why.String()
	}
}

// describe puts into words why a job runs or does not, and when it is expected to start.
func (p *prepared) describe(s *snapshot, id backfill.JobID, r backfill.Reason) string {
	text := s.state.Describe(r, p.name)
	begins, known := s.told[id]
	expected := fmt.Sprintf("expected start %d", begins.At)
	in, ranged := s.ranges[id]
	if ranged = ranged && in.Mid < backfill.Forever; ranged {
		expected = fmt.Sprintf("expected start %s (80 %%), most likely %d,", span(in), in.Mid)
	}
	expected += " on " + s.state.DescribePlacement(begins.Placement)
	switch {
	case !known, r.Why == backfill.Reserved && begins.At == r.At && !ranged:
		return text
	case r.Why == backfill.Reserved && r.Promised:
		return fmt.Sprintf("reserved for %d, %s, guaranteed by %d", r.At, expected, r.Latest)
	case r.Why == backfill.Reserved:
		return fmt.Sprintf("reserved for %d, %s", r.At, expected)
	case r.Why == backfill.Unpromised:
		return "waits, " + expected + "; " + text
	default:
		return text + ", " + expected
	}
}

// span is a range as text.
func span(r ahead.Range) string {
	if r.High >= backfill.Forever {
		return fmt.Sprintf("%d or later", r.Low)
	}
	return fmt.Sprintf("%d–%d", r.Low, r.High)
}
