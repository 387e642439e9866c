package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// message can be encoded and decoded in two ways: with reflection, and by generated code.
type message interface {
	proto.Message
	MarshalVT() ([]byte, error)
	UnmarshalVT(data []byte) error
}

// transfer encodes and decodes a message, and requires both ways to agree.
func transfer[M message](t require.TestingT, m, into M) M {
	quick, err := m.MarshalVT()
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(quick, into))
	require.True(t, proto.Equal(m, into))
	slow, err := proto.Marshal(m)
	require.NoError(t, err)
	require.Len(t, quick, len(slow))
	proto.Reset(into)
	require.NoError(t, into.UnmarshalVT(slow))
	require.True(t, proto.Equal(m, into))
	return into
}

// FuzzMessages decodes any bytes as a message of a session. Where both ways accept them, they
// decode the same message unless it has maps; they always agree on what reflection encodes again.
// They refuse different things: reflection refuses text that is not UTF-8, generated code a field
// of another type.
func FuzzMessages(f *testing.F) {
	for _, m := range []message{
		failure("no"),
		&policyv1.HostMessage{Message: &policyv1.HostMessage_Decide{Decide: &policyv1.Decide{
			Branch: 3, BaseRevision: 7, Round: wire.EncodeRound(backfill.Round{
				Now: -1,
				Events: []backfill.Event{{Kind: backfill.Submitted, Job: &backfill.Job{
					ID: 1, Request: backfill.Vector{1, 2}, Labels: map[string]string{"owner": "a", "group": ""},
				}}},
			}),
		}}},
	} {
		data, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		known := proto.UnmarshalOptions{DiscardUnknown: true}
		for _, kind := range []message{&policyv1.HostMessage{}, &policyv1.PolicyMessage{}} {
			anew := func() message { return kind.ProtoReflect().New().Interface().(message) }
			slow, quick := anew(), anew()
			if quick.UnmarshalVT(data) != nil || known.Unmarshal(data, slow) != nil {
				continue
			}
			if !hasMap(t, slow) {
				again, err := proto.Marshal(quick)
				require.NoError(t, err)
				read := anew() // without unknown fields
				require.NoError(t, known.Unmarshal(again, read))
				require.True(t, proto.Equal(slow, read))
			}
			written, err := proto.Marshal(slow)
			require.NoError(t, err)
			exact := anew()
			require.NoError(t, exact.UnmarshalVT(written))
			require.True(t, proto.Equal(slow, exact))
		}
	})
}

// hasMap reports whether a message has entries of maps. From an entry with a key that is not text,
// which no encoder writes, generated code makes another entry than reflection.
func hasMap(t *testing.T, m proto.Message) (has bool) {
	t.Helper()
	require.NoError(t, protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
		_, inMap := at.Index(-1).Value.Interface().(protoreflect.Map)
		has = has || inMap
		return nil
	}))
	return has
}

func TestARoundSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := round().Draw(t, "round")
		require.Equal(t, r, wire.DecodeRound(transfer(t, wire.EncodeRound(r), &policyv1.Round{})))
	})
}

func TestAJournalSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		journal := list(action()).Draw(t, "journal")
		m := &policyv1.Decision{Journal: wire.EncodeJournal(journal)}
		require.Equal(t, journal, wire.DecodeJournal(transfer(t, m, &policyv1.Decision{}).GetJournal()))
	})
}

func TestASnapshotSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot().Draw(t, "snapshot")
		got, err := wire.DecodeSnapshot(transfer(t, wire.EncodeSnapshot(s), &policyv1.Snapshot{}))
		require.NoError(t, err)
		require.Equal(t, s, got)
	})
}

func TestADescriptionSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := backfill.PolicySpec{
			Name: rapid.String().Draw(t, "name"), Doc: rapid.String().Draw(t, "doc"),
			Promise: rapid.String().Draw(t, "promise"), Source: rapid.String().Draw(t, "source"),
			Guarantees: rapid.Bool().Draw(t, "guarantees"), IgnoresOrder: rapid.Bool().Draw(t, "ignores order"),
			PlanDepth: rapid.Bool().Draw(t, "plan depth"), Order: rapid.String().Draw(t, "order"),
			Estimates: rapid.String().Draw(t, "estimates"),
			Options:   list(option()).Draw(t, "options"),
		}
		require.Equal(t, s, wire.DecodeSpec(transfer(t, wire.EncodeSpec(s), &policyv1.DescribeResponse{})))
	})
}

