package htcondor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// explained is the reason that a job was told last, and when.
type explained struct {
	text string
	at   time.Time
}

// tellEvery is how soon a job may be told another reason.
const tellEvery = 5 * time.Minute

// maxReasons bounds the reasons that one schedd is told at once: each is a write to
// its queue.
const maxReasons = 200

// Explain tells waiting jobs why they wait. Users see it in condor_q -better-analyze
// as the reason for the last match failure. Only what is new is told, to a bounded
// number of jobs, in the order given, then those that are not planned with, all schedds at
// once; what a slow one could not be told in a few seconds is left out, and it is told
// nothing for a while.
func (p *Pool) Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error {
	if p.s.Observe {
		return nil
	}
	bySchedd := map[string]map[string][]reason{}
	count := map[string]int{}
	now := p.now()
	tell := func(id backfill.JobID, is phase, why func(backfill.JobID) string) {
		j := p.byID[id]
		if j == nil || j.phase != is || count[j.key.schedd] >= maxReasons {
			return
		}
		s := p.schedds[j.key.schedd]
		submitter := j.submitterOf()
		if _, advertised := s.submitters[submitter]; !advertised || s.failed != nil || s.late || s.telling != nil || now.Before(s.mute) {
			return
		}
		before := p.explained[id]
		if now.Sub(before.at) < tellEvery {
			return
		}
		text := why(id)
		if text == before.text {
			return
		}
		p.explained[id] = explained{text, now}
		if bySchedd[j.key.schedd] == nil {
			bySchedd[j.key.schedd] = map[string][]reason{}
		}
		bySchedd[j.key.schedd][submitter] = append(bySchedd[j.key.schedd][submitter], reason{j, text})
		count[j.key.schedd]++
	}
	for _, id := range ids {
		tell(id, waiting, why)
	}
	for _, o := range p.outside {
		tell(o.id, unknown, func(backfill.JobID) string { return o.why })
	}
	maps.DeleteFunc(p.explained, func(id backfill.JobID, _ explained) bool { return p.byID[id] == nil })
	wait, cancel := context.WithTimeout(ctx, p.hold)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, reasons := range bySchedd {
		s := p.schedds[name] // nobody but us changes it until all are told
		all.Go(func() {
			rejected, err := p.reject(wait, s, reasons)
			mu.Lock()
			defer mu.Unlock()
			p.rejected += rejected
			if err != nil {
				s.mute = now.Add(tellEvery)
				p.log.Warn("a schedd could not be told why its jobs wait", "schedd", name, "error", err)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// reason is why a job waits.
type reason struct {
	j    *job
	text string
}

// reject tells one schedd, and says how many jobs it told.
func (p *Pool) reject(ctx context.Context, s *schedd, bySubmitter map[string][]reason) (told int, err error) {
	var n *client.Negotiation
	defer func() {
		if n != nil {
			n.Close()
		}
	}()
	for _, submitter := range slices.Sorted(maps.Keys(bySubmitter)) {
		who := client.Submitter{Name: submitter, Tag: s.submitters[submitter].tag, Significant: p.significant()}
		began, err := p.negotiateFor(ctx, n, s, who)
		if err != nil {
			return told, err
		}
		n = began
		for _, r := range bySubmitter[submitter] {
			if err := n.Reject(r.j.key.cluster, r.j.key.proc, r.text); err != nil {
				return told, err
			}
			told++
		}
		if err := n.End(); err != nil {
			return told, err
		}
	}
	return told, nil
}
