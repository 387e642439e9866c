package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// TestWantedIsBounded says that users cannot have ever more attributes asked for, nor odd names.
func TestWantedIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		grew  bool
	}{
		"1 it is always asked for": {[]string{"NAME"}, false},
		"2 it is odd":              {[]string{"a b", "a;c", "ä", "a.b"}, false},
		"3 it is new":              {[]string{"Arch_1"}, true},
		"4 it is known":            {[]string{"arch_1"}, false},
		"5 it was mere state":      {[]string{"state"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWanted(set("State"), "Name", "State")
			if c.names[0] == "arch_1" {
				w.refer([]string{"Arch_1"})
			}
			require.Equal(t, c.grew, w.refer(c.names))
			require.False(t, w.refer(c.names))
			require.True(t, slices.IsSorted(w.projection()))
		})
	}
	w := newWanted(set("State"), "Name", "State")
	require.Equal(t, []string{"name", "state"}, w.projection())
	for i := range 2 * maxReferred {
		require.Equal(t, i < maxReferred, w.refer([]string{fmt.Sprint("A", i)}))
		require.Equal(t, i >= maxReferred-1, w.full())
	}
	require.Len(t, w.projection(), maxReferred+2)
}

// TestStrip says that what is mere state is no part of what jobs and slots are matched by, unless
// somebody refers to it.
func TestStrip(t *testing.T) {
	w := newWanted(set("State", "JobId"), "Name", "State", "JobId")
	w.refer([]string{"jobid"})
	ad, err := classad.ParseOld("Name = \"a\"\nSTATE = \"Owner\"\nJobId = \"1.0\"")
	require.NoError(t, err)
	w.strip(ad)
	for name, kept := range map[string]bool{"Name": true, "State": false, "JobId": true} {
		_, there := ad.Lookup(name)
		require.Equal(t, kept, there, name)
	}
}

// TestJobsReferToSoMuch says that a job which refers to too many attributes is not planned, and has
// nothing asked for.
func TestJobsReferToSoMuch(t *testing.T) {
	for n, wrong := range map[int]bool{maxOfOne: false, maxOfOne + 1: true} {
		o := quiet()
		rank := make([]string, n)
		for i := range rank {
			rank[i] = fmt.Sprint("TARGET.A", i)
		}
		ad, err := classad.ParseOld("RequestCpus = 1\nRank = " + strings.Join(rank, " + "))
		require.NoError(t, err)
		before := len(o.slotAttributes.projection())
		spec, grew := o.specOf(ad, "s@test")
		require.Equal(t, !wrong, grew)
		if !wrong {
			require.NoError(t, spec.Wrong)
			require.Len(t, o.slotAttributes.projection(), before+n)
			continue
		}
		require.ErrorContains(t, spec.Wrong, "it refers to 101 attributes of slots: must be at most 100")
		require.Len(t, o.slotAttributes.projection(), before)
	}
}
