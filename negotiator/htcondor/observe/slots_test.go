package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

func TestSlotsThatCanBeClaimed(t *testing.T) {
	t.Parallel()
	for state, c := range map[string]struct {
		open   bool
		closed string
	}{
		"Unclaimed/Idle": {open: true}, "Matched/Idle": {open: true}, "Backfill/Busy": {open: true},
		"Drained/Retiring": {open: true, closed: "draining"}, "Drained/Idle": {closed: "draining"},
		"Owner/Idle": {closed: "in its owner's use"}, "Claimed/Busy": {closed: "claimed as a whole"},
		"Preempting/Vacating": {closed: "vacating"}, "/": {closed: "not open to jobs"},
	} {
		o := quiet()
		from, activity, _ := strings.Cut(state, "/")
		ad := strings.Replace(partitionable(""), "\"Unclaimed\"", "\""+from+"\"\nActivity = \""+activity+"\"", 1)
		_, err := o.readSlot(cedar.Lines(ad), lookOf(1))
		require.NoError(t, err)
		slot := o.slots["slot1@n"]
		takes, _ := slot.Ad.Ad.Bool("Requirements")
		require.Equal(t, c.open, takes, state)
		require.Equal(t, c.open, slot.Free[0] > 0, state)
		closed, _ := slot.Ad.Ad.Text(negotiator.WhyClosed)
		require.Equal(t, c.closed, closed, state)
	}
}

// A slot whose machine sleeps takes no jobs, whatever it refers to, and is known as it will be awake.
func TestASlotThatSleeps(t *testing.T) {
	t.Parallel()
	for more, referred := range map[string][]string{"": nil, "Pinned = Offline\n": {"pinned", "offline"}} {
		o := quiet()
		o.slotAttributes.refer(referred, always)
		see := func(ad string, look int) *Slot {
			_, err := o.readSlot(cedar.Lines(ad), lookOf(look))
			require.NoError(t, err)
			return o.slots["slot1@n"]
		}
		awake := see(partitionable(more), 1)
		require.Nil(t, awake.Asleep)
		asleep := see(partitionable(more)+"Offline = true\n", 2)
		takes, _ := asleep.Ad.Ad.Bool("Requirements")
		require.False(t, takes)
		require.Zero(t, asleep.Free[0])
		require.Zero(t, asleep.Ad.Capacity[0])
		closed, _ := asleep.Ad.Ad.Text(negotiator.WhyClosed)
		require.Equal(t, "asleep", closed)
		takes, _ = asleep.Asleep.Ad.Bool("Requirements")
		require.True(t, takes)
		require.EqualValues(t, 4, asleep.Asleep.Capacity[0])
		_, closes := asleep.Asleep.Ad.Lookup(negotiator.WhyClosed)
		require.False(t, closes)
		require.Nil(t, see(partitionable(more), 3).Asleep)
	}
}

// A slot that overlaps with others takes no jobs of the plan, and is known as it is for those that use
// what the others leave idle.
func TestASlotThatOverlaps(t *testing.T) {
	t.Parallel()
	for state, open := range map[string]bool{"Unclaimed": true, "Owner": false, "Drained": false} {
		o := quiet()
		_, err := o.readSlot(cedar.Lines(strings.Replace(partitionable("BackfillSlot = true\n"), "Unclaimed", state, 1)), lookOf(1))
		require.NoError(t, err)
		s := o.slots["slot1@n"]
		require.True(t, s.Overlaps)
		takes, _ := s.Ad.Ad.Bool("Requirements")
		require.False(t, takes)
		require.EqualValues(t, 4, s.Ad.Capacity[0], "for the jobs that run there")
		require.Equal(t, open, s.Overlapping != nil, state)
		if open {
			takes, _ = s.Overlapping.Ad.Bool("Requirements")
			require.True(t, takes)
			wanted, _ := s.Overlapping.Ad.Bool("BackfillSlot")
			require.True(t, wanted, "jobs ask for it")
			closed, _ := s.Ad.Ad.Text(negotiator.WhyClosed)
			require.Equal(t, Overlaps, closed)
		}
		_, err = o.readSlot(cedar.Lines(partitionable("BackfillSlot = true\nOffline = true\n")), lookOf(2))
		require.NoError(t, err)
		require.Nil(t, o.slots["slot1@n"].Overlapping)
	}
	require.Contains(t, quiet().slotAttributes.projection(), "backfillslot")
}

