package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestWantedIsBounded says that users cannot have ever more attributes asked for, nor odd names.
func TestWantedIsBounded(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		names []string
		grew  bool
	}{
		"1 it is always asked for": {[]string{"NAME"}, false},
		"2 it is odd":              {[]string{"a b", "a;c", "ä", "a.b"}, false},
		"3 it is new":              {[]string{"Arch_1"}, true},
		"4 it is known":            {[]string{"arch_1"}, false},
		"5 it was mere state":      {[]string{"state"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWanted(set("State"), "Name", "State")
			if c.names[0] == "arch_1" {
				w.refer([]string{"Arch_1"}, at)
			}
			require.Equal(t, c.grew, w.refer(c.names, at))
			require.False(t, w.refer(c.names, at))
			require.True(t, slices.IsSorted(w.projection()))
		})
	}
	w := newWanted(set("State"), "Name", "State")
	require.Equal(t, []string{"name", "state"}, w.projection())
	for i := range 2 * maxReferred {
		require.Equal(t, i < maxReferred, w.refer([]string{fmt.Sprint("A", i)}, at))
		require.Equal(t, i >= maxReferred-1, w.full())
	}
	require.Len(t, w.projection(), maxReferred+2)
}

// TestStrip says that what is mere state is no part of what jobs and slots are matched by, unless
// somebody refers to it.
func TestStrip(t *testing.T) {
	w := newWanted(set("State", "JobId"), "Name", "State", "JobId")
	w.refer([]string{"jobid"}, time.Unix(1, 0))
	ad, err := classad.ParseOld("Name = \"a\"\nSTATE = \"Owner\"\nJobId = \"1.0\"")
	require.NoError(t, err)
	w.strip(ad)
	for name, kept := range map[string]bool{"Name": true, "State": false, "JobId": true} {
		_, there := ad.Lookup(name)
		require.Equal(t, kept, there, name)
	}
}

// TestSlotsReferToSoMuch: what slots refer to leaves room for what jobs do, however many slots a host
// has.
func TestSlotsReferToSoMuch(t *testing.T) {
	o := quiet()
	for i := range 50 {
		terms := make([]string, 2*maxOfOne)
		for j := range terms {
			terms[j] = fmt.Sprintf("TARGET.z%d_%d", i, j)
		}
		ad := strings.NewReplacer("slot1@n", fmt.Sprintf("slot%d@n", i), "Requirements = true",
			"Requirements = "+strings.Join(terms, " || ")).Replace(partitionable(""))
		_, err := o.readSlot(cedar.Lines(ad), lookOf(1))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(o.slotAttributes.referred), maxOfUser+maxOfOne)
	require.LessOrEqual(t, len(o.jobAttributes.referred), maxOfUser+maxOfOne)
	grew, _, err := o.referToSlots("alice@test", []string{"HasGadget"})
	require.NoError(t, err)
	require.True(t, grew)
}

// TestJobsReferToSoMuch says that a job which refers to too many attributes is not planned, and has
// nothing asked for.
func TestJobsReferToSoMuch(t *testing.T) {
	for n, wrong := range map[int]bool{maxOfOne: false, maxOfOne + 1: true} {
		o := quiet()
		rank := make([]string, n)
		for i := range rank {
			rank[i] = fmt.Sprint("TARGET.A", i)
		}
		ad, err := classad.ParseOld("User = \"alice@test\"\nRequestCpus = 1\nRank = " + strings.Join(rank, " + "))
		require.NoError(t, err)
		before := len(o.slotAttributes.projection())
		spec, grew := o.specOf(ad, "s@test")
		require.Equal(t, !wrong, grew)
		if !wrong {
			require.NoError(t, spec.Wrong)
			require.Len(t, o.slotAttributes.projection(), before+n)
			continue
		}
		require.ErrorContains(t, spec.Wrong, "it refers to 101 attributes of slots: must be at most 100")
		require.Len(t, o.slotAttributes.projection(), before)
	}
}

