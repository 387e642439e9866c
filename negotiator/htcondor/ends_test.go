package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPilotsEnd says that a slot takes a job that ends before the slot does, and none that would not,
// whatever says when the slot ends; where nothing that is heeded does, it takes both.
func TestPilotsEnd(t *testing.T) {
	const ends = 1_700_000_000 + 600
	for name, c := range map[string]struct {
		ad        string
		heeds     []string
		takesLong bool
	}{
		"a pilot's end":           {ad: fmt.Sprint("GLIDEIN_ToDie = ", ends), heeds: []string{"GLIDEIN_ToDie"}},
		"which nobody heeds":      {ad: fmt.Sprint("GLIDEIN_ToDie = ", ends), takesLong: true},
		"one's own attribute":     {ad: fmt.Sprint("Until = ", ends), heeds: []string{"None", "Until", "GLIDEIN_ToDie"}},
		"a shutdown":              {ad: fmt.Sprint("DaemonShutdown = time() >= ", ends)},
		"by another attribute":    {ad: fmt.Sprint("DaemonShutdown = Over\nOver = CurrentTime >= ", ends)},
		"a shutdown of idle ones": {ad: "DaemonShutdown = State == \"Unclaimed\" && time() > 0", takesLong: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true, start: "true\n" + c.ad})
			w.settings = func(s *Settings) { s.Schema.SlotEnds = c.heeds }
			w.negotiator("easy", nil)
			short := &sleeper{cpus: 1, seconds: 10, estimate: 60}
			long := &sleeper{cpus: 1, seconds: 10, estimate: 1200}
			w.submit(short)
			w.submit(long)
			w.pass(60)
			require.True(t, short.done)
			require.Equal(t, c.takesLong, long.done)
		})
	}
}
