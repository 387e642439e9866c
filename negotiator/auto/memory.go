package auto

import (
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// memory averages what the candidates were expected to give over the last choices. One choice sees
// one state of the queue, and says little about which candidate serves the pool best.
type memory struct {
	half backfill.Time // the time in which a choice loses half of its weight; 0: only the last one counts
	of   []Measures    // weighted sums, by candidate; Jobs are in the weight
	all  []float64     // the sums of the weights
	last backfill.Time
}

// remember takes in what the candidates are expected to give now, and returns the averages. A choice
// counts with the number of its jobs.
func (m *memory) remember(now backfill.Time, expected []Measures) []Measures {
	if m.half == 0 {
		return expected
	}
	if m.of == nil {
		m.of, m.all = make([]Measures, len(expected)), make([]float64, len(expected))
	}
	kept := math.Exp2(-float64(now-m.last) / float64(m.half))
	m.last = now
	averages := make([]Measures, len(expected))
	for i, e := range expected {
		n := float64(e.Jobs)
		m.all[i] = m.all[i]*kept + n
		averages[i].Jobs = e.Jobs
		for _, field := range []struct{ sum, one, average *float64 }{
			{&m.of[i].MeanBoundedSlowdown, &e.MeanBoundedSlowdown, &averages[i].MeanBoundedSlowdown},
			{&m.of[i].MeanWait, &e.MeanWait, &averages[i].MeanWait},
			{&m.of[i].Top5Wait, &e.Top5Wait, &averages[i].Top5Wait},
			{&m.of[i].Makespan, &e.Makespan, &averages[i].Makespan},
		} {
			*field.sum = *field.sum*kept + n**field.one
			*field.average = *field.sum / max(1, m.all[i])
		}
	}
	return averages
}
