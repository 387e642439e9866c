package estimate

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

const day = 24 * 60 * 60

// countsAs is how long a place of 61 s counts where those without an estimate have a day.
func countsAs(r *TrackRecord, w Word) backfill.Time { return r.Counts(w, 61, day) }

func run(planned, taken backfill.Time) Place { return Place{Planned: planned, Taken: taken, Cpus: 1} }

// TestWordsCountAsFarAsRunsBearThemOut tells what becomes of a place of 61 s after runs.
func TestWordsCountAsFarAsRunsBearThemOut(t *testing.T) {
	honest, lie, late := run(61, 60), run(61, 3660), run(100, 130)
	for _, c := range []struct {
		name string
		runs []Place
		want backfill.Time
	}{
		{"a stranger is believed", nil, 61},
		{"an honest user", []Place{honest, honest}, 61},
		{"what was asked for in vain earns nothing", []Place{run(day, 1), run(100, 150)}, 92},
		{"a bit late", []Place{late}, 92}, // 1.3, rounded up to 1.5
		{"one lie stretches by its ratio", []Place{lie}, 3904},
		{"one lie among honest runs of its length", []Place{run(3660, 3660), run(3660, 3660), run(3660, 3660), lie}, 92},
		{"two lies", []Place{lie, lie}, day},
		{"wide lies count as much work", []Place{run(3660, 3660), {61, 3660, 100}}, 2440},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, eve := NewTrackRecord(), WordOf("eve", false)
			for i, place := range c.runs {
				r.Over(eve, backfill.JobID(i), place)
			}
			require.Equal(t, c.want, countsAs(r, eve))
			require.Equal(t, backfill.Time(61), countsAs(r, WordOf("eve", true)), "what is enforced is another word")
			require.Equal(t, backfill.Time(61), countsAs(r, WordOf("bob", false)))
			require.Equal(t, c.want != 61, r.Doubts(eve))
		})
	}
}

// TestALieIsForgottenForAsMuchWork buries lies under honest runs.
func TestALieIsForgottenForAsMuchWork(t *testing.T) {
	for _, length := range []backfill.Time{1, 10, 60, 600, 4000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			r, eve := NewTrackRecord(), WordOf("eve", false)
			for range 2 {
				r.Over(eve, 1, run(61, 3660))
			}
			runs := 0
			for ; r.Doubts(eve); runs++ {
				require.Less(t, runs, 10_000)
				r.Over(eve, 1, run(length, length))
			}
			require.GreaterOrEqual(t, runs, recalled-1)
			require.GreaterOrEqual(t, int64(runs)*int64(length), int64(3660*9/10), "as much work as one took, nearly")
		})
	}
}

// TestRunsUnderWayCountAtOnce has lies that were submitted together.
func TestRunsUnderWayCountAtOnce(t *testing.T) {
	r, eve := NewTrackRecord(), WordOf("eve", false)
	r.Outlives(eve, 1, run(61, 62))
	require.Equal(t, backfill.Time(77), countsAs(r, eve))
	r.Outlives(eve, 1, run(61, 130))
	require.Equal(t, backfill.Time(day), countsAs(r, eve), "nobody knows how long it will be")
	r.Over(eve, 1, run(61, 130))
	require.Equal(t, backfill.Time(153), countsAs(r, eve), "now it is known, and it is one lie")
	for job := range backfill.JobID(1000) {
		r.Outlives(eve, job, run(61, 130))
	}
	require.Len(t, r.users[eve].running, recalled)
	for job := range backfill.JobID(1000) {
		r.Ended(eve, job, true) // such as by its user's hand: it counts for as long as it ran
	}
	require.Empty(t, r.users[eve].running)
	require.Equal(t, backfill.Time(day), countsAs(r, eve))
	r.Ended(WordOf("nobody", false), 1, true)
	require.Len(t, r.users, 1)
}

