package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// adjusted has the results apart for each estimator, the source of the run times that schedulers
// plan with.
type adjusted struct {
	traces []string
	grids  map[string]*grid // by estimator, as named by results.Key
}

// threeMetrics are the metrics of the study: wait, wait over requested time, slowdown.
var threeMetrics = []string{"mean_wait", "mean_uwait", "mean_slowdown"} //nolint:gochecknoglobals // a constant

const (
	intrepid  = "ANL-Intrepid"
	wfp       = "wfp"
	requested = "requested"
	accurate  = "accurate"
)

func estimates(f *results.Folder) []Row {
	a := &adjusted{grids: map[string]*grid{}}
	cells := map[string][]results.Cell{}
	for _, c := range f.Cells {
		cells[c.Estimator()] = append(cells[c.Estimator()], c)
		if !slices.Contains(a.traces, c.Trace) {
			a.traces = append(a.traces, c.Trace)
		}
	}
	for estimator, group := range cells {
		a.grids[estimator] = newGrid(group)
	}
	var rows []Row
	for _, c := range claims() {
		rows = append(rows, c.rows(a)...)
	}
	return append(rows, tableIII(a)...)
}

// claim is a statement that can be checked on each trace.
type claim struct {
	statement, paper string
	judge            func(a *adjusted, trace string) (ours string, v Verdict)
	rule             string // when a trace agrees or partly agrees; the limits are ours
	why              string // the likely cause of a difference
}

func claims() []claim {
	return []claim{
		{
			"WFP waits less than FCFS, both with backfilling and requested times",
			"wait 22 %, uwait 50 %, slowdown 37 % better (table III)", overFCFS,
			"if each is at least 5 % better; partly if one is",
			"WFP prefers long waits, short requests and wide jobs: what that is worth hangs on how crowded the " +
				"machine is and on who submits",
		},
		{
			"FCFS gains nothing reliable from better estimates", "no consistent change (figure 4)", insensitive,
			"if none is 10 % better; partly if one is not",
			"accurate estimates fill more holes with short jobs; the large partitions of Intrepid leave less to choose",
		},
		{
			"WFP gains from accurate estimates", "30–50 % (figure 4)", accurateGains,
			"if each is at least 25 % better; partly if one is by 5 %", sizesOfGains,
		},
		{
			"WFP with combined estimates against requested ones", "wait 10.0 %, uwait 17.7 %, slowdown 20.0 % better",
			combinedGains, "if each gains at least half of the paper's; partly if one gains 1 %", sizesOfGains,
		},
		{
			"combined is better than user and than project, with WFP", "in all three (figures 5–8)", combinedBest,
			"if it is the best of the three in each; partly if in one",
			"where users work in one project each, the two know the same",
		},
		{
			"accurate estimates are worth more for the order than for backfilling: S100 beats S010, with WFP", "yes",
			orderMatters, "if S100 gains more in each; partly if in one",
			"most of these jobs start by backfilling, so that its estimates count for more in the mean wait",
		},
	}
}

const sizesOfGains = "gains are of the size of what is left to gain: users of this trace request otherwise, and " +
	"the machine is no partitioned one of Intrepid's size"

// rows returns a row with the verdict on the claim for each trace, and one for all traces together.
func (c claim) rows(a *adjusted) (rows []Row) {
	var all tally
	partly := 0
	for _, trace := range a.traces {
		r := Row{Statement: trace + ": " + c.statement, Paper: c.paper}
		r.Ours, r.Verdict = c.judge(a, trace)
		if r.Verdict == Untested && r.Ours != "" { // the text says why
			r.Why, r.Ours = r.Ours, ""
		} else {
			r = r.because(c.why)
		}
		rows = append(rows, r)
		switch r.Verdict {
		case Untested:
			continue
		case Agrees:
			all.holds++
		case Partly:
			partly++
			all.except = append(all.except, trace)
		case Differs:
			all.except = append(all.except, trace)
		}
		all.total++
	}
	r := Row{Statement: "in all: " + c.statement, Paper: c.paper, Verdict: Partly}
	switch {
	case all.total == 0:
		r.Verdict = Untested
	case all.holds == all.total:
		r.Verdict = Agrees
	case all.holds+partly == 0:
		r.Verdict = Differs
	}
	if all.total > 0 {
		r.Ours = "agrees on " + all.String() + ". A trace agrees " + c.rule
	}
	return append(rows, r.because(c.why))
}

