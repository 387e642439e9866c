package sdk

import (
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

func newMirror(spec backfill.PolicySpec) *mirror {
	return &mirror{spec: spec, log: hclog.NewNullLogger(), branches: make(map[uint64]*backfill.State)}
}

// ready returns a mirror of EASY with the empty pool on branch 0.
func ready(t *testing.T) *mirror {
	t.Helper()
	m := newMirror(easy.Spec())
	require.NotNil(t, m.handle(configure(nil)).GetReady())
	require.Nil(t, m.handle(syncMessage(wire.EncodeSnapshot(backfill.NewState([]string{"cpus"},
		profile.Pack).Snapshot()))))
	return m
}

func configure(options map[string]string) *policyv1.HostMessage {
	configure := &policyv1.HostMessage_Configure{Configure: &policyv1.Configure{Options: options}}
	return &policyv1.HostMessage{Message: configure}
}

func syncMessage(s *policyv1.Snapshot) *policyv1.HostMessage {
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Sync{Sync: &policyv1.Sync{Snapshot: s}}}
}

func ask(branch, base uint64, round *policyv1.Round, settled ...*policyv1.Settled) *policyv1.HostMessage {
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Decide{Decide: &policyv1.Decide{
		Branch: branch, BaseRevision: base, Round: round, Settled: settled,
	}}}
}

// slotAndJob returns a round in which a slot comes up and a job arrives.
func slotAndJob(id backfill.JobID) *policyv1.Round {
	return wire.EncodeRound(backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "s", Capacity: backfill.Vector{4}}},
			{Kind: backfill.Submitted, Job: &backfill.Job{
				ID: id, Nodes: 1, Request: backfill.Vector{1},
				Estimate: 10,
			}},
		},
	})
}

func TestTheMirrorAppliesItsOwnDecisions(t *testing.T) {
	t.Parallel()
	m := ready(t)
	decision := m.handle(ask(0, 0, slotAndJob(1))).GetDecision()
	require.Len(t, decision.GetJournal(), 1)
	require.Equal(t, policyv1.ActionKind_ACTION_KIND_START, decision.GetJournal()[0].GetKind())
	require.NotNil(t, m.handle(ask(0, 1, &policyv1.Round{Now: 1})).GetDecision())
	require.Equal(t, 1, m.branches[0].RunningJobs())
}

func TestTheMirrorFollowsSettledRounds(t *testing.T) {
	t.Parallel()
	m := ready(t)
	settled := &policyv1.Settled{Round: slotAndJob(1), Journal: []*policyv1.Action{
		{
			After: 2, Kind: policyv1.ActionKind_ACTION_KIND_START, Job: 1,
			Placement: &policyv1.Placement{Slots: []int32{0}},
		},
	}}
	require.NotNil(t, m.handle(ask(0, 1, &policyv1.Round{Now: 1}, settled)).GetDecision())
	require.Equal(t, 1, m.branches[0].RunningJobs())
}

func TestTheMirrorSaysWhenItIsOutOfStep(t *testing.T) {
	t.Parallel()
	for name, question := range map[string]*policyv1.HostMessage{
		"the copy is at revision 0, the round at 7": ask(0, 7, &policyv1.Round{}),
		"a settled round after revision 0: event 0": ask(0, 1, &policyv1.Round{},
			&policyv1.Settled{Round: &policyv1.Round{Events: []*policyv1.Event{{}}}}),
		"a settled decision after revision 0: unknown acti": ask(0, 1, &policyv1.Round{},
			&policyv1.Settled{Journal: []*policyv1.Action{{}}}),
		"there is no such branch here": ask(3, 0, &policyv1.Round{}),
	} {
		m := ready(t)
		require.Contains(t, m.handle(question).GetOutOfStep().GetText(), name)
	}
}

func TestBranchesAreApart(t *testing.T) {
	t.Parallel()
	m := ready(t)
	fork := &policyv1.HostMessage{Message: &policyv1.HostMessage_Fork{Fork: &policyv1.Fork{From: 0, To: 5}}}
	require.Nil(t, m.handle(fork))
	require.NotNil(t, m.handle(ask(5, 0, slotAndJob(1))).GetDecision())
	require.NotNil(t, m.handle(ask(0, 0, slotAndJob(2))).GetDecision())
	require.NotNil(t, m.handle(ask(5, 1, &policyv1.Round{Now: 1})).GetDecision())
	drop := &policyv1.HostMessage{Message: &policyv1.HostMessage_Drop{Drop: &policyv1.Drop{Branch: 5}}}
	require.Nil(t, m.handle(drop))
	require.NotNil(t, m.handle(ask(5, 2, &policyv1.Round{Now: 2})).GetOutOfStep())
	require.NotNil(t, m.handle(ask(0, 1, &policyv1.Round{Now: 2})).GetDecision())
}

func TestFailuresAreSaid(t *testing.T) {
	t.Parallel()
	m := newMirror(easy.Spec())
	require.Contains(t, m.handle(configure(map[string]string{"colour": "red"})).GetFailure().GetText(),
		`no option "colour"`)
	require.Nil(t, m.handle(&policyv1.HostMessage{}), "an unknown message has no answer")
	require.Nil(t, m.handle(syncMessage(nil)), "nor has a state that makes no sense")
	require.NotNil(t, m.handle(ask(0, 0, nil)).GetOutOfStep())
	m.branches[0] = backfill.NewState([]string{"cpus"}, profile.Pack)
	require.Contains(t, m.handle(ask(0, 0, nil)).GetFailure().GetText(), "before the options")

	m = ready(t)
	text := m.handle(ask(0, 0, &policyv1.Round{Events: []*policyv1.Event{{Kind: 250}}})).GetFailure().GetText()
	require.Contains(t, text, "the round cannot be true")
	require.Empty(t, m.branches, "there is doubt about the copy")

	broken := backfill.PolicySpec{Name: "broken", New: func(backfill.Values) (backfill.Policy, error) {
		return nil, errors.New("no licence")
	}}
	require.Equal(t, "no licence", newMirror(broken).handle(configure(nil)).GetFailure().GetText())
	require.Contains(t, newMirror(backfill.PolicySpec{Name: "empty"}).handle(configure(nil)).GetFailure().GetText(),
		"policy empty panicked")
}