// Only the plugin knows the valid values of an option of an unknown type.
func TestAnOptionOfAnUnknownTypeIsAText(t *testing.T) {
	t.Parallel()
	low := 1.0
	for _, kind := range []policyv1.OptionType{-1, policyv1.OptionType_OPTION_TYPE_UNSPECIFIED, 9, 1 << 30} {
		got := wire.DecodeSpec(&policyv1.DescribeResponse{Options: []*policyv1.Option{
			{Name: "o", DefaultValue: "d", Doc: "?", Type: kind, Low: &low, Choices: []string{"a"}},
		}})
		require.Equal(t, []backfill.Option{{Name: "o", Default: "d", Doc: "?"}}, got.Options)
	}
}

// Enumerations are translated by number.
func TestEnumerationsAgree(t *testing.T) {
	t.Parallel()
	for option, name := range policyv1.OptionType_name {
		if option > 0 {
			want := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "OPTION_TYPE_")), "_", " ")
			require.Equal(t, want, backfill.OptionType(option-1).String())
		}
	}
	require.EqualValues(t, backfill.PolicyChanged, policyv1.EventKind_EVENT_KIND_POLICY_CHANGED)
	require.EqualValues(t, backfill.SlotAdded, policyv1.EventKind_EVENT_KIND_SLOT_ADDED)
	require.EqualValues(t, backfill.Completed, policyv1.EventKind_EVENT_KIND_COMPLETED)
	require.EqualValues(t, backfill.SlotLost, policyv1.EventKind_EVENT_KIND_SLOT_LOST)
	require.EqualValues(t, backfill.SlotChanged, policyv1.EventKind_EVENT_KIND_SLOT_CHANGED)
	require.EqualValues(t, backfill.StartFailed, policyv1.EventKind_EVENT_KIND_START_FAILED)
	require.EqualValues(t, backfill.EstimateChanged, policyv1.EventKind_EVENT_KIND_ESTIMATE_CHANGED)
	require.EqualValues(t, backfill.Removed, policyv1.EventKind_EVENT_KIND_REMOVED)
	require.EqualValues(t, backfill.Changed, policyv1.EventKind_EVENT_KIND_CHANGED)
	require.EqualValues(t, backfill.Submitted, policyv1.EventKind_EVENT_KIND_SUBMITTED)
	require.EqualValues(t, backfill.Wake, policyv1.EventKind_EVENT_KIND_WAKE)
	require.EqualValues(t, backfill.ActStart, policyv1.ActionKind_ACTION_KIND_START)
	require.EqualValues(t, backfill.ActReserve, policyv1.ActionKind_ACTION_KIND_RESERVE)
	require.EqualValues(t, backfill.ActRelease, policyv1.ActionKind_ACTION_KIND_RELEASE)
	require.EqualValues(t, backfill.ActGuarantee, policyv1.ActionKind_ACTION_KIND_GUARANTEE)
	require.EqualValues(t, backfill.ActHold, policyv1.ActionKind_ACTION_KIND_HOLD)
	require.EqualValues(t, backfill.ActWake, policyv1.ActionKind_ACTION_KIND_WAKE)
	require.EqualValues(t, backfill.ActKeepFreed, policyv1.ActionKind_ACTION_KIND_KEEP_FREED)
	require.EqualValues(t, profile.ByRank+1, policyv1.PlacementRule_PLACEMENT_RULE_RANK)
	require.EqualValues(t, profile.Pack+1, policyv1.PlacementRule_PLACEMENT_RULE_PACK)
	require.EqualValues(t, profile.Spread+1, policyv1.PlacementRule_PLACEMENT_RULE_SPREAD)
}

func TestNonsenseDoesNotBecomeSense(t *testing.T) {
	t.Parallel()
	journal := wire.DecodeJournal([]*policyv1.Action{
		{Kind: 256 + policyv1.ActionKind_ACTION_KIND_START},
		{Kind: -1},
		nil,
		{Placement: &policyv1.Placement{Slots: []int32{4, 5}, Counts: []int64{2}}},
	})
	require.Equal(t, []backfill.Action{{}, {}, {}, {Placement: backfill.Placement{{Slot: 4, Count: 2}, {Slot: 5}}}},
		journal)
	require.Equal(t, backfill.Round{}, wire.DecodeRound(nil))
	for _, rule := range []policyv1.PlacementRule{-1, 0, 4, 257} {
		_, err := wire.DecodeSnapshot(&policyv1.Snapshot{Rule: rule})
		require.ErrorContains(t, err, "unknown placement rule")
	}
}

