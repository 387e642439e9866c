package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childState); folder != "" {
		child(folder)
		return
	}
	if user := os.Getenv(childUser); user != "" {
		inheritAs(user)
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a fake pool, collector and condor_master.
type world struct {
	mu       sync.Mutex
	deltas   chan negotiator.Delta
	saved    *track.SavedState // what Open was given
	acted    [][]negotiator.Match
	reasons  map[string]string // reasons by job's name
	jobs     map[backfill.JobID]*negotiator.Job
	others   []observe.Other
	asked    int      // how often it was asked for other negotiators
	slots    []string // ads of slots as the collector knows them
	garbage  []string // ads of negotiators that cannot be read
	accounts []string // Accounting ads that the collector has
	deaf     bool     // the collector answers no queries for slots
	lost     []track.Broken
	asleep   []*negotiator.Slot
	overlap  []negotiator.Overlapping
	roused   []negotiator.Match
	// unplanned does not change.
	unplanned []track.Unplanned
	ads       []*classad.ClassAd
	gone      []string // names of ads that were withdrawn
	alive     int
	ready     int
	failing   error
	clinging  error // what WithdrawNegotiator returns
	slot      *negotiator.Slot
	tuning    htcondor.Tuning
	drained   drains.Book
	matched   []backfill.JobID
	lacking   map[backfill.JobID]string
	retires   bool
	acting    func(context.Context) // nil: nothing takes time
	accounted int                   // how often it was sent Accounting ads
}

func newWorld() *world {
	ad := classad.New()
	ad.SetString("Name", "slot1@a")
	ad.SetBool("Requirements", true)
	return &world{
		deltas: make(chan negotiator.Delta, 16), reasons: map[string]string{},
		jobs: map[backfill.JobID]*negotiator.Job{},
		slot: &negotiator.Slot{Name: "slot1@a", Capacity: backfill.Vector{4}, Ad: ad},
	}
}

func (w *world) job(id backfill.JobID, cpus, estimate int64) *negotiator.Job {
	ad := classad.New()
	ad.SetInt("RequestCpus", cpus)
	ad.SetBool("Requirements", true)
	j := &negotiator.Job{
		ID: id, Name: fmt.Sprintf("%d.0", id), Submit: 1000,
		Position: backfill.QueuePosition{Queue: "a", Cluster: int64(id)},
		Nodes:    1, Estimate: backfill.Time(estimate), Ad: ad, Labels: map[string]string{"owner": "alice"},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[id] = j
	return j
}

func (w *world) Fetch(ctx context.Context, _ backfill.Time) (negotiator.Delta, error) {
	select {
	case d, more := <-w.deltas:
		if !more {
			return d, io.EOF
		}
		return d, nil
	case <-ctx.Done():
		return negotiator.Delta{}, ctx.Err()
	}
}

func (w *world) Act(ctx context.Context, matches []negotiator.Match) error {
	if w.acting != nil {
		w.acting(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acted = append(w.acted, append([]negotiator.Match{}, matches...))
	return nil
}

func (w *world) Open(_ context.Context, saved *track.SavedState) (negotiator.Checkpoint, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = saved
	if saved == nil {
		return negotiator.Checkpoint{}, nil
	}
	m := negotiator.Checkpoint{
		Now: saved.Now, Policy: saved.Policy, Guarantees: saved.Guarantees, Slots: []*negotiator.Slot{w.slot},
	}
	for _, j := range saved.Jobs {
		m.Jobs = append(m.Jobs, negotiator.JobCheckpoint{
			Job: w.jobs[backfill.JobID(j.Cluster)],
			Standing: backfill.Standing{
				Running: j.Running, Start: j.Start, End: j.End, Promised: j.Promised, Guarantee: j.Guarantee,
			},
			Placement: negotiator.Placement{{Slot: w.slot, Count: 1}},
		})
	}
	return m, nil
}

func (w *world) Rouse(_ context.Context, wanted []negotiator.Match) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roused = append(w.roused, wanted...)
	return nil
}

func (w *world) TakePlan(negotiator.Checkpoint) (broken []track.Broken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	broken, w.lost = w.lost, nil
	return broken
}

// lose has a lease break a guarantee by the next cycle.
func (w *world) lose(b track.Broken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, b)
}

func (w *world) Saved(m negotiator.Checkpoint) *track.SavedState {
	saved := &track.SavedState{Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees}
	for _, s := range m.Slots {
		saved.Slots = append(saved.Slots, track.SavedSlot{Name: s.Name, Capacity: s.Capacity})
	}
	for _, j := range m.Jobs {
		if j.Placement != nil {
			saved.Jobs = append(saved.Jobs, track.SavedJob{
				Schedd: "a", Cluster: int64(j.Job.ID), Submit: j.Job.Submit, Nodes: 1,
				Estimate: j.Job.Estimate,
				Standing: backfill.Standing{
					Running: j.Running, Start: j.Start, End: j.End, Promised: j.Promised, Guarantee: j.Guarantee,
				},
			})
		}
	}
	return saved
}

func (w *world) Wakeup() {}

func (w *world) Tune(t htcondor.Tuning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tuning = t
}

func (w *world) Drain(book drains.Book) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drained = book
}

func (w *world) Last() htcondor.Facts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return htcondor.Facts{
		Slots: 1, Schedds: 1, Negotiators: w.others, Deaf: 3, Contested: 4, Asleep: w.asleep, Overlapping: w.overlap,
		Paused: []claims.Pause{
			{Slot: "n9", Failures: 3, Until: time.Unix(1200, 0)}, {Slot: "n8", Schedd: "other"},
		},
	}
}

