package whatif_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// TestTooLargeAPlan: a question whose plan takes too much memory has no answer, and says so. One
// under a policy that plans few of the same jobs has one.
func TestTooLargeAPlan(t *testing.T) {
	p := newPool(t, "easy", nil)
	var d negotiator.Delta
	for i := range 100 {
		d.SlotsUp = append(d.SlotsUp, p.slot(t, fmt.Sprintf("n%d", i), 2))
	}
	for i := range 300 {
		ad, err := classad.ParseOld(fmt.Sprintf("ClusterId = 1\nProcId = %d\nQDate = 0\nEstimatedRunTime = %d\n"+
			"RequestCpus = 2\nMinHosts = 60\nMaxHosts = 60\nJobUniverse = 11\nRequirements = true\nOwner = \"mallory\"",
			i, 1000+7*i))
		require.NoError(t, err)
		j, err := p.schema.JobFromAd(backfill.JobID(i), ad)
		require.NoError(t, err)
		require.Equal(t, 60, j.Nodes)
		d.Submitted = append(d.Submitted, j)
	}
	p.cycle(t, d)
	ask := func(policy string, plan int64) error {
		s := p.schedule()
		s.Plan = plan
		_, err := s.Answer(t.Context(), whatif.Question{Policy: policy, Order: "sjf"})
		return err
	}
	var bad *whatif.BadQuestion
	err := ask("conservative", 1<<20)
	require.ErrorAs(t, err, &bad)
	require.ErrorContains(t, err, "too large to ask: the plan takes too much memory: more than 1 MiB")
	require.NoError(t, ask("easy", 1<<20))
	require.NoError(t, ask("conservative", 64<<20))
}

// TestAFullPoolIsNoLargePlan: what runs already does not count.
func TestAFullPoolIsNoLargePlan(t *testing.T) {
	p := crowded(t, 1500, 3, false)
	s := p.schedule()
	s.Plan = 256 << 10
	_, err := s.Answer(t.Context(), whatif.Question{Job: &whatif.Job{Ad: jobAd(1)}})
	require.NoError(t, err)
}
