package htcondor

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// afterAnother has a gang run where another one ends. Between is called as the first runs.
func afterAnother(t *testing.T, between func(w *world, first *sleeper)) (w *world, first, second *sleeper) {
	t.Helper()
	w = newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096, policy: true})
	first = w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	second = w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	w.pass(8)
	require.Equal(t, int64(2), first.status)
	between(w, first)
	w.pass(100)
	require.True(t, second.done)
	require.Equal(t, 1, second.runs)
	return w, first, second
}

// TestGangWhereAnotherHasEnded has a schedd told that the claims of the one before have ended.
func TestGangWhereAnotherHasEnded(t *testing.T) {
	w, first, second := afterAnother(t, func(*world, *sleeper) {})
	require.Subset(t, w.schedd.Released(), first.ids[w.nodes[0]])
	require.Less(t, second.began, first.began+first.seconds+int64(staleClaims.Seconds()))
}

// TestGangWhereAnotherWasOfOld has a gang wait until its schedd has forgotten the claims of the one before, which a
// negotiator does not know that came later.
func TestGangWhereAnotherWasOfOld(t *testing.T) {
	_, first, second := afterAnother(t, func(w *world, _ *sleeper) {
		w.negotiator("easy", w.pool.Left(w.n.Memory()))
	})
	require.GreaterOrEqual(t, second.began, first.began+first.seconds+int64(staleClaims.Seconds()))
}

// TestClaimsThatAreHeld has a schedd not told of claims that a startd has still.
func TestClaimsThatAreHeld(t *testing.T) {
	w, first, _ := afterAnother(t, func(_ *world, first *sleeper) {
		first.cluster = 3 // they linger
	})
	for _, claim := range first.ids[w.nodes[0]] {
		require.NotContains(t, w.schedd.Released(), claim)
	}
}

// TestReleaseBesideTheCycle has nobody wait for a schedd that hangs as it is told of claims
// that have ended. It is told once at a time, and its gang's slots stay stale until it was.
func TestReleaseBesideTheCycle(t *testing.T) {
	calls := make(chan struct{}, 10)
	ad, _ := crooked(t, "silent@test", func(ctx context.Context, c net.Conn) {
		calls <- struct{}{}
		silent(ctx, c)
	})
	f := newFarm(t, "easy", 1, 1)
	f.cycle()
	s := f.pool.schedds[f.schedds[0].Name]
	silent, err := classad.ParseOld(ad)
	require.NoError(t, err)
	at, _ := silent.Text("MyAddress")
	s.address, err = cedar.ParseAddress(at)
	require.NoError(t, err)
	f.pool.hold = time.Hour // one that is waited for would have the test run out of time
	f.pool.remains = []*remains{{schedd: s.name, slots: []string{"slot1@n0"}, claims: []string{"<n0>#1#1#[]"}, at: f.now}}
	ctx, cancel := context.WithCancel(t.Context())
	f.pool.handOver(ctx)
	<-calls
	f.pool.handOver(ctx)
	require.True(t, f.pool.stale("slot1@n0"))
	require.NotNil(t, s.releasing)
	require.Empty(t, calls, "it is being told")
	cancel()
	poll.Equal(t, 1, func() int { return len(s.releasing) })
	f.pool.hearReleased()
	require.True(t, f.pool.stale("slot1@n0"), "it was not told")
	f.now = f.now.Add(staleClaims)
	require.False(t, f.pool.stale("slot1@n0"))
}

// TestNoReleaseToASlowSchedd has no claims released to a schedd that has its hands full.
func TestNoReleaseToASlowSchedd(t *testing.T) {
	f := newFarm(t, "easy", 1, 1)
	f.cycle()
	s := f.pool.schedds[f.schedds[0].Name]
	f.pool.remains = []*remains{{schedd: s.name, claims: []string{"<n0>#1#1#[]"}, at: f.now}}
	for _, busy := range []func(){
		func() { s.slow = true },
		func() { s.slow, s.telling = false, make(chan outcome) },
		func() { s.telling, s.late = nil, true },
		func() { s.late, s.failed = false, errors.New("it is dead") },
	} {
		busy()
		f.pool.release(t.Context())
		require.Nil(t, s.releasing)
	}
	s.failed = nil
	f.pool.release(t.Context())
	require.NotNil(t, s.releasing)
	poll.Equal(t, 1, func() int { return len(s.releasing) })
}

// TestInLine has a gang wait until its schedd has started another one, and has counted since.
func TestInLine(t *testing.T) {
	p := New(Settings{})
	s := &schedd{name: "s"}
	p.schedds["s"] = s
	gang := func(id backfill.JobID, claims ...string) *flight {
		f := &flight{job: &job{id: id, key: jobKey{"s", int64(id), 0}, group: &group{plan: &plan{parallel: true}, status: idle}}, claims: claims}
		p.flights[id] = f
		return f
	}
	one, two := gang(1, "a claim"), gang(2)
	require.Contains(t, p.inLine(two, false), "is collecting")
	one.job.group.status, s.gang, s.counted = runningNow, 5, 5 // where it runs is not known yet
	require.Contains(t, p.inLine(two, false), "has just started")
	s.counted = 6
	require.Empty(t, p.inLine(two, false))
	require.Contains(t, p.inLine(two, true), "is given another")
}

// TestGangOfAScheddThatIsSilent has looks follow each other closely while a schedd that answers
// collects a gang's slots, or has to count before the next one goes; and not for longer.
func TestGangOfAScheddThatIsSilent(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		s       schedd
		claims  []string
		rest    []place
		closely bool
	}{
		"collecting":           {closely: true},
		"collecting the rest":  {claims: []string{"a claim"}, rest: []place{{Slot: "a", Chunks: 1}}, closely: true},
		"does not answer":      {s: schedd{failed: errors.New("it is dead")}},
		"has not answered yet": {s: schedd{late: true}},
		"nothing handed over":  {rest: []place{{Slot: "a", Chunks: 1}}},
		"has to count":         {s: schedd{gang: 5, counted: 5}, rest: []place{{Slot: "a", Chunks: 1}}, closely: true},
		"has counted":          {s: schedd{gang: 5, counted: 6}, rest: []place{{Slot: "a", Chunks: 1}}},
		"dead before it does":  {s: schedd{gang: 5, counted: 5, failed: errors.New("it is dead")}, rest: []place{{Slot: "a", Chunks: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Settings{Clock: func() time.Time { return now }})
			p.looked, p.ended, p.over = now, now, now
			p.schedds["s"] = &c.s
			j := &job{id: 1, key: jobKey{"s", 1, 0}, group: &group{plan: &plan{parallel: true}, status: idle}}
			p.flights[1] = &flight{job: j, claims: c.claims, rest: c.rest, moved: now.Add(-time.Hour)}
			due := now.Add(time.Minute)
			if c.closely {
				due = now.Add(time.Second)
			}
			require.Equal(t, due, p.due(backfill.Forever))
		})
	}
}
