package htcondor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// TestEditedBeyondALimit: a job that asks for little of a limit while it waits in the plan, and then
// for more, has no more of it than others.
func TestEditedBeyondALimit(t *testing.T) {
	for name, c := range map[string]struct {
		knobs map[string]string
		set   func(a *accountant.Accountant) error
		extra string // at first
		edit  func(*sleeper)
	}{
		"ceiling": {
			set:  func(a *accountant.Accountant) error { return a.SetCeiling("eve@test", 2) },
			edit: func(j *sleeper) { j.cpus = 3 },
		},
		"concurrency limit": {
			knobs: map[string]string{"SW_LIMIT": "1"},
			edit:  func(j *sleeper) { j.extra = licensed },
		},
		"concurrency limit of a job that need not wait": {
			knobs: map[string]string{"SW_LIMIT": "1"},
			extra: licensed + "\nDeferralTime = 1700010000",
			edit:  func(j *sleeper) { j.extra = licensed },
		},
		"quota": {
			knobs: map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "1"},
			edit:  func(j *sleeper) { j.group = "g.eve" },
		},
	} {
		for _, policy := range []string{"easy", "conservative", "slack"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				w := newWorld(t, policy, small(8))
				a := w.account(c.knobs)
				if c.set != nil {
					require.NoError(t, c.set(a))
				}
				w.negotiator(policy, nil)
				w.submit(&sleeper{cpus: 8, seconds: 100, estimate: 100})
				w.pass(8)
				jobs := []*sleeper{}
				for range 2 {
					jobs = append(jobs, w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 300, estimate: 300, extra: c.extra}))
				}
				w.pass(80)
				for _, j := range jobs {
					c.edit(j)
				}
				w.pass(60)
				running := 0
				for _, j := range jobs {
					if j.status == 2 {
						running++
					}
				}
				if name == "ceiling" {
					require.Zero(t, running, "it would be exceeded")
				} else {
					require.Equal(t, 1, running)
				}
			})
		}
	}
}

// TestFlips: jobs that wait and are edited before each cycle break nobody's promise, have one place
// each, start once, and are charged for what they have.
func TestFlips(t *testing.T) {
	lines := func(a, b string) func(*sleeper, bool) {
		return func(j *sleeper, odd bool) {
			if j.extra = "\n" + a; odd {
				j.extra = "\n" + b
			}
		}
	}
	for name, edit := range map[string]func(j *sleeper, odd bool){
		"nothing":              func(*sleeper, bool) {},
		"MinHosts":             lines("MinHosts = 1", "MinHosts = 1000000"),
		"MaxHosts":             lines("MaxHosts = 1", "MaxHosts = 4"),
		"hosts that are none":  lines("MaxHosts = -1", "MinHosts = \"x\""),
		"MaxJobRetirementTime": lines("MaxJobRetirementTime = 0", "MaxJobRetirementTime = 1000000000"),
		"a local job":          lines("JobUniverse = 5", "JobUniverse = 12"),
		"a scheduler's job":    lines("JobUniverse = 5", "JobUniverse = 7"),
		"a gang":               lines("JobUniverse = 5", "JobUniverse = 11"),
		"JobPrio":              lines("JobPrio = -1000000000", "JobPrio = 1000000000"),
		"QDate":                lines("QDate = 1", "QDate = 1800000000"),
		"Requirements":         lines("Requirements = true", "Requirements = false"),
		"a time of its own":    lines("DeferralTime = 1700000500", "DeferralTime = undefined"),
		"RequestMemory":        lines("RequestMemory = 128", "RequestMemory = 8000"),
		"RequestCpus":          func(j *sleeper, odd bool) { j.cpus = map[bool]int64{false: 1, true: 4}[odd] },
		"RequestCpus of a gang": func(j *sleeper, odd bool) {
			j.nodes, j.cpus = 2, map[bool]int64{false: 1, true: 2}[odd]
		},
		"machine_count": func(j *sleeper, odd bool) { j.nodes = map[bool]int{false: 2, true: 4}[odd] },
	} {
		for _, policy := range []string{"conservative", "easy"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				w := newWorld(t, policy, &node{name: "n1", cpus: 4, memory: 8192, policy: true})
				begin := backfill.Time(w.now)
				w.submit(&sleeper{cpus: 3, seconds: 90, estimate: 100})
				w.pass(8)
				var eves []*sleeper
				submit := func(cpus, seconds int64) {
					eves = append(eves, w.submit(&sleeper{owner: "eve", cpus: cpus, seconds: seconds, estimate: seconds + 10}))
				}
				if policy != "easy" { // which keeps room for the first job only
					submit(3, 50)
				}
				bob := w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 50, estimate: 60})
				w.pass(64) // a job may come a minute before the time when it came
				submit(2, 90)
				submit(2, 90)
				for cycles := 0; cycles < 40 || bob.runs == 0; cycles++ {
					require.Less(t, cycles, 500)
					for i, j := range eves {
						if w.now%4 == 0 && j.status == 1 && len(j.wants) == 0 {
							edit(j, w.now/4%2 == int64(i%2))
						}
					}
					w.pass(4)
					w.requireOnePlace()
					w.requireCharged(eves)
				}
				require.Equal(t, 1, bob.runs)
				promised := w.promised[fmt.Sprintf("%d.0", bob.cluster)]
				if policy == "easy" { // the first job's start is not told as a promise
					promised = begin + 8 + 100 + 60
				}
				require.LessOrEqual(t, backfill.Time(bob.began), promised)
				for _, j := range eves {
					require.LessOrEqual(t, j.runs, 1)
				}
			})
		}
	}
}

