package record

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// told returns a delta as an entry. Ads and labels that are new are written before.
func (t *texts) told(d *negotiator.Delta) *recordv1.Told {
	told := &recordv1.Told{
		Now:        int64(d.Now),
		SlotsUp:    wire.Each(d.SlotsUp, t.slot),
		SlotsDown:  wire.Each(d.SlotsDown, wire.Text),
		Bundles:    wire.Each(d.Bundles, t.bundle),
		Limits:     wire.Each(d.Limits, limit),
		LimitsGone: wire.Each(d.LimitsGone, wire.Text),
		Submitted:  wire.Each(d.Submitted, t.job),
		Changed:    wire.Each(d.Changed, t.job),
		Completed:  ids(d.Completed), Removed: ids(d.Removed), StartFailed: ids(d.StartFailed),
		SlotEnded: ids(d.SlotEnded), Displaced: ids(d.Displaced), Unadmitted: ids(d.Unadmitted),
		Found: wire.Each(d.Found, t.running),
		Began: wire.Each(d.Began, func(b negotiator.Began) *recordv1.Instant {
			return &recordv1.Instant{Job: int64(b.Job), At: int64(b.At)}
		}),
		Ends: wire.Each(d.Ends, func(e negotiator.End) *recordv1.Instant {
			return &recordv1.Instant{Job: int64(e.Job), At: int64(e.At)}
		}),
	}
	for _, id := range slices.Sorted(maps.Keys(d.Ran)) {
		told.Ran = append(told.Ran, &recordv1.Length{Job: int64(id), Length: int64(d.Ran[id])})
	}
	return told
}

func (t *texts) slot(s *negotiator.Slot) *recordv1.Slot {
	return &recordv1.Slot{Name: wire.Text(s.Name), Capacity: s.Capacity, End: int64(s.End), Ad: t.adNumber(s.Ad)}
}

func (t *texts) bundle(b *negotiator.Bundle) *recordv1.Bundle {
	return &recordv1.Bundle{Name: wire.Text(b.Name), Slots: wire.Each(b.Slots, wire.Text), Ad: t.adNumber(b.Ad)}
}

func limit(l negotiator.Limit) *recordv1.Limit {
	return &recordv1.Limit{Name: wire.Text(l.Name), Height: l.Height}
}

func (t *texts) job(j *negotiator.Job) *recordv1.Job {
	return &recordv1.Job{
		Id: int64(j.ID), Name: wire.Text(j.Name), Submit: int64(j.Submit), Release: int64(j.Release),
		Queue: wire.Text(j.Position.Queue), Cluster: j.Position.Cluster, Proc: j.Position.Proc,
		Nodes: int64(j.Nodes), Estimate: int64(j.Estimate), Limit: int64(j.Limit), Enforced: j.Enforced,
		Lease: int64(j.Lease), Scavenger: j.Scavenger, User: wire.Text(j.User),
		Takes: wire.Each(j.Takes, func(take negotiator.Take) *recordv1.Take {
			return &recordv1.Take{Limit: wire.Text(take.Limit), Amount: take.Amount}
		}),
		Labels: t.labelsNumber(j.Labels), Ad: t.adNumber(j.Ad),
	}
}

func (t *texts) running(r negotiator.Running) *recordv1.Running {
	return &recordv1.Running{
		Job: t.job(r.Job), Places: wire.Each(r.Placement, place), Start: int64(r.Start), End: int64(r.End),
	}
}

func place(at negotiator.Chunks) *recordv1.Place {
	p := &recordv1.Place{Name: wire.Text(at.Name()), Chunks: int64(at.Count)}
	if at.Bundle != nil {
		p.Chunks = 0
	}
	return p
}

func ids(list []backfill.JobID) []int64 {
	return wire.Each(list, func(id backfill.JobID) int64 { return int64(id) })
}
