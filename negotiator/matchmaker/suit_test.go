package matchmaker

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// TestWhatIsOnlyAskedAbout: a job that is only asked about has the candidates that it would get,
// and further slots change the candidate sets as they would if they came.
func TestWhatIsOnlyAskedAbout(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slot := func(name string) *classad.ClassAd {
			return slotAd(t, name, rapid.IntRange(1, 3).Draw(r, "cpus"),
				fmt.Sprintf("Requirements = TARGET.RequestCpus <= %d", rapid.IntRange(1, 3).Draw(r, "takes")))
		}
		job := func() *classad.ClassAd {
			return jobAd(t, fmt.Sprintf("RequestCpus = %d; Requirements = TARGET.Cpus >= %d; Rank = %s",
				rapid.IntRange(1, 3).Draw(r, "request"), rapid.IntRange(1, 3).Draw(r, "needs"),
				rapid.SampledFrom([]string{"0", "TARGET.Cpus", "-TARGET.Cpus"}).Draw(r, "rank")))
		}
		m := newLimitedPool(rapid.SampledFrom([]Limits{{}, StrangersLimits()}).Draw(r, "limits"))
		for i := range rapid.IntRange(1, 4).Draw(r, "slots") {
			m.add(slot(fmt.Sprint("s", i)))
		}
		for range rapid.IntRange(0, 4).Draw(r, "jobs") {
			m.clusterOf(t, job())
		}
		asked := job()
		suited, err := m.Copy().Suit(t.Context(), asked)
		require.NoError(r, err)
		if none(suited.Candidates) {
			require.Contains(r, suited.WhyNone, "matches no slot: ")
		}
		id := m.clusterOf(t, asked)
		require.True(r, equal(m.candidates(id), suited.Candidates), "%v %v", m.candidates(id), suited.Candidates)

		more, first := slot("x"), backfill.SlotID(len(m.slots))
		sets, untried, err := m.Copy().Enlarge(t.Context(), more, []backfill.SlotID{first}, math.MaxInt64)
		require.NoError(r, err)
		require.Zero(r, untried)
		require.NotContains(r, m.ownSteps, more)
		m.add(more)
		changed := m.match(t)
		require.Len(r, sets, len(changed))
		for i, want := range changed {
			require.Equal(r, want.ID, sets[i].ID)
			require.True(r, equal(want.Candidates, sets[i].Candidates), "%v %v", want, sets[i])
		}
	})
}

// TestAnExpensiveQuestion: a job whose Requirements take too long has no candidates.
func TestAnExpensiveQuestion(t *testing.T) {
	limits := StrangersLimits()
	limits.Cluster = 1
	m := newLimitedPool(limits)
	m.add(slotAd(t, "a", 1, ""), slotAd(t, "b", 2, ""))
	suited, err := m.Copy().Suit(t.Context(), jobAd(t, "Requirements = TARGET.Cpus >= 1"))
	require.NoError(t, err)
	require.Contains(t, suited.WhyNone, "too expensive")
}
