package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// Deciders returns the policy of a record, made anew, and its fallback. It is asked when a record begins and
// when it changes its policy; what it returned before is not used any more.
type Deciders func(ctx context.Context, p *recordv1.Policy, resources []string) (main, fallback backfill.Decider, err error)

// Options say how a record is replayed.
type Options struct {
	Deciders Deciders
	// GoOn has the replay go on behind a round that differs, as the record has it.
	GoOn bool
	// Each is called after each cycle; may be nil.
	Each func(now backfill.Time)
}

// Result is what came of a replay.
type Result struct {
	// Begins counts the files and runs of negotiators that the record consists of.
	Begins int `json:"begins"`
	// From and To are the instants of the first and the last cycle, which there are Cycles of.
	From   backfill.Time `json:"from"`
	To     backfill.Time `json:"to"`
	Cycles int           `json:"cycles"`
	// Rounds are all rounds: of these the policy has decided Own, and its fallback FellBack, as it did then;
	// in the others there was nothing to decide.
	Rounds   int `json:"rounds"`
	Own      int `json:"own"`
	FellBack int `json:"fell_back"`
	// Events and Actions are what was in the rounds and what was decided.
	Events  int `json:"events"`
	Actions int `json:"actions"`
	// Changes counts changes of the policy.
	Changes int `json:"changes"`
	// Policies are those in charge, in the order in which they came.
	Policies []string `json:"policies"`
	// States counts states that were compared as a whole, at the ends of files and runs.
	States int `json:"states"`
	// Different counts rounds that are decided otherwise.
	Different int `json:"different"`
	// Torn says that the record ends within a frame.
	Torn bool `json:"torn"`

	First *Difference `json:"-"` // the first round that is decided otherwise; nil: none is
}

// Replay replays records, one after the other.
type Replay struct {
	o         Options
	known     *known
	keys      *record.Keys
	host      *backfill.Host
	policy    string
	started   bool // some cycle was told
	anonymous bool // the record has pseudonyms, and no reasons
	result    *Result
}

// New begins a replay.
func New(o Options) *Replay { return &Replay{o: o, known: newKnown(), result: &Result{}} }

// Result returns what came of it so far.
func (r *Replay) Result() *Result { return r.result }

// Run replays a record, up to the first round that differs, which is then in the result. The error is of the
// record, or says that the policy cannot be had.
func (r *Replay) Run(ctx context.Context, from *record.Reader) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entry, err := from.Next()
		if errors.Is(err, io.EOF) {
			r.result.Torn = r.result.Torn || from.Torn() != nil
			return nil
		}
		if err == nil {
			err = r.take(ctx, entry)
		}
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errStop ends a replay at the first round that differs.
var errStop = errors.New("a round differs")

// take replays an entry.
func (r *Replay) take(ctx context.Context, entry *recordv1.Entry) error {
	switch e := entry.GetEntry().(type) {
	case *recordv1.Entry_Begin:
		return r.begin(ctx, e.Begin)
	case *recordv1.Entry_Labels:
		r.known.keep(e.Labels)
	case *recordv1.Entry_Told:
		r.told(e.Told)
	case *recordv1.Entry_Change:
		return r.change(ctx, e.Change.GetPolicy())
	case *recordv1.Entry_Round:
		return r.round(ctx, e.Round)
	case *recordv1.Entry_End:
		return r.end(e.End)
	default: // an ad, or what a later version writes
	}
	return nil
}

// begin goes on from a state as a whole.
func (r *Replay) begin(ctx context.Context, b *recordv1.Begin) error {
	r.known.begin(b)
	r.keys = record.NewKeys()
	message := new(policyv1.Snapshot)
	if err := message.UnmarshalVT(b.GetSnapshot()); err != nil {
		return fmt.Errorf("the state at %d: %w", b.GetNow(), err)
	}
	snap, err := wire.DecodeSnapshot(message)
	if err != nil {
		return fmt.Errorf("the state at %d: %w", b.GetNow(), err)
	}
	for i := range snap.Jobs {
		r.known.label(snap.Jobs[i].Job)
	}
	state, err := backfill.Restore(snap)
	if err != nil {
		return fmt.Errorf("the state at %d: %w", b.GetNow(), err)
	}
	main, fallback, err := r.deciders(ctx, b.GetPolicy(), snap.Resources)
	if err != nil {
		return err
	}
	r.result.Begins++
	r.anonymous = b.GetAnonymous()
	r.host, err = backfill.NewHost(state, nil, main, fallback, nil)
	return err
}

