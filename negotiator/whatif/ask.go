package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Schedule is a schedule that can be asked about.
type Schedule struct {
	// Look calls the callback with the negotiator, between two of its cycles, and returns its error.
	// If the context ends before it is called, the error is why.
	Look func(context.Context, func(*negotiator.Negotiator) error) error
	// Twins decide for the policy in charge.
	Twins *outlook.Twins
	// Order is the name of the order in charge.
	Order string
	// Complete adds to a job's ad what the pool reads from it; may be nil.
	Complete func(*classad.ClassAd)
	// Charge sets what a job takes of limits, by its ad, and returns those of them of which the negotiator
	// does not know; may be nil: it takes of none. The error says why the job cannot start.
	Charge func(*negotiator.Job) ([]negotiator.Limit, error)
	// Rounds is how many rounds a question may take in all its plays; 0: [DefaultRounds].
	Rounds int
	// Jobs is of how many waiting jobs may be asked at most; 0: of any number. The plan of a long
	// queue takes long.
	Jobs int
	// Memory is how many bytes of candidate sets a question may make, beside what it shares with the
	// schedule; 0: any number.
	Memory int64
	// Plan is how many bytes a plan may take beside that, about: the places of jobs, and what a round
	// does with them; 0: any number. A question whose plan takes more has no answer.
	Plan int64
}

// DefaultRounds is how many rounds a question may take by default: some seconds with thousands of
// jobs.
const DefaultRounds = 200_000

// asking is a question on its way to an answer.
type asking struct {
	*Schedule
	q      Question
	left   int // rounds
	answer *Answer
	// cut is why a play ended early; "": none did.
	cut string
}

// Answer answers a question. A [*BadQuestion] has no answer. If the context ends, it is answered as
// far as it goes.
func (s *Schedule) Answer(ctx context.Context, q Question) (*Answer, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	a := &asking{Schedule: s, q: q, left: cmp.Or(s.Rounds, DefaultRounds), answer: &Answer{}}
	var err error
	if q.Job != nil {
		err = a.aboutJob(ctx)
	} else {
		err = a.aboutChange(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a.answer, nil
}

// look looks at the schedule between two of its cycles, unless the queue is too long to be copied.
// A cycle waits meanwhile: the callback only takes what it finds.
func (a *asking) look(ctx context.Context, take func(*negotiator.Negotiator) error) error {
	return a.Look(ctx, func(n *negotiator.Negotiator) error {
		if waiting := n.State().Waiting(); a.Jobs > 0 && waiting > a.Jobs {
			return badly("%d jobs wait: nothing can be asked about a queue of more than %d", waiting, a.Jobs)
		}
		return take(n)
	})
}

// memory returns how many bytes of candidate sets the question may make.
func (a *asking) memory() int64 { return cmp.Or(a.Memory, math.MaxInt64) }

// tookTooLong is why a question has no answer whose time was over before a plan was made.
func tookTooLong(ctx context.Context) error {
	return fmt.Errorf("the time of the question was over before it was known which jobs may use which slots: %w",
		context.Cause(ctx))
}

// plan is a play to be made.
type plan struct {
	rules ahead.Rules
	start ahead.Start
}

// play plays a plan until the callback has seen enough. If it ends early, a.cut says why.
func (a *asking) play(ctx context.Context, p plan, enough func(*backfill.Decision) bool) error {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	p.rules.Memory = a.Plan
	var refused error
	p.rules.Refused = func(r backfill.Refusal) {
		refused = r.Err
		refuse(r.Err)
	}
	play, err := p.rules.Play(p.start)
	if err != nil {
		return err
	}
	if a.left <= 0 {
		a.cut = "it would take too many rounds"
		return nil
	}
	over, rounds := false, 0
	err = play.Until(ctx, ahead.Bounds{Rounds: a.left}, func(d *backfill.Decision) bool {
		rounds++
		over = enough(d)
		return over
	})
	a.left -= rounds
	switch {
	case errors.Is(err, backfill.ErrTooLarge):
		return badly("too large to ask: %w; ask when fewer jobs wait", err)
	case refused != nil:
		a.cut = fmt.Sprintf("policy %s was refused a decision: %v", p.rules.Policy.Spec().Name, refused)
	case ctx.Err() != nil:
		a.cut = "it would take too long"
	case err != nil:
		return err
	case !over && a.left <= 0:
		a.cut = "it would take too many rounds"
	}
	return nil
}

// present puts into words what is in charge.
func (a *asking) present(o *outlook.Outlook) string {
	policy, _ := o.State().Policy()
	return inWords(policy, cmp.Or(a.Order, "fcfs"))
}

func inWords(policy, order string) string { return fmt.Sprintf("%s, order %s", policy, order) }

func seconds(t backfill.Time) *int64 { return new(int64(t)) }
