package compare

import (
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Shapes are the differences as charts show them, in some thousands of numbers whatever the number of jobs.
type Shapes struct {
	// Cumulated is, by arrival, the sum of the differences so far: days since the first arrival, and seconds.
	Cumulated []Point
	// Shorter and Longer say which share of the jobs waits at least so many seconds less, or more.
	Shorter, Longer []Point
	// Dots are the jobs by their waits.
	Dots []Dot
	// Decades is how many powers of ten of seconds the dots' axes have.
	Decades int
}

// Point is a place on a curve.
type Point struct{ X, Y float64 }

// Dot is the jobs whose waits are about the same: it stands at X for A and Y for B, in steps of an axis on
// which PerDecade of them are ten times as long. 0 is no wait.
type Dot struct {
	X, Y int
	Jobs int
	Job  Job    // the one of them whose wait changed most
	When string // when it was submitted
}

// PerDecade is how many steps of an axis of dots are ten times as long a wait.
const PerDecade = 40

// mostPoints bounds the points of a curve.
const mostPoints = 400

func (s *sides) shapes(clock instant.Clock) (found Shapes) {
	const day = 24 * 3600
	n := len(s.pairs)
	begin, sum := s.a[s.pairs[0].a].Submit, 0.0
	step := (n + mostPoints - 1) / mostPoints
	var shorter, longer []float64
	dots := map[[2]int]int{}
	best := []int{} // by dot, the pair that it names
	for i, p := range s.pairs {
		change := s.change(i)
		sum += float64(change)
		if i%step == 0 || i == n-1 {
			found.Cumulated = append(found.Cumulated, Point{float64(s.a[p.a].Submit-begin) / day, sum})
		}
		if change < 0 {
			shorter = append(shorter, float64(-change))
		} else if change > 0 {
			longer = append(longer, float64(change))
		}
		place := [2]int{stepOf(wait(&s.a[p.a])), stepOf(wait(&s.b[p.b]))}
		at, known := dots[place]
		if !known {
			at = len(found.Dots)
			dots[place] = at
			found.Dots, best = append(found.Dots, Dot{X: place[0], Y: place[1]}), append(best, i)
		}
		found.Dots[at].Jobs++
		if size(change) > size(s.change(best[at])) {
			best[at] = i
		}
		found.Decades = max(found.Decades, (max(place[0], place[1])+PerDecade-1)/PerDecade)
	}
	for at := range found.Dots {
		d := &found.Dots[at]
		d.Job = s.job(best[at])
		d.When = clock.Text(d.Job.Submit)
	}
	found.Shorter, found.Longer = tail(shorter, n), tail(longer, n)
	return found
}

func size(v int64) int64 { return max(v, -v) }

// stepOf returns the step of a wait: 0 for none, 1 for a second.
func stepOf(wait int64) int {
	if wait <= 0 {
		return 0
	}
	return 1 + int(math.Round(PerDecade*math.Log10(float64(wait))))
}

// tail returns which share of n jobs has at least each of some values, which it sorts.
func tail(values []float64, n int) (curve []Point) {
	slices.Sort(values)
	count := len(values)
	for i := range min(mostPoints, count) {
		at := i * count / min(mostPoints, count)
		curve = append(curve, Point{values[at], float64(count-at) / float64(n)})
	}
	if count > 0 {
		curve = append([]Point{{0, float64(count) / float64(n)}}, curve...)
		curve = append(curve, Point{values[count-1], 1 / float64(n)})
	}
	return curve
}
