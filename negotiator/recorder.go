package negotiator

import "github.com/condor-backfill/condor-backfill/backfill"

// Recorder is told of all cycles as they happen, to write them down. It must not change what it is told, nor
// keep it: deltas and rounds are valid only until it returns.
type Recorder interface {
	// Told is called with what the pool told, right before the cycle.
	Told(n *Negotiator, d *Delta)
	// Changed is called when a [Change] was made, after its Made: it holds from the next cycle on.
	Changed(n *Negotiator)
	// Decided is called after each round. A cycle has none if nothing was asked, and two if jobs displace
	// others.
	Decided(s backfill.Settled)
}
