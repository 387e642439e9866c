package fakes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func query(t *testing.T, c *fakes.Collector, types ...client.AdType) (ads []*classad.ClassAd) {
	t.Helper()
	pool := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{c.Address()}}
	require.NoError(t, pool.Query(t.Context(), types, func(l cedar.Lines) error {
		ad, err := classad.ParseOld(string(l))
		ads = append(ads, ad)
		return err
	}))
	return ads
}

// TestUpdatesKeepTheOrder: an update moves its ad to the end, and those who have the ads keep them
// as they were.
func TestUpdatesKeepTheOrder(t *testing.T) {
	c := fakes.NewCollector(t)
	c.Set("Accounting", "Name = \"a\"\nN = 1", "Name = \"b\"", "Name = \"a\"\nN = 2", "NoName = 1", "Name = \"c\"")
	c.Set("Machine", "Name = \"s\"\nN = 1")
	before, slots := c.Ads("Accounting"), c.Ads("Machine")
	pool := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{c.Address()}}
	ad := classad.New()
	ad.SetString("Name", "a")
	ad.SetInt("N", 3)
	require.NoError(t, pool.UpdateAccounting(t.Context(), []*classad.ClassAd{ad}))
	poll.Equal(t, 1, func() int { return len(c.Updates()) })
	names := func(ads []*classad.ClassAd) (all []string) {
		for _, ad := range ads {
			name, _ := ad.Text("Name")
			all = append(all, name)
		}
		return all
	}
	require.Equal(t, []string{"a", "b", "a", "", "c"}, names(before))
	require.Equal(t, []string{"b", "", "c", "a"}, names(c.Ads("Accounting")))
	slot := classad.New()
	slot.SetString("Name", "s")
	slot.SetInt("N", 4)
	require.NoError(t, pool.MergeSlots(t.Context(), []*classad.ClassAd{slot}))
	poll.Equal(t, 2, func() int { return len(c.Updates()) })
	old, _ := slots[0].Int("N")
	merged, _ := c.Ads("Machine")[0].Int("N")
	require.Equal(t, []int64{1, 4}, []int64{old, merged})
}

func TestCollector(t *testing.T) {
	c := fakes.NewCollector(t)
	c.Set("Machine", "Name = \"a\"\nCpus = 8\nMemory = 10", "Name = \"b\"\nCpus = 2")
	c.Set("MachinePrivate", "Name = \"a\"\nClaimId = \"<1>#2#secret\"")
	c.Set("Submitter", "Name = \"alice@test\"\nCapability = \"x#y\"")

	ads := query(t, c, client.AdType{Name: "Machine", Projection: []string{"Name", "Cpus"}, Requirements: "Cpus > 4"},
		client.AdType{Name: "MachinePrivate"})
	require.Len(t, ads, 2)
	require.Equal(t, 3, ads[0].Len(), "MyType, Name and Cpus: %v", ads[0])
	claim, _ := ads[1].Text("ClaimId")
	require.Equal(t, "<1>#2#secret", claim)

	ads = query(t, c, client.AdType{Name: "Submitter"})
	_, given := ads[0].Lookup("Capability")
	require.True(t, given)

	pool := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{c.Address()}}
	ad := classad.New()
	ad.SetString("Name", "n")
	require.NoError(t, pool.UpdateNegotiator(t.Context(), ad))
	require.NoError(t, pool.UpdateAccounting(t.Context(), []*classad.ClassAd{ad, ad}))
	poll.Equal(t, 3, func() int { return len(c.Updates()) })
	require.Equal(t, "condor@test", c.Updates()[0].User)
	require.Len(t, c.Ads("Negotiator"), 1)
	require.NoError(t, pool.WithdrawNegotiator(t.Context(), client.NegotiatorType, "n"))
	poll.Equal(t, 0, func() int { return len(c.Ads("Negotiator")) })

	ad.SetString("MyType", client.ObserverType)
	require.NoError(t, pool.UpdateNegotiator(t.Context(), ad))
	poll.Equal(t, 1, func() int { return len(c.Ads(client.ObserverType)) })
	require.Empty(t, c.Ads("Negotiator"))
	require.NoError(t, pool.WithdrawNegotiator(t.Context(), client.ObserverType, "n"))
	poll.Equal(t, 0, func() int { return len(c.Ads(client.ObserverType)) })
}

