package profile_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestBytes: the memory that spans take is known beforehand, roughly; and when they go, so does it.
func TestBytes(t *testing.T) {
	const slots, spans = 100, 1000
	random := rand.New(rand.NewPCG(1, 2))
	p := profile.New(profile.Pack)
	chunk := profile.Vector{1, 1, 1}
	for id := range slots {
		p.SetSlot(profile.SlotID(id), strconv.Itoa(id), profile.Vector{spans, spans, spans})
	}
	live := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	type span struct {
		at         profile.Placement
		start, end profile.Time
	}
	all := make([]span, spans)
	before := live()
	for i := range all {
		start := profile.Time(random.Int64N(1_000_000))
		one := span{make(profile.Placement, slots), start, start + 1 + profile.Time(random.Int64N(1000))}
		for id := range one.at {
			one.at[id] = profile.Chunks{Slot: profile.SlotID(id), Count: 1}
		}
		p.Add(one.at, chunk, one.start, one.end)
		all[i] = one
	}
	took, told := live()-before, p.Bytes()
	t.Log("took", took, "told", told)
	require.Less(t, took, float64(told)*1.5)
	require.Greater(t, took, float64(told)*0.5)
	require.Equal(t, told, p.Clone().Bytes())
	for _, one := range all {
		p.Remove(one.at, chunk, one.start, one.end)
	}
	require.Zero(t, p.Bytes())
}
