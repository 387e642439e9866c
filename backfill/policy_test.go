package backfill_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestSpecMake checks that Make refuses wrong options and completes the others by the defaults.
func TestSpecMake(t *testing.T) {
	var got backfill.Values
	spec := backfill.PolicySpec{
		Name: "try",
		Options: []backfill.Option{
			{Name: "depth", Default: "1", Type: backfill.WholeNumber, Range: backfill.AtLeast(1)},
			{Name: "names", Default: "a,b", Type: backfill.List},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			if got = v; slices.Equal(v.List("names"), []string{"none"}) {
				return nil, errors.New("one name at least")
			}
			return backfill.PolicyFunc(func(*backfill.Cycle) {}), nil
		},
	}
	for _, tt := range []struct {
		given map[string]string
		depth int
		names []string
		want  string
	}{
		{nil, 1, []string{"a", "b"}, ""},
		{map[string]string{"depth": "7", "names": "x, y,,z "}, 7, []string{"x", "y", "z"}, ""},
		{map[string]string{"names": ""}, 1, nil, ""},
		{map[string]string{"depth": "0"}, 0, nil, `policy try: option depth="0" must be a whole number of at least 1`},
		{
			map[string]string{"depth": "1.5"},
			0, nil,
			`policy try: option depth="1.5" must be a whole number of at least 1`,
		},
		{map[string]string{"depth": ""}, 0, nil, `policy try: option depth="" must be a whole number of at least 1`},
		{
			map[string]string{"depht": "1"},
			0, nil,
			`policy try has no option "depht", did you mean depth?: it has depth, names`,
		},
		// The first unknown one by name is reported.
		{map[string]string{"z": "1", "a": "1"}, 0, nil, `policy try has no option "a": it has depth, names`},
		{map[string]string{"names": "none"}, 0, nil, "one name at least"},
	} {
		_, err := spec.Make(tt.given)
		if tt.want != "" {
			require.ErrorContains(t, err, tt.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.depth, got.Int("depth"))
		require.ElementsMatch(t, tt.names, got.List("names"))
	}
	spec.Options = nil
	_, err := spec.Make(map[string]string{"depth": "1"})
	require.EqualError(t, err, `policy try has no option "depth": it has none`)
}

// TestSpecOrder checks that a policy that names no built-in order is not made, and that the order
// that a policy names holds unless another is chosen.
func TestSpecOrder(t *testing.T) {
	try := func(order string) backfill.PolicySpec {
		return backfill.PolicySpec{Name: "try", Order: order, New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(*backfill.Cycle) {}), nil
		}}
	}
	_, err := backfill.Link(try("wpf"), nil)
	require.ErrorContains(t, err, `policy try: its order: unknown order "wpf", did you mean wfp?: choose one of`)
	for _, order := range backfill.Orders() {
		_, err := backfill.Link(try(order.Name), nil)
		require.NoError(t, err)
		require.Equal(t, order.Name, try(order.Name).OrderUnless(""))
		require.Equal(t, "expr:JobPrio", try(order.Name).OrderUnless("expr:JobPrio"))
	}
	require.Equal(t, "fcfs", try("").OrderUnless(""))
	require.Equal(t, "sjf", try("").OrderUnless("sjf"))
	for _, spec := range policies.All() {
		require.NoError(t, spec.Validate())
		want, estimates := "", ""
		switch spec.Name {
		case "slack":
			want, estimates = "wfp-wide", "learned"
		case "slack-small":
			want, estimates = "wfp", "learned"
		}
		require.Equal(t, want, spec.Order, spec.Name)
		require.Equal(t, estimates, spec.Estimates, spec.Name)
	}
}

// TestCheckResources checks that a given option is refused if it names a resource that the pool
// does not have.
func TestCheckResources(t *testing.T) {
	spec := backfill.PolicySpec{Name: "try", Options: []backfill.Option{
		{Name: "resources", Default: "cpus,licences", Type: backfill.Resources}, {Name: "names"},
	}}
	for _, tt := range []struct {
		given map[string]string
		want  string
	}{
		{nil, ""}, // defaults are not checked
		{map[string]string{"resources": "memory, cpus", "names": "nobody"}, ""},
		{map[string]string{"resources": ""}, ""},
		{
			map[string]string{"resources": "cpus,memroy"},
			`policy try: option resources="cpus,memroy": the pool has no resource memroy, did you mean memory?: ` +
				`it has cpus, memory`,
		},
		{
			map[string]string{"resources": "licences"},
			`policy try: option resources="licences": the pool has no resource licences: it has cpus, memory`,
		},
	} {
		err := spec.CheckResources(tt.given, []string{"cpus", "memory"})
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, tt.want)
		}
	}
}

// TestParseTime checks that lengths of time are read in Maui's notation, and wrong ones refused.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]backfill.Time{
		"0": 0, "90": 90, "1:30": 90, "00:90": 90, "90:00": 5400, "1:00:00": 3600,
		"2:03:04:05": 2*86400 + 3*3600 + 4*60 + 5, "1099511627776": 1 << 40,
	} {
		got, err := backfill.ParseTime(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "-1", "+1", "1.5", " 1", "1h", ":1", "1:", "1::1", "0:1:2:3:4",
		"99999999999999999999", "1:-1",
	} {
		_, err := backfill.ParseTime(text)
		require.ErrorContains(t, err, "must be a number of seconds", text)
	}
	_, err := backfill.ParseTime("1099511627777")
	require.EqualError(t, err, "must be at most 1099511627776 seconds")
}

