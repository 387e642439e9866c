package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

func TestScavengers(t *testing.T) {
	read := func(text string) (*pools.Description, error) {
		return pools.Read(strings.NewReader("classes: [{name: node, count: 2, cpus: 4}]\n"+text), "test.yaml")
	}
	p, err := read("")
	require.NoError(t, err)
	require.Nil(t, p.Scavengers)

	p, err = read("scavengers: {}\n")
	require.NoError(t, err)
	require.Equal(t, pools.DefaultScavengers(), p.Scavengers)
	require.EqualValues(t, 10, p.Scavengers.Vacate)

	p, err = read("scavengers:\n  users: [ann]\n  queues: [\"2\", spare]\n  vacate: 0\n  checkpoint: 30m\n" +
		"  fill: {jobs: 7, cpus: 8, run_time: 2h}\n")
	require.NoError(t, err)
	require.Equal(t, &pools.Scavengers{
		Users: []string{"ann"}, Queues: []string{"2", "spare"}, Checkpoint: 1800,
		Fill: pools.Fill{Jobs: 7, Cpus: 8, RunTime: 7200},
	}, p.Scavengers)

	for _, c := range []struct{ text, want string }{
		{"scavengers:\n", "[2:1"},
		{"scavengers:\n", "scavengers: says nothing: give users, queues or fill, or {} for jobs that say it themselves"},
		{"scavengers: {checkpoint: 0}\n", "scavengers.checkpoint: must be at least a second; leave it out"},
		{"scavengers: {users: [\"\"]}\n", "scavengers.users: a user has no name"},
		{"scavengers: {queues: [a, \"\"]}\n", "scavengers.queues: a queue has no name"},
		{"scavengers: {fill: {cpus: 1, run_time: 1}}\n", "scavengers.fill.jobs: 0: must be from 1 to 1000000"},
		{"scavengers: {fill: {jobs: 1, run_time: 1}}\n", "scavengers.fill.cpus: 0: must be from 1 to what the pool has, 8"},
		{"scavengers: {fill: {jobs: 1, cpus: 9, run_time: 1}}\n", "scavengers.fill.cpus: 9: must be from 1 to what the pool has, 8"},
		{"scavengers: {fill: {jobs: 1, cpus: 1}}\n", "scavengers.fill.run_time: must be at least a second"},
		{"scavengers: {fill: }\n", "scavengers.fill: says nothing: give jobs, cpus and run_time, or leave it out"},
		{"scavengers: {vacate: 86401}\n", "[2:22] scavengers.vacate: must be at most a day: all plans are longer by it"},
		{"scavengers: {vacate: 365d}\n", "must be at most a day"},
		{"scavengers: {vacate: soon}\n", "is no length of time"},
		{"scavengers: {queue: a}\n", "queue"},
	} {
		_, err = read(c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
	_, err = pools.Read(strings.NewReader("kind: partitioned\nclasses: [{name: n, count: 2, cpus: 4}]\n"+
		"partitions: [{name: all, slots: [\"*\"]}]\nscavengers: {}\n"), "test.yaml")
	require.ErrorContains(t, err, "scavengers: there are none on partitions")
}

func TestWhoIsAScavenger(t *testing.T) {
	s := pools.Scavengers{Users: []string{"ann"}, Queues: []string{"2"}}
	says := func(text string) *classad.ClassAd {
		ad := classad.New()
		require.NoError(t, ad.SetExpr(pools.ScavengerOfJobs, text))
		return ad
	}
	for _, c := range []struct {
		user, queue string
		ad          *classad.ClassAd
		want        bool
	}{
		{"ann", "1", nil, true},
		{"bob", "2", nil, true},
		{"bob", "1", nil, false},
		{"", "", classad.New(), false},
		{"bob", "", says("true"), true},
		{"bob", "", says("1 == 1"), true},
		{"bob", "", says("false"), false},
		{"bob", "", says("1"), true},
		{"bob", "", says("0.5"), true},
		{"bob", "", says("0"), false},
		{"ann", "", says("false"), true},
		{"bob", "", says("Nowhere"), false},
		{"bob", "", says(`"true"`), false},
	} {
		require.Equal(t, c.want, s.Include(c.user, c.queue, c.ad), c)
	}
}
