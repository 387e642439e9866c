package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// more are the ads of a startd's further slots.
func more(node string, started int64, slots ...int) (ads []string) {
	for _, i := range slots {
		ads = append(ads, fmt.Sprintf("Name = \"slot%d@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\n"+
			"State = \"Unclaimed\"\nCpus = 1\nMemory = 1024\nArch = \"X86_64\"\nRequirements = true\n"+
			"DaemonStartTime = %d", i, node, node, node, started))
	}
	return ads
}

// TestSlotsThatAStartdDoesNotTellOfAnyMore: when a startd restarts with fewer slots, the others are
// gone, whether the collector still has their ads or not, and even if they are most of the pool.
func TestSlotsThatAStartdDoesNotTellOfAnyMore(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		n := &node{name: "n1", cpus: 4, memory: 4096, started: 1}
		n.strangers = more("n1", 1, 2, 3, 4, 5)
		w := newWorld(t, "easy", n)
		w.pass(8)
		require.Equal(t, 5, w.pool.Last().Slots)
		n.started = 2
		if withdrawn {
			n.strangers = nil
		}
		w.pass(16)
		require.Equal(t, 1, w.pool.Last().Slots)
		w.pass(40)
		require.Equal(t, 1, w.pool.Last().Slots)
		require.NotNil(t, w.pool.belief.Slot("slot1@n1"))
	}
}

// TestSlotsThatAStartdTellsOfLater: a restarted startd advertises its slots one after the other;
// none of them is given up meanwhile.
func TestSlotsThatAStartdTellsOfLater(t *testing.T) {
	n := &node{name: "n1", cpus: 4, memory: 4096, started: 1}
	n.strangers = more("n1", 1, 2, 3)
	w := newWorld(t, "easy", n)
	w.pass(8)
	n.started, n.strangers = 2, nil
	w.pass(8)
	n.strangers = more("n1", 2, 2, 3)
	for range 30 {
		w.pass(1)
		require.Equal(t, 3, w.pool.Last().Slots)
	}
	require.NotContains(t, w.log.String(), "a slot is gone")
}

// TestDynamicSlotsThatTheirStartdDoesNotTellOf: a collector may get a dynamic slot's last ad after
// the message that deletes it. A negotiator that starts then does not plan around that claim, since
// the parent slot lists which dynamic slots exist.
func TestDynamicSlotsThatTheirStartdDoesNotTellOf(t *testing.T) {
	const claim = "Name = \"slot1_2@n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\nCpus = 3\n" +
		"Memory = 128\nRequirements = true\n" +
		"JobId = \"7.0\"\nGlobalJobId = \"schedd@test#7.0#1\"\nRemoteUser = \"alice@test\"\nLastHeardFrom = 1\n" +
		"EnteredCurrentState = %d"
	for _, test := range []struct {
		name    string
		silent  bool
		listed  bool
		since   int64 // before the slot's ad was made
		foreign int
	}{
		{"deleted", false, false, 10, 0},
		{"its startd does not tell", true, false, 10, 1},
		{"it is there", false, true, 10, 1},
		{"it has just begun", false, false, 0, 1},
		{"nobody knows since when", false, false, 1 << 60, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &node{name: "n1", cpus: 4, memory: 4096, silent: test.silent}
			w := newWorld(t, "easy", n)
			ads := []string{fmt.Sprintf(claim, max(0, w.now-test.since))}
			if n.deleted = ads; test.listed {
				n.deleted, n.strangers = nil, ads
			}
			w.negotiator("easy", nil)
			j := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 30})
			w.pass(4)
			require.Equal(t, test.foreign, w.pool.Last().Foreign)
			w.pass(40)
			require.Equal(t, test.foreign, w.pool.Last().Foreign)
			require.Equal(t, test.foreign == 0, j.done)
			n.deleted, n.strangers = nil, nil
			w.pass(40)
			require.Zero(t, w.pool.Last().Foreign)
			require.True(t, j.done)
		})
	}
}

// restoredWithout is a world whose negotiator goes on with a slot that is not there, and whose
// collector then has an ad of it that cannot be used.
func restoredWithout(t *testing.T, state string) *world {
	t.Helper()
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, static: true},
		&node{name: "n2", cpus: 4, memory: 4096, static: true},
	)
	w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000})
	w.pass(8)
	saved := w.pool.Saved(w.n.Checkpoint())
	require.Len(t, saved.Slots, 2)
	w.node("slot1@n2").hidden = true
	w.publish()
	w.negotiator("conservative", saved)
	ad, _ := w.nodes[0].ads(w)
	w.collector.Set("Machine", ad, "Name = \"slot1@n2\"\nMachine = \"n2\"\nMyAddress = \"<n2>\"\n"+
		"State = \""+state+"\"\n"+
		"Cpus = 4\nMemory = -1\nArch = \"X86_64\"\nRequirements = true\nEnteredCurrentState = 1600000000\n"+
		"JobId = \"7.0\"\nGlobalJobId = \"other@x#7.0#1\"")
	return w
}

// TestRestoredSlotWithABadClaimedAd: a claim on a slot whose ad cannot be used is planned around
// with the capacity that the slot had.
func TestRestoredSlotWithABadClaimedAd(t *testing.T) {
	w := restoredWithout(t, "Claimed")
	d, _ := w.cycle()
	require.Len(t, d.Found, 1)
}

// TestRestoredSlotWithABadAd: a slot whose ad cannot be used is known by the ad that it had, and is
// reported once it has been missing for long.
func TestRestoredSlotWithABadAd(t *testing.T) {
	w := restoredWithout(t, "Unclaimed")
	w.cycle()
	ad, _ := w.nodes[0].ads(w)
	w.collector.Set("Machine", ad)
	var down []string
	for range 5 {
		w.now += 12
		d, _ := w.cycle()
		down = append(down, d.SlotsDown...)
	}
	require.Equal(t, []string{"slot1@n2"}, down)
}

func TestMissingSlot(t *testing.T) {
	w := newWorld(t, "easy",
		small(4),
		&node{name: "n2", cpus: 4, memory: 4096},
		&node{name: "n3", cpus: 4, memory: 4096},
	)
	w.pass(4)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
	w.nodes[0].down = true
	w.pass(12)
	require.EqualValues(t, 12, w.n.State().Capacity()[0], "it may come back")
	w.pass(20)
	require.EqualValues(t, 8, w.n.State().Capacity()[0])
	w.nodes[0].down = false
	w.pass(8)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
	for _, n := range w.nodes { // a collector that was restarted knows nobody for a while
		n.down = true
	}
	w.pass(60)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
}

func TestDrainedSlot(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.nodes[0].closed = true
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(20)
	require.Zero(t, w.starts)
	w.nodes[0].closed = false
	w.pass(20)
	require.True(t, j.done)
}
