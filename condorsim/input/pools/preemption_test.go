package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

func TestPreemption(t *testing.T) {
	read := func(text string) (*pools.Description, error) {
		return pools.Read(strings.NewReader("classes: [{name: node, count: 2, cpus: 4}]\n"+text), "test.yaml")
	}
	p, err := read("")
	require.NoError(t, err)
	require.Nil(t, p.Preemption)

	p, err = read("preemption: {rank: TARGET.Queue == \"a\"}\n")
	require.NoError(t, err)
	require.Equal(t, preempt.Rules{Pause: preempt.DefaultPause}, p.Preemption.Rules)
	require.EqualValues(t, 600, p.Preemption.Vacate)
	require.Zero(t, p.Preemption.Retirement)
	require.Zero(t, p.Preemption.Checkpoint)
	require.Contains(t, p.Asked(), "queue", "jobs say it")
	for _, slot := range p.Slots {
		require.True(t, preempt.Ranked(slot.Ad))
	}

	p, err = read("preemption:\n  requirements: RemoteUserPrio > TARGET.SubmitterUserPrio && TARGET.Owner != \"b\"\n" +
		"  preemption_rank: 1\n  several: true\n  early: true\n  retirement: 1h\n  vacate: 0\n  promised: true\n  pause: 0\n" +
		"  checkpoint: 90\n")
	require.NoError(t, err)
	rules := p.Preemption.Rules
	require.True(t, rules.Prioritised() && rules.Several && rules.Early && rules.Promised && rules.Rank != nil)
	require.Zero(t, rules.Pause)
	require.EqualValues(t, 3600, p.Preemption.Retirement)
	require.Zero(t, p.Preemption.Vacate)
	require.EqualValues(t, 90, p.Preemption.Checkpoint)
	require.Contains(t, p.Asked(), "owner")

	for _, c := range []struct{ text, want string }{
		{"preemption: {}\n", "[2:13] preemption: no job could ever make way for another"},
		{"preemption: {requirements: false}\n", "no slot has a rank, and there are no requirements"},
		{"preemption: {rank: 0}\n", "no slot has a rank"},
		{"preemption: {rank: 'a =='}\n", "[2:20] "},
		{"preemption: {rank: 1, checkpoint: 0}\n", "preemption.checkpoint: must be at least a second"},
		{"preemption: {rank: 1, vacate: soon}\n", "[2:31] soon is no length of time"},
		{"preemption: {rank: 1, vacat: 5}\n", "vacate"},
	} {
		_, err = read(c.text)
		require.ErrorContains(t, err, c.want, c.text)
		require.ErrorContains(t, err, "^", "a caret: %s", c.text)
	}
	_, err = pools.Read(strings.NewReader("kind: partitioned\nclasses: [{name: n, cpus: 1}]\npartitions: [{name: a, slots: [n1]}]\n"+
		"preemption: {rank: 1}\n"), "test.yaml")
	require.ErrorContains(t, err, "jobs on partitions make way for no others")
}
