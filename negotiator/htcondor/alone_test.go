package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// wholeNode is how HTCondor-CE has a job ask for cpus.
const wholeNode = "ifThenElse(WantWholeNode =?= true, !isUndefined(TotalCpus) ? TotalCpus : JobCpus, OriginalCpus)"

// A job whose amounts depend on the slot or the clock would take more than it is planned with, and break
// what others are promised: it waits, and others start as if it were not there. Amounts that its ad
// decides count as they are, also if their text mentions more.
func TestAmountsMustNotDependOnTheSlotOrTheClock(t *testing.T) {
	const dependent = "its RequestCpus must not depend on the slot, the clock"
	for request, why := range map[string]string{
		"8":                                   "",
		"MyCpus ?: 8":                         "",
		wholeNode:                             "",
		"TARGET.Cpus":                         dependent,
		"Cpus":                                dependent,
		"TotalSlotCpus - 8":                   dependent,
		"ifThenElse(time() > 0, 8, 8)":        dependent,
		"8 + random(1)":                       dependent,
		"Arch is undefined ? 1 : 8":           "true on none of 1: Arch is undefined",
		"PeriodicHold is true ? 1 : 8":        dependent,
		"JobCount ?: 8":                       dependent,
		"BackfillSchedd is undefined ? 1 : 8": dependent,
		"ifThenElse(TARGET.Cpus is undefined, 1, TARGET.Cpus)": dependent,
	} {
		t.Run(request, func(t *testing.T) {
			w := newWorld(t, "slack", &node{name: "n1", cpus: 16, memory: 8192})
			w.submit(&sleeper{owner: "carl", cpus: 8, seconds: 30, estimate: 40})
			w.pass(8)
			bob := w.submit(&sleeper{owner: "bob", cpus: 15, seconds: 20, estimate: 40})
			w.pass(8)
			eve := w.submit(&sleeper{
				owner: "eve", cpus: 8, seconds: 300, estimate: 400,
				extra: "\nOriginalCpus = 8\nRequestCpus = " + request,
			})
			w.pass(4)
			id := w.pool.Find("3.0")[0]
			reason, _ := w.pool.Why(id)
			fit, _ := w.n.Fit(id)
			require.Contains(t, reason.Why+fit.WhyNone(), why)
			w.pass(280)
			require.LessOrEqual(t, bob.began, int64(w.promised["2.0"]))
			require.Equal(t, 1, bob.runs)
			require.Equal(t, why == "", eve.runs == 1)
			require.Zero(t, w.broken)
		})
	}
}

// Limits that depend on the slot or the clock are those that they come to where and when a job starts.
func TestLimitsThatDependOnTheSlotOrTheClock(t *testing.T) {
	for limits, most := range map[string]int{
		`"sw"`: 2,
		`ifThenElse(WantWholeNode =?= true, "x", "sw")`: 2,
		`NoLimits`: 10,
		`ifThenElse(TARGET.Machine == "n1", "sw", "sw")`:       2,
		`ifThenElse(time() > 0, "sw", "sw")`:                   2,
		`ifThenElse(Arch is undefined, "unlimited", "sw")`:     2,
		`strcat(ifThenElse(Cpus is undefined, "un", ""),"sw")`: 2,
		`ifThenElse(PeriodicHold is undefined, "sw", "sw")`:    0,
	} {
		t.Run(limits, func(t *testing.T) {
			w := newWorld(t, "slack", &node{name: "n1", cpus: 16, memory: 8192, policy: true})
			w.account(map[string]string{"SW_LIMIT": "2"})
			w.negotiator("slack", nil)
			for range 10 {
				w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100, extra: "\nConcurrencyLimits = " + limits})
			}
			w.pass(20)
			require.Equal(t, most, w.running())
		})
	}
}