// requireCharged requires that eve is charged for those of her jobs that have run for a while.
func (w *world) requireCharged(eves []*sleeper) {
	w.t.Helper()
	weight := 0.0
	for _, j := range eves {
		if j.status == 2 && w.now-j.began > 8 {
			weight += float64(j.cpus * int64(j.nodes))
		}
	}
	require.GreaterOrEqual(w.t, w.pool.Use()["eve@test"].Weight, weight)
}

// requireOnePlace requires that no job stands in the plan twice.
func (w *world) requireOnePlace() {
	w.t.Helper()
	var names []string
	for _, j := range w.n.State().Snapshot().Jobs {
		names = append(names, w.n.Job(j.Job.ID).Name)
	}
	slices.Sort(names)
	require.Equal(w.t, slices.Compact(slices.Clone(names)), names)
}

// TestRunsThatAreWritten: eve's jobs, which no slot can run, say that they run on all of the pool,
// with each edit or each job anew. They hold nothing.
func TestRunsThatAreWritten(t *testing.T) {
	const nodes, every = 4, 20
	run := func(w *world, hosts string) string {
		return fmt.Sprintf("\nRequirements = false\nJobStatus = 2\n%s\nNumShadowStarts = %d\nJobCurrentStartDate = %d",
			hosts, w.now, w.now)
	}
	for name, write := range map[string]func(w *world, i int, j *sleeper){
		"once": func(w *world, i int, j *sleeper) {
			if j.extra == "" {
				j.extra = run(w, fmt.Sprintf("RemoteHost = \"slot1_9@n%d\"", i+1))
			}
		},
		"edited": func(w *world, i int, j *sleeper) { j.extra = run(w, fmt.Sprintf("RemoteHost = \"slot1_9@n%d\"", i+1)) },
		"elsewhere each time": func(w *world, i int, j *sleeper) {
			j.extra = run(w, fmt.Sprintf("RemoteHost = \"slot1_9@n%d\"", (i+int(w.now)/every)%nodes+1))
		},
		"idle in between": func(w *world, i int, j *sleeper) {
			if j.extra = "\nRequirements = false"; w.now/every%2 == 0 {
				j.extra = run(w, fmt.Sprintf("RemoteHost = \"slot1_9@n%d\"", i+1))
			}
		},
		"new jobs": func(w *world, i int, j *sleeper) {
			j.done = true
			w.submit(&sleeper{owner: "eve", cpus: 4, estimate: 3000, extra: run(w, fmt.Sprintf("RemoteHost = \"slot1_9@n%d\"", i+1))})
		},
		"a gang": func(w *world, i int, j *sleeper) {
			if j.extra = "\nRequirements = false"; i == 0 {
				j.extra = run(w, "JobUniverse = 11\nMaxHosts = 4\nRemoteHosts = \"slot1_9@n1,slot1_9@n2,slot1_9@n3,slot1_9@n4\"")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pool []*node
			for i := range nodes {
				pool = append(pool, &node{name: fmt.Sprintf("n%d", i+1), cpus: 4, memory: 8192, policy: true, renews: 300})
			}
			w := newWorld(t, "conservative", pool...)
			w.cycle()
			for range nodes {
				w.submit(&sleeper{owner: "eve", cpus: 4, estimate: 3000})
			}
			var honest []*sleeper
			for range 10 {
				i := 0
				for _, j := range slices.Clone(w.jobs) {
					if j.owner == "eve" && !j.done {
						write(w, i, j)
						i++
					}
				}
				honest = append(honest, w.submit(&sleeper{owner: "bob", cpus: 2, seconds: 100, estimate: 120}))
				w.pass(every)
			}
			for _, j := range honest {
				require.Equal(t, 1, j.runs)
				require.Less(t, j.began, j.submit+every)
			}
		})
	}
}

// TestRunsThatAreDenied: eve's jobs say that they do not run, once they do, or by turns, and name
// another group. They hold her limit, and are charged to her.
func TestRunsThatAreDenied(t *testing.T) {
	for name, denies := range map[string]string{"on hold": "JobStatus = 5", "removed": "JobStatus = 3", "a local job": "JobUniverse = 12"} {
		for _, turns := range []bool{false, true} {
			t.Run(fmt.Sprint(name, turns), func(t *testing.T) {
				w := newWorld(t, "slack", &node{name: "n1", cpus: 16, memory: 8192, policy: true, renews: 60})
				w.account(map[string]string{"SW_LIMIT": "2"})
				for range 4 {
					w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 3000, estimate: 3600, extra: licensed})
				}
				w.pass(12)
				for range 80 {
					for _, j := range w.jobs {
						if j.extra = licensed; j.status == 2 {
							j.extra += "\nAccountingGroup = \"victim\""
							if !turns || w.now/8%2 == 0 {
								j.extra += "\n" + denies
							}
						}
					}
					w.pass(1)
					require.Equal(t, map[string]accountant.Use{"eve@test": {Slots: 2, Weight: 2}}, w.pool.Use())
				}
				require.Equal(t, 2, w.running())
			})
		}
	}
}
