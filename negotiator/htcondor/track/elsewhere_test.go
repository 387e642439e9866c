package track

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// promise has the plan promise a job that waits a start within so many seconds.
func (p *pool) promise(id backfill.JobID, within backfill.Time) {
	p.promises(map[backfill.JobID]backfill.Time{id: within})
}

// TestPromisesEnd says what becomes of the promise of a job: it counts once.
func TestPromisesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(p *pool)
		want Promises
	}{
		"it waits":        {func(*pool) {}, Promises{Given: 1}},
		"promised again":  {func(p *pool) { p.promise(1, 50) }, Promises{Given: 1}},
		"it was edited":   {func(p *pool) { p.job(1, is("edited")); p.look(); p.promise(1, 900) }, Promises{Given: 1}},
		"it runs":         {func(p *pool) { p.start(1, sent, "a"); p.runs(1, "a") }, Promises{Given: 1, Kept: 1}},
		"on another slot": {func(p *pool) { p.start(1, sent, "a"); p.runs(1, "b") }, Promises{Given: 1, Kept: 1}},
		"it runs, and comes back": {func(p *pool) {
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			p.idles(1)
		}, Promises{Given: 1, Kept: 1}},
		"and is promised another start": {func(p *pool) {
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			p.idles(1)
			p.look()
			p.promise(1, 900)
		}, Promises{Given: 2, Kept: 1}},
		"put off":     {func(p *pool) { p.promise(1, 900); p.runs(1, "a") }, Promises{Given: 1, Broken: 1}},
		"it is gone":  {func(p *pool) { p.leaves(1) }, Promises{Given: 1, Gone: 1}},
		"not started": {func(p *pool) { p.start(1, Flight{}, "a"); p.leaves(1) }, Promises{Given: 1, Gone: 1}},
		"it came and went": {
			func(p *pool) { p.start(1, sent, "a"); p.leaves(1) }, Promises{Given: 1, Kept: 1},
		},
		"elsewhere":              {func(p *pool) { p.runs(1, "far") }, Promises{Given: 1, Elsewhere: 1}},
		"elsewhere, put off":     {func(p *pool) { p.promise(1, 900); p.runs(1, "far") }, Promises{Given: 1, Elsewhere: 1}},
		"elsewhere, on its way":  {func(p *pool) { p.start(1, sent, "a"); p.runs(1, "far") }, Promises{Given: 1, Elsewhere: 1}},
		"elsewhere, out of plan": {func(p *pool) { p.job(1, wrong("no size")); p.look(); p.runs(1, "far") }, Promises{Given: 1, Elsewhere: 1}},
		"elsewhere, to the end": {
			func(p *pool) { p.runs(1, "far"); p.look(); p.leaves(1) }, Promises{Given: 1, Elsewhere: 1},
		},
		"elsewhere, and back": {func(p *pool) {
			p.runs(1, "far")
			p.look()
			p.idles(1)
			p.look()
			p.promise(1, 900)
			p.start(1, sent, "a")
			p.runs(1, "a")
		}, Promises{Given: 2, Kept: 1, Elsewhere: 1}},
		"its slot is gone": {func(p *pool) {
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			delete(p.slots, full("a"))
		}, Promises{Given: 1, Kept: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			p.job(1)
			p.look()
			p.promise(1, 100)
			c.do(p)
			p.look()
			require.Equal(t, c.want, p.belief.View().Promises)
			require.Equal(t, c.want.Given-c.want.Kept-c.want.Broken-c.want.Elsewhere-c.want.Gone, c.want.Open())
		})
	}
}

// twins are two negotiators of the same queue. Each has a slot of its own for every job.
func twins(t *testing.T, jobs int64) (both []*pool) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		p := newPool(t)
		if len(both) > 0 {
			p.jobs, p.schedds = both[0].jobs, both[0].schedds
		}
		clear(p.slots)
		for cluster := int64(1); cluster <= jobs; cluster++ {
			p.slot(ownSlot(name, cluster))
		}
		both = append(both, p)
	}
	return both
}

// ownSlot is the slot of a negotiator for a job.
func ownSlot(owner string, cluster int64) string { return fmt.Sprint(owner, cluster) }

// TestPromisesOfTwins: two negotiators plan the same jobs, and each of them may start one first, or both
// at the same time. Whoever is first, each promised job that runs counts once as kept, with him, and
// the other one has no place for it any more.
func TestPromisesOfTwins(t *testing.T) {
	const jobs = 6
	rapid.Check(t, func(rt *rapid.T) {
		both, own := twins(t, jobs), []string{"a", "b"}
		one := both[0]
		want := make([]Promises, 2)
		promised := make([]map[int64]bool, 2)
		for i := range both {
			promised[i] = map[int64]bool{}
		}
		kept := map[int64]int{}
		look := func() {
			one.passes(1)
			for _, i := range rapid.Permutation([]int{0, 1}).Draw(rt, "who looks first") {
				both[i].now = one.now
				both[i].diff()
				for j := range both[i].belief.Jobs() {
					away := j.Group.Runs() && j.Group.Hosts[0] != full(ownSlot(own[i], j.Key.Cluster))
					require.False(rt, away && (j.Phase != Unknown || both[i].dispatched.Flights[j.ID].Sent), "it holds no slot")
				}
			}
		}
		for cluster := int64(1); cluster <= jobs; cluster++ {
			one.job(cluster)
		}
		look()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			cluster, i := rapid.Int64Range(1, jobs).Draw(rt, "job"), rapid.IntRange(0, 1).Draw(rt, "who")
			p := both[i]
			g, j := one.jobs[key(cluster)], p.belief.JobOf(key(cluster))
			if g == nil {
				continue
			}
			slot := ownSlot(own[i], cluster)
			switch rapid.SampledFrom([]string{"promise", "match", "run", "leave"}).Draw(rt, "what") {
			case "promise":
				plan := map[backfill.JobID]backfill.Time{}
				for c := int64(1); c <= jobs; c++ {
					other := p.belief.JobOf(key(c))
					if other == nil || other.Phase != Waiting || !promised[i][c] && c != cluster {
						continue
					}
					plan[other.ID] = begin + 1000*backfill.Time(c) - p.unix()
					if !promised[i][c] {
						want[i].Given++
					}
					promised[i][c] = true
				}
				p.promises(plan)
			case "match":
				if j.Phase == Waiting {
					p.start(j.ID, sent, slot)
				}
			case "run":
				if g.Runs() {
					continue
				}
				p.runs(cluster, slot)
				for k := range both {
					switch {
					case !promised[k][cluster]:
					case k == i:
						want[k].Kept++
						kept[cluster]++
					default:
						want[k].Elsewhere++
					}
					delete(promised[k], cluster)
				}
			case "leave":
				flies := func(p *pool) bool { return p.belief.JobOf(key(cluster)).Phase == Running }
				if !g.Runs() && slices.ContainsFunc(both, flies) {
					continue // it may have run between two looks
				}
				one.leaves(cluster)
				for k := range both {
					if promised[k][cluster] {
						want[k].Gone++
					}
					delete(promised[k], cluster)
				}
			}
			look()
			for k := range both {
				require.Equal(rt, want[k], both[k].belief.View().Promises)
				require.Equal(rt, len(promised[k]), want[k].Open())
			}
		}
		for cluster, n := range kept {
			require.Equal(rt, 1, n, "job %d", cluster)
		}
	})
}
