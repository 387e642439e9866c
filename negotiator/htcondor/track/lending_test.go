package track

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lentAll is a pool in which jobs 1 to n are on their way to as many static slots, each under a
// lease, and n more jobs wait.
func lentAll(tb testing.TB, n int64) *pool {
	tb.Helper()
	p := begun(tb)
	for i := range 2 * n {
		p.job(i + 1)
	}
	for i := range n {
		p.slot(lentSlot(i + 1))
	}
	p.look()
	var leases []Lease
	for i := range n {
		id, slot := p.belief.JobOf(key(i+1)).ID, lentSlot(i+1)
		p.start(id, Flight{Handed: true, Sent: true, Claims: 1}, slot)
		leases = append(leases, Lease{
			LeaseKey: LeaseKey{Slot: full(slot), Schedd: "s"}, Until: begin + 900, Last: begin + 900, Jobs: []backfill.JobID{id},
		})
	}
	p.belief.Grant(leases)
	return p
}

func lentSlot(i int64) string { return fmt.Sprintf("c%05d", i) }

// uses has a job run on the i-th slot, with a claim in the name of its user.
func (p *pool) uses(cluster, i int64) {
	p.runs(cluster, lentSlot(i))
	p.slot(lentSlot(i), func(s *observe.Slot) {
		s.Claimed, s.Runs, s.Claimer, s.ClaimedSince = true, key(cluster), "", p.unix()
	})
}

// What a look costs, by how many claims are lent: where schedds have started others than the jobs
// that were chosen, where all of these leave, and where all come back.
func BenchmarkLent(b *testing.B) {
	for _, n := range []int64{500, 2000, 8000} {
		chosen := func(p *pool) {
			for i := range n {
				p.uses(i+1, i+1)
			}
		}
		for name, steps := range map[string][2]func(*pool){
			"swapped": {nil, func(p *pool) {
				for i := range n {
					p.uses(n+i+1, i+1)
				}
			}},
			"gone": {chosen, func(p *pool) {
				for i := range n {
					p.leaves(i + 1)
				}
			}},
			"unseen": {nil, func(p *pool) {
				for i := range n {
					p.leaves(i + 1)
				}
			}},
			"back": {chosen, func(p *pool) {
				for i := range n {
					p.idles(i + 1)
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					p := lentAll(b, n)
					if steps[0] != nil {
						steps[0](p)
						p.look()
						require.Len(b, p.belief.lending.holders, int(n))
					}
					steps[1](p)
					p.belief.See(p.snapshot())
					b.StartTimer()
					p.belief.Diff(p.dispatched)
				}
			})
		}
	}
}

// asked is what is asked of holders, one by one.
type asked struct {
	bound map[string]*holder
	loose []*holder // by ascending job ID
}

func (a *asked) take(fits func(*holder) bool) *holder {
	i := slices.IndexFunc(a.loose, fits)
	if i < 0 {
		return nil
	}
	h := a.loose[i]
	a.loose = slices.Delete(a.loose, i, i+1)
	return h
}

