package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Latency is the time of decisions in pools of one size, in microseconds, and the mean number of
// bytes of a decision with its question.
type Latency struct {
	Slots     int     `json:"slots"`
	Jobs      int     `json:"jobs"` // waiting
	Decisions int     `json:"decisions"`
	P50       float64 `json:"p50_us"`
	P90       float64 `json:"p90_us"`
	P99       float64 `json:"p99_us"`
	Max       float64 `json:"max_us"`
	Bytes     int64   `json:"bytes"`
}

// Resync is the cost of sending the whole state of the largest pool and getting a decision, in
// microseconds and bytes.
type Resync struct {
	Slots int     `json:"slots"`
	Jobs  int     `json:"jobs"`
	Took  float64 `json:"took_us"`
	Bytes int64   `json:"bytes"`
}

// timed is a decider that measures its last decision.
type timed struct {
	*host.Remote
	clock func() time.Time
	took  time.Duration
}

func (t *timed) Decide(ctx context.Context, tx *backfill.Transaction) error {
	begun := t.clock()
	err := t.Remote.Decide(ctx, tx)
	t.took = t.clock().Sub(begun)
	return err
}

// traffic returns the number of bytes that have crossed the boundary so far.
func (t *timed) traffic() int64 {
	stats := t.Stats()
	return stats.Sent + stats.Received
}

// latency times decisions in pools of many sizes.
func (c *checker) latency(ctx context.Context) (Check, error) {
	remote, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	defer remote.Close()
	main := &timed{Remote: remote, clock: c.options.Clock}
	var slowest Latency
	late, missed := 0, "" // the number of jobs at which the deadline was missed, and how
	for i, slots := range c.scale.slots {
		for k, jobs := range c.scale.jobs {
			c.progress((float64(i) + float64(k)/float64(len(c.scale.jobs))) / float64(len(c.scale.slots)))
			if late > 0 && jobs >= late {
				continue
			}
			row, refused, err := c.measure(ctx, main, slots, jobs)
			switch {
			case err != nil:
				return Check{}, err
			case refused != nil && jobs <= modest:
				check := failed(tooSlow, "with %s and %d waiting jobs: %s", count(slots, "slot"),
					jobs, c.plain(refused))
				check.Log = c.tail.last()
				return check, nil
			case refused != nil:
				late, missed = jobs, fmt.Sprintf("with %s and %d waiting jobs: %s; longer queues were left out",
					count(slots, "slot"), jobs, c.plain(refused))
				continue
			case c.played.lost > 0:
				return c.inconclusive(), nil
			}
			c.report.Latency = append(c.report.Latency, row)
			if row.P50 >= slowest.P50 {
				slowest = row
			}
		}
	}
	if late > 0 {
		return Check{Verdict: Warning, Seen: missed, Do: tooSlow}, nil
	}
	return passed("median of %s in the smallest pool and of %s with %s and %d waiting jobs; the deadline was kept",
		micro(c.report.Latency[0].P50), micro(slowest.P50), count(slowest.Slots, "slot"), slowest.Jobs), nil
}

// modest is the length of a queue that every policy must manage; missing the deadline in a longer
// one is slow, but not wrong.
const modest = 1000

const tooSlow = "decide faster in pools of this size, or run with a longer --deadline: until then the " +
	"fallback decides there"

