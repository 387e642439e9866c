package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// RivalError says that another negotiator is at work in the pool. Two of them would give the same
// slots to different jobs.
type RivalError struct {
	observe.Other
	// Shared is a slot of which both slot constraints are true; "" if one of them is not known.
	Shared string
}

func (e *RivalError) Error() string {
	such, apart := "", "or give each a NEGOTIATOR_NAME and slots of its own (NEGOTIATOR_SLOT_CONSTRAINT, "+
		"BACKFILL_OTHER_SLOT_CONSTRAINT)"
	if e.Shared != "" {
		such, apart = ", such as "+e.Shared, "or let no slot be in both NEGOTIATOR_SLOT_CONSTRAINTs"
	}
	return fmt.Sprintf("another negotiator, %s at %s, is at work in this pool, and two would give the same "+
		"slots away%s: end it first (condor_off -daemon negotiator), plan beside it with --observe, %s",
		e.Name, e.Address, such, apart)
}

// alone asks the collector whether another negotiator is at work; if so, it returns a [RivalError].
// It waits for a collector that does not answer, unless the daemon runs only once.
func (d *Daemon) alone(ctx context.Context) error {
	if d.o.Observe {
		return nil
	}
	said := ""
	for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
		others, err := d.others(ctx)
		if err == nil {
			err = d.without(ctx, others, false)
		}
		_, rival := errors.AsType[*RivalError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, rival, d.o.Once:
			return err
		}
		if text := err.Error(); text != said {
			d.log.Warn("the collector cannot be asked whether another negotiator is at work, "+
				"which is tried again and again", "error", err)
			said = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// others returns the negotiators that any of the collectors knows.
func (d *Daemon) others(ctx context.Context) (all []observe.Other, err error) {
	types := []client.AdType{{Name: "Negotiator", Projection: observe.OtherAttributes}}
	err = d.o.Collector.QueryEach(ctx, types, func(lines cedar.Lines) error {
		ad, wrong := lines.Ad()
		if wrong != nil { // nobody can be called there, and one ad must not keep us from starting
			d.log.Warn("the ad of a negotiator cannot be read, and is ignored", "error", wrong)
			return nil
		}
		all = append(all, observe.ReadOther(ad))
		return nil
	})
	return all, err
}

// without returns a [RivalError] if one of the others is at work, for which this negotiator must
// step back: one that answers, and is neither this negotiator, nor one that only observes, nor one
// whose slots are all others than ours. If this one is at work already (atWork), a later negotiator
// of this project does not count, since that one will step back; stock negotiators never do. Any
// other error is the collector's.
func (d *Daemon) without(ctx context.Context, others []observe.Other, atWork bool) error {
	if d.o.Observe {
		return nil
	}
	for _, other := range others {
		if other.Address == d.o.Address || strings.HasPrefix(other.Name, ObserverName) {
			continue
		}
		if d.o.Answers(ctx, other.Address) {
			shared, apart, err := d.apart(ctx, other)
			switch {
			case err != nil:
				return err
			case apart:
				continue
			}
			if atWork && other.Ours && d.before(other) {
				d.log.Warn("another negotiator is at work that was started after this one: it will step back",
					"name", other.Name, "address", other.Address)
				continue
			}
			return &RivalError{other, shared}
		}
		d.log.Debug("the ad of a negotiator that does not answer is ignored",
			"name", other.Name, "address", other.Address)
	}
	return nil
}

// apart reports whether another negotiator and this one can both be at work: each has a name of its
// own, under which the collector keeps its ad, and a slot constraint, and no slot of the pool is in
// both. If a slot is, it is returned. The collector is asked, since our own looks leave out what the
// other's constraint may refer to.
func (d *Daemon) apart(ctx context.Context, other observe.Other) (shared string, apart bool, err error) {
	t := d.tuned.Load()
	constraint := other.SlotConstraint
	if !other.Ours {
		constraint = t.OtherSlotConstraint
	}
	own, errOwn := classad.ParseExpr(t.SlotConstraint)
	theirs, errTheirs := classad.ParseExpr(constraint)
	if errOwn != nil || errTheirs != nil || other.Name == d.o.Name {
		return "", false, nil
	}
	types := []client.AdType{{
		Name: "Machine", Projection: []string{"Name"}, Requirements: "(" + own.String() + ") && (" + theirs.String() + ")",
	}}
	apart = true
	err = d.o.Collector.QueryEach(ctx, types, func(lines cedar.Lines) error {
		quoted, _ := lines.Find("Name") // whatever else is in the ad, the slot is in both
		if name := strings.Trim(string(quoted), `"`); apart || name < shared {
			shared, apart = name, false
		}
		return nil
	})
	return shared, apart, err
}

// before tells whether this negotiator was started before another. It compares start times, then
// addresses, which both publish, so both come to the same answer.
func (d *Daemon) before(other observe.Other) bool {
	return cmp.Or(
		cmp.Compare(d.status.started.Unix(), other.Started.Unix()),
		cmp.Compare(d.o.Address, other.Address),
	) < 0
}

// sayAgain is how often the log says that another negotiator is at work.
const sayAgain = time.Minute

// stepBack pauses for a short while because another negotiator is at work: if that ends, as under
// condor_had, this one is to take over at once. It says so in the log, now and then, and in an ad
// under an observer's name.
func (d *Daemon) stepBack(ctx context.Context, rival *RivalError) error {
	if text := rival.Error(); text != d.rival || time.Since(d.rivalSaid) >= sayAgain {
		d.log.Error("NOTHING IS MATCHED: "+text, "asks_again_every", d.tryAgain)
		d.rival, d.rivalSaid = text, time.Now()
	}
	d.rename(ctx, ObserverName+d.o.Host, rival.Error())
	d.beReady()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.tryAgain):
		return nil
	}
}

// takeOver takes our own name again, if we stepped back before.
func (d *Daemon) takeOver(ctx context.Context) {
	d.rival = ""
	if !d.o.Observe && d.rename(ctx, d.o.Name, "") {
		d.log.Info("no other negotiator is at work any more")
	}
}

// rename changes our ad's name and the reason why nothing is matched. It reports whether the name
// changed.
func (d *Daemon) rename(ctx context.Context, name, why string) bool {
	d.mu.Lock()
	other := d.status.name != name
	d.mu.Unlock()
	if other {
		d.withdraw(ctx)
	}
	d.change(func(s *status) { s.name, s.stopped = name, why })
	d.announce()
	return other
}
