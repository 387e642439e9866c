package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The model of "Modeling User Runtime Estimates" (Tsafrir, Etsion, Feitelson; JSSPP 2005). All
// numbers in this file are the published ones, as the authors' program has them. Its steps: times
// and shares of the 20 popular estimates (the head), which 89 % of the jobs use, most of all the
// longest; times and shares of the others (the tail); and a random assignment that gives no job
// less than its run time. This project adds three rules:
//
//   - shares become numbers of jobs by the method of the largest remainder;
//   - if the machine's limit is so short that fewer than 20 popular estimates remain, the ranks of
//     popularity close up;
//   - where the model has too few long estimates for the jobs that run long, the authors' program
//     fails; here the job of that rank by run time gets the least estimate of the model that
//     suffices.

const (
	minute int64 = 60
	hour         = 60 * minute

	headSize  = 20   // popular estimates
	headShare = 89.0 // percent of the jobs that use one of them
)

// share is an estimate and the percentage of jobs that use it.
type share struct {
	seconds int64
	percent float64
}

// popular returns the 15 estimates that are among the 20 most popular of all four studied logs.
func popular() []int64 {
	return []int64{
		5 * minute, 10 * minute, 15 * minute, 20 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour,
		6 * hour, 8 * hour, 10 * hour, 12 * hour, 18 * hour,
	}
}

// round returns the units whose multiples fill the popular estimates up to 20.
func round() []int64 {
	return []int64{
		200 * hour, 100 * hour, 50 * hour, 10 * hour, 5 * hour, 2 * hour, hour, 20 * minute,
		10 * minute, 5 * minute,
	}
}

// popularity returns the rank of popularity of each of the 20 estimates, one in a row, in each of
// the four logs (SDSC-SP2, CTC, KTH, SDSC-BLUE): first the longest possible one, then the others by
// length.
func popularity() [headSize][4]int {
	return [headSize][4]int{
		{3, 1, 1, 1},
		{1, 3, 4, 6},
		{4, 4, 10, 5},
		{17, 2, 14, 3},
		{13, 12, 20, 7},
		{7, 9, 2, 2},
		{8, 8, 3, 18},
		{18, 18, 7, 19},
		{2, 6, 12, 4},
		{6, 7, 6, 11},
		{16, 11, 19, 20},
		{10, 20, 5, 9},
		{5, 16, 18, 10},
		{15, 5, 16, 14},
		{14, 14, 9, 13},
		{19, 13, 17, 16},
		{11, 10, 15, 15},
		{12, 15, 13, 17},
		{9, 17, 8, 8},
		{20, 19, 11, 12},
	}
}

// tsafrir replaces the estimates of all jobs by those of the model. The longest estimate is given,
// or if 0 that of the trace, in full hours. It is an error if a job ran longer.
func (t *Trace) tsafrir(longest int64, random *rand.Rand) error {
	if len(t.Jobs) == 0 {
		return nil
	}
	if longest == 0 {
		for _, j := range t.Jobs {
			longest = max(longest, j.Estimate, hour)
		}
		longest = (longest + hour - 1) / hour * hour
	}
	byRun := make([]int, len(t.Jobs)) // the longest run time first
	for i := range byRun {
		byRun[i] = i
	}
	slices.SortStableFunc(byRun, func(a, b int) int { return cmp.Compare(t.Jobs[b].Run, t.Jobs[a].Run) })
	if j := t.Jobs[byRun[0]]; j.Run > longest {
		return fmt.Errorf("estimate model tsafrir:%d: job %d of %s ran for %d s; allow estimates as long as that",
			longest, j.ID, t.Name, j.Run)
	}
	shares := estimateShares(len(t.Jobs), longest, random)
	estimates := apportion(shares, len(t.Jobs))
	for rank, i := range byRun { // the estimates are in descending order
		enough, _ := slices.BinarySearchFunc(shares, t.Jobs[i].Run,
			func(s share, run int64) int { return cmp.Compare(s.seconds, run) })
		estimates[rank] = max(estimates[rank], shares[enough].seconds)
	}
	// Each job in turn, by descending run time, draws one of the remaining estimates that are long
	// enough, and swaps it with the estimate at its own place. That one moves to a shorter job.
	last := 0
	for place, i := range byRun {
		j := &t.Jobs[i]
		for last+1 < len(estimates) && estimates[last+1] >= j.Run {
			last++
		}
		drawn := place + random.IntN(last-place+1)
		j.Estimate = estimates[drawn]
		estimates[drawn] = estimates[place]
	}
	return nil
}

// estimateShares returns the estimates that Tsafrir's model gives to so many jobs, sorted by
// length, each with the share of the jobs that use it. No estimate is above longest, in seconds.
func estimateShares(jobs int, longest int64, random *rand.Rand) []share {
	shares := headShares(longest, random)
	known := map[int64]bool{}
	for _, s := range shares {
		known[s.seconds] = true
	}
	shares = append(shares, tailShares(distinctEstimates(jobs), len(shares), longest, known, random)...)
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(a.seconds, b.seconds) })
	return shares
}