// TestConservativeEasyConservative changes the policy from conservative to easy and back while jobs
// run and wait. It checks the plan and the guarantees under each, and that none is reported as
// broken.
func TestConservativeEasyConservative(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 3), job(2, 0, 10, 4), job(3, 0, 10, 4), job(4, 0, 20, 1))...)
	plan := func() map[backfill.JobID]backfill.Time {
		out := map[backfill.JobID]backfill.Time{}
		for _, j := range s.Snapshot().Jobs {
			if j.Placement != nil && !j.Running {
				out[j.Job.ID] = j.Start
				require.Equal(t, s.Snapshot().Guarantees, j.Promised)
			}
		}
		return out
	}
	require.Equal(t, map[backfill.JobID]backfill.Time{2: 10, 3: 20, 4: 30}, plan())

	h = newHost(t, s, "easy", "fcfs")
	d := decide(t, h, 1)
	require.Empty(t, d.Broken)
	require.Equal(t, map[backfill.JobID]backfill.Time{2: 10}, plan(), "only the first keeps a reservation")
	decide(t, h, 2, submitted(job(5, 2, 8, 1))...) // fits beside job 1 until 10
	require.True(t, s.IsRunning(5))

	h = newHost(t, s, "conservative", "fcfs")
	d = decide(t, h, 3, submitted(job(6, 3, 10, 4))...)
	require.Empty(t, d.Broken, "guarantees that the change lifted are not broken")
	require.Equal(t, map[backfill.JobID]backfill.Time{2: 10, 3: 20, 4: 30, 6: 50}, plan())
	for id, want := range plan() {
		require.Equal(t, want, jobState(t, s, id).Guarantee)
	}
	d = decide(t, h, 10, jobEvent(backfill.Completed, 1), jobEvent(backfill.Completed, 5))
	require.Equal(t, []backfill.JobID{2}, startedIDs(d))
	require.Equal(t, backfill.Time(10), d.Started[0].Guarantee)
	require.True(t, d.Started[0].Promised)
}

// BenchmarkCycle measures a round with one completion and one arrival in a full pool with a queue.
func BenchmarkCycle(b *testing.B) {
	for _, spec := range policies.All() {
		for _, size := range []struct {
			name         string
			slots, queue int
		}{{"1-slot-100-jobs", 1, 100}, {"1-slot-3000-jobs", 1, 3000}, {
			"100-slots-100-jobs", 100,
			100,
		}, {"1000-slots-300-jobs", 1000, 300}} {
			b.Run(spec.Name+"/"+size.name, func(b *testing.B) {
				s := backfill.NewState([]string{"cpus", "memory"}, 0)
				r := backfill.Round{Candidates: []backfill.CandidateSet{{}}}
				each := int64(max(8, 1024/size.slots))
				for i := range size.slots {
					id := backfill.SlotID(i)
					r.Candidates[0].Candidates.Slots = append(r.Candidates[0].Candidates.Slots, id)
					r.Events = append(r.Events, backfill.Event{
						Kind: backfill.SlotAdded,
						Slot: backfill.Slot{
							ID: id, Name: string(rune('a' + i)),
							Capacity: backfill.Vector{each, 1000 * each},
						},
					})
				}
				next := backfill.JobID(0)
				arrival := func(now backfill.Time) backfill.Event {
					j := job(next, now, 50+backfill.Time(next*37%400), 1+int64(next*13)%each, int64(next*7%500))
					next++
					return backfill.Event{Kind: backfill.Submitted, Job: j}
				}
				for range size.queue + size.slots*2 {
					r.Events = append(r.Events, arrival(0))
				}
				main, err := backfill.Link(spec, nil)
				require.NoError(b, err)
				fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
				require.NoError(b, err)
				fcfs, err := backfill.OrderNamed("fcfs")
				require.NoError(b, err)
				h, err := backfill.NewHost(s, fcfs, main, fallback, nil)
				require.NoError(b, err)
				_, err = h.Decide(b.Context(), r)
				require.NoError(b, err)
				first := func(now backfill.Time) (events []backfill.Event) {
					c, openErr := s.Open(backfill.Round{Now: now})
					require.NoError(b, openErr)
					for running := range c.Running() {
						events = append(events, backfill.Event{Kind: backfill.Completed, JobID: running.Job.ID})
						break
					}
					c.Rollback()
					return events
				}
				b.ReportAllocs()
				for b.Loop() {
					now := s.Now() + 1
					_, err = h.Decide(b.Context(), backfill.Round{Now: now, Events: append(first(now), arrival(now))})
					require.NoError(b, err)
				}
			})
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		longest    int
		want       string
	}{
		{"nothing", "", 5, ""},
		{"letters of any alphabet", "Größe 中", 10, "Größe 中"},
		{"one line", "a\tb\nc\u2028d", 10, "a b c d"},
		{"what would move a cursor", "a\x1b[2J\x00\x7f", 10, "a\ufffd[2J\ufffd\ufffd"},
		{"no letters at all", "\xff\xfe", 10, "\ufffd\ufffd"},
		{"as long as may be", "abc", 3, "abc"},
		{"too long", "abcd", 3, "abc…"},
		{"letters are counted, not bytes", "äöü", 3, "äöü"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, backfill.Printable(c.text, c.longest)) })
	}
}
