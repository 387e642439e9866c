package dispatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
)

// Notes takes a line for each match and each rejection that a schedd was told of, in the words of
// the stock negotiator's match log, for programs that read that. Nil takes none.
type Notes func(line string)

// matched notes a match that the schedd at an address was told of.
func (n Notes) matched(g claims.Grant, schedd cedar.Address) {
	if n == nil {
		return
	}
	startd, _ := g.Ad.Literal("StartdIpAddr").Text()
	if startd == "" {
		startd, _ = g.Ad.Literal("MyAddress").Text()
	}
	n.line("Matched %d.%d %s %s preempting %s %s %s", g.Cluster, g.Proc, g.Submitter, schedd, cmp.Or(g.Preempts, "none"),
		cmp.Or(startd, "<0.0.0.0:0>"), g.Slot)
}

// roused notes that a slot whose machine sleeps was found for a job of the schedd at an address.
func (n Notes) roused(w claims.Wish, slot *classad.ClassAd, schedd cedar.Address) {
	if n == nil {
		return
	}
	startd, _ := slot.Literal("StartdIpAddr").Text()
	if startd == "" {
		startd, _ = slot.Literal("MyAddress").Text()
	}
	name, _ := slot.Literal("Name").Text()
	n.line("Matched %d.%d %s %s preempting none %s %s (offline)", w.Job.Cluster, w.Job.Proc, w.Submitter, schedd,
		cmp.Or(startd, "<0.0.0.0:0>"), name)
}

// rejected notes a reason that the schedd at an address was told of.
func (n Notes) rejected(r claims.Reason, schedd cedar.Address) {
	if n != nil {
		n.line("Rejected %d.%d %s %s: %s", r.Job.Cluster, r.Job.Proc, r.Submitter, schedd, r.Why)
	}
}

// limitEvery is how often a limit that goes on keeping the same job out is noted.
const limitEvery = time.Minute

// NoteLimits notes which concurrency limits are reached, as the stock negotiator does in each
// cycle: at once when a job is kept out, and each minute for as long as that lasts.
func (d *Dispatcher) NoteLimits() {
	if d.s.Notes == nil {
		return
	}
	now, noted := d.now(), map[claims.Reason]time.Time{}
	for _, r := range d.claims.Limits().Limited() {
		key := r
		key.Why = r.Why[strings.LastIndex(r.Why, ": ")+1:] // the limit, whoever has it
		at, before := d.limited[key]
		if s := d.schedds[r.Job.Schedd]; s != nil && (!before || now.Sub(at) >= limitEvery || at.After(now)) {
			d.s.Notes.rejected(r, s.Address)
			at = now
		}
		noted[key] = at
	}
	d.limited = noted
}

// line notes one line, whatever control characters a stranger's names have.
func (n Notes) line(format string, values ...any) {
	n("      " + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, values...)))
}
