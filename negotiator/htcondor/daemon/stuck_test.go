package daemon

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// toldMaster counts how often it was told that the daemon is alive.
type toldMaster struct{ told atomic.Int64 }

func (m *toldMaster) Alive(context.Context, int, time.Duration) error {
	m.told.Add(1)
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
		after := func(wait time.Duration) int64 {
			m.told.Store(0)
			time.Sleep(wait)
			synctest.Wait()
			return m.told.Load()
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