// deciders makes who decides from here on.
func (r *Replay) deciders(ctx context.Context, p *recordv1.Policy, resources []string) (main, fallback backfill.Decider,
	err error,
) {
	if main, fallback, err = r.o.Deciders(ctx, p, resources); err != nil {
		return nil, nil, err
	}
	r.policy = p.GetName()
	if all := r.result.Policies; len(all) == 0 || all[len(all)-1] != r.policy {
		r.result.Policies = append(all, r.policy)
	}
	return main, fallback, nil
}

func (r *Replay) told(t *recordv1.Told) {
	r.known.told(t)
	now := backfill.Time(t.GetNow())
	if !r.started {
		r.result.From, r.started = now, true
	}
	r.result.To = now
	r.result.Cycles++
	if r.o.Each != nil {
		r.o.Each(now)
	}
}

func (r *Replay) change(ctx context.Context, p *recordv1.Policy) error {
	if r.host == nil {
		return errNoBegin
	}
	main, fallback, err := r.deciders(ctx, p, r.host.State.Resources())
	if err != nil {
		return err
	}
	r.result.Changes++
	return r.host.Change(nil, main, fallback)
}

var errNoBegin = errors.New("the record does not begin with a state: its first file is missing")

// round decides a round again.
func (r *Replay) round(ctx context.Context, e *recordv1.Round) error {
	if r.host == nil {
		return errNoBegin
	}
	message := new(policyv1.Settled)
	if err := message.UnmarshalVT(e.GetSettled()); err != nil {
		return fmt.Errorf("round %d: %w", r.result.Rounds+1, err)
	}
	round, journal := wire.DecodeRound(message.GetRound()), wire.DecodeJournal(message.GetJournal())
	if err := r.keys.Unpack(e, &round); err != nil {
		return fmt.Errorf("round %d: %w", r.result.Rounds+1, err)
	}
	for i := range round.Events {
		r.known.label(round.Events[i].Job)
	}
	count := r.result
	count.Rounds++
	count.Events += len(round.Events)
	count.Actions += len(journal)
	switch {
	case e.GetOwn():
		count.Own++
	case e.GetBy() != "":
		count.FellBack++
	}
	_, err := r.host.Redo(ctx, round, journal, e.GetOwn())
	different, differs := errors.AsType[*backfill.Different](err)
	if !differs {
		if err != nil {
			return fmt.Errorf("round %d: %w", count.Rounds, err)
		}
		return nil
	}
	count.Different++
	if count.First == nil {
		count.First = r.difference(different, &round)
	}
	if !r.o.GoOn {
		return errStop
	}
	if _, err = r.host.Follow(ctx, round, journal); err != nil {
		return fmt.Errorf("round %d, as it was decided: %w", count.Rounds, err)
	}
	return nil
}

// difference describes a round that is decided otherwise. The state is as it was before.
func (r *Replay) difference(different *backfill.Different, round *backfill.Round) *Difference {
	d := &Difference{
		Different: different, At: round.Now, Number: r.result.Rounds, Policy: r.policy, State: r.host.State.Snapshot(),
		Round: *round, Names: map[backfill.JobID]string{},
	}
	for _, j := range d.State.Jobs {
		d.Names[j.Job.ID] = r.known.name(j.Job.ID)
	}
	for _, e := range round.Events {
		if e.Job != nil {
			d.Names[e.Job.ID] = r.known.name(e.Job.ID)
		}
	}
	d.Round.Events = slices.Clone(round.Events)
	return d
}

// end compares the whole state with that of then.
func (r *Replay) end(e *recordv1.End) error {
	if r.host == nil {
		return errNoBegin
	}
	if !bytes.Equal(record.Digest(r.host.State, r.anonymous), e.GetState()) {
		return fmt.Errorf("the state at %d is another one than it was, though all decisions were the same: this is a bug of "+
			"this program, or the record was changed", e.GetNow())
	}
	r.result.States++
	return nil
}
