package track

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// begin is when the first look of each test is, in Unix time.
const begin = 1_700_000_000

const (
	patience        = 30 * time.Second
	startSlack      = 60
	defaultEstimate = 500
)

// pool is a model of a real pool, from which snapshots are made by hand. It begins with the slots a
// and b, which are static, and with the schedd s, whose queue is empty.
type pool struct {
	t          testing.TB
	now        time.Time
	number     int
	slots      map[string]observe.Slot
	named      map[string]bool           // slots that runs had name a job
	schedds    map[string]observe.Schedd // their groups are made of the jobs
	silent     map[string]bool           // schedds that do not answer
	jobs       map[observe.JobKey]*observe.Group
	belief     *Belief
	dispatched Dispatched
	// constrained says that there is a constraint on submitters.
	constrained bool
	granted     negotiator.Delta // of the last lease
}

func newPool(tb testing.TB, changes ...func(*Settings)) *pool {
	tb.Helper()
	settings := Settings{
		Schema: negotiator.DefaultSchema(), Patience: patience, StartSlack: startSlack,
		DefaultEstimate: defaultEstimate, Logger: hclog.NewNullLogger(),
	}
	settings.Schema.Resources = []string{"cpus", "memory", observe.Claims}
	for _, change := range changes {
		change(&settings)
	}
	p := &pool{
		t: tb, now: time.Unix(begin, 0).UTC(), slots: map[string]observe.Slot{}, schedds: map[string]observe.Schedd{},
		silent: map[string]bool{}, named: map[string]bool{}, jobs: map[observe.JobKey]*observe.Group{}, belief: New(settings),
		dispatched: Dispatched{Flights: map[backfill.JobID]Flight{}, LeftOut: map[string]LeftOut{}},
	}
	p.schedd("s")
	p.slot("a")
	p.slot("b")
	return p
}

// begun is a new pool that was looked at once.
func begun(tb testing.TB, changes ...func(*Settings)) *pool {
	tb.Helper()
	p := newPool(tb, changes...)
	require.Equal(tb, "up a, up b", p.look())
	return p
}

// full is a slot's name as ads have it: slot1@a for a.
func full(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return "slot1@" + name
}

// schedd changes a schedd, which is new if it is not there.
func (p *pool) schedd(name string, changes ...func(*observe.Schedd)) {
	s := p.schedds[name]
	s.Name = name
	for _, change := range changes {
		change(&s)
	}
	p.schedds[name] = s
}

// slot changes a slot, which is new if it is not there.
func (p *pool) slot(name string, changes ...func(*observe.Slot)) {
	name = full(name)
	s, there := p.slots[name]
	if !there {
		s = observe.Slot{
			Name: name, Host: name, Static: true, Advertised: true, Changed: p.now, Free: backfill.Vector{4, 4096, 1},
			Ad: slotAd(name, "true"),
		}
	}
	for _, change := range changes {
		change(&s)
	}
	p.slots[name] = s
}

// slotAd is what jobs are matched with; requirements may be "" for none.
func slotAd(name, requirements string) *negotiator.Slot {
	ad := classad.New()
	ad.SetString("Name", name)
	if requirements != "" {
		if err := ad.SetExpr("Requirements", requirements); err != nil {
			panic(err)
		}
	}
	return &negotiator.Slot{Name: name, Capacity: backfill.Vector{4, 4096, 1}, Ad: ad}
}

// claim cuts a dynamic slot from a slot, on which a job runs; the zero key: the claim is idle.
func (p *pool) claim(name, host string, job observe.JobKey, changes ...func(*observe.Slot)) {
	p.slot(host, func(s *observe.Slot) { s.Static = false })
	p.slot(name, func(s *observe.Slot) {
		s.Ad, s.Static, s.Dynamic, s.Host, s.Claimed, s.Runs = nil, false, true, full(host), true, job
		s.Free, s.Claimer, s.ClaimedSince = backfill.Vector{2, 256, 0}, "eve@test", p.unix()
		for _, change := range changes {
			change(s)
		}
	})
}

// miss has the collector lose the ad of a slot.
func (p *pool) miss(name string) {
	p.slot(name, func(s *observe.Slot) { s.Missing, s.Advertised = p.now, false })
}

// back has the collector get the ad of a slot again.
func (p *pool) back(name string) {
	p.slot(name, func(s *observe.Slot) { s.Missing, s.Outlived, s.Advertised = time.Time{}, time.Time{}, true })
}

func (p *pool) unix() backfill.Time { return backfill.Time(p.now.Unix()) }

// key is the key of a job of the schedd s, with its cluster's number.
func key(cluster int64) observe.JobKey { return observe.JobKey{Schedd: "s", Cluster: cluster} }

// job changes a job of schedd s, which is new and idle if it is not there.
func (p *pool) job(cluster int64, changes ...func(*observe.Group)) { p.jobOf(key(cluster), changes...) }

