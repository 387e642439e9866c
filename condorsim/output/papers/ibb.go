package papers

import (
	"fmt"
	"strings"
)

func ibb(g *grid) []Row {
	var rows []Row
	for _, trace := range g.traces {
		if _, there := g.at(trace, scheduler{"bb", fcfs}, g.loads[0], "mean_wait"); !there {
			rows = append(rows, nodes(g, trace))
			continue
		}
		paper := "up to 65 % better"
		if strings.Contains(strings.ToLower(trace), "meta") || strings.Contains(strings.ToLower(trace), "mix") {
			paper = "up to 60 % better"
		}
		for _, metric := range []string{"mean_wait", "mean_response"} {
			rows = append(rows, overBB(g, trace, metric, paper))
		}
	}
	return rows
}

// nodes returns a row without a verdict for figure 3, whose numbers are not published.
func nodes(g *grid, trace string) Row {
	var texts []string
	for _, policy := range []string{"fcfs", "first-fit", "ibb"} {
		wait, ok := g.value(trace, scheduler{policy, fcfs}, "mean_wait")
		makespan, also := g.value(trace, scheduler{policy, fcfs}, "makespan")
		if ok && also {
			texts = append(texts, fmt.Sprintf("%s %.1f s and %.0f s", policy, wait, makespan))
		}
	}
	return Row{
		Statement: trace + ": mean wait and makespan of IBB, of HTCondor's first-fit (the paper's " +
			"Best-fit) and of FCFS",
		Paper: "figure 3", Ours: strings.Join(texts, ", "), Verdict: Untested,
		Why: "the numbers of the paper's figure are not at hand",
	}
}

// overBB judges by how much IBB improves a metric over BB, at the load where that is most.
func overBB(g *grid, trace, metric, paper string) Row {
	ibb, bb := scheduler{"ibb", fcfs}, scheduler{"bb", fcfs}
	r := Row{
		Statement: fmt.Sprintf("%s: %s of IBB against BB, over relative loads", trace, name(metric)), Paper: paper,
		Verdict: Untested,
	}
	var texts []string
	best := -1.0
	for _, load := range g.loads {
		x, ok := g.at(trace, ibb, load, metric)
		base, baseOK := g.at(trace, bb, load, metric)
		if !ok || !baseOK || base == 0 {
			continue
		}
		i := (base - x) / base
		best = max(best, i)
		texts = append(texts, fmt.Sprintf("%s at %g", percent(i), load))
	}
	if len(texts) > 0 {
		r.Ours = strings.Join(texts, ", ")
		switch {
		case best >= 0.5:
			r.Verdict = Agrees
		case best > 0.02:
			r.Verdict = Partly
		default:
			r.Verdict = Differs
		}
	}
	return r.because("equation (2) of the paper, as printed, only forbids starts that EASY and BB would make: " +
		"a job is left waiting that fits and delays nobody. Nothing is gained for that in the same pass, so IBB " +
		"cannot be much better; the paper's own figures must come from another rule or another BB")
}