// A static slot whose job is being evicted refuses all jobs until that has ended, by its ad. In
// plans it goes on as it was seen before: it takes the same jobs, or none if it was closed.
func TestASlotThatVacates(t *testing.T) {
	t.Parallel()
	static := func(state, requirements string) string {
		return strings.NewReplacer("Unclaimed", state, "PartitionableSlot = true\n", "",
			"Requirements = true", "Requirements = "+requirements).Replace(partitionable(""))
	}
	for name, c := range map[string]struct {
		before, vacating string
		want             string
	}{
		"after a job": {
			static("Claimed", "START\nStart = TARGET.Fast\nZone = 1"), static("Preempting", "false"), "START",
		},
		"a slot in use":      {static("Owner", "true"), static("Preempting", "false"), "false"},
		"a slot that closes": {static("Claimed", "false"), static("Preempting", "false"), "false"},
		"first seen like it": {static("Preempting", "false"), static("Preempting", "false"), "false"},
		"for negotiators": {
			static("Claimed", "true") + "NegotiatorRequirements = TARGET.Fast\n",
			static("Preempting", "false") + "NegotiatorRequirements = TARGET.Fast\n", "TARGET.Fast",
		},
		"about to shut down": {static("Claimed", "true"), static("Preempting", "false\nDaemonShutdown = true"), "false"},
		"claimed":            {static("Claimed", "TARGET.Fast"), static("Claimed", "false"), "false"},
		"partitionable":      {partitionable(""), strings.Replace(partitionable(""), "Unclaimed", "Preempting", 1), "false"},
	} {
		o := quiet()
		o.s.ShutdownThreshold = time.Minute
		requirements := func(ad string, look int) (*negotiator.Slot, string) {
			_, err := o.readSlot(cedar.Lines(ad), lookOf(look))
			require.NoError(t, err, name)
			slot := o.slots["slot1@n"].Ad
			e, _ := slot.Ad.Lookup("Requirements")
			return slot, e.String()
		}
		before, first := requirements(c.before, 1)
		meanwhile, vacating := requirements(c.vacating, 2)
		require.Equal(t, c.want, vacating, name)
		after, again := requirements(c.before, 3)
		require.Equal(t, first, again, name)
		if name == "after a job" {
			require.Same(t, before, meanwhile, "its jobs are not matched anew")
			require.Same(t, before, after)
		}
	}
}

// A slot's NegotiatorRequirements take the place of its Requirements.
func TestRequirementsForNegotiators(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]bool{
		"": true, `NegotiatorRequirements = TARGET.Owner == "bob"`: true, `NegotiatorRequirements = TARGET.Owner == "eve"`: false,
		"NegotiatorRequirements = Closed =!= true\nClosed = true": false,
	} {
		o := quiet()
		_, err := o.readSlot(cedar.Lines(partitionable(more)), lookOf(1))
		require.NoError(t, err)
		job, err := classad.ParseOld(job("Owner = \"bob\"\n"))
		require.NoError(t, err)
		require.Equal(t, want, classad.Accepts(o.slots["slot1@n"].Ad.Ad, job), more)
	}
	require.Contains(t, quiet().slotAttributes.projection(), "negotiatorrequirements")
}