func TestTextInOtherEncodingsIsCarried(t *testing.T) {
	t.Parallel()
	j := &backfill.Job{
		Position: backfill.QueuePosition{Queue: "sch\xe4fer"},
		Labels:   map[string]string{"owner": "m\xfcller", "group": "a"},
	}
	r := backfill.Round{Events: []backfill.Event{{Kind: backfill.Submitted, Job: j}}}
	got := wire.DecodeRound(transfer(t, wire.EncodeRound(r), &policyv1.Round{})).Events[0].Job
	require.Equal(t, "sch\uFFFDfer", got.Position.Queue)
	require.Equal(t, map[string]string{"owner": "m\uFFFDller", "group": "a"}, got.Labels)
	require.Equal(t, "m\xfcller", j.Labels["owner"], "the job itself never changes")
}

// Labels that become equal as UTF-8 are always sent in the same way.
func TestLabelsThatBecomeOneAreDeterminate(t *testing.T) {
	labels := map[string]string{"a\xff": "1", "a\xfe": "2", "a\uFFFD": "3", "b": "4"}
	for range 50 {
		m := wire.EncodeRound(backfill.Round{Events: []backfill.Event{{
			Kind: backfill.Submitted,
			Job:  &backfill.Job{Labels: labels},
		}}})
		require.Equal(t, map[string]string{"a\uFFFD": "1", "b": "4"}, m.GetEvents()[0].GetSpec().GetLabels())
	}
}

// Fields that a newer host adds are ignored, at every depth and of every wire type; a known field
// of another type is an error.
func TestUnknownFieldsArePassedOver(t *testing.T) {
	more := protowire.AppendVarint(protowire.AppendTag(nil, 900, protowire.VarintType), 7)
	more = protowire.AppendFixed64(protowire.AppendTag(more, 901, protowire.Fixed64Type), 7)
	more = protowire.AppendFixed32(protowire.AppendTag(more, 902, protowire.Fixed32Type), 7)
	more = protowire.AppendString(protowire.AppendTag(more, 903, protowire.BytesType), "new")
	job := &backfill.Job{ID: 1, Request: backfill.Vector{1}, Labels: map[string]string{"owner": "a"}}
	events := []backfill.Event{{Kind: backfill.Submitted, Job: job}}
	round := wire.EncodeRound(backfill.Round{Now: 3, Events: events})
	m := &policyv1.HostMessage{Message: &policyv1.HostMessage_Decide{Decide: &policyv1.Decide{Round: round}}}
	want := wire.DecodeRound(round)
	for _, part := range []proto.Message{
		m, m.GetDecide(), round, round.GetEvents()[0],
		round.GetEvents()[0].GetSpec(),
	} {
		part.ProtoReflect().SetUnknown(more)
	}
	data, err := m.MarshalVT()
	require.NoError(t, err)
	require.Greater(t, len(data), 5*len(more))
	var got policyv1.HostMessage
	require.NoError(t, got.UnmarshalVT(data))
	require.Equal(t, want, wire.DecodeRound(got.GetDecide().GetRound()))

	now := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "noon")
	require.ErrorContains(t, new(policyv1.Round).UnmarshalVT(now), "wrong wireType")
}

func instant() *rapid.Generator[backfill.Time] {
	return rapid.Map(rapid.Int64(), func(t int64) backfill.Time { return backfill.Time(t) })
}

// key generates numbers, but no negative zero, because the sign of zero need not cross the
// boundary.
func key() *rapid.Generator[float64] {
	return rapid.Map(rapid.Float64(), func(k float64) float64 { return k + 0 })
}

// list generates lists as decoding makes them: empty ones are nil.
func list[A any](one *rapid.Generator[A]) *rapid.Generator[[]A] {
	return rapid.Map(rapid.SliceOfN(one, 0, 4), func(l []A) []A {
		if len(l) == 0 {
			return nil
		}
		return l
	})
}

func vector() *rapid.Generator[backfill.Vector] {
	return rapid.Map(list(rapid.Int64()), func(v []int64) backfill.Vector { return v })
}

