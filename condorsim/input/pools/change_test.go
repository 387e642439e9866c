package pools_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

const changing = `classes:
  - {name: thin, count: 3, cpus: 8, memory: 16GiB}
  - {name: fat, count: 2, cpus: 64, memory: 1TiB}
failures:
  - {slots: ["thin*"], mtbf: 30d, mttr: 4h}
drains:
  - {slots: [fat2], at: 1d, for: 1d}
  - {slots: [thin1], at: 2d, for: 1d}
`

// A pool with and without slots: the others are as they were, and so is the pool itself.
func TestChanged(t *testing.T) {
	pool, err := pools.Read(strings.NewReader(changing), "pool.yaml")
	require.NoError(t, err)
	before := slotNames(pool)
	for _, c := range []struct {
		change  pools.Change
		slots   string
		outages [][]int
	}{
		{pools.Change{}, "thin1 thin2 thin3 fat1 fat2", [][]int{{0, 1, 2}, {4}, {0}}},
		{pools.Change{Without: []string{"thin1"}}, "thin2 thin3 fat1 fat2", [][]int{{0, 1}, {3}}},
		{pools.Change{Without: []string{"thin?", "fat2"}}, "fat1", nil},
		{pools.Change{With: []string{"cpus=16,count=2"}}, "thin1 thin2 thin3 fat1 fat2 new1 new2", [][]int{{0, 1, 2}, {4}, {0}}},
		{
			pools.Change{With: []string{"like=fat1,count=1", "cpus=4"}, Without: []string{"fat*"}},
			"thin1 thin2 thin3 new1 new2",
			[][]int{{0, 1, 2}, {0}},
		},
	} {
		got, wrong := pool.Changed(c.change)
		require.NoError(t, wrong, "%v", c.change)
		require.Equal(t, c.slots, strings.Join(slotNames(got), " "), "%v", c.change)
		var outages [][]int
		for _, o := range got.Outages {
			outages = append(outages, o.Slots)
		}
		require.Equal(t, c.outages, outages, "%v", c.change)
		require.Equal(t, before, slotNames(pool))
	}
	got, err := pool.Changed(pools.Change{With: []string{"cpus=64,memory=256GiB,count=2"}})
	require.NoError(t, err)
	for _, slot := range got.Slots[5:] {
		require.EqualValues(t, 64, slot.Capacity[0])
		require.EqualValues(t, 256<<10, slot.Capacity[slices.Index(got.Schema.Resources, "memory")])
		cpus, _ := slot.Ad.Int("Cpus")
		require.EqualValues(t, 64, cpus)
		name, _ := slot.Ad.Text("Name")
		require.Equal(t, slot.Name, name)
	}
}

// What cannot be is an error that says so.
func TestChangedErrors(t *testing.T) {
	pool, err := pools.Read(strings.NewReader(changing), "pool.yaml")
	require.NoError(t, err)
	for _, c := range []struct {
		change pools.Change
		text   string
	}{
		{pools.Change{Without: []string{"thin9"}}, "there is no slot or machine thin9 in the pool; one of its slots is thin1"},
		{pools.Change{Without: []string{"*"}}, "without *: the pool has no slot then"},
		{pools.Change{With: []string{"cpus=many"}}, `with cpus=many: cpus "many": must be a number`},
		{pools.Change{With: []string{"cpus=4,count=0"}}, "count 0: must be from 1"},
		{pools.Change{With: []string{"cpus=0"}}, "cpus 0: must be at least 1"},
		{pools.Change{With: []string{"cpus=4,count=x"}}, `count "x": must be a number of slots`},
		{pools.Change{With: []string{"licences=4"}}, "there is no resource licences"},
		{pools.Change{With: []string{"cpus=4,like=thin9"}}, "there is no slot or machine thin9"},
		{pools.Change{With: []string{"cpus=4,like="}}, "like: name a slot, or leave it out"},
		{pools.Change{With: []string{"cpus=4,like=thin*"}}, "like=thin*: name one slot or machine"},
		{pools.Change{With: []string{""}}, "must be such as cpus=64"},
		{pools.Change{Without: []string{""}}, "without: it is empty"},
		{pools.Change{With: []string{"64"}}, `"64": must be such as cpus=64`},
	} {
		_, err := pool.Changed(c.change)
		require.ErrorContains(t, err, c.text)
	}
}

func slotNames(p *pools.Description) (list []string) {
	for _, s := range p.Slots {
		list = append(list, s.Name)
	}
	return list
}
