package htcondor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// heeds is what START says where claims may be lent.
const heeds = "(MY.NegotiatorMatchExprBackfillLease is undefined || MY.NegotiatorMatchExprBackfillLease)"

// loan is a claim that is lent. The schedd uses it for job after job of its owner.
type loan struct {
	name         string // of its slot
	on           *node
	cpus, memory int64
	lease, owner string
	job          *sleeper // nil: it is about to be given back
	since        int64
}

// give frees a claim of its job.
func (l *loan) give() { l.job = nil }

func (l *loan) state() string {
	if l.job == nil {
		return fmt.Sprintf("\nRemoteUser = \"%s@test\"\nEnteredCurrentState = %d", l.owner, l.since)
	}
	return fmt.Sprintf("\nRemoteUser = \"%s@test\"\nJobId = \"%d.%d\"\nGlobalJobId = \"schedd@test#%d.%d#1\"\nJobStart = %d",
		l.owner, l.job.cluster, l.job.proc, l.job.cluster, l.job.proc, l.job.began)
}

func (l *loan) ad(n *node) string {
	return fmt.Sprintf("Name = %q\nMachine = %q\nMyAddress = \"<%s>\"\nState = \"Claimed\"\nDynamicSlot = true\n"+
		"SlotType = \"Dynamic\"\nCpus = %d\nMemory = %d\nRequirements = true", l.name, n.name, n.name, l.cpus, l.memory) + l.state()
}

// lend has a job begin on a new claim that is lent, and others on what is left of the slot.
func (w *world) lend(j *sleeper, n *node) {
	lease, owner := j.lease, j.owner
	w.borrow(j, n, lease)
	for !n.static && !n.policy && !n.alone {
		next := w.next(owner, lease, n, nil)
		if next == nil {
			return
		}
		w.borrow(next, n, lease)
	}
}

// borrow has a job begin on a new claim that is lent.
func (w *world) borrow(j *sleeper, n *node, lease string) {
	w.borrowed++
	l := &loan{
		name: fmt.Sprintf("slot1_%d@%s", 100+w.borrowed, n.name), on: n, cpus: j.cpus, memory: j.takes(n), lease: lease,
		owner: j.owner, since: w.now,
	}
	if n.static {
		l.name, l.cpus, l.memory = "slot1@"+n.name, n.cpus, n.memory
	}
	n.loans = append(n.loans, l)
	w.use(l, j)
}

func (w *world) use(l *loan, j *sleeper) {
	l.job, j.loan = j, l
	j.status, j.began, j.matched, j.begins, j.wants, j.at = 2, w.now, 0, 0, nil, nil
	j.runs++
}

// reuse gives a claim that is lent to the next job, or back.
func (w *world) reuse(l *loan) {
	if j := w.next(l.owner, l.lease, l.on, l); j != nil && !l.on.down {
		w.use(l, j)
		w.reused++
		return
	}
	l.on.loans = slices.DeleteFunc(l.on.loans, func(o *loan) bool { return o == l })
}

// giveBack ends the claims whose jobs were taken away, or gives them to others.
func (w *world) giveBack() {
	for _, n := range w.nodes {
		for _, l := range slices.Clone(n.loans) {
			if l.job == nil {
				w.reuse(l)
			}
		}
	}
}

// instead is the job that gets a match of a job that is not idle any more; nil if none does. The match
// is for no other job if it is not lent.
func (w *world) instead(j *sleeper, n *node, lease string) *sleeper {
	if lease == "" || n.down {
		return nil
	}
	return w.next(j.owner, lease, n, nil)
}

// next is the first job of an owner that may use a claim, or if it is nil what is left of a node.
func (w *world) next(owner, lease string, n *node, l *loan) *sleeper {
	slot := classad.New()
	cpus, memory := n.free()
	if l != nil {
		cpus, memory = l.cpus, l.memory
	} else if !n.static {
		slot.SetBool("PartitionableSlot", true)
	}
	slot.SetInt("Cpus", cpus)
	slot.SetInt("Memory", memory)
	require.NoError(w.t, slot.SetExpr("Lease", strings.ReplaceAll(lease, "time()", strconv.FormatInt(w.now, 10))))
	for _, j := range w.jobs {
		if j.owner != owner || j.nodes > 1 || j.status != 1 || j.done || len(j.wants) > 0 || j.submit > w.now ||
			j.cpus > cpus || j.takes(n) > memory {
			continue
		}
		job, err := classad.ParseOld(j.ad())
		require.NoError(w.t, err)
		if may, _ := (classad.Scope{My: slot, Target: job}).Attr("Lease").Bool(); may {
			return j
		}
	}
	return nil
}

