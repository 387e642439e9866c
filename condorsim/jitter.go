package condorsim

import (
	"fmt"
	"math/rand/v2"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Jitter moves the keys of the queue's order a little, at random, as one run alone says little:
// where two jobs' keys are close, either might as well come first, and a queue carries on what
// follows from that for weeks. The zero Jitter leaves keys as they are.
type Jitter struct {
	// Keys is the share x, below 1: each key is multiplied by a factor from 1 − x to 1 + x, drawn
	// once for the job, with equal chances.
	Keys float64
	// Seed determines the factors, together with the jobs' numbers.
	Seed uint64
}

// jitterStream tells the draws apart from others of the same seed.
const jitterStream = 0x6a69747465726b79

// Validate returns an error if Keys is no share below 1.
func (j Jitter) Validate() error {
	if !(j.Keys >= 0 && j.Keys < 1) {
		return fmt.Errorf("%v: must be from 0 to less than 1, such as 0.02 for keys that are moved by up to 2 %%", j.Keys)
	}
	return nil
}

// Moves reports whether the jitter changes anything under a policy and an order, "" if that is
// chosen on the way: the keys of fcfs are all alike and those of fairshare are places in a line, so
// that a share of them means nothing; and some policies ignore the order.
func (j Jitter) Moves(policy backfill.PolicySpec, order string) bool {
	switch {
	case j.Keys == 0 || policy.Name == HistoryPolicy:
		return false
	case order == "":
		return true
	default:
		return !policy.IgnoresOrder && order != "fcfs" && order != "fifo" && order != negotiator.FairShare
	}
}

// Of returns the order with jittered keys.
func (j Jitter) Of(order negotiator.Order) negotiator.Order {
	if j.Keys == 0 {
		return order
	}
	return order.Scaled(j.Factor)
}

// Factor returns what the keys of a job are multiplied by. Each operation is rounded by itself, so
// that it is the same on every machine.
func (j Jitter) Factor(id backfill.JobID) float64 {
	var draw rand.PCG
	draw.Seed(j.Seed, jitterStream+uint64(id)) //nolint:gosec // a stream of its own for each job
	draw.Uint64()                              // neighbouring streams begin alike
	share := float64(draw.Uint64()>>11) / (1 << 53)
	return 1 + float64(j.Keys*(2*share-1))
}
