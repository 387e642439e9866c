package pools_test

import (
	"os"
	"path/filepath"
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

	p, err = pools.Read(strings.NewReader("classes:\n  - {name: a, cpus: 4, attributes: {Rank: TARGET.Queue == \"a\"}}\n"+
		"  - {name: b, cpus: 4, attributes: {rank: 0}}\n  - {name: c, cpus: 4}\npreemption: {rank: TARGET.Queue == \"c\"}\n"), "test.yaml")
	require.NoError(t, err)
	for i, want := range []string{`TARGET.Queue == "a"`, "0", `TARGET.Queue == "c"`} {
		rank, _ := p.Slots[i].Ad.Lookup("Rank")
		require.Equal(t, want, rank.String(), "a class's own counts")
	}

	for _, c := range []struct{ text, want string }{
		{"preemption:\n", "[2:1"},
		{"preemption:\n", "preemption: says nothing: give rank or requirements, or leave it out"},
		{"preemption: null\n", "says nothing"},
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

// TestRankOfSlotsFromAds: the pool's rank is for startds that publish no other one than 0, which is none.
func TestRankOfSlotsFromAds(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for name, rank := range map[string]string{"a": `TARGET.Queue == "a"`, "b": "0.0"} {
		text.WriteString("Name = \"" + name + "\"\nMyType = \"Machine\"\nCpus = 4\nMemory = 100\nDisk = 100\nState = \"Unclaimed\"\n" +
			"Requirements = true\nRank = " + rank + "\n\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ads"), []byte(text.String()), 0o600))
	p, err := pools.Read(strings.NewReader("ads: ads\npreemption: {rank: TARGET.Queue == \"c\"}\n"), filepath.Join(dir, "test.yaml"))
	require.NoError(t, err)
	require.Len(t, p.Slots, 2)
	for _, slot := range p.Slots {
		rank, _ := slot.Ad.Lookup("Rank")
		require.Equal(t, map[string]string{"a": `TARGET.Queue == "a"`, "b": `TARGET.Queue == "c"`}[slot.Name], rank.String())
	}
}