// headShares returns the popular estimates with their shares.
func headShares(longest int64, random *rand.Rand) []share {
	times := headTimes(longest)
	percents := make([]float64, len(times)) // by rank of popularity, from 0
	percents[0] = headShare
	for rank := 1; rank < len(percents); rank++ {
		percents[rank] = 14.0491*math.Exp(-0.177531*float64(rank+1)) + 0.462513
		percents[0] -= percents[rank]
	}
	ranks := headRanks(random)[:len(times)]
	closed := slices.Sorted(slices.Values(ranks))
	shares := make([]share, len(times))
	for i, seconds := range times {
		rank, _ := slices.BinarySearch(closed, ranks[i])
		shares[i] = share{seconds, percents[rank]}
	}
	return shares
}

// headTimes returns the longest estimate, and then the other popular ones by length.
func headTimes(longest int64) []int64 {
	times := []int64{longest}
	for _, seconds := range popular() {
		if seconds < longest {
			times = append(times, seconds)
		}
	}
	for _, unit := range round() {
		for seconds := longest / unit * unit; seconds > 0 && len(times) < headSize; seconds -= unit {
			if !slices.Contains(times, seconds) {
				times = append(times, seconds)
			}
		}
	}
	slices.Sort(times[1:])
	return times
}

// headRanks draws a rank of popularity, from 1, for each of the 20 rows of [popularity]. The first
// row, the longest time, gets rank 1. A rank can be drawn from the first row on in which a log has
// it. From the last such row on it is taken without a draw, the most popular of several such ranks
// first. Each draw takes the more popular of two random ranks.
func headRanks(random *rand.Rand) []int {
	var due [headSize + 1]int
	for at, logs := range popularity() {
		for _, rank := range logs {
			due[rank] = at
		}
	}
	var taken [headSize + 1]bool
	var pool, ranks []int
	for at, logs := range popularity() {
		pool = slices.DeleteFunc(append(pool, logs[:]...), func(rank int) bool { return taken[rank] })
		rank := 0
		for r := 1; r <= headSize && rank == 0; r++ {
			if !taken[r] && (at == 0 || due[r] <= at) {
				rank = r
			}
		}
		if rank == 0 {
			rank = min(pool[random.IntN(len(pool))], pool[random.IntN(len(pool))])
		}
		taken[rank] = true
		ranks = append(ranks, rank)
	}
	return ranks
}

// tailShares returns the estimates that are not popular (the tail) with random shares: distinct
// less head of them, in whole minutes, or up to 30 s off where that time is used already. It adds
// them to known; those for which no time is free are left out.
func tailShares(distinct, head int, longest int64, known map[int64]bool, random *rand.Rand) []share {
	n := distinct - head
	if n <= 0 {
		return nil
	}
	a := 1 + 12.1039*math.Pow(float64(distinct), -0.6026)
	var times []int64
	for i := 1; i <= n; i++ {
		x := float64(i) / float64(n)
		exact := (a - 1) * x / (a - x) * float64(longest)
		seconds := int64(math.Round(exact/60)) * minute
		for _, off := range []int64{0, 30, -30, 20, -20, 10, -10} {
			if s := seconds + off; !known[s] && 0 < s && s < longest {
				known[s] = true
				times = append(times, s)
				break
			}
		}
	}
	shares, sum := make([]share, len(times)), 0.0
	for i, at := range random.Perm(len(times)) {
		percent := 795.6 * math.Pow(float64(headSize+1+i), -2.267)
		shares[i] = share{times[at], percent}
		sum += percent
	}
	for i := range shares {
		shares[i].percent *= (100 - headShare) / sum
	}
	return shares
}

// distinctEstimates returns how many different estimates a number of jobs use, interpolated
// linearly between the points of the model.
func distinctEstimates(jobs int) int {
	points := [][2]int{{0, 0}, {20, 10}, {200, 20}, {1000, 35}, {10_000, 90}, {70_000, 340}, {250_000, 565}}
	for i, p := range points[1:] {
		if before := points[i]; jobs <= p[0] {
			slope := float64(p[1]-before[1]) / float64(p[0]-before[0])
			return before[1] + int(math.Round(float64(jobs-before[0])*slope))
		}
	}
	return points[len(points)-1][1]
}

// apportion returns an estimate for each job, distributed by the shares, the longest first.
func apportion(shares []share, jobs int) []int64 {
	sum := 0.0
	for _, s := range shares {
		sum += s.percent
	}
	counts, rests := make([]int, len(shares)), make([]float64, len(shares))
	byRest := make([]int, len(shares))
	left := jobs
	for i, s := range shares {
		exact := s.percent / sum * float64(jobs)
		counts[i] = int(exact)
		rests[i], byRest[i] = exact-float64(counts[i]), i
		left -= counts[i]
	}
	slices.SortStableFunc(byRest, func(a, b int) int { return cmp.Compare(rests[b], rests[a]) })
	for _, i := range byRest[:max(left, 0)] {
		counts[i]++
	}
	estimates := make([]int64, 0, jobs)
	for i, s := range slices.Backward(shares) {
		for range counts[i] {
			estimates = append(estimates, s.seconds)
		}
	}
	return estimates[:jobs]
}
