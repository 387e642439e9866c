package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// listener is what a negotiator makes of deltas: the jobs that it knows, and whether they run.
type listener map[backfill.JobID]bool

// hear takes in a delta. It refuses what [negotiator.Negotiator.RunCycle] refuses.
func (l listener) hear(t require.TestingT, d *negotiator.Delta) {
	var told backfill.JobSet
	once := func(id backfill.JobID) bool {
		require.True(t, told.Add(id), "#%d is reported twice", id)
		_, known := l[id]
		return known
	}
	for _, j := range d.Submitted {
		require.False(t, once(j.ID), "#%d is submitted, and known", j.ID)
		l[j.ID] = false
	}
	for _, j := range d.Changed {
		require.True(t, once(j.ID) && !l[j.ID], "#%d is edited, and does not wait", j.ID)
	}
	for _, run := range d.Found {
		once(run.Job.ID)
		l[run.Job.ID] = true
	}
	for _, id := range d.Completed {
		require.True(t, once(id) && l[id], "#%d is completed, and does not run", id)
		delete(l, id)
	}
	for _, id := range d.Removed {
		require.True(t, once(id), "#%d is removed, and unknown", id)
		delete(l, id)
	}
	for _, id := range d.StartFailed {
		require.True(t, once(id) && l[id], "#%d is back, and does not run", id)
		l[id] = false
	}
	for _, id := range d.SlotEnded {
		require.Contains(t, d.StartFailed, id)
	}
	for _, end := range d.Ends {
		require.True(t, once(end.Job) && l[end.Job], "#%d ends, and does not run", end.Job)
	}
}

// TestEachJobIsToldOnce says that no look reports a job twice, or as what the negotiator knows that
// it is not, whatever jobs do under limits and leases and whatever their users write into them.
func TestEachJobIsToldOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, knows := accounted(t), listener{}
		p.slot("a", func(s *observe.Slot) { s.Static = false })
		number := func(label string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, label) }
		cluster := func() int64 { return int64(number("cluster", 1, 4)) }
		edited := func() func(*observe.Group) {
			text, prio, wants := number("text", 1, 3), number("prio", -2, 2), 2*number("wants", 0, 1)
			return func(g *observe.Group) {
				g.Prio = int64(prio)
				g.Spec = specOf(fmt.Sprint(text, wants), func(s *observe.Spec) {
					if s.Estimate += backfill.Time(text); wants > 0 {
						s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: float64(wants)}}
					}
				})
			}
		}
		part := func() string {
			return rapid.SampledFrom([]string{"slot1_1@a", "slot1_2@a", "slot1_3@a", "b", "nowhere"}).Draw(rt, "part")
		}
		there := func(do func(n int64)) func(*rapid.T) { // a job that is there
			return func(*rapid.T) {
				if n := cluster(); p.jobs[key(n)] != nil {
					do(n)
				}
			}
		}
		p.look()
		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(*rapid.T) { p.job(cluster(), edited()) },
			"edit":   there(func(n int64) { p.job(n, edited()) }),
			"swap":   there(func(n int64) { p.job(n, edited()); p.job(cluster(), edited()) }),
			"vacate": there(p.idles),
			"hold":   there(func(n int64) { p.job(n, func(g *observe.Group) { g.Status = 5 }) }),
			"leave":  there(p.leaves),
			"run": there(func(n int64) {
				if j := p.belief.jobs[key(n)]; j != nil && j.Phase == Running && j.Places[0].Slot == full("b") {
					p.runs(n, "b")
				} else if at := fmt.Sprintf("slot1_%d@a", number("part", 1, 3)); rapid.Bool().Draw(rt, "seen") {
					p.lent(n, at)
				} else {
					p.runs(n, at)
				}
			}),
			"run anywhere": there(func(n int64) { p.runs(n, part()) }),
			"say":          there(func(n int64) { p.says(n, part()) }),
			"miss": func(*rapid.T) {
				if name := fmt.Sprintf("slot1_%d@a", number("part", 1, 3)); p.slots[name].Name != "" {
					p.miss(name)
				}
			},
			"schedd": func(*rapid.T) {
				p.silent["s"] = rapid.Bool().Draw(rt, "silent")
				most := number("most", 0, 3)
				p.schedd("s", func(s *observe.Schedd) {
					if s.Room = nil; most > 0 {
						s.Room = &accountant.Room{Jobs: most}
					}
				})
			},
			"start": there(func(n int64) {
				j := p.belief.jobs[key(n)]
				if j == nil || j.Phase != Waiting {
					return
				}
				f := Flight{Handed: true, Sent: true, Claims: 1, Overdue: rapid.Bool().Draw(rt, "overdue")}
				p.start(j.ID, f, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "slot"))
				knows[j.ID] = true
				if rapid.Bool().Draw(rt, "leased") {
					p.lease("a", p.now.Unix()-begin+int64(number("lasts", 1, 300)), nil, j.ID)
					knows.hear(rt, &p.granted)
				}
			}),
			"": func(rt *rapid.T) {
				if !rapid.Bool().Draw(rt, "look") {
					return
				}
				p.now = p.now.Add(time.Duration(number("seconds", 1, 40)) * time.Second)
				out := p.diff()
				knows.hear(rt, &out.Delta)
			},
		})
	})
}
