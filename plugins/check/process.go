package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// restart kills the plugin in the middle of a pool. Restarted by the host, it must decide again
// without a further failure.
func (c *checker) restart(ctx context.Context) (Check, error) {
	remote, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	defer remote.Close()
	run, err := conformance.Start(c.pool(0), remote)
	if err != nil {
		return Check{}, err
	}
	killed, own, lost := false, false, 0
	back, before := 0, 0 // rounds since it is back, and refusals until then
	var down, up time.Time
	for range 10 * c.scale.rounds {
		if !killed && run.Rounds() >= c.scale.rounds/2 {
			killed, lost, down = true, run.Refusals(), c.options.Clock()
			c.played.count(run.Rounds(), lost, refusal(run))
			kill(remote.Stats().PID)
		}
		d, err := run.Next(ctx)
		if err != nil {
			return Check{}, err
		}
		decided := d.By == c.spec.Name
		if !killed {
			own = own || decided
			continue
		}
		// A policy whose decisions did not count before need not give a valid one now.
		if remote.Stats().Starts > 1 && remote.Stats().PID != 0 && (decided || !own) {
			if back++; back == 1 {
				up, before, lost = c.options.Clock(), run.Refusals(), run.Refusals()-lost
			}
			if back > c.scale.rounds/4 {
				break
			}
		}
	}
	const do = "let the plugin start again at once and go on from the state that it is sent: leave no lock, no " +
		"file and no port behind that a killed process cannot clear"
	switch stats := remote.Stats(); {
	case stats.Starts < 2 || back == 0:
		check := failed(do, "after it was killed it did not come back").at(c.pool(0))
		check.Log = c.tail.last()
		return check, nil
	case stats.Failures > 1:
		check := failed(do, "it was killed once and failed %d times", stats.Failures).at(c.pool(0))
		check.Log = c.tail.last()
		return check, nil
	}
	c.played.count(back, run.Refusals()-before, refusal(run))
	return passed("killed in the middle of a pool: %s decided by the fallback, back with the whole state after %s",
		count(lost, "round"), up.Sub(down).Round(time.Millisecond)), nil
}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // the process may have ended already
	}
}

// gone reports whether the process no longer exists.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// slow is just less than the time that the host gives a plugin to end before killing it: a plugin
// that takes longer did not react.
const slow = 1900 * time.Millisecond

// end checks that the plugin ends when it is asked to and, in a second run, when its host vanishes.
func (c *checker) end(ctx context.Context) (Check, error) {
	remote, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	pid := remote.Stats().PID
	begun := c.options.Clock()
	remote.Close()
	took := c.options.Clock().Sub(begun)
	if !gone(pid) {
		return failed("end the process when the host asks for it",
			"it was asked to end, and killed, and is still there (process %d)", pid), nil
	}
	p, err := c.dial(ctx)
	if err != nil {
		return c.died(ctx, err)
	}
	defer p.close()
	begun = c.options.Clock()
	if !p.vanish(ctx, c.scale.patience) {
		return failed("end the process when the host's connection ends (sdk.Serve does so): a host that is killed "+
			"cannot ask for it",
			"%v after its host had vanished it still ran", c.scale.patience), ctx.Err()
	}
	after := c.options.Clock().Sub(begun).Round(time.Millisecond)
	if took > slow {
		return Check{
			Verdict: Warning, Seen: fmt.Sprintf("asked to end it did nothing, and was killed; %s after its host "+
				"had vanished it was gone", after),
			Do: "end at go-plugin's Shutdown, or when the connection ends; otherwise each stop of the " +
				"host takes two seconds",
		}, nil
	}
	return passed("gone %s after it was asked to end, and %s after its host vanished",
		took.Round(time.Millisecond), after), nil
}
