package wire

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// EncodeSpec encodes the description of a policy.
func EncodeSpec(s backfill.PolicySpec) *policyv1.DescribeResponse {
	return &policyv1.DescribeResponse{
		Name: s.Name, Doc: s.Doc, Promise: s.Promise, Source: s.Source, Guarantees: s.Guarantees,
		IgnoresOrder: s.IgnoresOrder, Order: s.Order, Estimates: s.Estimates,
		Options: Each(s.Options, encodeOption), Features: encodeFeatures(FeaturesFor(s)),
	}
}

// EncodeRound encodes a round.
func EncodeRound(r backfill.Round) *policyv1.Round {
	return &policyv1.Round{
		Now:        int64(r.Now),
		Planning:   encodePlanning(r.Planning),
		Bundles:    Each(r.Bundles, encodeBundle),
		Rows:       Each(r.Rows, encodeRow),
		Candidates: Each(r.Candidates, encodeCandidates),
		Keys: Each(r.Keys, func(k backfill.JobKey) *policyv1.JobKey {
			return &policyv1.JobKey{Job: int64(k.Job), Key: k.Key}
		}),
		Events: Each(r.Events, func(e backfill.Event) *policyv1.Event {
			m := &policyv1.Event{
				Kind: policyv1.EventKind(e.Kind), Job: int64(e.JobID), Spec: encodeJob(e.Job), Key: e.Key,
				Placement: encodePlacement(e.Placement), Start: int64(e.Start), End: int64(e.End),
				Policy: Text(e.Policy), Guarantees: e.Guarantees, By: int64(e.By),
			}
			switch e.Kind {
			case backfill.SlotAdded, backfill.SlotLost, backfill.SlotChanged:
				m.Slot = encodeSlot(e.Slot)
			default:
			}
			return m
		}),
	}
}

// EncodeJournal encodes a decision's journal.
func EncodeJournal(journal []backfill.Action) []*policyv1.Action {
	return Each(journal, func(a backfill.Action) *policyv1.Action {
		return &policyv1.Action{
			After: int32(a.After), Kind: policyv1.ActionKind(a.Kind), Job: int64(a.Job), At: int64(a.At),
			Placement: encodePlacement(a.Placement), Reason: Text(a.Reason),
		}
	})
}

// EncodeSnapshot encodes a whole state.
func EncodeSnapshot(s backfill.Snapshot) *policyv1.Snapshot {
	var planning *backfill.Planning
	if s.Planning != (backfill.Planning{}) {
		planning = &s.Planning
	}
	return &policyv1.Snapshot{
		Planning:  encodePlanning(planning),
		Resources: Each(s.Resources, Text), Rule: policyv1.PlacementRule(s.Rule) + 1,
		Now: int64(s.Now), Revision: s.Revision, Policy: Text(s.Policy), Guarantees: s.Guarantees,
		Slots: Each(s.Slots, func(slot backfill.SlotState) *policyv1.SlotState {
			return &policyv1.SlotState{Slot: encodeSlot(slot.Slot), Up: slot.Up}
		}),
		Bundles:    Each(s.Bundles, encodeBundle),
		Rows:       Each(s.Rows, encodeRow),
		Candidates: Each(s.Candidates, encodeCandidates),
		Jobs: Each(s.Jobs, func(j backfill.JobState) *policyv1.JobState {
			return &policyv1.JobState{
				Job: encodeJob(j.Job), Running: j.Running, Held: Text(j.Held), Key: j.Key, Alone: j.Alone,
				Placement: encodePlacement(j.Placement), Start: int64(j.Start), End: int64(j.End),
				Promised: j.Promised, Guarantee: int64(j.Guarantee), Pinned: j.Pinned, Yields: j.Yields,
			}
		}),
		Wakes:     Each(s.Wakes, func(t backfill.Time) int64 { return int64(t) }),
		KeepFreed: int64(s.KeepFreed),
		Freed: Each(s.Freed, func(f backfill.Freed) *policyv1.Freed {
			return &policyv1.Freed{At: int64(f.At), Slot: int32(f.Slot), Amount: f.Amount}
		}),
	}
}

func encodePlanning(p *backfill.Planning) *policyv1.Planning {
	if p == nil {
		return nil
	}
	return &policyv1.Planning{Depth: int64(p.Depth), Reorder: p.Reorder, Horizon: int64(p.Horizon)}
}