// A slot gets no jobs some time before its startd ends, by the startd's clock.
func TestSlotsThatEndSoon(t *testing.T) {
	for more, closed := range map[string]bool{
		"":                                    false,
		"DaemonShutdown = false":              false,
		"DaemonShutdown = Gone":               false,
		"DaemonShutdown = true":               true,
		"DaemonShutdownFast = true":           true,
		"DaemonShutdown = CurrentTime >= 600": true,
		"DaemonShutdown = time() >= 600":      true,
		"DaemonShutdown = time() >= 601":      false,
		"DaemonShutdown = MyCurrentTime > 10": false,
		"DaemonShutdown = CurrentTime >= 600\nDaemonShutdownFast = false":                    true,
		"DaemonShutdown = CurrentTime >= Until\nUntil = 600\nDaemonShutdownFast = undefined": true,
	} {
		p := newSite(t)
		p.slots = []string{partitionable(more + "\nMyCurrentTime = 10\n")}
		open := func(threshold time.Duration) bool {
			scope := p.s.Scope
			scope.ShutdownThreshold = threshold
			p.Ask(scope)
			slot := p.see().Slots["slot1@n"]
			takes, _ := slot.Ad.Ad.Bool("Requirements")
			require.Equal(t, takes, slot.Free[0] > 0)
			return takes
		}
		require.True(t, open(0), more)
		require.Equal(t, !closed, open(590*time.Second), more)
		require.True(t, open(0), more)
	}
}

// That no slot has what is to say when slots end is a problem, unless it is what pilots have by default.
func TestAttributesOfEnds(t *testing.T) {
	for _, c := range []struct {
		attributes []string
		more       string
		problems   int
	}{
		{[]string{"Until"}, "", 1},
		{[]string{"Until", "Over"}, "OVER = 5\n", 0},
		{[]string{"GLIDEIN_ToDie"}, "", 0},
		{[]string{"GLIDEIN_ToDie", "Until"}, "", 0},
		{nil, "", 0},
	} {
		p := newSite(t)
		p.s.Schema.SlotEnds = c.attributes
		p.want()
		require.Empty(t, p.see().Problems, "there are no slots")
		p.slots = []string{partitionable(c.more)}
		for range 2 {
			problems := p.see().Problems
			require.Len(t, problems, c.problems)
			if c.problems > 0 {
				require.Contains(t, problems[0], "no slot has the attribute that is to say when it ends (BACKFILL_SLOT_END = Until)")
			}
		}
	}
}

// TestDataSlots checks that a slot on which a schedd keeps files is a part of the slot that it was cut
// from, and that nothing is planned there.
func TestDataSlots(t *testing.T) {
	t.Parallel()
	o := quiet()
	for _, ad := range []string{
		partitionable("ChildName = {\"slot1_2@n\", \"data1_1@n\"}\n"),
		strings.Replace(part("IsDataSlot = true\n"), "slot1_1@n", "data1_1@n", 1),
		strings.NewReplacer("slot1_1@n", "data1_3@n", "DynamicSlot = true\n", "").Replace(part("IsDataSlot = true\n")),
	} {
		_, err := o.readSlot(cedar.Lines(ad), lookOf(1))
		require.NoError(t, err)
	}
	require.True(t, o.slots["slot1@n"].Parts["data1_1@n"])
	for _, name := range []string{"data1_1@n", "data1_3@n"} {
		data := o.slots[name]
		require.True(t, data.Data && data.Dynamic && data.Claimed)
		require.Nil(t, data.Ad, "no job is planned there")
		require.Equal(t, "slot1@n", data.Host)
	}
	require.False(t, o.slots["slot1@n"].Data)
}

// TestCleaning checks that a slot whose job has ended is told from one whose job runs.
func TestCleaning(t *testing.T) {
	t.Parallel()
	for activity, cleaning := range map[string]bool{"Busy": false, "Cleaning": true, "Idle": false} {
		o := quiet()
		_, err := o.readSlot(cedar.Lines(part("Activity = \""+activity+"\"\n")), lookOf(1))
		require.NoError(t, err)
		require.True(t, o.slots["slot1_1@n"].Claimed)
		require.Equal(t, cleaning, o.slots["slot1_1@n"].Cleaning, activity)
	}
}

// A slot whose ad is too large to be read is left out.
func TestASlotThatIsTooLarge(t *testing.T) {
	for name, more := range map[string]string{
		"many constants": "Extra = {" + strings.Repeat("1,", 20_000) + "1}\n", "cut": client.LeftOut + " = 9000000\n",
	} {
		o := quiet()
		_, err := o.readSlot(cedar.Lines(partitionable(more)), &look{Snapshot: Snapshot{Number: 1}})
		require.ErrorContains(t, err, "slot slot1@n: its ad", name)
		require.Empty(t, o.slots)
	}
}
