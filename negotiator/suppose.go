package negotiator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Newcomer is a job that is not in the pool, as the plan would take it; see [Negotiator.Suppose].
type Newcomer struct {
	Expected
	Candidates backfill.Candidates
	// WhyNone is why it has no candidates; "" if it has some.
	WhyNone string
}

// supposed is the ID of a job that is only supposed; no pool gets that far.
const supposed backfill.JobID = 1 << 62

// Suppose returns a job that is not in the pool as it would be if it arrived now, with an ID,
// candidates and predicted run times. Nothing is changed. It must be called between two cycles. The
// error says why nobody could plan with the job.
func (n *Negotiator) Suppose(ctx context.Context, job *Job) (c Newcomer, err error) {
	job = new(*job)
	job.ID, job.Submit = supposed, n.State().Now()
	job.Position = backfill.QueuePosition{Queue: "\U0010FFFF"} // behind all that came in this second
	if err = n.checkPlannable(job, nil); err != nil {
		return c, err
	}
	suited, err := n.matchmaker.Suit(ctx, job.Ad)
	if err != nil {
		return c, err
	}
	n.predictions.predict(job)
	defer n.predictions.forget(job.ID)
	cluster := matchmaker.Autocluster{ID: len(n.State().CandidateSets()), Request: suited.Request}
	expected := n.predictions.expected(job, n.inCoreTerms(job, cluster))
	return Newcomer{expected, suited.Candidates, suited.WhyNone}, nil
}

// Further is more slots, as they would come into the pool; see [Negotiator.Enlarge].
type Further struct {
	Events []backfill.Event
	Sets   []backfill.CandidateSet // that change
	// Untried counts the kinds of jobs that get none of the slots, as it would take too long to match
	// them.
	Untried int
}

// Enlarge returns what comes with count more slots that are like one of the pool's, except for the
// given amounts of resources. Nothing is changed. It must be called between two cycles.
func (n *Negotiator) Enlarge(like string, amounts map[string]int64, count int) (f Further, err error) {
	id, known := n.inventory.ids[like]
	switch {
	case len(n.inventory.bundles) > 0:
		return f, errors.New("the pool is partitioned: it cannot get further slots")
	case !known:
		return f, fmt.Errorf("there is no slot %s", like)
	}
	model := n.inventory.slots[id]
	ad, capacity := model.Ad.Clone(), slices.Clone(model.Capacity)
	for resource, amount := range amounts {
		i := slices.Index(n.schema.Resources, resource)
		if i < 0 {
			return f, fmt.Errorf("there is no resource %s: there are %v", resource, n.schema.Resources)
		}
		if amount < 0 || amount > backfill.MaxAmount {
			return f, fmt.Errorf("%d %s: must be from 0 to %d", amount, resource, int64(backfill.MaxAmount))
		}
		capacity[i] = amount
		for _, attribute := range []string{Attribute(resource), "TotalSlot" + Attribute(resource), "Total" + Attribute(resource)} {
			if _, has := ad.Lookup(attribute); has {
				ad.SetInt(attribute, amount)
			}
		}
	}
	var ids []backfill.SlotID
	for i := range count {
		slot := backfill.Slot{
			ID: backfill.SlotID(len(n.inventory.slots) + i), Name: fmt.Sprintf("new%d", i+1), Capacity: capacity,
		}
		ids = append(ids, slot.ID)
		f.Events = append(f.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
	}
	f.Sets, f.Untried = n.matchmaker.Enlarge(ad, ids)
	return f, nil
}

// ReadSupposed reads a job that is only supposed from its ad, which need not say which job it is.
func (n *Negotiator) ReadSupposed(name string, ad *classad.ClassAd) (*Job, error) {
	j := &Job{Name: name, Ad: ad.Clone(), Nodes: 1}
	j.Ad.SetInt("QDate", int64(max(0, n.State().Now())))
	if err := n.schema.readJob(j); err != nil {
		return nil, err
	}
	return j, nil
}