func slotID() *rapid.Generator[backfill.SlotID] {
	return rapid.Map(rapid.Int32(), func(id int32) backfill.SlotID { return backfill.SlotID(id) })
}

func placement() *rapid.Generator[backfill.Placement] {
	chunks := rapid.Custom(func(t *rapid.T) profile.Chunks {
		return profile.Chunks{
			Slot:  slotID().Draw(t, "slot"),
			Count: rapid.OneOf(rapid.Just(1), rapid.Int()).Draw(t, "count"),
		}
	})
	return rapid.Map(list(chunks), func(p []profile.Chunks) backfill.Placement { return p })
}

func option() *rapid.Generator[backfill.Option] {
	ranges := rapid.OneOf(
		rapid.Just(backfill.Range{}), rapid.Map(rapid.Float64Range(-1e9, 1e9), backfill.AtLeast),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), backfill.AtMost),
		rapid.Custom(func(t *rapid.T) backfill.Range {
			return backfill.Range{
				Low:  rapid.Float64Range(-1e9, 1e9).Draw(t, "low"),
				High: rapid.Float64Range(-1e9, 1e9).Draw(t, "high"),
			}
		}),
	)
	return rapid.Custom(func(t *rapid.T) backfill.Option {
		o := backfill.Option{
			Name: rapid.String().Draw(t, "name"), Default: rapid.String().Draw(t, "default"),
			Doc:  rapid.String().Draw(t, "doc"),
			Type: backfill.OptionType(rapid.IntRange(0, int(backfill.Resources)).Draw(t, "type")),
		}
		if o.Type != backfill.Text {
			o.Range, o.Choices = ranges.Draw(t, "range"), list(rapid.String()).Draw(t, "choices")
		}
		return o
	})
}

func job() *rapid.Generator[*backfill.Job] {
	return rapid.Custom(func(t *rapid.T) *backfill.Job {
		labels := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "labels")
		if len(labels) == 0 {
			labels = nil
		}
		return &backfill.Job{
			ID: backfill.JobID(rapid.Int64().Draw(t, "id")), Submit: instant().Draw(t, "submit"),
			Position: backfill.QueuePosition{
				Queue:   rapid.String().Draw(t, "queue"),
				Cluster: rapid.Int64().Draw(t, "cluster"),
				Proc:    rapid.Int64().Draw(t, "proc"),
			},
			Nodes: rapid.Int().Draw(t, "nodes"), Request: vector().Draw(t, "request"),
			Release:  instant().Draw(t, "release"),
			Estimate: instant().Draw(t, "estimate"), Running: instant().Draw(t, "running"),
			Correction:  backfill.Correction(rapid.IntRange(0, 2).Draw(t, "correction")), //nolint:gosec // 0 to 2
			Limit:       instant().Draw(t, "limit"),
			Unestimated: rapid.Bool().Draw(t, "unestimated"), Whole: rapid.Bool().Draw(t, "whole"),
			Candidates: rapid.IntRange(0, math.MaxInt32).Draw(t, "candidates"), Labels: labels,
			Takes: list(rapid.Custom(func(t *rapid.T) backfill.Take {
				return backfill.Take{Row: backfill.RowID(rapid.Int32().Draw(t, "row")), Amount: rapid.Int64().Draw(t, "amount")}
			})).Draw(t, "takes"),
		}
	})
}

func slot() *rapid.Generator[backfill.Slot] {
	return rapid.Custom(func(t *rapid.T) backfill.Slot {
		return backfill.Slot{
			ID: slotID().Draw(t, "id"), Name: rapid.String().Draw(t, "name"),
			Capacity: vector().Draw(t, "capacity"),
			End:      backfill.Time(rapid.Int64Range(0, 1<<40).Draw(t, "end")),
		}
	})
}

func candidates() *rapid.Generator[backfill.CandidateSet] {
	return rapid.Custom(func(t *rapid.T) backfill.CandidateSet {
		return backfill.CandidateSet{
			ID: rapid.IntRange(0, math.MaxInt32).Draw(t, "id"),
			Candidates: backfill.Candidates{
				Slots: list(slotID()).Draw(t, "slots"), Bundles: list(bundleID()).Draw(t, "bundles"),
				Rank: list(rapid.Int32()).Draw(t, "rank"), Windows: windows(t),
				Least: leasts(t),
			},
		}
	})
}

