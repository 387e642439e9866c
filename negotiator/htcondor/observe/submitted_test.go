package observe

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSubmitsAreCountedFirst: a look knows how many jobs were submitted before it read a queue, so that
// all of these are in it; without the number it has the queue as well.
func TestSubmitsAreCountedFirst(t *testing.T) {
	p := newSite(t, "s@test")
	schedd := p.schedds[0]
	schedd.SetJobs(job(""))
	schedd.SetSubmitted(7)
	require.EqualValues(t, Uncounted, p.see().Schedds["s@test"].Submits, "nobody wants to know")
	p.s.CountSubmits = true
	schedd.Before(func(_ context.Context, command int) error {
		if command == 516 {
			schedd.SetSubmitted(8)
		}
		return nil
	})
	require.EqualValues(t, 7, p.see().Schedds["s@test"].Submits)
	require.EqualValues(t, 8, p.see().Schedds["s@test"].Submits)
	schedd.Before(func(_ context.Context, command int) error {
		if command == 6 {
			return errors.New("it hangs up")
		}
		return nil
	})
	seen := p.see().Schedds["s@test"]
	require.EqualValues(t, Uncounted, seen.Submits)
	require.NoError(t, seen.Failed)
	require.Len(t, seen.Groups, 1)
}
