package track

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// What a comparison costs when nothing has changed: 10,000 slots, 10,000 jobs in 100 groups.
func BenchmarkSteadyDiff(b *testing.B) {
	belief := New(Settings{Schema: negotiator.DefaultSchema(), Logger: hclog.NewNullLogger()})
	slots := map[string]*observe.Slot{}
	for i := range 10_000 {
		name := fmt.Sprintf("slot1@n%d", i)
		ad := &negotiator.Slot{Name: name, Capacity: backfill.Vector{8, 8192}, Ad: classad.New()}
		slots[name] = &observe.Slot{Name: name, Host: name, Ad: ad, Free: ad.Capacity, Advertised: true}
	}
	s := &observe.Schedd{Name: "schedd@test", Read: true}
	for g := range 100 {
		group := &observe.Group{
			Spec: &observe.Spec{Nodes: 1, Ad: classad.New()}, Submit: backfill.Time(g),
			Status: observe.Idle,
		}
		for i := range int64(100) {
			group.Jobs = append(group.Jobs, observe.JobKey{Schedd: s.Name, Cluster: int64(g), Proc: i})
		}
		s.Groups = append(s.Groups, group)
	}
	look := func(number int) negotiator.Delta {
		belief.See(&observe.Snapshot{
			Number: number, Began: time.Unix(1_700_000_000, 0), Slots: slots,
			Schedds: map[string]*observe.Schedd{s.Name: s},
		})
		return belief.Diff(Dispatched{}).Delta
	}
	d := look(1)
	require.Len(b, d.Submitted, 10_000)
	require.Len(b, d.SlotsUp, 10_000)
	number := 1
	b.ReportAllocs()
	for b.Loop() {
		number++
		look(number)
	}
}

// What a comparison costs when nothing has changed, while 10,000 procs of one cluster run, on slots
// that name them, and 20,000 more wait.
func BenchmarkSteadyCluster(b *testing.B) {
	belief := New(Settings{Schema: negotiator.DefaultSchema(), Logger: hclog.NewNullLogger()})
	const runs, began = 10_000, 1_699_999_000
	slots, s := map[string]*observe.Slot{}, &observe.Schedd{Name: "schedd@test", Read: true}
	spec := &observe.Spec{Nodes: 1, Ad: classad.New()}
	waiting := &observe.Group{Spec: spec, Status: observe.Idle}
	for i := range 3 * runs {
		key := observe.JobKey{Schedd: s.Name, Cluster: 7, Proc: int64(i)}
		if i >= runs {
			waiting.Jobs = append(waiting.Jobs, key)
			continue
		}
		name := fmt.Sprintf("slot1@n%d", i)
		ad := &negotiator.Slot{Name: name, Capacity: backfill.Vector{8, 8192}, Ad: classad.New()}
		slots[name] = &observe.Slot{
			Name: name, Host: name, Ad: ad, Free: ad.Capacity, Advertised: true, Claimed: true, Runs: key, ClaimedSince: began,
		}
		s.Groups = append(s.Groups, &observe.Group{
			Spec: spec, Status: observe.Running, Started: began, Hosts: []string{name}, Jobs: []observe.JobKey{key},
		})
	}
	s.Groups = append(s.Groups, waiting)
	number := 0
	look := func() negotiator.Delta {
		number++
		belief.See(&observe.Snapshot{
			Number: number, Began: time.Unix(1_700_000_000, 0), Now: 1_700_000_000, Slots: slots,
			Schedds: map[string]*observe.Schedd{s.Name: s},
		})
		return belief.Diff(Dispatched{}).Delta
	}
	require.Len(b, look().Found, runs)
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
}

// What a look costs more where 100,000 jobs are kept out by a limit.
func BenchmarkUnplanned(b *testing.B) {
	belief := New(Settings{Schema: negotiator.DefaultSchema(), Logger: hclog.NewNullLogger()})
	spec := &observe.Spec{Labels: map[string]string{"owner": "alice"}}
	var out []unplanned
	for i := range int64(100_000) {
		j := belief.find(observe.JobKey{Schedd: "schedd@test", Cluster: i / 100, Proc: i % 100})
		j.Group = &observe.Group{Spec: spec, Submit: backfill.Time(i / 100)}
		out = append(out, unplanned{j.ID, j.Key, j.Group, "2 of 2 in use, 1 wanted: concurrency limit sw reached", false, false})
	}
	b.Run("look", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			belief.makeView(out)
		}
	})
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			belief.makeView(out)
			require.Len(b, belief.View().All(), len(out))
		}
	})
}

// However many hosts a schedd says that a job runs on, they are counted.
func TestManyHosts(t *testing.T) {
	belief := New(Settings{Schema: negotiator.DefaultSchema(), Logger: hclog.NewNullLogger()})
	hosts := make([]string, 200_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("slot1_1@h%d", i)
	}
	at := belief.places(&observe.Group{Hosts: append(hosts, hosts...)}) // quadratic, it would not end
	require.Len(t, at, len(hosts))
	require.Equal(t, 2, at[0].Chunks)
}

// What fair share costs a cycle in which 100,000 jobs wait, and one has come.
func BenchmarkFairShare(b *testing.B) {
	settings, err := accountant.ParseSettings(func(string) (string, bool) { return "", false })
	require.NoError(b, err)
	db, err := statefile.Open(filepath.Join(b.TempDir(), "state"))
	require.NoError(b, err)
	defer db.Close() //nolint:errcheck // a test's
	a, err := accountant.Open(db, settings)
	require.NoError(b, err)
	belief := New(Settings{Logger: hclog.NewNullLogger(), Accounting: Accounting{Accountant: a}})
	key := belief.FairShare().Of(nil, nil, 0, negotiator.World{})
	arrive := func(i int64) *Job {
		j := belief.find(observe.JobKey{Schedd: "schedd@test", Cluster: i})
		j.Group = &observe.Group{Spec: &observe.Spec{Nodes: 1}, Submit: backfill.Time(i * 7919 % 1000)}
		j.Phase = Waiting
		return j
	}
	n := int64(0)
	for ; n < 100_000; n++ {
		arrive(n)
	}
	for b.Loop() {
		n++
		j := arrive(n)
		belief.openOrder()
		key(&backfill.Job{ID: j.ID}, backfill.Moment{})
	}
}

// What a look costs while jobs of that many accounting groups wait, each of which a user has
// invented, and a few hundred more come.
func BenchmarkInventedGroups(b *testing.B) {
	for limit, most := range map[string]string{"room": "1000000", "full": "2"} { // all jobs have this limit
		lookup := func(name string) (string, bool) { return most, strings.EqualFold(name, "SW_LIMIT") }
		for _, groups := range []int64{5000, 20_000} {
			b.Run(fmt.Sprintf("%s/%d", limit, groups), func(b *testing.B) {
				p := accounted(b, func(s *Settings) { s.Accounting.Limits = accountant.NewLimits(lookup) })
				p.belief.FairShare()
				n := int64(0)
				come := func(more int64) {
					for ; more > 0; more-- {
						n++
						p.job(n, func(g *observe.Group) {
							g.Spec = g.Spec.As(observe.Charged{User: "eve@test", Account: fmt.Sprintf("p%d.u", n), Limits: "sw"},
								g.Spec.Request, 1, p.belief.s.Schema.Resources)
						})
					}
				}
				come(groups)
				p.look()
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					come(300)
					p.belief.See(p.snapshot())
					b.StartTimer()
					p.belief.Diff(p.dispatched)
				}
			})
		}
	}
}