func encodeCandidates(c backfill.CandidateSet) *policyv1.CandidateSet {
	windows, opens := encodeWindows(c.Candidates.Windows)
	least, needs := encodeLeast(c.Candidates.Least)
	return &policyv1.CandidateSet{
		Id:      int32(c.ID),
		Slots:   Each(c.Candidates.Slots, number[backfill.SlotID]),
		Bundles: Each(c.Candidates.Bundles, number[backfill.BundleID]),
		Rank:    c.Candidates.Rank,
		Windows: windows, Opens: opens, Least: least, Needs: needs,
	}
}

// encodeWindows returns the windows of candidates, those once that share their memory, and which of
// them each candidate has.
func encodeWindows(all [][]backfill.Window) (windows []*policyv1.Windows, opens []int32) {
	if len(all) == 0 {
		return nil, nil
	}
	known := map[*backfill.Window]int32{}
	opens = make([]int32, len(all))
	for n, own := range all {
		if len(own) == 0 {
			continue
		}
		i, listed := known[&own[0]]
		if !listed || len(windows[i-1].GetWindows()) != len(own) {
			windows = append(windows, &policyv1.Windows{
				Windows: Each(own, func(w backfill.Window) *policyv1.Window {
					return &policyv1.Window{From: int64(w.From), To: int64(w.To)}
				}),
			})
			i = int32(len(windows))
			known[&own[0]] = i
		}
		opens[n] = i
	}
	return windows, opens
}

func encodeRow(r backfill.Row) *policyv1.Row {
	return &policyv1.Row{Id: int32(r.ID), Name: Text(r.Name), Height: r.Height}
}

func encodeTake(t backfill.Take) *policyv1.Take {
	return &policyv1.Take{Row: int32(t.Row), Amount: t.Amount}
}

// encodeLeast returns what must be free on candidates, that once that shares its memory, and which of it
// each candidate has.
func encodeLeast(all []backfill.Vector) (least []*policyv1.Amounts, needs []int32) {
	if len(all) == 0 {
		return nil, nil
	}
	known := map[*int64]int32{}
	needs = make([]int32, len(all))
	for n, own := range all {
		if len(own) == 0 {
			continue
		}
		i, listed := known[&own[0]]
		if !listed || len(least[i-1].GetAmounts()) != len(own) {
			least = append(least, &policyv1.Amounts{Amounts: own})
			i = int32(len(least))
			known[&own[0]] = i
		}
		needs[n] = i
	}
	return least, needs
}

func encodeBundle(b backfill.Bundle) *policyv1.Bundle {
	return &policyv1.Bundle{Id: int32(b.ID), Name: Text(b.Name), Slots: Each(b.Slots, number[backfill.SlotID])}
}

// number returns an ID as messages contain it.
func number[ID ~int32](id ID) int32 { return int32(id) }

func encodeJob(j *backfill.Job) *policyv1.Job {
	if j == nil {
		return nil
	}
	return &policyv1.Job{
		Id: int64(j.ID), Submit: int64(j.Submit), Release: int64(j.Release),
		PlaceQueue: Text(j.Position.Queue), PlaceCluster: j.Position.Cluster, PlaceProc: j.Position.Proc,
		Nodes: int64(j.Nodes), Request: j.Request, Estimate: int64(j.Estimate), Running: int64(j.Running),
		Limit:       int64(j.Limit),
		Unestimated: j.Unestimated, Candidates: int32(j.Candidates), Whole: j.Whole, Labels: texts(j.Labels),
		Takes: Each(j.Takes, encodeTake), Correction: policyv1.Correction(j.Correction),
	}
}

func encodeSlot(s backfill.Slot) *policyv1.Slot {
	return &policyv1.Slot{Id: int32(s.ID), Name: Text(s.Name), Capacity: s.Capacity, End: int64(s.End)}
}

func encodePlacement(p backfill.Placement) *policyv1.Placement {
	if p == nil {
		return nil
	}
	m := &policyv1.Placement{Slots: make([]int32, len(p))}
	for i, chunks := range p {
		m.Slots[i] = int32(chunks.Slot)
		if chunks.Count != 1 && m.Counts == nil {
			m.Counts = make([]int64, len(p))
		}
	}
	for i := range m.Counts {
		m.Counts[i] = int64(p[i].Count)
	}
	return m
}

// Text returns s as valid UTF-8, which messages require. Other bytes become replacement characters.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// texts returns the map with its keys and values as valid UTF-8; the same map if they are that
// already.
func texts(m map[string]string) map[string]string {
	for k, v := range m {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			valid := make(map[string]string, len(m))
			for _, key := range slices.Sorted(maps.Keys(m)) { // of keys that become equal, always the same one counts
				valid[Text(key)] = Text(m[key])
			}
			return valid
		}
	}
	return m
}

// Each returns the list of what the callback makes of each element; nil for an empty list.
func Each[A, B any](list []A, translate func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = translate(a)
	}
	return out
}