// windows draws the windows of candidates, some of which share theirs.
func windows(t *rapid.T) [][]backfill.Window {
	one := rapid.Custom(func(t *rapid.T) backfill.Window {
		return backfill.Window{From: instant().Draw(t, "from"), To: instant().Draw(t, "to")}
	})
	all := list(list(one)).Draw(t, "windows")
	for i := range all {
		if i > 0 && rapid.Bool().Draw(t, "shared") {
			all[i] = all[i-1]
		}
	}
	return all
}

// leasts draws what must be free on candidates, of which some need nothing, and some share theirs.
func leasts(t *rapid.T) []backfill.Vector {
	all := list(vector()).Draw(t, "least")
	for i := range all {
		if i > 0 && rapid.Bool().Draw(t, "shared") {
			all[i] = all[i-1]
		}
	}
	return all
}

// TestLeastsThatAreNotThere checks that a candidate is none with nothing that must be free if a message
// lacks what must: the core refuses it.
func TestLeastsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, needs := range []int32{-1, 2, 3, math.MaxInt32, math.MinInt32} {
		set := wire.DecodeRound(&policyv1.Round{Candidates: []*policyv1.CandidateSet{{
			Slots: []int32{0}, Needs: []int32{needs}, Least: []*policyv1.Amounts{{Amounts: []int64{1, 2}}, {}},
		}}}).Candidates[0]
		require.Equal(t, []backfill.Vector{{}}, set.Candidates.Least, needs)
	}
}

// Candidates that share what must be free are sent it once, and share it again.
func TestWhatIsSharedIsSentOnce(t *testing.T) {
	t.Parallel()
	least := backfill.Vector{8, 0}
	m := wire.EncodeRound(backfill.Round{Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
		Slots: []backfill.SlotID{0, 1, 2}, Least: []backfill.Vector{least, nil, least},
	}}}})
	require.Len(t, m.GetCandidates()[0].GetLeast(), 1)
	got := wire.DecodeRound(transfer(t, m, &policyv1.Round{})).Candidates[0].Candidates.Least
	require.Equal(t, []backfill.Vector{least, nil, least}, got)
	require.Same(t, &got[0][0], &got[2][0])
}

// TestWindowsThatAreNotThere checks that a candidate whose windows a message lacks is none that is always
// open: the core refuses it.
func TestWindowsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, opens := range []int32{-1, 2, 3, math.MaxInt32, math.MinInt32} {
		set := wire.DecodeRound(&policyv1.Round{Candidates: []*policyv1.CandidateSet{{
			Slots: []int32{0}, Opens: []int32{opens}, Windows: []*policyv1.Windows{
				{Windows: []*policyv1.Window{{From: 1, To: 2}}}, {},
			},
		}}}).Candidates[0]
		require.Equal(t, [][]backfill.Window{{}}, set.Candidates.Windows, opens)
	}
}

func bundleID() *rapid.Generator[backfill.BundleID] {
	return rapid.Map(rapid.Int32(), func(id int32) backfill.BundleID { return backfill.BundleID(id) })
}

func bundle() *rapid.Generator[backfill.Bundle] {
	return rapid.Custom(func(t *rapid.T) backfill.Bundle {
		return backfill.Bundle{
			ID: bundleID().Draw(t, "id"), Name: rapid.String().Draw(t, "name"),
			Slots: list(slotID()).Draw(t, "slots"),
		}
	})
}

func round() *rapid.Generator[backfill.Round] {
	event := rapid.Custom(func(t *rapid.T) backfill.Event {
		e := backfill.Event{
			Kind:  backfill.EventKind(rapid.IntRange(1, int(backfill.Released)).Draw(t, "kind")),
			JobID: backfill.JobID(rapid.Int64().Draw(t, "job")), Key: key().Draw(t, "key"),
			Placement: placement().Draw(t, "placement"), Start: instant().Draw(t, "start"), End: instant().Draw(t,
				"end"), Policy: rapid.String().Draw(t, "policy"), Guarantees: rapid.Bool().Draw(t, "guarantees"),
			Job: rapid.Ptr(rapid.Map(job(), func(j *backfill.Job) backfill.Job { return *j }), true).Draw(t, "spec"),
		}
		switch e.Kind {
		case backfill.SlotAdded, backfill.SlotLost, backfill.SlotChanged:
			e.Slot = slot().Draw(t, "slot")
		default:
		}
		return e
	})
	jobKey := rapid.Custom(func(t *rapid.T) backfill.JobKey {
		return backfill.JobKey{Job: backfill.JobID(rapid.Int64().Draw(t, "job")), Key: key().Draw(t, "key")}
	})
	return rapid.Custom(func(t *rapid.T) backfill.Round {
		return backfill.Round{
			Now: instant().Draw(t, "now"), Bundles: list(bundle()).Draw(t, "bundles"), Rows: list(row()).Draw(t, "rows"),
			Candidates: list(candidates()).Draw(t, "candidates"),
			Keys:       list(jobKey).Draw(t, "keys"), Events: list(event).Draw(t, "events"),
			Planning: rapid.Ptr(planning(), true).Draw(t, "planning"),
		}
	})
}