func (w *world) Find(name string) (ids []backfill.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, j := range w.jobs {
		if j.Name == name {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) Why(id backfill.JobID) (track.Unplanned, bool) {
	for _, u := range w.unplanned {
		if u.ID == id {
			return u, true
		}
	}
	return track.Unplanned{}, false
}

func (w *world) Charge(*negotiator.Job) ([]negotiator.Limit, error) { return nil, nil }

func (w *world) Lacking(id backfill.JobID) string { return w.lacking[id] }

func (w *world) MayRetire(backfill.JobID) bool { return w.retires }

func (w *world) Matched() []backfill.JobID { return w.matched }

func (w *world) Unplanned() []track.Unplanned { return w.unplanned }

func (w *world) UsedBy(submitter string) []track.Used {
	return []track.Used{{Slot: "slot1_1@" + submitter, Since: 900}, {Slot: "slot1_2@b", Since: 1000}}
}

func (w *world) Explain(_ context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.reasons[w.jobs[id].Name] = why(id)
	}
	return nil
}

func (w *world) QueryEach(_ context.Context, types []client.AdType, each func(cedar.Lines) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing != nil {
		return w.failing
	}
	if types[0].Name == "Machine" {
		return w.querySlots(classad.MustParseExpr(types[0].Requirements), each)
	}
	if types[0].Name == "Accounting" {
		for _, lines := range w.accounts {
			if err := each(cedar.Lines(lines)); err != nil {
				return err
			}
		}
		return nil
	}
	w.asked++
	for _, lines := range w.garbage {
		if err := each(cedar.Lines(lines)); err != nil {
			return err
		}
	}
	for _, o := range w.others {
		ad := fmt.Sprintf("Name = %q\nMyAddress = %q\nDaemonStartTime = %d\n", o.Name, o.Address, o.Started.Unix())
		if o.Ours {
			ad += "BackfillVersion = \"v\"\n"
		}
		if o.SlotConstraint != "" {
			ad += fmt.Sprintf("BackfillSlotConstraint = %q\n", o.SlotConstraint)
		}
		if err := each(cedar.Lines(ad)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) querySlots(requirements *classad.Expr, each func(cedar.Lines) error) error {
	if w.deaf {
		return errors.New("no answer about slots")
	}
	for _, text := range w.slots {
		ad, err := classad.ParseOld(text)
		if err != nil {
			return err
		}
		if requirements.Eval(classad.Scope{My: ad, Target: ad, MaxSteps: classad.FewSteps}).IsTrue() {
			if err = each(cedar.Lines(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) UpdateNegotiator(_ context.Context, ad *classad.ClassAd) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ads = append(w.ads, ad)
	return w.failing
}

func (w *world) UpdateAccounting(context.Context, []*classad.ClassAd) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accounted++
	return nil
}

func (w *world) WithdrawNegotiator(_ context.Context, _, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, name)
	return w.clinging
}

func (w *world) Alive(context.Context, int, time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive++
	return nil
}

func (w *world) Ready(context.Context, int, string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready++
	return nil
}

// options are options for a daemon in this world, under a policy.
func (w *world) options(policy string) Options {
	link := func(name string) backfill.Decider {
		spec, err := policies.Named(name)
		if err != nil {
			panic(err)
		}
		linked, err := backfill.Link(spec, nil)
		if err != nil {
			panic(err)
		}
		return linked
	}
	return Options{
		Name: "here", Host: "here", Address: "<127.0.0.1:1>",
		Negotiator: negotiator.Config{
			Schema: negotiator.Schema{Resources: []string{"cpus"}}, Policy: link(policy), Fallback: link(policy),
		},
		Policy:    func() (string, string) { return policy, "fcfs" },
		NewPool:   func() Pool { return w },
		Collector: w,
		Answers:   func(_ context.Context, address string) bool { return address != "<127.0.0.1:9>" },
		Tuning:    Tuning{Telling: config.Telling{Reasons: true, CycleStats: 3, Accounting: true}},
	}
}

// run makes a daemon and runs it beside the test; end ends it and returns its error.
func run(t *testing.T, o Options) (d *Daemon, end func() error) {
	t.Helper()
	d = New(o)
	return d, live(t, d)
}

// live runs a daemon beside the test; end ends it and returns its error.
func live(t *testing.T, d *Daemon) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	var once sync.Once
	var err error
	end = func() error {
		once.Do(func() {
			cancel()
			select {
			case err = <-done:
			case <-time.After(poll.Patience):
				err = fmt.Errorf("it does not end: %v", d.Ad())
			}
		})
		return err
	}
	t.Cleanup(func() { _ = end() })
	return end
}

// locked makes a function that reads a value under the world's lock.
func locked[V any](w *world, get func() V) func() V {
	return func() V {
		w.mu.Lock()
		defer w.mu.Unlock()
		return get()
	}
}

// acts is the number of calls of Act.
func (w *world) acts() int { return locked(w, func() int { return len(w.acted) })() }

// lastAd is the last ad that the collector got, or "".
func (w *world) lastAd() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ads) == 0 {
		return ""
	}
	return w.ads[len(w.ads)-1].String()
}

// adOf makes a function that returns a daemon's current ad.
func adOf(d *Daemon) func() string { return func() string { return d.Ad().String() } }

// buffer is a log that may be written and read concurrently.
type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func logTo(out io.Writer) hclog.Logger { return NewLogger(hclog.Debug, out) }
