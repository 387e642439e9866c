package htcondor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobsThatNeverRun: jobs in a group that cannot start, of another user and under many names, take
// nothing of what the group's other jobs get.
func TestJobsThatNeverRun(t *testing.T) {
	for name, extra := range map[string]string{
		"impossible": "\nRequirements = TARGET.Arch == \"VAX\"",
		"deferred":   "\nDeferralTime = 1700080000\nDeferralPrepTime = 10\nDeferralWindow = 10",
		"pinned":     "\nRequirements = TARGET.Machine == \"n2\"",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true},
				&node{name: "n2", cpus: 1, memory: 8192, policy: true})
			w.account(map[string]string{
				"GROUP_NAMES": "group_a, group_b", "GROUP_QUOTA_DYNAMIC_GROUP_A": "0.5",
				"GROUP_QUOTA_DYNAMIC_GROUP_B": "0.5", "GROUP_ACCEPT_SURPLUS": "true",
			})
			w.negotiator("easy", nil)
			w.submit(&sleeper{
				owner: "carl", cpus: 1, seconds: 4000, estimate: 4000,
				extra: "\nRequirements = TARGET.Machine == \"n2\"",
			})
			w.pass(12)
			for i := range 60 {
				w.submit(&sleeper{
					owner: "bob", group: fmt.Sprint("group_a.e", i%30), cpus: 1, seconds: 4000, estimate: 4000,
					extra: extra,
				})
			}
			for range 100 {
				for _, owner := range []string{"alice", "bob"} {
					w.submit(&sleeper{
						owner: owner, group: "group_" + owner[:1] + "." + owner, cpus: 1, seconds: 30, estimate: 30,
						extra: "\nRequirements = TARGET.Machine == \"n1\"",
					})
				}
			}
			w.pass(120)
			used := map[string]int{}
			for range 160 {
				w.pass(1)
				for _, j := range w.jobs {
					if j.status == 2 && j.seconds == 30 {
						used[j.owner]++
					}
				}
			}
			require.Equal(t, map[string]int{"alice": 600, "bob": 600}, used, "they share eight cpus; a start takes ten seconds")
		})
	}
}

// TestSurplusLeavesNothingIdle: a group whose jobs match only slots that are taken is divided half of the pool,
// and the other uses what it cannot. A limit at what is divided would leave three of n1's cpus idle.
func TestSurplusLeavesNothingIdle(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true},
		&node{name: "n2", cpus: 2, memory: 8192, policy: true})
	w.account(map[string]string{
		"GROUP_NAMES": "group_a, group_b", "GROUP_QUOTA_DYNAMIC_GROUP_A": "0.5",
		"GROUP_QUOTA_DYNAMIC_GROUP_B": "0.5", "GROUP_ACCEPT_SURPLUS": "true",
	})
	on := func(host string) string { return "\nRequirements = TARGET.Machine == \"" + host + "\"" }
	for range 2 {
		w.submit(&sleeper{owner: "carl", cpus: 1, seconds: 4000, estimate: 4000, extra: on("n2")})
	}
	w.pass(12)
	for range 40 {
		for owner, host := range map[string]string{"alice": "n2", "bob": "n1"} {
			w.submit(&sleeper{
				owner: owner, group: "group_" + owner[:1] + "." + owner, cpus: 1, seconds: 1000, estimate: 1000, extra: on(host),
			})
		}
	}
	w.pass(30)
	require.Equal(t, map[string]int{"alice": 0, "bob": 8, "carl": 2}, map[string]int{
		"alice": runningOf(w, "alice"), "bob": runningOf(w, "bob"), "carl": runningOf(w, "carl"),
	})
}

// TestBelowTheQuotaComesFirst: jobs that can run now, of a group that uses nothing of its quota, start before
// those of a group above its own, although the user has more jobs, submitted before, that wait for a slot that is
// taken. So it is when others start behind all of these all the time, too, and all have come at once. (Under
// conservative and pc jobs start as they were promised when they came.)
func TestBelowTheQuotaComesFirst(t *testing.T) {
	for name, together := range map[string]bool{
		"easy": false, "slack": false, "easy crowded": true, "slack crowded": true,
	} {
		t.Run(name, func(t *testing.T) {
			policy, _, _ := strings.Cut(name, " ")
			w := newWorld(t, policy, &node{name: "n1", cpus: 8, memory: 8192, policy: true},
				&node{name: "n2", cpus: 2, memory: 8192, policy: true}, &node{name: "n3", cpus: 2, memory: 8192, policy: true})
			w.account(map[string]string{
				"GROUP_NAMES": "group_a, group_b", "GROUP_QUOTA_DYNAMIC_GROUP_A": "0.5",
				"GROUP_QUOTA_DYNAMIC_GROUP_B": "0.5", "GROUP_ACCEPT_SURPLUS": "true",
			})
			w.negotiator(policy, nil)
			submit := func(count int, owner, group, host string, seconds int64) {
				for range count {
					w.submit(&sleeper{
						owner: owner, group: group, cpus: 1, seconds: seconds, estimate: seconds,
						extra: "\nRequirements = TARGET.Machine == \"" + host + "\"",
					})
				}
			}
			submit(2, "carl", "", "n2", 4000)
			if together {
				submit(100, "carl", "", "n3", 7)
				submit(8, "carl", "", "n1", 100)
			}
			w.pass(12)
			submit(40, "alice", "group_a.alice", "n2", 1000)
			submit(128, "bob", "group_b.bob", "n1", 40)
			if !together {
				w.pass(150)
				require.Equal(t, 8, runningOf(w, "bob"), "nobody else can use them")
			}
			submit(24, "alice", "group_a.alice", "n1", 40)
			w.pass(80)
			if together {
				w.pass(160)
			}
			require.GreaterOrEqual(t, runningOf(w, "alice"), 4, "of a quota of five")
		})
	}
}

// runningOf counts the running jobs of an owner.
func runningOf(w *world, owner string) (n int) {
	for _, j := range w.jobs {
		if j.owner == owner && j.status == 2 {
			n++
		}
	}
	return n
}
