package wire

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// Messages come from another process. Decoding makes values of the right shape; the core checks
// whether they make sense.

// DecodeSpec decodes a policy's description. Its New is nil, and its options have no Check: what
// types cannot express is checked by the policy's own process.
func DecodeSpec(m *policyv1.DescribeResponse) backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: m.GetName(), Doc: m.GetDoc(), Promise: m.GetPromise(), Source: m.GetSource(),
		Guarantees: m.GetGuarantees(), IgnoresOrder: m.GetIgnoresOrder(), Order: m.GetOrder(),
		Estimates: m.GetEstimates(),
		PlanDepth: FeaturesOf(m)&PlanDepth != 0,
		Options:   Each(m.GetOptions(), decodeOption),
	}
}

// DecodeRound decodes a round.
func DecodeRound(m *policyv1.Round) backfill.Round {
	return backfill.Round{
		Now:        backfill.Time(m.GetNow()),
		Planning:   decodePlanning(m.GetPlanning()),
		Bundles:    Each(m.GetBundles(), decodeBundle),
		Rows:       Each(m.GetRows(), decodeRow),
		Candidates: Each(m.GetCandidates(), decodeCandidates),
		Keys: Each(m.GetKeys(), func(k *policyv1.JobKey) backfill.JobKey {
			return backfill.JobKey{Job: backfill.JobID(k.GetJob()), Key: k.GetKey()}
		}),
		Events: Each(m.GetEvents(), func(e *policyv1.Event) backfill.Event {
			return backfill.Event{
				Kind: backfill.EventKind(kind(int32(e.GetKind()))), JobID: backfill.JobID(e.GetJob()),
				Job: decodeJob(e.GetSpec()), Key: e.GetKey(), Slot: decodeSlot(e.GetSlot()),
				Placement: decodePlacement(e.GetPlacement()), Start: backfill.Time(e.GetStart()),
				End:    backfill.Time(e.GetEnd()),
				Policy: e.GetPolicy(), Guarantees: e.GetGuarantees(), By: backfill.JobID(e.GetBy()),
			}
		}),
	}
}

// DecodeJournal decodes a decision's journal.
func DecodeJournal(m []*policyv1.Action) []backfill.Action {
	return Each(m, func(a *policyv1.Action) backfill.Action {
		return backfill.Action{
			After: int(a.GetAfter()), Kind: backfill.ActionKind(kind(int32(a.GetKind()))),
			Job: backfill.JobID(a.GetJob()), At: backfill.Time(a.GetAt()),
			Placement: decodePlacement(a.GetPlacement()), Reason: a.GetReason(),
		}
	})
}

// DecodeSnapshot decodes a whole state.
func DecodeSnapshot(m *policyv1.Snapshot) (backfill.Snapshot, error) {
	rule := profile.Rule(kind(int32(m.GetRule())) - 1)
	if rule > profile.Spread {
		return backfill.Snapshot{}, fmt.Errorf("snapshot: unknown placement rule %v", m.GetRule())
	}
	var planning backfill.Planning
	if p := decodePlanning(m.GetPlanning()); p != nil {
		planning = *p
	}
	return backfill.Snapshot{
		Resources: m.GetResources(), Rule: rule, Planning: planning,
		Now: backfill.Time(m.GetNow()), Revision: m.GetRevision(), Policy: m.GetPolicy(), Guarantees: m.GetGuarantees(),
		Slots: Each(m.GetSlots(), func(s *policyv1.SlotState) backfill.SlotState {
			return backfill.SlotState{Slot: decodeSlot(s.GetSlot()), Up: s.GetUp()}
		}),
		Bundles:    Each(m.GetBundles(), decodeBundle),
		Rows:       Each(m.GetRows(), decodeRow),
		Candidates: Each(m.GetCandidates(), decodeCandidates),
		Jobs: Each(m.GetJobs(), func(j *policyv1.JobState) backfill.JobState {
			return backfill.JobState{
				Job: decodeJob(j.GetJob()), Key: j.GetKey(),
				Alone:     j.GetAlone(),
				Placement: decodePlacement(j.GetPlacement()),

				Standing: backfill.Standing{
					Running: j.GetRunning(), Held: j.GetHeld(), Start: backfill.Time(j.GetStart()), End: backfill.Time(j.GetEnd()),
					Promised: j.GetPromised(), Guarantee: backfill.Time(j.GetGuarantee()), Pinned: j.GetPinned(), Yields: j.GetYields(),
				},
			}
		}),
		Wakes:     Each(m.GetWakes(), func(t int64) backfill.Time { return backfill.Time(t) }),
		KeepFreed: backfill.Time(m.GetKeepFreed()),
		Freed: Each(m.GetFreed(), func(f *policyv1.Freed) backfill.Freed {
			return backfill.Freed{
				At: backfill.Time(f.GetAt()), Slot: backfill.SlotID(f.GetSlot()),
				Amount: f.GetAmount(),
			}
		}),
	}, nil
}

func decodePlanning(m *policyv1.Planning) *backfill.Planning {
	if m == nil {
		return nil
	}
	return &backfill.Planning{Depth: int(m.GetDepth()), Reorder: m.GetReorder(), Horizon: backfill.Time(m.GetHorizon())}
}

