package backfill

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCalendarIsASortedMap makes the same changes to calendars and to maps from jobs to planned
// starts, and compares them now and then. A change of a copy must not change the original, nor the
// other way round.
func TestCalendarIsASortedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calendars := []*calendar{{}}
		models := []map[JobID]planned{{}}
		which := func(t *rapid.T) int { return rapid.IntRange(0, len(calendars)-1).Draw(t, "which") }
		t.Repeat(map[string]func(*rapid.T){
			"move, add or remove": func(t *rapid.T) {
				i := which(t)
				for range rapid.IntRange(1, 12).Draw(t, "changes") {
					// A job may be replaced by another with its ID, as when it is edited.
					p := planned{Time(rapid.IntRange(0, 9).Draw(t, "at")), &Job{ID: JobID(rapid.IntRange(0, 9).Draw(t, "id"))}}
					if old, ok := models[i][p.job.ID]; ok {
						calendars[i].Delete(old)
						delete(models[i], p.job.ID)
					}
					if rapid.IntRange(0, 3).Draw(t, "stays") > 0 {
						calendars[i].Set(p)
						models[i][p.job.ID] = p
					}
				}
			},
			"copy": func(t *rapid.T) {
				i := which(t)
				calendars, models = append(calendars, calendars[i].Copy()), append(models, maps.Clone(models[i]))
			},
			"read": func(t *rapid.T) {
				i := which(t)
				want := slices.SortedFunc(maps.Values(models[i]), planned.compare)
				require.Equal(t, len(want), calendars[i].Len())
				first, ok := calendars[i].Min()
				require.Equal(t, len(want) > 0, ok)
				if ok {
					require.Same(t, want[0].job, first.job)
				}
				n := 0
				calendars[i].Scan(func(p planned) bool {
					require.Equal(t, want[n].at, p.at)
					require.Same(t, want[n].job, p.job)
					n++
					return true
				})
				require.Equal(t, len(want), n)
			},
		})
	})
}