// backfilling returns the scheduler with backfilling that a trace was run with, in this order:
// drain, the study's own policy for partitioned machines, if there are results of it, else EASY.
func (a *adjusted) backfilling(trace, order string) scheduler {
	for _, policy := range []string{"drain", "easy"} {
		if _, ok := a.value(trace, scheduler{policy, order}, requested, threeMetrics[0]); ok {
			return scheduler{policy, order}
		}
	}
	return scheduler{"easy", order}
}

func (a *adjusted) value(trace string, s scheduler, estimator, metric string) (float64, bool) {
	g := a.grids[estimator]
	if g == nil {
		return 0, false
	}
	return g.at(trace, s, g.loads[0], metric) // usually the only load: partitions cannot bear the trace's own
}

// gains returns by how much an estimator improves each of the three metrics over requested times,
// under an order; false if a result is missing.
func (a *adjusted) gains(trace, order, estimator string) (gains []float64, ok bool) {
	s := a.backfilling(trace, order)
	return a.improvements(trace, s, s, requested, estimator)
}

// improvements returns by how much each of the three metrics is better under s, planning with one
// estimator, than under the base, planning with another (with), as shares; false if a result is
// missing or the base's is 0.
func (a *adjusted) improvements(trace string, base, s scheduler, with, estimator string) (gains []float64, ok bool) {
	for _, metric := range threeMetrics {
		b, baseOK := a.value(trace, base, with, metric)
		v, ok := a.value(trace, s, estimator, metric)
		if !baseOK || !ok || b == 0 {
			return nil, false
		}
		gains = append(gains, (b-v)/b)
	}
	return gains, true
}

// three returns a text with the gains in threeMetrics, each with a short name.
func three(gains []float64) string {
	var texts []string
	for i, name := range []string{"wait", "uwait", "slowdown"} {
		texts = append(texts, name+" "+percent(gains[i]))
	}
	return strings.Join(texts, ", ")
}

// count returns how many gains are not below least.
func count(gains []float64, least float64) (n int) {
	for _, g := range gains {
		if g >= least {
			n++
		}
	}
	return n
}

func overFCFS(a *adjusted, trace string) (string, Verdict) {
	gains, ok := a.improvements(trace, a.backfilling(trace, fcfs), a.backfilling(trace, wfp), requested, requested)
	if !ok {
		return "", Untested
	}
	switch count(gains, 0.05) {
	case 3:
		return three(gains), Agrees
	case 0:
		return three(gains), Differs
	}
	return three(gains), Partly
}

// insensitive judges that accurate estimates improve no metric under FCFS by 10 %.
func insensitive(a *adjusted, trace string) (string, Verdict) {
	gains, ok := a.gains(trace, fcfs, accurate)
	if !ok {
		return "", Untested
	}
	text := three(gains) + " with accurate ones"
	switch count(gains, 0.1) {
	case 0:
		return text, Agrees
	case len(gains):
		return text, Differs
	}
	return text, Partly
}

func accurateGains(a *adjusted, trace string) (string, Verdict) {
	gains, ok := a.gains(trace, wfp, accurate)
	switch {
	case !ok:
		return "", Untested
	case count(gains, 0.25) == 3:
		return three(gains), Agrees
	case count(gains, 0.05) > 0:
		return three(gains), Partly
	}
	return three(gains), Differs
}

func combinedGains(a *adjusted, trace string) (string, Verdict) {
	gains, ok := a.gains(trace, wfp, "combined")
	switch {
	case !ok:
		return "", Untested
	case gains[0] >= 0.05 && gains[1] >= 0.0885 && gains[2] >= 0.1:
		return three(gains), Agrees
	case count(gains, 0.01) > 0:
		return three(gains), Partly
	}
	return three(gains), Differs
}