func micro(us float64) string {
	d := time.Duration(us * float64(time.Microsecond))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// measure times the decisions in a pool of one size, where in every round one job ends and one
// arrives, and then a decision with the transfer of the whole state. A failure of the plugin ends
// it and is returned as refused; err is a failure of the check itself.
func (c *checker) measure(ctx context.Context, main *timed, slots, jobs int) (row Latency, refused, err error) {
	failures := main.Stats().Failures
	b, err := newBusy(c.options.Seed, slots, jobs, main, func(r backfill.Refusal) {
		if main.Stats().Failures > failures {
			refused = r.Err
		} else { // the time of a decision that does not count says nothing
			c.played.count(0, 1, r.Err.Error())
		}
	})
	if err != nil {
		return row, nil, err
	}
	round := func() error {
		c.played.count(1, 0, "")
		return b.round(ctx)
	}
	var took []time.Duration
	var all time.Duration
	var before int64
	for begun := false; len(took) < c.scale.samples && (all < c.scale.budget || len(took) < 5); begun = true {
		if err = round(); err != nil || refused != nil {
			return row, refused, err
		}
		if all += main.took; begun {
			took = append(took, main.took)
		} else { // the plugin takes over the state
			before = main.traffic()
		}
	}
	bytes := main.traffic() - before
	slices.Sort(took)
	percentile := func(p int) float64 { return us(took[(len(took)*p+99)/100-1]) }
	row = Latency{
		Slots: slots, Jobs: jobs, Decisions: len(took), P50: percentile(50), P90: percentile(90), P99: percentile(99),
		Max:   us(took[len(took)-1]),
		Bytes: bytes / int64(len(took)),
	}
	if b.host.State, err = backfill.Restore(b.host.State.Snapshot()); err != nil {
		return row, nil, err
	}
	before = main.traffic()
	if err = round(); err != nil || refused != nil {
		return row, refused, err
	}
	c.report.Resync = &Resync{Slots: slots, Jobs: jobs, Took: us(main.took), Bytes: main.traffic() - before}
	return row, nil, nil
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// busy is a pool in which every slot is used and the queue keeps its length.
type busy struct {
	host    *backfill.Host
	random  *rand.Rand
	slots   int
	now     backfill.Time
	jobs    backfill.JobID
	running []backfill.JobID
}

func newBusy(seed uint64, slots, jobs int, main backfill.Decider, refused func(backfill.Refusal)) (*busy, error) {
	b := &busy{random: rand.New(rand.NewPCG(seed, 4)), slots: slots}
	snap := backfill.Snapshot{Resources: []string{"cpus", "memory"}}
	all := backfill.CandidateSet{}
	for i := range slots {
		id := backfill.SlotID(i)
		snap.Slots = append(snap.Slots,
			backfill.SlotState{Slot: backfill.Slot{
				ID: id, Name: fmt.Sprintf("slot-%05d", i),
				Capacity: backfill.Vector{8, 32_000},
			}, Up: true})
		all.Candidates.Slots = append(all.Candidates.Slots, id)
	}
	snap.Candidates = []backfill.CandidateSet{all}
	for i := range slots {
		j := b.job()
		j.Nodes, j.Request = 1, backfill.Vector{8, 16_000}
		snap.Jobs = append(snap.Jobs, backfill.JobState{
			Job:       j,
			Placement: backfill.Placement{{Slot: backfill.SlotID(i), Count: 1}},
			Standing:  backfill.Standing{Running: true, End: j.Estimate},
		})
		b.running = append(b.running, j.ID)
	}
	for range jobs {
		snap.Jobs = append(snap.Jobs, backfill.JobState{Job: b.job()})
	}
	state, err := backfill.Restore(snap)
	if err != nil {
		return nil, err
	}
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	if err != nil {
		return nil, err
	}
	b.host, err = backfill.NewHost(state, nil, main, fallback, refused)
	return b, err
}

// job makes a random job; a few are gangs, which need several chunks at once.
func (b *busy) job() *backfill.Job {
	b.jobs++
	j := &backfill.Job{
		ID: b.jobs, Submit: b.now, Position: backfill.QueuePosition{Cluster: int64(b.jobs)}, Nodes: 1,
		Request: backfill.Vector{1 + b.random.Int64N(8), 4000}, Estimate: 3600 + backfill.Time(b.random.IntN(86_400)),
		Labels: map[string]string{"owner": fmt.Sprintf("user%d", b.jobs%20)},
	}
	if b.random.IntN(10) == 0 {
		j.Nodes = 1 + b.random.IntN(min(8, b.slots))
	}
	return j
}

// round lets the plugin decide a round in which one job ends and one arrives.
func (b *busy) round(ctx context.Context) error {
	b.now++
	r := backfill.Round{Now: b.now}
	if n := len(b.running); n > 0 {
		i := b.random.IntN(n)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: b.running[i]})
		b.running[i] = b.running[n-1]
		b.running = b.running[:n-1]
	}
	r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: b.job()})
	d, err := b.host.Decide(ctx, r)
	for _, s := range d.Started {
		b.running = append(b.running, s.Job.ID)
	}
	return err
}
