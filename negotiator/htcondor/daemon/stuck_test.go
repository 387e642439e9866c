package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// toldMaster notes when it was told that the daemon is alive.
type toldMaster struct{ told []time.Time }

func (m *toldMaster) Alive(context.Context, int, time.Duration) error {
	m.told = append(m.told, time.Now())
	return nil
}

func (*toldMaster) Ready(context.Context, int, string) error { return nil }

// condor_master is told that the daemon is alive while it waits between cycles, however long, and
// during a cycle; but not any more during one that is stuck, until that ends.
func TestAStuckCycleIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := New(Options{}), &toldMaster{}
		ctx, cancel := context.WithCancel(t.Context())
		go keepAlive(ctx, m, d.stuck, hclog.NewNullLogger())
		after := func(wait time.Duration) int {
			m.told = nil
			time.Sleep(wait)
			synctest.Wait()
			return len(m.told)
		}
		require.Positive(t, after(time.Hour), "it waits")
		now := time.Now()
		d.began.Store(&now)
		require.Positive(t, after(hungAfter), "a long cycle")
		require.Zero(t, after(time.Hour), "a cycle that is stuck")
		d.began.Store(nil)
		require.Positive(t, after(time.Minute), "it has ended")
		cancel()
	})
}