// TestNamesMultiplyNoOthersGroups says that what one user's jobs refer to does not divide the jobs
// of others into more groups, whether it is asked of slots or of the job itself.
func TestNamesMultiplyNoOthersGroups(t *testing.T) {
	for name, requirements := range map[string]string{
		"of slots": `TARGET.Environment =!= "x"`,
		"own":      `MY.Environment =!= "x"`,
		"unscoped": `Environment =!= "x" && Has_Tool =?= true`,
		"indirect": `MY.Mine =!= 1`,
		"state":    `MY.QDate > 0 && TARGET.QDate =!= 1`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.slots = []string{partitionable("Has_Tool = true\nQDate = 3\n")}
			jobs := make([]string, 0, 51)
			for i := range 50 {
				jobs = append(jobs, job(fmt.Sprintf("ProcId = %d\nEnvironment = \"RUN=%d\"", i, i)))
			}
			jobs = append(jobs, job("ClusterId = 2\nUser = \"mallory@test\"\nEnvironment = \"A=1\"\n"+
				"Mine = MY.Environment\nRequirements = "+requirements))
			p.schedds[0].SetJobs(jobs...)
			groups := p.see().Schedds["s@test"].Groups
			require.Len(t, groups, 2)
			for _, g := range groups {
				if len(g.Jobs) == 50 {
					require.NotContains(t, strings.ToLower(g.Spec.Text), "environment")
					require.NotContains(t, strings.ToLower(g.Spec.Text), "qdate")
					continue
				}
				require.Equal(t, []JobKey{{"s@test", 2, 0}}, g.Jobs)
				require.True(t, g.Spec.Ad.Eval("Requirements", p.Observer.slots["slot1@n"].Ad.Ad).IsTrue(), g.Spec.Text)
			}
		})
	}
}

// TestProjectionsShrink says that an attribute is not asked for any more once nothing has referred
// to it for a while, and that it is asked for again when something does.
func TestProjectionsShrink(t *testing.T) {
	p := newSite(t, "s@test")
	start := "START = TARGET.Team =?= \"a\" && TARGET.JobPrio < 9\nRequirements = START\nColor = \"red\"\n"
	picky := job("ClusterId = 2\nRequirements = TARGET.Color == \"red\" && TARGET.State =!= 1\nTeam = \"a\"\nJobPrio = 3")
	plain := job("Team = \"b\"\nJobPrio = 2")
	asks := func(slots, jobs bool) {
		t.Helper()
		require.Equal(t, slots, slices.Contains(p.slotAttributes.projection(), "color"))
		require.Equal(t, slots, p.slotAttributes.asked("state"))
		require.Equal(t, jobs, slices.Contains(p.jobAttributes.projection(), "team"))
		require.Equal(t, jobs, p.jobAttributes.asked("jobprio"))
	}
	fits := func(s *Snapshot) (n int) {
		for _, g := range s.Schedds["s@test"].Groups {
			if classad.Match(g.Spec.Ad, s.Slots["slot1@n"].Ad.Ad) {
				n += len(g.Jobs)
			}
		}
		return n
	}
	p.slots = []string{partitionable(start)}
	p.schedds[0].SetJobs(plain, picky)
	require.Equal(t, 1, fits(p.see()))
	asks(true, true)
	p.schedds[0].SetJobs(plain)
	p.at = p.at.Add(keepNames - time.Minute)
	p.see()
	asks(true, true)
	p.at = p.at.Add(sweepEvery)
	p.see()
	asks(false, true)
	slot := p.see().Slots["slot1@n"].Ad.Ad
	for _, name := range []string{"Color", "State"} {
		_, there := slot.Lookup(name)
		require.False(t, there, name)
	}
	p.slots = []string{partitionable("")}
	for range 5 {
		p.at = p.at.Add(sweepEvery)
		p.see()
	}
	asks(false, false)
	require.NotContains(t, strings.ToLower(p.see().Schedds["s@test"].Groups[0].Spec.Text), "jobprio")
	p.slots = []string{partitionable(start)}
	p.schedds[0].SetJobs(plain, picky)
	require.Equal(t, 1, fits(p.see()))
	asks(true, true)
}

// TestUsersReferToSoMuch says that the jobs of one user together can have only so many attributes
// asked for, that this is nothing to others, and that there is room again when jobs are gone.
func TestUsersReferToSoMuch(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("")}
	greedy := func(k int) string {
		terms := make([]string, maxOfOne)
		for i := range terms {
			terms[i] = fmt.Sprintf("TARGET.A%d_%d =?= undefined", k, i)
		}
		return job(fmt.Sprintf("ClusterId = %d\nUser = \"mallory@test\"\nRequirements = ", 10+k) + strings.Join(terms, " && "))
	}
	honest := job("Requirements = TARGET.Tool =?= undefined")
	wrong := func() (n int) {
		for _, g := range p.see().Schedds["s@test"].Groups {
			if g.Spec.Wrong != nil {
				require.ErrorContains(t, g.Spec.Wrong,
					"the jobs of mallory@test refer to 400 attributes of slots with it: must be at most 300")
				n++
			}
		}
		return n
	}
	jobs := []string{honest}
	for k := range 4 {
		jobs = append(jobs, greedy(k))
	}
	p.schedds[0].SetJobs(jobs...)
	require.Equal(t, 1, wrong())
	require.Contains(t, p.slotAttributes.projection(), "tool")
	p.schedds[0].SetJobs(append(jobs[:1:1], jobs[2:]...)...)
	p.at = p.at.Add(sweepEvery)
	wrong() // its room is known to be free only after this look
	require.Zero(t, wrong())
}