func combinedBest(a *adjusted, trace string) (string, Verdict) {
	combined, ok := a.gains(trace, wfp, "combined")
	user, userOK := a.gains(trace, wfp, "user")
	project, projectOK := a.gains(trace, wfp, "project")
	if !ok || !userOK || !projectOK {
		return "", Untested
	}
	if slices.Equal(project, []float64{0, 0, 0}) || slices.Equal(user, []float64{0, 0, 0}) {
		return "the trace does not tell users or projects of enough jobs", Untested
	}
	best := 0
	for i := range combined {
		if combined[i] >= max(user[i], project[i]) {
			best++
		}
	}
	text := fmt.Sprintf("in %d of 3: combined %s; user %s; project %s", best, three(combined), three(user),
		three(project))
	switch best {
	case 3:
		return text, Agrees
	case 0:
		return text, Differs
	}
	return text, Partly
}

func orderMatters(a *adjusted, trace string) (string, Verdict) {
	order, ok := a.gains(trace, wfp, "S100")
	backfill, backfillOK := a.gains(trace, wfp, "S010")
	if !ok || !backfillOK {
		return "", Untested
	}
	better := 0
	for i := range order {
		if order[i] > backfill[i] {
			better++
		}
	}
	text := fmt.Sprintf("S100 %s; S010 %s", three(order), three(backfill))
	switch better {
	case 3:
		return text, Agrees
	case 0:
		return text, Differs
	}
	return text, Partly
}

// tableIII compares with the paper's numbers for Intrepid in July 2009 (10,479 jobs). Without
// results for that log the rows say so.
func tableIII(a *adjusted) (rows []Row) {
	for _, claim := range []struct {
		order                             string
		wait, uwait, slowdown, backfilled float64
	}{
		{fcfs, 80.9 * 60, 1.92, 10.14, 1791.0 / 10479}, {wfp, 62.9 * 60, 0.96, 6.36, 1293.0 / 10479},
	} {
		r := Row{
			Statement: "Intrepid, " + strings.ToUpper(claim.order) +
				" with backfilling and requested times: wait, uwait, slowdown, share of the jobs that were backfilled",
			Paper: fmt.Sprintf("%.1f min, %.2f, %.2f, %.1f %% (table III)", claim.wait/60, claim.uwait, claim.slowdown,
				100*claim.backfilled), Verdict: Untested,
			Why: "the log of Intrepid is not at hand; where ANL-Intrepid-2009-1.swf.gz is among the traces, " +
				"it is compared",
		}
		if got, near, ok := a.near(intrepid, a.backfilling(intrepid, claim.order), claim.wait, claim.uwait, claim.slowdown,
			claim.backfilled); ok {
			r.Ours, r.Verdict, r.Why = fmt.Sprintf("%.1f min, %.2f, %.2f, %.1f %%", got[0]/60, got[1], got[2],
				100*got[3]), Partly, ""
			switch near {
			case len(got):
				r.Verdict = Agrees
			case 0:
				r.Verdict = Differs
			}
			r = r.because("the table is of July 2009 alone and of the site's own log; the archive's is of more months")
		}
		rows = append(rows, r)
	}
	return rows
}

// near returns a scheduler's threeMetrics and its share of backfilled jobs, and how many of these
// four are within 25 % of the paper's, which are in the same order. It returns false if one of them
// was not measured.
func (a *adjusted) near(trace string, s scheduler, paper ...float64) (got []float64, near int, ok bool) {
	for i, metric := range append(slices.Clone(threeMetrics), "share_backfilled") {
		v, ok := a.value(trace, s, requested, metric)
		if !ok {
			return nil, 0, false
		}
		got = append(got, v)
		if math.Abs(v-paper[i]) <= 0.25*paper[i] {
			near++
		}
	}
	return got, near, true
}
