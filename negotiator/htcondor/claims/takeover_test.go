package claims

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// overSeveral is a flight whose job needs three cpus of the partitionable slot n: the one that is free,
// and those of two dynamic slots.
func overSeveral(t *testing.T) (d *desk, f *flight) {
	t.Helper()
	d = newDesk(t, "n")
	spec := specOf(t, 1, "true")
	spec.Request[0] = 3
	f = d.start(d.submit(1, spec), "n")
	f.over = &track.Takeover{Victims: []backfill.JobID{91, 92}, Slots: []string{"a", "b"}, Host: "n"}
	return d, f
}

// severalOffers are what the startd of overSeveral offers, with more lines in the ads of the dynamic slots.
func severalOffers(t *testing.T, more string) map[string]*Offer {
	t.Helper()
	ad := func(lines string) *classad.ClassAd {
		ad, err := classad.ParseOld("Requirements = true\n" + lines)
		require.NoError(t, err)
		return ad
	}
	offers := map[string]*Offer{"n": {
		Ad: ad("PartitionableSlot = true\nCpus = 1\nMemory = 1024"), Free: backfill.Vector{1, 1024, 9}, Open: true,
		Claims: []string{"<n>#1#host"},
	}}
	for _, slot := range []string{"a", "b"} {
		offers[slot] = &Offer{
			Ad:   ad("DynamicSlot = true\nCpus = 1\nMemory = 128\n" + more),
			Free: backfill.Vector{1, 128, 1}, Claimed: true, Claims: []string{"<n>#1#" + slot},
		}
	}
	return offers
}

// TestSeveralRetireFirst: a match for several dynamic slots is kept back while one of their jobs has anything
// left to retire, however long it may take to leave: the startd would end them at once.
func TestSeveralRetireFirst(t *testing.T) {
	const vacate = "MachineMaxVacateTime = 10 * 60\n"
	d, f := overSeveral(t)
	old := func(age int64) string { return fmt.Sprintf("LastHeardFrom = %d\n", d.now.Unix()-age) }
	for more, kept := range map[string]bool{
		vacate: false, vacate + "RetirementTimeRemaining = 0": false, vacate + "RetirementTimeRemaining = 18": true,
		vacate + old(10) + "RetirementTimeRemaining = 18": true, vacate + old(20) + "RetirementTimeRemaining = 18": false,
		vacate + old(-20) + "RetirementTimeRemaining = 1": true,
	} {
		grants, why := d.takeOver(f, severalOffers(t, more))
		if kept {
			require.Empty(t, grants, more)
			require.Regexp(t, "^slot [ab], which it takes over, still retires$", why, more)
			require.Equal(t, d.now, f.moved)
			continue
		}
		require.Empty(t, why, more)
		require.Equal(t, "<n>#1#host <n>#1#a <n>#1#b ", grants[0].Claim, more)
	}
}

// TestAllClaimsOfATakeoverAreUsed: while a schedd is told of a takeover of several slots and afterwards, each of
// their claims counts as used, and of the partitionable slot what the victims do not give back. When the start
// has come to nothing without anybody asking for the claims, they are offered again.
func TestAllClaimsOfATakeoverAreUsed(t *testing.T) {
	d, f := overSeveral(t)
	left := func() (free backfill.Vector, claims []string) {
		offers := severalOffers(t, "")
		for _, slot := range []string{"n", "a", "b"} {
			d.leaveUsed(offers[slot])
			claims = slices.Concat(claims, offers[slot].Claims)
		}
		return offers["n"].Free, claims
	}
	grants := d.Grant(d.now, Ready{f}, severalOffers(t, ""))
	sent := grants["s"][""]
	require.Len(t, sent, 1)
	check := func() {
		t.Helper()
		free, claims := left()
		require.Empty(t, claims)
		require.Equal(t, backfill.Vector{0, 1024, 8}, free)
	}
	check()
	d.Told(d.now, "s", sent, nil)
	check()
	require.True(t, f.sent())
	require.Len(t, f.claims, 1, "the job has one chunk")
	f.failed = ignored
	d.giveUp(f.job.ID)
	_, claims := left()
	require.Len(t, claims, 3)

	d, f = overSeveral(t)
	d.Grant(d.now, Ready{f}, severalOffers(t, ""))
	d.Told(d.now, "s", nil, nil)
	_, claims = left()
	require.Len(t, claims, 3, "its schedd was told nothing")
}

// TestATakeoverThatFailsAgain: a job whose claims of takeovers come to nothing waits for a while after the
// second time, as each may have ended the jobs of others; and so do all that are planned by the same. The slot
// is not to blame.
func TestATakeoverThatFailsAgain(t *testing.T) {
	d := newDesk(t, "n")
	d.prove("n")
	fail := func(id backfill.JobID, took bool) {
		t.Helper()
		f := d.start(id, "n")
		f.over = &track.Takeover{Victims: []backfill.JobID{91}, Slots: []string{"n"}, Host: "n", At: backfill.Time(d.now.Unix())}
		if took {
			d.wasSent(Grant{flight: f, Slot: "n", Claim: "claim"})
		}
		for range 10 {
			d.now = d.now.Add(unheard)
			if d.look(); d.flights[id] == nil {
				return
			}
		}
		require.False(t, took)
		delete(d.flights, id)
	}
	first, second := d.submit(1, specOf(t, 1, "true")), d.submit(2, specOf(t, 1, "true"))
	job := d.belief.Job(first)
	fail(first, false)
	require.Empty(t, d.refused.byJob, "nobody was told of anything")
	fail(first, true)
	require.Empty(t, d.waiting().Jobs, "once is no pattern")
	fail(first, true)
	pause := d.waiting().Jobs[observe.JobKey{Schedd: "s", Cluster: 1}]
	require.Equal(t, 2, pause.Times)
	require.Equal(t, d.now.Add(2*firstPause), pause.Until)
	require.Empty(t, d.waiting().Kinds)
	fail(second, true)
	require.Len(t, d.waiting().Kinds, 1)
	require.Empty(t, d.Suspects())
	d.accept(job)
	require.Empty(t, d.refused.byJob)
}
