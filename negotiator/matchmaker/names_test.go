package matchmaker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesOfJobsAreForgotten lets jobs make up more attribute names than are remembered. Slots that
// refer to one of them must still have all jobs clustered anew, once.
func TestNamesOfJobsAreForgotten(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "a", 1, ""))
	first, second := jobAd(t, "Site = 1"), jobAd(t, "Site = 2")
	require.Equal(t, p.clusterOf(t, first), p.clusterOf(t, second))
	const many = 1000
	for i := range mostNames/many + 10 {
		var text strings.Builder
		for k := range many {
			fmt.Fprintf(&text, "; J%dx%d = 1", i, k)
		}
		p.clusterOf(t, jobAd(t, text.String()))
		require.LessOrEqual(t, len(p.spelled)+len(p.had), 2*(mostNames+many))
	}
	require.Empty(t, p.had)
	require.True(t, p.add(slotAd(t, "b", 1, "Requirements = TARGET.Site == 1")))
	require.NotEqual(t, p.clusterOf(t, first), p.clusterOf(t, second))
	require.False(t, p.add(slotAd(t, "c", 1, "Requirements = TARGET.NoJobHas =?= undefined")))
}

// TestNamesOfSlotsAreForgotten lets a slot refer to ever new names, as it may with each of its ads.
func TestNamesOfSlotsAreForgotten(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "honest", 1, "Requirements = TARGET.Site == 1"))
	first, second := jobAd(t, "Site = 1"), jobAd(t, "Site = 2")
	const many = 1000
	for i := range 2*mostNames/many + 10 {
		terms := make([]string, many)
		for k := range terms {
			terms[k] = fmt.Sprintf("TARGET.N%dx%d", i, k)
		}
		p.add(slotAd(t, "rogue", 1, "Mine = { "+strings.Join(terms, ", ")+" }"))
		require.LessOrEqual(t, len(p.seen), 2*mostNames)
	}
	require.NotEqual(t, p.clusterOf(t, first), p.clusterOf(t, second))
}
