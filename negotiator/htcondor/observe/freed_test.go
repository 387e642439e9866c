package observe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// newer is the part of a slot's ad that changes with each of its startd's updates.
func newer(sequence int) string {
	return fmt.Sprintf("UpdateSequenceNumber = %d\nMyCurrentTime = %[1]d\nLastHeardFrom = %[2]d\n", sequence,
		1_600_000_000+sequence)
}

func TestFreed(t *testing.T) {
	const (
		static = "MyType = \"Machine\"\nName = \"slot1@n\"\nCpus = 1\nMemory = 1024\nRequirements = true\n"
		free   = "State = \"Unclaimed\"\nActivity = \"Idle\"\n"
		used   = "State = \"Claimed\"\nActivity = \"Busy\"\n"
		half   = "Cpus = 2\nMemory = 2048\n"
	)
	for name, c := range map[string]struct {
		before, after string
		freed         bool
	}{
		"a job has left a static slot":             {static + used + newer(1), static + free + newer(2), true},
		"a static slot is still claimed":           {static + used + newer(1), static + used + newer(2), false},
		"a static slot is as free as before":       {static + free + newer(1), static + free + newer(2), false},
		"the machine's owner has left":             {static + "State = \"Owner\"\n" + newer(1), static + free + newer(2), true},
		"an offline slot":                          {static + used + newer(1), static + free + "Offline = true\n" + newer(2), false},
		"the ad is the one that was seen":          {static + used + newer(2), static + free + newer(2), false},
		"a startd's second update within a second": {static + used + newer(2), static + free + newer(2) + "UpdateSequenceNumber = 3\n", true},
		"an old ad":                          {partitionable(half + newer(2)), partitionable(newer(1)), false},
		"a dynamic slot is gone":             {partitionable(half + newer(1)), partitionable(newer(2)), true},
		"memory came back":                   {partitionable("Memory = 2048\n" + newer(1)), partitionable(newer(2)), true},
		"a dynamic slot is there":            {partitionable(newer(1)), partitionable(half + newer(2)), false},
		"the slot is outside the constraint": {partitionable(half + newer(1)), partitionable("Foreign = true\n" + newer(2)), false},
		"another slot is new":                {static + used + newer(1), partitionable("Name = \"slot2@n\"\n" + newer(2)), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t)
			p.Ask(Scope{Look: config.Look{SlotConstraint: "Foreign =!= true"}})
			p.slots = []string{c.before}
			p.see()
			p.collector.Set("Machine", c.after)
			freed, err := p.Freed(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.freed, freed)
		})
	}
}

// TestFreedAsksLittle: of the slots that startds have told nothing new of, the collector sends
// nothing.
func TestFreedAsksLittle(t *testing.T) {
	p := newSite(t)
	p.slots = []string{partitionable(newer(1)), partitionable("Name = \"slot2@n\"\n" + newer(3))}
	p.see()
	sent := 0
	p.collector.Garble(func(line string) string {
		sent++
		return line
	})
	p.collector.Set("Machine", p.slots[0], p.slots[1])
	_, err := p.Freed(t.Context())
	require.NoError(t, err)
	require.Positive(t, sent, "the newest ad is compared")
	one := sent
	p.collector.Set("Machine", p.slots[0])
	_, err = p.Freed(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, sent)
}

// TestFreedWithoutCollector: an error says nothing about slots.
func TestFreedWithoutCollector(t *testing.T) {
	p := newSite(t)
	p.slots = []string{partitionable("")}
	p.see()
	p.collector.Stop()
	_, err := p.Freed(t.Context())
	require.Error(t, err)
}