// TestInventedUsersPushOutNoLiar invents users without end.
func TestInventedUsersPushOutNoLiar(t *testing.T) {
	r, eve := NewTrackRecord(), WordOf("eve", false)
	for range 2 {
		r.Over(eve, 1, run(61, 3660))
	}
	for i := range 2 * known {
		r.Over(WordOf(fmt.Sprint("invented", i), false), 1, run(61, 60))
	}
	require.Len(t, r.users, known)
	require.Equal(t, backfill.Time(day), countsAs(r, eve))
	require.Len(t, r.Unsaved(), 2*known+1)
	require.Empty(t, r.Unsaved())
}

// TestLastUseDecidesWhoIsForgotten says that users without lies are forgotten first, of these the
// one of whom nothing was learned for longest, and that finding him takes one look at a list.
func TestLastUseDecidesWhoIsForgotten(t *testing.T) {
	r := NewTrackRecord()
	user := func(i int) Word { return WordOf(fmt.Sprint("user", i), false) }
	for i := range known {
		r.Over(user(i), 1, run(61, 60))
	}
	r.Over(user(1), 2, run(61, 3660))
	r.Over(user(0), 2, run(61, 60))
	require.Equal(t, []int{known - 1, 1}, []int{r.honest.Len(), r.liars.Len()})
	require.Equal(t, user(2), r.honest.Front().Value)
	for i := range known - 2 {
		r.Over(user(known+i), 1, run(61, 60))
		require.NotContains(t, r.users, user(2+i))
	}
	require.Contains(t, r.users, user(0))
	r.Over(user(0), 3, run(61, 3660))
	for i := range 2 * known {
		r.Over(user(2*known+i), 1, run(61, 3660))
	}
	require.Zero(t, r.honest.Len())
	require.Equal(t, []int{known, known}, []int{len(r.users), r.liars.Len()})
	require.NotContains(t, r.users, user(0))
}

// TestATrackRecordIsRestored saves a record in parts, and goes on with it.
func TestATrackRecordIsRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, kept := NewTrackRecord(), map[Word]SavedWord{}
		users := []Word{WordOf("eve", false), WordOf("eve", true), WordOf("bob", false)}
		for range rapid.IntRange(0, 80).Draw(t, "runs") {
			w := rapid.SampledFrom(users).Draw(t, "user")
			p := Place{
				Planned: backfill.Time(rapid.IntRange(1, 300).Draw(t, "planned")),
				Taken:   backfill.Time(rapid.IntRange(0, 900).Draw(t, "taken")), Cpus: int64(rapid.IntRange(0, 3).Draw(t, "cpus")),
			}
			r.Over(w, 1, p)
			g := r.users[w]
			require.LessOrEqual(t, len(g.runs), recalled)
			require.GreaterOrEqual(t, g.factor, 1.0)
			require.GreaterOrEqual(t, r.Counts(w, 100, 200), backfill.Time(100))
			if rapid.Bool().Draw(t, "save") {
				for _, s := range r.Unsaved() {
					kept[s.Word] = s
				}
			}
		}
		for _, s := range r.Unsaved() {
			kept[s.Word] = s
		}
		var all []SavedWord
		for _, w := range users {
			if s, found := kept[w]; found {
				all = append(all, s)
			}
		}
		text, err := json.Marshal(all)
		require.NoError(t, err)
		var read []SavedWord
		require.NoError(t, json.Unmarshal(text, &read))
		next := RestoreTrackRecord(read)
		require.Empty(t, next.Changed())
		require.Empty(t, next.Unsaved())
		for _, w := range users {
			require.Equal(t, r.Counts(w, 100, 200), next.Counts(w, 100, 200))
		}
	})
}

func TestTrustIsRead(t *testing.T) {
	for _, text := range []string{"record", "enforced", "all"} {
		trust, err := ParseTrust(text)
		require.NoError(t, err)
		require.Equal(t, Trust(text), trust)
	}
	_, err := ParseTrust("al")
	require.EqualError(t, err, `"al", did you mean all?: must be enforced, record or all`)
}
