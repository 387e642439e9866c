package backfill

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTableIsAMap makes the same changes to tables and to maps, and checks that they have the same
// entries. A change of a copy must not change the original, nor the other way round.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tables := []*table{new(table)}
		models := []map[JobID]record{{}}
		ids := rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(-70, 70), rapid.Int64())
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i := rapid.IntRange(0, len(tables)-1).Draw(t, "which")
				id, r := JobID(ids.Draw(t, "id")), record{job: &Job{ID: JobID(ids.Draw(t, "mark"))}}
				require.Equal(t, models[i][id], replaced(tables[i], id, r))
				models[i][id] = r
			},
			"delete": func(t *rapid.T) {
				i := rapid.IntRange(0, len(tables)-1).Draw(t, "which")
				id := JobID(ids.Draw(t, "id"))
				if len(models[i]) > 0 && rapid.Bool().Draw(t, "existing") {
					id = slices.Sorted(maps.Keys(models[i]))[0]
				}
				require.Equal(t, models[i][id], replaced(tables[i], id, record{}))
				delete(models[i], id)
			},
			"copy": func(t *rapid.T) {
				i := rapid.IntRange(0, len(tables)-1).Draw(t, "which")
				tables, models = append(tables, &table{tables[i].Copy()}), append(models, maps.Clone(models[i]))
			},
			"": func(t *rapid.T) {
				for i, m := range models {
					require.Equal(t, len(m), tables[i].Len())
					var seen []JobID
					tables[i].Scan(func(id JobID, r *record) bool {
						require.Equal(t, m[id], *r)
						seen = append(seen, id)
						return true
					})
					require.Equal(t, slices.Sorted(maps.Keys(m)), seen)
					for id, r := range m {
						got, ok := tables[i].Get(id)
						require.True(t, ok)
						require.Equal(t, r, got)
					}
				}
			},
		})
	})
}

// replaced sets a record and returns the old one.
func replaced(t *table, id JobID, r record) (old record) {
	t.Set(id, &r, &old)
	return old
}
