//go:build browser

package livepage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// pool is a made-up pool.
type pool struct {
	now   int64
	next  backfill.JobID
	r     *rand.Rand
	slots []picture.Slot
	free  [][]int64 // of each cpu of each slot
	jobs  []picture.Job
}

// madeUp makes a pool of machines of three classes, on which so many jobs run or are planned.
func madeUp(slots, jobs int) *pool {
	p := &pool{now: 1_700_000_000, next: 1, r: rand.New(rand.NewPCG(1, 2))}
	for i := range slots {
		cpus := int64([]int{4, 8, 16}[i*3/slots])
		p.slots = append(p.slots, picture.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot1@m%d.example.org", i+1), Machine: fmt.Sprintf("m%d.example.org", i+1),
			Capacity: backfill.Vector{cpus, cpus * 2048},
		})
		p.free = append(p.free, make([]int64, cpus))
	}
	for range jobs {
		p.jobs = append(p.jobs, p.job())
	}
	return p
}

// job makes a job on the slot, of a few, on which it can start first.
func (p *pool) job() picture.Job {
	cpus := 1 << p.r.IntN(4)
	best, when := -1, int64(0)
	for range 6 {
		s := p.r.IntN(len(p.slots))
		if len(p.free[s]) < cpus {
			continue
		}
		slices.Sort(p.free[s])
		if at := p.free[s][cpus-1]; best < 0 || at < when {
			best, when = s, at
		}
	}
	if best < 0 {
		best, cpus = 0, 1
		when = p.free[0][0]
	}
	run := int64(600 + p.r.IntN(20_000))
	j := picture.Job{Bar: picture.Bar{
		ID: p.next, Name: fmt.Sprintf("%d.0", p.next), Owner: fmt.Sprintf("user%02d", p.r.IntN(40)), Cpus: int64(cpus), Submit: p.now - int64(p.r.IntN(40_000)),
		At: []picture.Piece{{Slot: backfill.SlotID(best), Cpus: int64(cpus)}},
	}}
	p.next++
	if when <= p.now {
		when = p.now - int64(p.r.IntN(int(run)))
		j.Situation, j.High = "runs", picture.Moment{At: when + run*3/2, Known: true}
	} else {
		j.Situation = []string{"reserved", "waits"}[p.r.IntN(2)]
		j.Low, j.High = picture.Moment{At: when - 300, Known: true}, picture.Moment{At: when + 1800, Known: true}
		j.Guarantee = picture.Moment{At: when + 3600, Known: true}
	}
	j.Start, j.End = picture.Moment{At: when, Known: true}, picture.Moment{At: when + run, Known: true}
	for i := range cpus {
		p.free[best][i] = when + run
	}
	return j
}

// pass lets time pass: jobs end and start, and as many come as have ended.
func (p *pool) pass(seconds int64) {
	p.now += seconds
	jobs := make([]picture.Job, 0, len(p.jobs))
	for _, j := range p.jobs {
		if j.End.At <= p.now {
			continue
		}
		if j.Start.At <= p.now && j.Situation != "runs" {
			j.Situation, j.Low, j.High, j.Guarantee = "runs", picture.Moment{}, picture.Moment{}, picture.Moment{}
		}
		if p.r.IntN(50) == 0 && j.Situation != "runs" {
			j.High.At += 60
		}
		jobs = append(jobs, j)
	}
	for len(jobs) < len(p.jobs) {
		jobs = append(jobs, p.job())
	}
	p.jobs = jobs
}

func (p *pool) picture() *picture.Picture {
	h := picture.Head{
		Pool: "made-up", Now: p.now, Policy: "slack", Order: "fcfs", Guarantees: true, Slots: len(p.slots), Resources: []string{"cpus", "memory"},
		Clocks: []instant.Stretch{{Zone: "UTC"}}, Problems: []string{}, Capacity: []int64{0, 0}, Use: []int64{0, 0}, Simulated: true, Speed: "60",
	}
	for _, s := range p.slots {
		h.Capacity[0] += s.Capacity[0]
	}
	for i := range p.jobs {
		switch j := &p.jobs[i]; j.Situation {
		case "runs":
			h.Running++
			h.Use[0] += j.Cpus
		case "reserved":
			h.Reserved++
			h.Waiting++
		default:
			h.Waiting++
		}
	}
	return &picture.Picture{Head: h, Slots: slices.Clone(p.slots), Jobs: slices.Clone(p.jobs)}
}
