package daemon

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Master is condor_master, which started this process.
type Master interface {
	// Alive says that this process lives, and for how long it need not say so again.
	Alive(ctx context.Context, pid int, until time.Duration) error
	// Ready says that it does its work from now on.
	Ready(ctx context.Context, pid int, name string) error
}

// hungAfter is the silence after which condor_master may take us for hung and end
// us; it is told three times as often as it needs.
const hungAfter = 600 * time.Second

// keepAlive tells condor_master that this process lives, at once and again and
// again, until the context ends. What it could not be told is tried again soon.
func keepAlive(ctx context.Context, m Master, log hclog.Logger) {
	const soon = 10 * time.Second
	for {
		pause := hungAfter / 3
		if err := m.Alive(ctx, os.Getpid(), hungAfter); err != nil && ctx.Err() == nil {
			log.Warn("condor_master could not be told that we are alive", "error", err, "again_in", soon)
			pause = soon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// orphaned waits until another process is our parent than the one that started
// us: condor_master has died. It returns false if the context ends before.
func orphaned(ctx context.Context, parent int) bool {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
