package rehearsal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
)

// TestPoolDuringACycle asks how the pool does while a policy takes its time for a decision, as one that
// hangs does until it is given up.
func TestPoolDuringACycle(t *testing.T) {
	p := rehearse(t, "easy", fourCpus, shortRuns().String())
	enough := errors.New("enough")
	var got livepage.Pool
	_, err := p.Run(t.Context(), Stage{
		Clock: time.Now, HTTP: "127.0.0.1:0", Rest: func(context.Context, time.Duration) {},
		Pace: func(_ context.Context, at backfill.Time) error {
			if at == 0 {
				return nil // nothing has happened yet
			}
			p.served.cycle.Lock()
			defer p.served.cycle.Unlock()
			told := make(chan livepage.Pool, 1)
			go func() { told <- p.served.Pool() }()
			select {
			case got = <-told:
			case <-time.After(time.Minute):
				return errors.New("nothing is told during a cycle")
			}
			return enough
		},
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, "easy", got.Policy.Name)
	require.Len(t, got.Cycles, 1)
}
