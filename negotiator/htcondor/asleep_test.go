package htcondor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// requireWanted requires that the collector was told in all that these slots are wanted.
func (w *world) requireWanted(slots ...string) {
	w.t.Helper()
	poll.Equal(w.t, strings.Join(slots, " "), func() string { return strings.Join(w.wanted(), " ") })
}

// wanted returns the slots that the collector was told are wanted, as the updates came.
func (w *world) wanted() (slots []string) {
	for _, u := range w.collector.Updates() {
		if _, wanted := u.Ad.Lookup("MachineLastMatchTime"); u.Command == 73 && wanted {
			name, _ := u.Ad.Text("Name")
			slots = append(slots, name)
		}
	}
	return slots
}

// TestMachineThatSleeps: a machine that sleeps gets no job, and no promise rests on it. A job that
// could start there has it woken, unless a machine that is awake takes the job now.
func TestMachineThatSleeps(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			sleepy := &node{name: "n2", cpus: 4, memory: 4096, asleep: true}
			w := newWorld(t, policy, small(4), sleepy)
			var notes []string
			w.settings = func(s *Settings) { s.Notes = func(line string) { notes = append(notes, line) } }
			w.negotiator(policy, nil)
			first := w.submit(&sleeper{cpus: 4, seconds: 300, estimate: 300})
			w.pass(12)
			require.EqualValues(t, 2, first.status)
			require.Empty(t, w.wanted(), "the job runs")

			second := w.submit(&sleeper{cpus: 2, seconds: 20, estimate: 20})
			w.submit(&sleeper{cpus: 2, seconds: 20, estimate: 20, extra: "\nBanned = true"})
			w.pass(8)
			w.requireWanted("slot1@n2")
			require.Equal(t, 2, w.pool.Last().Slots, "the slot is there")
			poll.Equal(t, 2, func() int { return len(w.collector.Updates()) })
			updates := w.collector.Updates()
			further, ad := updates[len(updates)-1].Ad, updates[len(updates)-2].Ad
			address, _ := ad.Text("MyAddress")
			require.Equal(t, "<n2>", address, "by which the collector finds the ad")
			count, _ := ad.Int("MachineMatchCount")
			require.EqualValues(t, 1, count)
			matches, _ := ad.Lookup("OfflineMatches")
			require.Contains(t, matches.String(), "RequestCount = 1")
			at, _ := further.Int("slot1_MachineLastMatchTime")
			require.LessOrEqual(t, at, w.now)
			require.Contains(t, notes[len(notes)-1], "Matched 2.0 alice@test ")
			require.Contains(t, notes[len(notes)-1], " slot1@n2 (offline)")
			for _, j := range w.n.Checkpoint().Jobs {
				if j.Promised && !j.Running {
					require.Equal(t, "slot1@n1", j.Placement.Places()[0].Slot)
				}
			}
			w.pass(72)
			w.requireWanted("slot1@n2", "slot1@n2", "slot1@n2") // whoever wakes it up hears of it from time to time

			sleepy.asleep = false
			w.pass(12)
			require.EqualValues(t, 2, second.status, "it starts where it is awake")
			require.Equal(t, 1, second.at[sleepy])
			told := len(w.wanted())
			w.pass(60)
			require.Len(t, w.wanted(), told)
		})
	}
}

// TestJobThatOnlyASleepingMachineCanRun: it counts as one that no slot can run now, and has the
// machine woken; jobs that the machine's START or size refuse do not.
func TestJobThatOnlyASleepingMachineCanRun(t *testing.T) {
	sleepy := &node{name: "n2", cpus: 8, memory: 4096, asleep: true, start: "TARGET.Wide =?= true"}
	w := newWorld(t, "conservative", small(4), sleepy)
	w.submit(&sleeper{cpus: 8, seconds: 20, estimate: 20})
	w.submit(&sleeper{cpus: 9, seconds: 20, estimate: 20, extra: "\nWide = true"})
	w.pass(12)
	require.Empty(t, w.wanted())
	wide := w.submit(&sleeper{cpus: 8, seconds: 20, estimate: 20, extra: "\nWide = true"})
	w.pass(8)
	w.requireWanted("slot1@n2")
	require.Empty(t, w.promised)
	sleepy.asleep = false
	w.pass(12)
	require.EqualValues(t, 2, wide.status)
	w.pass(30)
	require.Zero(t, w.broken)
}

// TestMachinesAreWokenForAsManyAsFit: two jobs share a machine, and an observer wakes none.
func TestMachinesAreWokenForAsManyAsFit(t *testing.T) {
	for _, observes := range []bool{false, true} {
		nodes := []*node{{name: "n1", cpus: 4, memory: 4096, asleep: true}}
		for _, name := range []string{"n2", "n3"} {
			nodes = append(nodes, &node{name: name, cpus: 4, memory: 4096, asleep: true})
		}
		w := newWorld(t, "easy", nodes...)
		w.settings = func(s *Settings) { s.Observe = observes }
		w.negotiator("easy", nil)
		for range 3 {
			w.submit(&sleeper{cpus: 2, seconds: 20, estimate: 20})
		}
		w.pass(8)
		require.Len(t, w.pool.Last().Asleep, 3)
		if observes {
			require.Empty(t, w.wanted())
		} else {
			w.requireWanted("slot1@n1", "slot1@n2")
		}
	}
}

// TestRouseIsNothingInAPoolThatIsAwake: nobody is asked for where nobody sleeps.
func TestRouseIsNothingInAPoolThatIsAwake(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 5, seconds: 20, estimate: 20})
	w.pass(8)
	require.Empty(t, w.pool.Last().Asleep)
	require.Nil(t, w.n.Rouse([]*negotiator.Slot{}, nil))
}
