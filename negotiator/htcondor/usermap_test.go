package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/usermap"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// readMap has the world's negotiator and pool use a map from now on.
func (w *world) readMap(text string) {
	w.t.Helper()
	m, err := usermap.Parse("groups", text, usermap.Options{})
	require.NoError(w.t, err)
	w.maps = usermap.New(map[string]*usermap.Map{"Groups": m})
	w.n.SetWorld(matchmaker.World{UserMap: w.maps.UserMap})
	tuning := w.pool.s.Tuning
	tuning.UserMaps = w.maps
	w.pool.Tune(tuning)
}

// TestUserMapInStart: a START that asks a map lets the jobs of those who are in it run, and no others,
// until the map is another one.
func TestUserMapInStart(t *testing.T) {
	w := newWorld(t, "easy", &node{
		name: "n1", cpus: 4, memory: 8192, policy: true,
		start: `userMap("groups", TARGET.Owner, "physics", "none") == "physics"`,
	})
	w.readMap("* alice math,physics\n* bob math\n")
	alice := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30})
	bob := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30, owner: "bob"})
	eve := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30, owner: "eve"})
	w.pass(50)
	require.True(t, alice.done)
	require.Zero(t, bob.runs+eve.runs)

	w.readMap("* /^b/ physics\n")
	again := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30})
	w.pass(50)
	require.True(t, bob.done)
	require.Zero(t, again.runs+eve.runs)
}

// TestUserMapInRequirements: Requirements of jobs that ask a map are true when the job is planned, and still
// when its slot is handed over.
func TestUserMapInRequirements(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 8192, policy: true})
	w.readMap("* alice n1\n")
	const mine = "\nRequirements = userMap(\"groups\", Owner, Machine) == Machine && time() > 0"
	alice := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30, extra: mine})
	bob := w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30, owner: "bob", extra: mine})
	w.pass(50)
	require.True(t, alice.done)
	require.Zero(t, bob.runs)
}
