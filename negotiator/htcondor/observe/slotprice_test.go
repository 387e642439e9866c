package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// slotOf is the ad of a slot of a host.
func slotOf(i int, host, requirements string) cedar.Lines {
	return cedar.Lines(strings.Replace(partitionable(""), "slot1@n", fmt.Sprintf("slot1@n%d", i), 1) +
		fmt.Sprintf("MyAddress = \"<%s:%d>\"\nNegotiatorRequirements = %s\n", host, 1000+i, requirements))
}

// The slots of one host have a bound, beyond which only new ones are left out; those of others are read.
func TestSlotsAreBounded(t *testing.T) {
	o := quiet()
	o.number = 1
	read := func(i int, host string, size int) error {
		_, err := o.readSlot(slotOf(i, host, fmt.Sprintf("Arch =!= \"%d%s\"", i, strings.Repeat("x", size))), lookOf(1))
		return err
	}
	require.ErrorContains(t, read(0, "10.0.0.1", maxSlot), "must be at most 262144")
	kept := 0
	for i := range 2 * maxSlotsOfHost / maxSlot {
		if read(i, "10.0.0.1", maxSlot-1000) == nil {
			kept++
		}
		require.LessOrEqual(t, o.slotReads.hosts["10.0.0.1"], maxSlotsOfHost+slotGrows)
	}
	require.Greater(t, kept, 100)
	require.Less(t, kept, maxSlotsOfHost/maxSlot)
	require.Len(t, o.slots, kept)
	require.NoError(t, read(5000, "10.0.0.2", 1000))
	require.NoError(t, read(0, "10.0.0.1", maxSlot-999), "it may grow a little")
	o.Forget([]string{"slot1@n0", "slot1@n1"})
	o.slotReads.count(o.read)
	require.NoError(t, read(6000, "10.0.0.1", maxSlot-1000), "there is room again")
}

// What it takes to read the slots of one host has a bound in each look; those of others are read, and the rest
// in the next looks. Known slots stand.
func TestReadingSlotsIsCharged(t *testing.T) {
	o := quiet()
	looks := 0
	look := func(n, different int) (wrong int) {
		looks++
		o.number = looks
		o.slotReads.news, o.slotReads.long = reads{}, reads{}
		before := o.parser.Parsed()
		for i := range n {
			if _, err := o.readSlot(slotOf(i, "10.0.0.1", list(i+different, 15_000)), lookOf(looks)); err != nil {
				require.ErrorIs(t, err, errSlotLater)
				wrong++
			}
		}
		_, err := o.readSlot(slotOf(5000+looks, "10.0.0.2", list(looks, 1000)), lookOf(looks))
		require.NoError(t, err)
		require.Less(t, o.parser.Parsed()-before, longSlotReads)
		return wrong
	}
	const n = 40
	left := look(n, 0)
	require.Positive(t, left)
	for range 3 {
		still := look(n, 0)
		require.Less(t, still, left)
		if left = still; left == 0 {
			break
		}
	}
	require.Zero(t, left)
	require.Positive(t, look(n, 1000))
	for i := range n {
		require.Equal(t, looks, o.read[fmt.Sprintf("slot1@n%d", i)].look)
	}
}
