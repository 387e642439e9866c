package livepage

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeats checks that no host takes all seats from the others, and that a seat that was taken away
// is not left twice.
func TestSeats(t *testing.T) {
	var s seats
	var all []*seat
	for range mostViewers {
		all = append(all, s.take("greedy"))
	}
	require.Nil(t, s.take("greedy"), "it has most")
	other := s.take("other")
	require.NotNil(t, other)
	require.Equal(t, mostViewers, s.number())
	select {
	case <-all[0].cut:
	default:
		require.Fail(t, "the oldest of the greedy one is not cut off")
	}
	s.leave(all[0])
	require.Equal(t, mostViewers, s.number())
	for range 2 * mostViewers {
		s.take("other")
	}
	number := map[string]int{}
	for _, one := range s.taken {
		number[one.host]++
	}
	require.InDelta(t, number["greedy"], number["other"], 1)
	for i := range 100 {
		require.NotNil(t, s.take(fmt.Sprint("host ", i)))
	}
	for _, one := range append([]*seat{}, s.taken...) {
		s.leave(one)
	}
	require.Zero(t, s.number())
}
