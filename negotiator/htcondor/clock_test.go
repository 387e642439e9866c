package htcondor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAdsSeeTheClock says that the ads of slots and jobs see the instant at which the pool was looked
// at, in the machine's time zone, when they are matched and when claims are handed over.
func TestAdsSeeTheClock(t *testing.T) {
	for name, c := range map[string]struct {
		start, job string // START, and the job's Requirements
		runs       bool
	}{
		"a pilot that retires late":  {start: "time() < 4000000000", runs: true},
		"CurrentTime":                {start: "CurrentTime < 4000000000", runs: true},
		"a pilot that has retired":   {start: "time() < 1000000000"},
		"a zone":                     {start: `splitTime(time()).Offset == 18000`, runs: true},
		"a job that has just come":   {job: "time() - QDate < 600", runs: true},
		"a job that asks much later": {job: "CurrentTime > 4000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true, start: c.start})
			w.settings = func(s *Settings) { s.Zone = time.FixedZone("UTC+5", 5*3600) }
			w.negotiator("easy", nil)
			j := &sleeper{cpus: 1, seconds: 10, estimate: 10}
			if c.job != "" {
				j.extra = "\nRequirements = " + c.job
			}
			w.submit(j)
			w.pass(40)
			require.Equal(t, c.runs, j.done)
		})
	}
}
