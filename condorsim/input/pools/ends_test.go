package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

func TestEnds(t *testing.T) {
	p := read(t, `
classes: [{name: n, count: 3, cpus: 4}]
ends:
  - {slots: [n1], at: 1h}
  - {slots: [n2], at: 1h, for: 60, retire: 30m}
  - {lasts: [24h, 48h], again: 10m, retire: 6h}
  - {slots: [n3], lasts: [1h]}
`)
	require.Equal(t, []pools.Outage{
		{Slots: []int{0}, Told: true, At: 3600},
		{Slots: []int{1}, Told: true, At: 3600, For: 60, Retire: 1800},
		{Slots: []int{0, 1, 2}, Told: true, Lasts: [2]backfill.Time{86400, 172800}, For: 600, Retire: 21600},
		{Slots: []int{2}, Told: true, Lasts: [2]backfill.Time{3600, 3600}, For: 60},
	}, p.Outages)
	require.False(t, p.Outages[0].Random())
	require.True(t, p.Outages[2].Random())
}

func TestEndsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"{slots: [n9], at: 1h}":   `there is no slot or machine n9 in the pool; one of its slots is n1`,
		"{slots: [n1]}":           "must have either at (and for), or lasts (and again)",
		"{at: 1h, lasts: [1h]}":   "must have either at (and for), or lasts (and again)",
		"{lasts: [1h], for: 1h}":  "must have either at (and for), or lasts (and again)",
		"{at: 1h, again: 1h}":     "must have either at (and for), or lasts (and again)",
		"{at: 1h, for: 0}":        "must be at least a second; leave it out for good",
		"{lasts: [48h, 24h]}":     "must be the least and the most, such as [24h, 48h]",
		"{lasts: [1h, 2h, 3h]}":   "must be the least and the most, such as [24h, 48h]",
		"{lasts: [0]}":            "must be at least a second",
		"{lasts: [1h], again: 0}": "must be at least a second",
		"{at: soon}":              "is no length of time",
		"{at: 1h, retires: 30m}":  "retires",
	} {
		_, err := pools.Read(strings.NewReader("classes: [{name: n, count: 3, cpus: 4}]\nends: ["+text+"]"), "test.yaml")
		require.ErrorContains(t, err, want, text)
	}
}