// lending is a world whose nodes lend, for long.
func lending(t *testing.T, policy string, nodes ...*node) *world {
	t.Helper()
	for _, n := range nodes {
		n.lends = true
	}
	return lendingFor(t, 20*time.Minute, policy, nodes...)
}

// lendingFor is a world in which claims are lent for some time. The START of its nodes knows nothing of
// that, unless they lend.
func lendingFor(t *testing.T, lease time.Duration, policy string, nodes ...*node) *world {
	t.Helper()
	w := newWorld(t, policy, nodes...)
	lending := Tuning{Hold: poll.Patience, Handover: config.Handover{Lease: lease}}
	w.settings = func(s *Settings) { s.Tuning = lending }
	w.pool.tune(lending)
	return w
}

// lenders are worlds that lend: as long as ever, and as by default, whether START knows of it or not.
var lenders = map[string]func(t *testing.T, policy string, nodes ...*node) *world{
	"long leases": lending,
	"by default": func(t *testing.T, policy string, nodes ...*node) *world {
		t.Helper()
		return lendingFor(t, 30*time.Second, policy, nodes...)
	},
	"by default, and START knows": func(t *testing.T, policy string, nodes ...*node) *world {
		t.Helper()
		w := lending(t, policy, nodes...)
		lending := Tuning{Hold: poll.Patience, Handover: config.Handover{Lease: 30 * time.Second}}
		w.settings = func(s *Settings) { s.Tuning = lending }
		w.pool.tune(lending)
		return w
	},
}

// lender names the world that lends for a policy, in turn.
func lender(policy int, seed uint64) string {
	names := slices.Sorted(maps.Keys(lenders))
	return names[(policy+int(seed%uint64(len(names))))%len(names)] //nolint:gosec // it is small
}

// One match feeds a slot, and its claims serve job after job.
func TestClaimsAreLent(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "dc", "ibb", "slack"} {
		for _, kind := range []string{"partitionable", "with a consumption policy", "static", "by default"} {
			t.Run(policy+"/"+kind, func(t *testing.T) {
				nodes := []*node{{name: "n1", cpus: 8, memory: 8192, policy: kind == "with a consumption policy"}}
				if kind == "static" {
					nodes = nil
					for i := range 8 {
						nodes = append(nodes, &node{name: fmt.Sprint("n", i), cpus: 1, memory: 1024, static: true})
					}
				}
				w := lending(t, policy, nodes...)
				if kind == "by default" {
					w = lenders[kind](t, policy, &node{name: "n1", cpus: 8, memory: 8192})
				}
				w.calm = true
				for range 100 {
					w.submit(&sleeper{cpus: 1, seconds: 2, estimate: 5})
				}
				w.pass(40)
				done := 0
				for _, j := range w.jobs {
					if j.done {
						done++
					}
				}
				require.Equal(t, 100, done, w.log)
				require.Less(t, w.taken, 60, "most jobs need no match")
				w.drain(policy)
			})
		}
	}
}

// Where schedds give what is left of a slot to nobody, each job gets a claim of its own.
func TestSlotsThatAreNotFilled(t *testing.T) {
	w := lending(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, alone: true})
	for range 8 {
		w.submit(&sleeper{cpus: 1, seconds: 60, estimate: 70})
	}
	w.pass(30)
	for _, j := range w.jobs {
		require.EqualValues(t, 2, j.status, w.log)
	}
}

// A wide job starts when it was told, whatever is lent before it comes and after.
func TestWideJobAmongLeases(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "dc", "slack"} {
		for name, lending := range lenders {
			t.Run(policy+"/"+name, func(t *testing.T) {
				w := lending(t, policy, small(8), small(8))
				w.nodes[1].name = "n2"
				w.calm = true
				r := rand.New(rand.NewPCG(5, 5)) //nolint:gosec // a test
				small := func() { w.submit(&sleeper{cpus: 1, seconds: 1 + r.Int64N(5), estimate: 6}) }
				for range 60 {
					small()
				}
				w.pass(10)
				wide := w.submit(&sleeper{owner: "bob", cpus: 8, memory: 1024, seconds: 10, estimate: 20})
				start, planned := backfill.Time(0), false
				for ; !planned; w.pass(1) { // under easy, those before it have to start first
					require.Less(t, w.now, int64(1_700_000_300), w.log)
					if ids := w.pool.Find(fmt.Sprintf("%d.0", wide.cluster)); len(ids) > 0 {
						start, _, planned = w.n.State().Planned(ids[0])
					}
				}
				for wide.runs == 0 && w.now < int64(start)+10 {
					for range 3 {
						small()
					}
					w.pass(1)
				}
				require.Equal(t, 1, wide.runs, w.log)
				require.LessOrEqual(t, wide.began, int64(start)+5)
				w.drain(policy)
			})
		}
	}
}