func TestSchedd(t *testing.T) {
	s := fakes.NewSchedd(t, "schedd@test")
	s.SetTime(1000)
	s.SetJobs("ClusterId = 1\nProcId = 0\nJobStatus = 1\nUser = \"alice@test\"\nRequestCpus = 2",
		"ClusterId = 1\nProcId = 1\nJobStatus = 1\nUser = \"alice@test\"\nRequestCpus = 2",
		"ClusterId = 2\nProcId = 0\nJobStatus = 5\nUser = \"bob@test\"\nRequestCpus = 1")
	schedd := client.Schedd{Security: fakes.Client(), Address: s.Address()}

	var ids []string
	each := func(l cedar.Lines) error {
		id, _ := l.Find("JobIds")
		ids = append(ids, string(id))
		return nil
	}
	last, err := schedd.Jobs(t.Context(),
		client.JobQuery{Projection: []string{"RequestCpus", "JobStatus"}, Group: true}, each)
	require.NoError(t, err)
	require.Equal(t, []string{`"1.0 1.1"`, `"2.0"`}, ids)
	now, _ := last.Int("ServerTime")
	require.EqualValues(t, 1000, now)

	ids = nil
	_, err = schedd.Jobs(t.Context(), client.JobQuery{Requirements: "JobStatus == 1"}, each)
	require.NoError(t, err)
	require.Len(t, ids, 2)

	key, err := security.ParseKey(s.Capability("topsecret", 0))
	require.NoError(t, err)
	n, err := schedd.Negotiate(t.Context(), client.Submitter{Name: "alice@test"}, &key)
	require.NoError(t, err)
	defer n.Close()
	requests, err := n.Requests(5)
	require.NoError(t, err)
	require.Len(t, requests, 2)
	slot, err := classad.ParseOld("Name = \"slot1\"\nClaimId = \"never\"")
	require.NoError(t, err)
	require.NoError(t, n.Match(client.Grant{Cluster: 1, Proc: 1, Claim: "<a>#1#s", Slot: slot}))
	require.NoError(t, n.Reject(1, 0, "later"))
	require.NoError(t, n.End())
	require.NoError(t, n.Next(client.Submitter{Name: "bob@test"}))
	require.NoError(t, n.Reject(2, 0, "held"))
	require.NoError(t, n.End())
	poll.Equal(t, 2, func() int { return len(s.Rejections()) })
	require.Equal(t, fakes.Rejection{Submitter: "bob@test", Reason: "held", Cluster: 2}, s.Rejections()[1])
	m := s.Matches()
	require.Len(t, m, 1)
	require.Equal(t, []any{"alice@test", int64(1), int64(1), "<a>#1#s"},
		[]any{m[0].Submitter, m[0].Cluster, m[0].Proc, m[0].Claim})
	_, given := m[0].Ad.Lookup("ClaimId")
	require.False(t, given)
}

// A restarted daemon does not know its earlier sessions.
func TestRestart(t *testing.T) {
	c := fakes.NewCollector(t)
	pool := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{c.Address()}}
	ask := func() error {
		return pool.Query(t.Context(), []client.AdType{{Name: "Machine"}}, func(cedar.Lines) error { return nil })
	}
	require.NoError(t, ask())
	c.Stop()
	require.Error(t, ask())
	c.Start()
	require.NoError(t, ask())
	c.Before(func(context.Context, int) error { return errors.New("broken") })
	require.Error(t, ask())
}