func decodeCandidates(m *policyv1.CandidateSet) backfill.CandidateSet {
	return backfill.CandidateSet{ID: int(m.GetId()), Candidates: backfill.Candidates{
		Slots:   Each(m.GetSlots(), id[backfill.SlotID]),
		Bundles: Each(m.GetBundles(), id[backfill.BundleID]),
		Rank:    m.GetRank(),
		Windows: decodeWindows(m.GetWindows(), m.GetOpens()),
		Least:   decodeLeast(m.GetLeast(), m.GetNeeds()),
	}}
}

// decodeLeast returns what must be free on candidates. Where a message points to nothing that it has, the
// vector is empty, which the core refuses.
func decodeLeast(m []*policyv1.Amounts, needs []int32) []backfill.Vector {
	return Each(needs, func(i int32) backfill.Vector {
		switch {
		case i == 0:
			return nil
		case i < 0 || int(i) > len(m) || m[i-1].GetAmounts() == nil:
			return backfill.Vector{}
		default:
			return m[i-1].GetAmounts()
		}
	})
}

// decodeWindows returns the windows of candidates. Where a message points to none that it has, the list
// is empty, which the core refuses.
func decodeWindows(m []*policyv1.Windows, opens []int32) [][]backfill.Window {
	lists := Each(m, func(m *policyv1.Windows) []backfill.Window {
		return Each(m.GetWindows(), func(w *policyv1.Window) backfill.Window {
			return backfill.Window{From: backfill.Time(w.GetFrom()), To: backfill.Time(w.GetTo())}
		})
	})
	return Each(opens, func(i int32) []backfill.Window {
		switch {
		case i == 0:
			return nil
		case i < 0 || int(i) > len(lists) || lists[i-1] == nil:
			return []backfill.Window{}
		default:
			return lists[i-1]
		}
	})
}

func decodeRow(m *policyv1.Row) backfill.Row {
	return backfill.Row{ID: backfill.RowID(m.GetId()), Name: m.GetName(), Height: m.GetHeight()}
}

func decodeTake(m *policyv1.Take) backfill.Take {
	return backfill.Take{Row: backfill.RowID(m.GetRow()), Amount: m.GetAmount()}
}

func decodeBundle(m *policyv1.Bundle) backfill.Bundle {
	return backfill.Bundle{
		ID: backfill.BundleID(m.GetId()), Name: m.GetName(),
		Slots: Each(m.GetSlots(), id[backfill.SlotID]),
	}
}

// id returns a number in a message as an ID; it is the inverse of function number.
func id[ID ~int32](number int32) ID { return ID(number) }

func decodeJob(m *policyv1.Job) *backfill.Job {
	if m == nil {
		return nil
	}
	return &backfill.Job{
		ID: backfill.JobID(m.GetId()), Submit: backfill.Time(m.GetSubmit()), Release: backfill.Time(m.GetRelease()),
		Position: backfill.QueuePosition{
			Queue: m.GetPlaceQueue(), Cluster: m.GetPlaceCluster(), Proc: m.GetPlaceProc(),
		},
		Nodes: int(m.GetNodes()), Request: m.GetRequest(),
		Estimate: backfill.Time(m.GetEstimate()), Running: backfill.Time(m.GetRunning()),
		Limit:       backfill.Time(m.GetLimit()),
		Unestimated: m.GetUnestimated(), Candidates: int(m.GetCandidates()), Whole: m.GetWhole(), Labels: m.GetLabels(),
		Takes: Each(m.GetTakes(), decodeTake), Correction: correction(m.GetCorrection()),
	}
}

// correction decodes a correction; one that is not known here is doubled, as all were once.
func correction(m policyv1.Correction) backfill.Correction {
	switch m {
	case policyv1.Correction_CORRECTION_AT_LIMIT:
		return backfill.AtLimit
	case policyv1.Correction_CORRECTION_IN_STEPS:
		return backfill.InSteps
	default:
		return backfill.Doubled
	}
}

func decodeSlot(m *policyv1.Slot) backfill.Slot {
	return backfill.Slot{
		ID: backfill.SlotID(m.GetId()), Name: m.GetName(), Capacity: m.GetCapacity(), End: backfill.Time(m.GetEnd()),
	}
}

// decodePlacement decodes a placement. Without counts, each slot has one chunk. If there are fewer
// counts than slots, the other slots have 0 chunks, which the host refuses.
func decodePlacement(m *policyv1.Placement) backfill.Placement {
	if m == nil {
		return nil
	}
	p, counts := make(backfill.Placement, len(m.GetSlots())), m.GetCounts()
	for i, id := range m.GetSlots() {
		p[i] = profile.Chunks{Slot: backfill.SlotID(id), Count: 1}
		switch {
		case i < len(counts):
			p[i].Count = int(counts[i])
		case len(counts) > 0:
			p[i].Count = 0
		}
	}
	return p
}

// kind narrows the value of an enumeration to a byte. A value that does not fit becomes 0, which is
// unspecified, and never another known value.
func kind(k int32) uint8 {
	if k < 0 || k > math.MaxUint8 {
		return 0
	}
	return uint8(k)
}
