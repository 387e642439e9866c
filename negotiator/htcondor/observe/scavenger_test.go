package observe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// TestWhoScavenges: a job is a scavenger if it says so, if its user or submitter is named, with or without
// domain, or as a nice user's where these are. Groups and domains are compared regardless of case.
func TestWhoScavenges(t *testing.T) {
	named := config.Scavenging{Scavengers: "bob, dave@TEST,\n group_a.carol Group_B.erin@test"}
	nice := config.Scavenging{NiceUsers: true}
	for _, c := range []struct {
		scope config.Scavenging
		lines string
		want  bool
	}{
		{lines: "", want: false},
		{lines: "BackfillScavenger = true", want: true},
		{lines: "backfillscavenger = RequestCpus < 2", want: true},
		{lines: "BackfillScavenger = false", want: false},
		{lines: "BackfillScavenger = 1", want: true},
		{lines: "BackfillScavenger = 0.5", want: true},
		{lines: "BackfillScavenger = 0", want: false},
		{lines: `BackfillScavenger = "true"`, want: false},
		{lines: "BackfillScavenger = TARGET.Cpus > 1", want: false},
		{lines: "NiceUser = true", want: false},
		{scope: nice, lines: "NiceUser = true", want: true},
		{scope: nice, lines: "NiceUser = 1", want: true},
		{scope: nice, lines: `AccountingGroup = "nice-user"`, want: true},
		{scope: nice, lines: `AccountingGroup = "nice-user.alice"`, want: true},
		{scope: nice, lines: `AccountingGroup = "nice-users.alice"`, want: false},
		{scope: named, lines: "", want: false},
		{scope: named, lines: `User = "bob@test"`, want: true},
		{scope: named, lines: `User = "bob@elsewhere"`, want: true},
		{scope: named, lines: `User = "Bob@test"`, want: false},
		{scope: named, lines: "User = \"bob@test\"\nAccountingGroup = \"group_c.bob\"", want: true},
		{scope: named, lines: `User = "dave@test"`, want: true},
		{scope: named, lines: `User = "dave@elsewhere"`, want: false},
		{scope: named, lines: `AccountingGroup = "GROUP_A.carol"`, want: true},
		{scope: named, lines: `AccountingGroup = "group_a.Carol"`, want: false},
		{scope: named, lines: `AccountingGroup = "group_b.erin"`, want: true},
	} {
		t.Run(fmt.Sprint(c.scope, c.lines), func(t *testing.T) {
			p := newSite(t, "s@test")
			scope := p.s.Scope
			scope.Scavenging = c.scope
			p.Ask(scope)
			p.schedds[0].SetJobs(job(c.lines))
			require.Equal(t, c.want, p.see().Schedds["s@test"].Groups[0].Spec.Scavenger)
		})
	}
}

// TestScavengersByAnotherConfiguration: jobs that are known become scavengers, or are none any more, when the
// configuration changes.
func TestScavengersByAnotherConfiguration(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job(""))
	scavenges := func() bool { return p.see().Schedds["s@test"].Groups[0].Spec.Scavenger }
	require.False(t, scavenges())
	scope := p.s.Scope
	scope.Scavengers = "alice"
	p.Ask(scope)
	require.True(t, scavenges())
	scope.Scavengers = ""
	p.Ask(scope)
	require.False(t, scavenges())
}

// TestScavengersDoNotRetire: a scavenger uses no slot that would let it run on for a time, unless it says that
// it does not want that. Slots are asked for that only while there are scavengers.
func TestScavengersDoNotRetire(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("MaxJobRetirementTime = 600\n")}
	matches := func(lines string) bool {
		p.schedds[0].SetJobs(job(lines))
		s := p.see()
		v := s.Schedds["s@test"].Groups[0].Spec.Ad.Eval("Requirements", s.Slots["slot1@n"].Ad.Ad)
		so, _ := v.Bool()
		return so
	}
	require.True(t, matches(""))
	require.NotContains(t, p.slotAttributes.projection(), "maxjobretirementtime")
	require.False(t, matches("BackfillScavenger = true"))
	require.False(t, matches("BackfillScavenger = true\nMaxJobRetirementTime = 60"))
	require.True(t, matches("BackfillScavenger = true\nMaxJobRetirementTime = 0"))
	p.slots = []string{partitionable("MaxJobRetirementTime = ifThenElse(TARGET.RequestCpus > 1, 600, 0)\n")}
	require.True(t, matches("BackfillScavenger = true"), "as it is asked of the job")
	p.slots = []string{partitionable("")}
	require.True(t, matches("BackfillScavenger = true"))
}

// TestTheTimeForLeaving: while there are scavengers, claimed slots tell how long jobs may take to leave.
func TestTheTimeForLeaving(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable(""), part("MachineMaxVacateTime = 300\nRank = 0.0\n")}
	p.schedds[0].SetJobs(job(""))
	s := p.see()
	require.False(t, s.Scavenges)
	require.Nil(t, s.Slots["slot1_1@n"].Claim)
	p.schedds[0].SetJobs(job("BackfillScavenger = true\nJobMaxVacateTime = 20"))
	s = p.see()
	require.True(t, s.Scavenges)
	require.False(t, s.Preempts, "nobody else makes way")
	longest, _ := s.Slots["slot1_1@n"].Claim.Literal("MachineMaxVacateTime").Int()
	require.EqualValues(t, 300, longest)
	require.InDelta(t, 20, *s.Schedds["s@test"].Groups[0].Spec.Vacate, 0)
	p.schedds[0].SetJobs(job(""))
	p.see()
	p.at = p.at.Add(2 * sweepEvery)
	p.see()
	require.False(t, p.see().Scavenges)
}