func (p *pool) jobOf(key observe.JobKey, changes ...func(*observe.Group)) {
	g := &observe.Group{
		Spec: specOf("a job"), Submit: begin, Status: observe.Idle, Jobs: []observe.JobKey{key},
	}
	if known := p.jobs[key]; known != nil {
		*g = *known
	}
	for _, change := range changes {
		change(g)
	}
	p.jobs[key] = g
}

// specOf is what a job is planned by, unlike those of another text.
func specOf(text string, changes ...func(*observe.Spec)) *observe.Spec {
	ad := classad.New()
	ad.SetInt("RequestCpus", 1)
	s := &observe.Spec{
		Ad: ad, Text: text, Request: backfill.Vector{1, 128, 1}, Nodes: 1, Estimate: 600,
		Labels: map[string]string{"owner": "alice"},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// is has a job be planned by another spec.
func is(text string, changes ...func(*observe.Spec)) func(*observe.Group) {
	return func(g *observe.Group) { g.Spec = specOf(text, changes...) }
}

// gang has a job be a gang of nodes.
func gang(nodes int) func(*observe.Group) {
	return is("a gang", func(s *observe.Spec) { s.Parallel, s.Nodes = true, nodes })
}

// runs has a job run since now. If it was not started from here, its slots name it.
func (p *pool) runs(cluster int64, at ...string) {
	p.unname(cluster)
	if j := p.belief.jobs[key(cluster)]; j == nil || j.Phase != Running {
		p.name(cluster, at...)
	}
	p.job(cluster, func(g *observe.Group) {
		g.Status, g.Started, g.Shadows, g.Hosts = observe.Running, p.unix(), g.Shadows+1, nil
		for _, name := range at {
			g.Hosts = append(g.Hosts, full(name))
		}
	})
}

// says has the queue say that a job which runs does so on other slots, as its user may write.
func (p *pool) says(cluster int64, at ...string) {
	p.job(cluster, func(g *observe.Group) {
		g.Hosts = nil
		for _, name := range at {
			g.Hosts = append(g.Hosts, full(name))
		}
	})
}

// name has slots that are there say that they run a job.
func (p *pool) name(cluster int64, at ...string) {
	for _, name := range at {
		if s, there := p.slots[full(name)]; there && !s.Claimed {
			s.Claimed, s.Runs, p.named[s.Name] = true, key(cluster), true
			p.slots[full(name)] = s
		}
	}
}

// unname has slots run a job no more of which name had them say so.
func (p *pool) unname(cluster int64) {
	for name, s := range p.slots {
		if s.Runs == key(cluster) && p.named[name] {
			s.Claimed, s.Runs = false, observe.JobKey{}
			delete(p.named, name)
			p.slots[name] = s
		}
	}
}

// idles has a job come back to its queue.
func (p *pool) idles(cluster int64) {
	p.unname(cluster)
	p.job(cluster, func(g *observe.Group) { g.Status, g.Started, g.Hosts = observe.Idle, 0, nil })
}

// leaves has a job leave its queue.
func (p *pool) leaves(cluster int64) {
	p.unname(cluster)
	delete(p.jobs, key(cluster))
}

// start has the negotiator start a job on slots, a chunk on each, after the last look. The job is
// on its way.
func (p *pool) start(id backfill.JobID, f Flight, at ...string) {
	p.t.Helper()
	var places negotiator.Placement
	for _, name := range at {
		places = append(places, negotiator.Chunks{Slot: p.belief.slots[full(name)].reported, Count: 1})
	}
	require.NotNil(p.t, p.belief.Start(negotiator.Match{Job: &negotiator.Job{ID: id}, Placement: places}))
	p.dispatched.Flights[id] = f
}

// passes lets seconds pass.
func (p *pool) passes(seconds int64) { p.now = p.now.Add(time.Duration(seconds) * time.Second) }

// snapshot is the pool as a look sees it now.
func (p *pool) snapshot() *observe.Snapshot {
	p.number++
	s := &observe.Snapshot{
		Number: p.number, Began: p.now, Ended: p.now, Now: p.unix(),
		Slots: map[string]*observe.Slot{}, Schedds: map[string]*observe.Schedd{}, Constrained: p.constrained,
	}
	for name, slot := range p.slots {
		s.Slots[name] = &slot
	}
	for name, schedd := range p.schedds {
		if schedd.Read = !p.silent[name] && !schedd.Moved; schedd.Read {
			schedd.Since = p.now
		}
		all := schedd.Submitters == nil && !p.constrained // it advertises whoever has jobs
		if all {
			schedd.Own, schedd.Submitters = true, map[string]observe.Submitter{}
		}
		for _, key := range slices.SortedFunc(maps.Keys(p.jobs), observe.JobKey.Compare) {
			if g := p.jobs[key]; key.Schedd == name {
				schedd.Groups = append(schedd.Groups, g)
				if all && !g.Spec.Parallel {
					schedd.Submitters[g.Submitter(name)] = observe.Submitter{Idle: 1}
				}
			}
		}
		s.Schedds[name] = &schedd
	}
	return s
}

// look compares the pool with the belief, and gives the outcome as text.
func (p *pool) look() string { return text(p.diff(), p.belief) }

// diff compares the pool with the belief.
func (p *pool) diff() Outcome {
	p.belief.See(p.snapshot())
	out := p.belief.Diff(p.dispatched)
	for _, id := range slices.Concat(out.Arrived, out.Failed, out.Over) {
		delete(p.dispatched.Flights, id)
	}
	for _, name := range out.Dropped { // as an observer forgets them
		delete(p.slots, name)
	}
	return out
}

// text writes an outcome, the delta's lists in their order and the others sorted, and then the jobs
// that are not planned with. Times count from the first look. It leaves problems out: specs that
// are made by hand name no submitter, of which the accountant complains.
func text(out Outcome, b *Belief) string {
	var parts []string
	add := func(format string, arguments ...any) {
		parts = append(parts, strings.ReplaceAll(fmt.Sprintf(format, arguments...), "slot1@", ""))
	}
	d := out.Delta
	for _, s := range d.SlotsUp {
		requirements := "anything"
		if e, ok := s.Ad.Lookup("Requirements"); ok {
			requirements = e.String()
		}
		switch requirements {
		case "true":
			add("up %s", s.Name)
		case "false":
			add("up %s closed", s.Name)
		default:
			add("up %s where %s", s.Name, requirements)
		}
	}
	for _, name := range d.SlotsDown {
		add("down %s", name)
	}
	for _, l := range d.Limits {
		add("limit %s is %v", l.Name, float64(l.Height)/negotiator.LimitUnit)
	}
	for _, name := range d.LimitsGone {
		add("no limit %s", name)
	}
	for _, j := range d.Submitted {
		add("submitted %s=#%d%s", j.Name, j.ID, earliest(j, d.Now))
	}
	for _, j := range d.Changed {
		add("changed #%d%s", j.ID, earliest(j, d.Now))
	}
	for _, f := range d.Found {
		add("found %s=#%d on %s since %d", f.Job.Name, f.Job.ID, f.Placement, f.Start-begin)
	}
	for _, id := range d.Completed {
		switch ran, known := d.Ran[id]; {
		case !known:
			add("completed #%d", id)
		case ran == unknownRun:
			add("completed #%d ran ?", id)
		default:
			add("completed #%d ran %d", id, ran)
		}
	}
	for _, id := range d.Removed {
		add("removed #%d", id)
	}
	for _, id := range d.Elsewhere {
		add("elsewhere #%d", id)
	}
	for _, id := range d.StartFailed {
		if slices.Contains(d.SlotEnded, id) {
			add("back #%d, whose slot ended", id)
		} else if slices.Contains(d.Displaced, id) {
			add("back #%d, displaced", id)
		} else {
			add("back #%d", id)
		}
	}
	for _, e := range d.Ends {
		add("#%d ends %d", e.Job, e.At-begin)
	}
	for _, over := range []struct {
		what string
		ids  []backfill.JobID
	}{{"arrived", out.Arrived}, {"failed", out.Failed}, {"over", out.Over}} {
		for _, id := range slices.Sorted(slices.Values(over.ids)) {
			add("%s #%d", over.what, id)
		}
	}
	if out.Unstarted > 0 {
		add("unstarted %d", out.Unstarted)
	}
	byJob := func(a, b Ended) int { return cmp.Compare(a.Job, b.Job) }
	for _, e := range slices.SortedFunc(slices.Values(out.Ended), byJob) {
		add("ended gang #%d of %s on %s", e.Job, e.Schedd, list(e.Places))
	}
	byPlace := func(a, b Proven) int { return strings.Compare(list(a.Places), list(b.Places)) }
	for _, good := range slices.SortedFunc(slices.Values(out.Proven), byPlace) {
		add("proven %s for %s", list(good.Places), good.Schedd)
	}
	for _, name := range slices.Sorted(slices.Values(out.Dropped)) {
		add("dropped %s", name)
	}
	for _, u := range b.View().All() {
		add("unplanned %s %s", u.Job, u.Why)
	}
	return strings.Join(parts, ", ")
}

// step is a look, what happened since the look before, and what must come of it.
type step struct {
	after int64 // seconds since the look before
	do    func(p *pool)
	want  string
}

// follow looks after each step.
func (p *pool) follow(steps []step) {
	p.t.Helper()
	for i, s := range steps {
		p.now = p.now.Add(time.Duration(s.after) * time.Second)
		if s.do != nil {
			s.do(p)
		}
		require.Equal(p.t, s.want, p.look(), "step %d", i)
	}
}

// followAll follows each case of a table in a pool of its own.
func followAll(t *testing.T, fresh func(testing.TB, ...func(*Settings)) *pool, cases map[string][]step) {
	t.Helper()
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) { fresh(t).follow(steps) })
	}
}

// earliest says from when on a job may start, if that is in the future.
func earliest(j *negotiator.Job, now backfill.Time) string {
	if j.Release <= now {
		return ""
	}
	return fmt.Sprintf(" from %d", j.Release-begin)
}