// In a world without trouble no promise is broken because claims are lent, and no start fails.
func TestCalmWorldThatLends(t *testing.T) {
	for i, policy := range []string{"conservative", "dc", "pc", "slack"} {
		for seed := range *worlds {
			name := lender(i, seed)
			w := lenders[name](t, policy, mixed()...)
			w.calm = true
			w.bustle(rand.New(rand.NewPCG(seed, 3)), 120) //nolint:gosec // a test
			w.drain(fmt.Sprintf("%s, %s, seed %d", policy, name, seed))
			require.Zero(t, w.pool.Last().Unstarted, "%s, %s, seed %d\n%s", policy, name, seed, w.log)
			w.keptPromises(fmt.Sprintf("%s, %s, seed %d", policy, name, seed))
		}
	}
}

// keptPromises requires that each job has begun by the earliest start that it was ever promised,
// even if it has left the plan since. Handing over takes some time in a world of few cycles, lent
// or not.
func (w *world) keptPromises(what string) {
	w.t.Helper()
	for _, j := range w.jobs {
		name := fmt.Sprintf("%d.%d", j.cluster, j.proc)
		if guarantee, has := w.promised[name]; has && backfill.Time(j.began) > guarantee+20 {
			w.failed = append(w.failed, fmt.Sprintf("%s began %d s after its guarantee", name, backfill.Time(j.began)-guarantee))
		}
	}
	require.Empty(w.t, w.failed, what)
}

// bustle has many short jobs that are alike arrive among others.
func (w *world) bustle(r *rand.Rand, seconds int) {
	w.t.Helper()
	for range seconds {
		w.arrive(r)
		for range r.IntN(3) {
			w.submit(&sleeper{
				owner: []string{"alice", "bob"}[r.IntN(2)], cpus: 1, seconds: 1 + r.Int64N(6), estimate: 8,
			})
		}
		w.pass(1)
	}
}

// Whatever happens, all jobs are done in the end.
func TestAnyWorldThatLends(t *testing.T) {
	for i, policy := range []string{"easy", "conservative", "ibb", "dc"} {
		for seed := range *worlds {
			name := lender(i, seed)
			w := lenders[name](t, policy, mixed()...)
			r := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a test
			for range 40 {
				w.submit(&sleeper{cpus: 1, seconds: 1 + r.Int64N(6), estimate: 8})
			}
			w.random(r, 150)
			w.drain(fmt.Sprintf("%s, %s, seed %d", policy, name, seed))
		}
	}
}

// TestRemoteHostOfLentClaims: users who write, of jobs that run on claims that are lent, that they
// run on other parts of the same slot get nothing by it, and end nothing.
func TestRemoteHostOfLentClaims(t *testing.T) {
	var borrowed [2]int
	for i := range borrowed {
		lends := func(name string) *node {
			return &node{name: name, cpus: 4, memory: 8192, policy: true, lends: true, renews: 60}
		}
		w := newWorld(t, "slack", lends("n1"), lends("n2"))
		w.settings = func(s *Settings) { s.Lease = 30 * time.Second }
		w.account(nil)
		w.negotiator("slack", nil)
		w.cycle()
		for range 12 {
			w.submit(&sleeper{owner: "eve", cpus: 2, seconds: 40, estimate: 40})
		}
		for round := range 50 {
			for _, j := range w.jobs {
				if i == 1 && j.loan != nil && w.now >= j.began+8 {
					j.extra = fmt.Sprintf("\nRemoteHost = \"slot1_%d@%s\"", 10+(round+int(j.cluster))%20, j.loan.on.name)
				}
			}
			w.pass(6)
		}
		require.Equal(t, 12, done(w.jobs))
		borrowed[i] = w.borrowed
	}
	require.Positive(t, borrowed[0])
	require.Equal(t, borrowed[0], borrowed[1])
}
