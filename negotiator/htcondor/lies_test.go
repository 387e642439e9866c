package htcondor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestRepeatedLies: bob's job needs the whole pool and is promised a start, and another user
// submits jobs, one after the other, that say a second and run for ten minutes. If all are
// believed, bob starts when there are no more of them. By the record, he starts when those are over
// that began before the first lie showed, wherever they run and whoever is said to pay for them.
func TestRepeatedLies(t *testing.T) {
	const lasts, most = 600, 12
	for _, policy := range []string{"conservative", "slack", "easy"} {
		for _, c := range []struct {
			trust estimate.Trust
			lease time.Duration
			lies  int // that begin before bob's job
		}{
			{estimate.TrustAll, 0, most},
			{"", 0, 1},
			{estimate.TrustRecord, 0, 1},
			{estimate.TrustRecord, 30 * time.Second, 1},
			{estimate.TrustEnforced, 0, 0},
		} {
			t.Run(fmt.Sprint(policy, c.trust, c.lease), func(t *testing.T) {
				w := newWorld(t, policy, &node{name: "n1", cpus: 4, memory: 8192, policy: true})
				w.trust = c.trust
				w.settings = func(s *Settings) { s.Lease = c.lease }
				// What slack promises by itself is beyond all lies.
				w.options = map[string]map[string]string{"slack": {"factor": "2", "aging": "0"}}
				w.negotiator(policy, nil)
				alice := w.submit(&sleeper{cpus: 3, seconds: 290, estimate: 300})
				w.pass(8)
				bob := w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 20, estimate: 300})
				w.pass(8)
				lies, next := []*sleeper{}, 0
				for bob.runs == 0 {
					begun := 0
					for _, lie := range lies {
						begun += min(lie.runs, 1)
					}
					if begun == len(lies) && len(lies) < most { // one waits at any time
						next++
						lies = append(lies, w.submit(&sleeper{
							owner: "eve", cpus: 1, seconds: lasts, extra: fmt.Sprintf("\nEstimatedRunTime = 1\nAcctGroup = \"group%d\"", next),
						}))
					}
					w.step()
					if w.now%4 == 0 {
						w.cycle()
					}
					require.Less(t, w.now, int64(1_700_000_000+most*lasts))
				}
				require.Equal(t, 1, alice.runs)
				begun := 0
				for _, lie := range lies {
					begun += min(lie.runs, 1)
				}
				promised := w.promised[fmt.Sprintf("%d.0", bob.cluster)]
				t.Log("lies", begun, "bob promised", promised-1_700_000_000, "started", bob.began-1_700_000_000)
				switch policy {
				case "slack": // its promise leaves room for some
					require.Equal(t, c.trust != estimate.TrustAll, backfill.Time(bob.began) <= promised)
				default:
					require.Equal(t, c.lies, begun)
				}
			})
		}
	}
}

// TestLiesThatAreEdited: the jobs of TestRepeatedLies, which edit all that their ads say of when
// they began, were suspended, may begin and should end, once they run, to stay off the record.
func TestLiesThatAreEdited(t *testing.T) {
	const lasts, most = 600, 12
	const ended = "\nPeriodicRemove = RemoteWallClockTime > 1" // and is not
	for name, edit := range map[string]func(w *world, j *sleeper) string{
		"suspended for ever": func(*world, *sleeper) string { return "\nCumulativeSuspensionTime = 1000000" },
		"suspended all the time": func(w *world, j *sleeper) string {
			return fmt.Sprintf("\nCumulativeSuspensionTime = %d", w.now-j.began)
		},
		"is on hold":   func(*world, *sleeper) string { return "\nJobStatus = 5" },
		"has ended":    func(*world, *sleeper) string { return "\nJobStatus = 4" },
		"is paused":    func(*world, *sleeper) string { return "\nJobStatus = 7" },
		"began now":    func(w *world, _ *sleeper) string { return fmt.Sprintf("\nJobCurrentStartDate = %d", w.now) },
		"began never":  func(*world, *sleeper) string { return "\nJobCurrentStartDate = 0" },
		"begins later": func(w *world, _ *sleeper) string { return fmt.Sprintf("\nJobCurrentStartDate = %d", w.now+100_000) },
		"states more":  func(*world, *sleeper) string { return "\nEstimatedRunTime = 100000" },
		"is deferred": func(*world, *sleeper) string {
			return "\nDeferralTime = 1800000000\nDeferralPrepTime = 10000000000\nDeferralWindow = 1000000"
		},
		"is said to be ended":       func(*world, *sleeper) string { return ended },
		"needs what is not to have": func(*world, *sleeper) string { return "\nRequestCpus = 1e30" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 8192, policy: true, renews: 60})
			w.submit(&sleeper{cpus: 3, seconds: 290, estimate: 300})
			w.pass(8)
			bob := w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 20, estimate: 300})
			w.pass(8)
			var lies []*sleeper
			begun := 0
			for bob.runs == 0 {
				begun = 0
				for _, lie := range lies {
					begun += min(lie.runs, 1)
					if lie.status == 2 && !lie.done && w.now > lie.began+8 {
						lie.extra = "\nEstimatedRunTime = 1" + edit(w, lie)
					}
				}
				if begun == len(lies) && len(lies) < most {
					lie := &sleeper{owner: "eve", cpus: 1, seconds: lasts, extra: "\nEstimatedRunTime = 1"}
					if name == "is said to be ended" && len(lies)%2 == 0 {
						lie.extra += ended
					}
					lies = append(lies, w.submit(lie))
				}
				w.step()
				if w.now%4 == 0 {
					w.cycle()
				}
				require.Less(t, w.now, int64(1_700_000_000+most*lasts))
			}
			require.Equal(t, 1, begun)
		})
	}
}

// TestEndsThatAreEdited: eve's running job says to end soon, and then not, again and again, while
// bob's jobs, which need its place, come. Only the first that it says to run longer breaks promises.
func TestEndsThatAreEdited(t *testing.T) {
	for _, trust := range []estimate.Trust{estimate.TrustAll, estimate.TrustRecord} {
		t.Run(string(trust), func(t *testing.T) {
			w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 8192, policy: true})
			w.trust = trust
			w.negotiator("conservative", nil)
			eve := w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 36000, estimate: 36000})
			w.pass(16)
			require.Equal(t, 1, eve.runs)
			for range 6 {
				eve.extra = fmt.Sprintf("\nEstimatedRunTime = %d", w.now-eve.began+60)
				w.pass(12)
				w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 100, estimate: 110})
				w.pass(12)
				eve.extra = "\nEstimatedRunTime = 100000"
				w.pass(24)
			}
			require.Equal(t, 1, w.broken)
		})
	}
}