// TestHoldersFound: whoever stands for claims is found as if each were asked.
func TestHoldersFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, plain, id := newLending(), asked{bound: map[string]*holder{}}, backfill.JobID(0)
		slots := []string{"a", "b"}
		fresh := func() *holder {
			id++
			job := rapid.SampledFrom([]backfill.JobID{id, 1 + id/2}).Draw(t, "job") // some stand for several
			one := l.extend(LeaseKey{Slot: rapid.SampledFrom(slots).Draw(t, "slot"), Schedd: "s"}, 1, 1)
			return &holder{lease: &term{lease: one}, job: &negotiator.Job{ID: job}}
		}
		bind := func(h *holder) {
			claim := h.lease.Slot + rapid.StringMatching("[1-4]").Draw(t, "claim")
			if old := plain.bound[claim]; old != nil {
				l.release(old)
			}
			l.bind(h, claim)
			plain.bound[claim] = h
		}
		t.Repeat(map[string]func(*rapid.T){
			"bind": func(*rapid.T) { bind(fresh()) },
			"keep": func(*rapid.T) {
				h := fresh()
				h.job.ID = id // each job at most once
				l.keep(h)
				plain.loose = append(plain.loose, h)
			},
			"take": func(t *rapid.T) {
				slot, odd := rapid.SampledFrom(slots).Draw(t, "slot"), rapid.Bool().Draw(t, "odd")
				fits := func(h *holder) bool { return h.lease.Slot == slot && (h.job.ID%2 == 1) == odd }
				h := l.take(slot, fits)
				require.Same(t, plain.take(fits), h)
				if h != nil {
					bind(h)
				}
			},
			"release": func(t *rapid.T) {
				claim := rapid.SampledFrom(slots).Draw(t, "slot") + rapid.StringMatching("[1-4]").Draw(t, "claim")
				if h := plain.bound[claim]; h != nil {
					l.release(h)
					l.release(h)
					delete(plain.bound, claim)
				}
			},
			"release a job": func(t *rapid.T) {
				job := backfill.JobID(rapid.IntRange(1, int(id)+1).Draw(t, "job"))
				l.releaseJob(job)
				maps.DeleteFunc(plain.bound, func(_ string, h *holder) bool { return h.job.ID == job })
			},
			"": func(t *rapid.T) {
				require.Equal(t, plain.bound, l.holders)
				require.ElementsMatch(t, slices.Concat(slices.Collect(maps.Values(plain.bound)), plain.loose), l.all())
				for job := range id + 1 {
					stands := func(h *holder) bool { return h.job.ID == job }
					require.Equal(t, slices.ContainsFunc(slices.Collect(maps.Values(plain.bound)), stands), l.holds(job))
				}
				lent := map[*lease]int{}
				for _, h := range plain.bound {
					lent[h.lease.lease]++
				}
				for key, one := range l.leases {
					require.Equal(t, lent[one], (&Belief{lending: l}).Lent(key))
				}
			},
		})
	})
}

// TestDisplacedFound: of jobs that were to start under a lease, the same give way to others as if
// all that are on their way were asked each time.
func TestDisplacedFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(Settings{Schema: negotiator.DefaultSchema(), Logger: hclog.NewNullLogger()})
		b.now = &observe.Snapshot{Number: 2}
		c := &comparison{b: b, flights: map[backfill.JobID]Flight{}}
		leases := []*lease{nil}
		for _, slot := range []string{"a", "b"} {
			leases = append(leases, b.lending.extend(LeaseKey{Slot: slot}, 1, 1))
		}
		some := func() *Job {
			j := b.find(key(int64(b.lastID)))
			j.Spec = specOf("a job", func(s *observe.Spec) { s.Request[0] = rapid.Int64Range(1, 3).Draw(t, "cpus") })
			j.Group = &observe.Group{Spec: j.Spec, Status: observe.Idle, Submit: backfill.Time(rapid.IntRange(1, 3).Draw(t, "submit"))}
			return j
		}
		for range rapid.IntRange(0, 20).Draw(t, "flights") {
			j := some()
			j.Phase = rapid.SampledFrom([]Phase{Running, Running, Running, Waiting}).Draw(t, "phase")
			j.lease = rapid.SampledFrom(leases).Draw(t, "lease").term()
			j.look = rapid.SampledFrom([]int{2, 2, 2, 1}).Draw(t, "look")
			if rapid.IntRange(0, 4).Draw(t, "runs") == 0 {
				j.Group.Status = observe.Running
			}
			c.flights[j.ID] = Flight{}
		}
		late := c.late()
		for range 20 {
			l, other := rapid.SampledFrom(leases[1:]).Draw(t, "under"), some()
			var first *Job
			for id := range c.flights {
				j := b.byID[id]
				if j.lease == nil || j.lease.lease != l || !other.FitsIn(j.Spec) {
					continue
				}
				waits := j.Phase == Running && !j.Group.Runs() && j.Seen(b.now.Number)
				if waits && (first == nil || j.Compare(first) < 0) {
					first = j
				}
			}
			found := c.displacedBy(other, late[l])
			require.Same(t, first, found)
			if found != nil && rapid.Bool().Draw(t, "takes over") {
				c.takeOver(found)
			}
		}
	})
}