func action() *rapid.Generator[backfill.Action] {
	return rapid.Custom(func(t *rapid.T) backfill.Action {
		return backfill.Action{
			After: rapid.IntRange(0, math.MaxInt32).Draw(t, "after"),
			Kind:  backfill.ActionKind(rapid.IntRange(1, int(backfill.ActKeepFreed)).Draw(t, "kind")),
			Job:   backfill.JobID(rapid.Int64().Draw(t, "job")), At: instant().Draw(t, "at"),
			Placement: placement().Draw(t, "placement"), Reason: rapid.String().Draw(t, "reason"),
		}
	})
}

func row() *rapid.Generator[backfill.Row] {
	return rapid.Custom(func(t *rapid.T) backfill.Row {
		return backfill.Row{
			ID: backfill.RowID(rapid.Int32().Draw(t, "id")), Name: rapid.String().Draw(t, "name"),
			Height: rapid.Int64().Draw(t, "height"),
		}
	})
}

func planning() *rapid.Generator[backfill.Planning] {
	return rapid.Custom(func(t *rapid.T) backfill.Planning {
		return backfill.Planning{
			Depth: rapid.Int().Draw(t, "depth"), Reorder: rapid.Bool().Draw(t, "reorder"),
			Horizon: backfill.Time(rapid.Int64().Draw(t, "horizon")),
		}
	})
}

func snapshot() *rapid.Generator[backfill.Snapshot] {
	slots := rapid.Custom(func(t *rapid.T) backfill.SlotState {
		return backfill.SlotState{Slot: slot().Draw(t, "slot"), Up: rapid.Bool().Draw(t, "up")}
	})
	jobs := rapid.Custom(func(t *rapid.T) backfill.JobState {
		return backfill.JobState{
			Job: job().Draw(t, "job"),
			Key: key().Draw(t, "key"), Alone: rapid.Bool().Draw(t, "alone"),
			Placement: placement().Draw(t, "placement"),

			Standing: backfill.Standing{
				Running: rapid.Bool().Draw(t, "running"), Held: rapid.String().Draw(t, "held"),
				Start: instant().Draw(t, "start"), End: instant().Draw(t, "end"),
				Promised: rapid.Bool().Draw(t, "promised"), Guarantee: instant().Draw(t, "guarantee"),
			},
		}
	})
	freed := rapid.Custom(func(t *rapid.T) backfill.Freed {
		return backfill.Freed{
			At: instant().Draw(t, "at"), Slot: slotID().Draw(t, "slot"),
			Amount: vector().Draw(t, "amount"),
		}
	})
	return rapid.Custom(func(t *rapid.T) backfill.Snapshot {
		return backfill.Snapshot{
			Resources: list(rapid.String()).Draw(t, "resources"),
			Rule:      profile.Rule(rapid.IntRange(0, 2).Draw(t, "rule")),
			Planning:  planning().Draw(t, "planning"),
			Now:       instant().Draw(t, "now"), Revision: rapid.Uint64().Draw(t, "revision"),
			Policy: rapid.String().Draw(t, "policy"), Guarantees: rapid.Bool().Draw(t, "guarantees"),
			Rows:  list(row()).Draw(t, "rows"),
			Slots: list(slots).Draw(t, "slots"), Bundles: list(bundle()).Draw(t, "bundles"),
			Candidates: list(candidates()).Draw(t, "candidates"),
			Jobs:       list(jobs).Draw(t, "jobs"), Wakes: list(instant()).Draw(t, "wakes"),
			KeepFreed: instant().Draw(t, "keep freed"), Freed: list(freed).Draw(t, "freed"),
		}
	})
}
