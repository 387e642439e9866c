package papers

import (
	"fmt"
	"math"
	"strings"
)

const strict, relaxed = "strict_unfairness", "relaxed_unfairness"

func fairness(g *grid) []Row {
	pc, dc := scheduler{"pc", fcfs}, scheduler{"dc", fcfs}
	rows := []Row{
		size(g, "DAS2-fs1", pc, strict, 0.619),
		size(g, "DAS2-fs1", easy, strict, 0.632),
		size(g, "LLNL-Atlas", pc, strict, 0.0016),
		size(g, "LLNL-Atlas", pc, relaxed, 0.0016),
		size(g, "LLNL-Atlas", easy, relaxed, 0.0022),
		size(g, "DAS2-fs3", easy, strict, -30.10),
		size(g, "DAS2-fs3", easy, relaxed, -27.84),
		onlyDCGains(g),
		seconds(g, "LPC-EGEE", dc, strict, 0.102),
		seconds(g, "LPC-EGEE", dc, relaxed, 0.102),
		size(g, "LLNL-Thunder", pc, relaxed, -0.39),
		mostlyWorse(g, dc, strict),
		mostlyWorse(g, dc, relaxed),
		pcOverEASY(g, pc),
	}
	t := g.better(dc, conservative, "fairshare_unweighted")
	rows = append(rows,
		Row{
			Statement: "DC has less unweighted fair-share unfairness than Conservative",
			Paper:     "on all but DAS2-fs1, DAS2-fs3, LLNL-Thunder",
			Ours:      "on " + t.String(), Verdict: t.onlyExcept("DAS2-fs1", "DAS2-fs3", "LLNL-Thunder"),
		}.because(versions),
		smallImprovements(g, dc))
	t = g.better(dc, conservative, "mean_wait")
	rows = append(rows, Row{
		Statement: "DC with fifo has a lower mean wait than Conservative", Paper: "on all but DAS2-fs3",
		Ours: "on " + t.String(), Verdict: t.onlyExcept("DAS2-fs3"),
	}.because(versions))
	return append(rows, pcWorse(g, pc))
}

// size judges the size of an improvement over Conservative. It agrees if it differs by at most 5
// percentage points, or a tenth of the paper's, and is 0 or has the paper's sign; partly if only
// the sign is the same.
func size(g *grid, trace string, s scheduler, metric string, paper float64) Row {
	r := Row{Statement: fmt.Sprintf("%s on %s: %s over Conservative, with fifo", strings.ToUpper(s.policy), trace,
		name(metric)), Paper: percent(paper), Verdict: Untested}
	i, ok := g.improvement(trace, s, conservative, metric)
	if ok {
		r.Ours = percent(i)
		switch {
		case math.Abs(i-paper) <= max(0.05, 0.1*math.Abs(paper)) && (i == 0 || i*paper > 0):
			r.Verdict = Agrees
		case i*paper > 0:
			r.Verdict = Partly
		default:
			r.Verdict = Differs
		}
	}
	return r.because(sizes)
}

// seconds judges an unfairness in seconds, for traces where it is 0 under Conservative. It agrees
// if it differs from the paper's by at most a twentieth.
func seconds(g *grid, trace string, s scheduler, metric string, paper float64) Row {
	r := Row{
		Statement: fmt.Sprintf("%s on %s: %s, with fifo", strings.ToUpper(s.policy), trace, name(metric)),
		Paper:     fmt.Sprintf("about %.3f s", paper), Verdict: Untested,
	}
	if v, ok := g.value(trace, s, metric); ok {
		r.Ours, r.Verdict = fmt.Sprintf("%.3f s", v), Differs
		if math.Abs(v-paper) <= paper/20 {
			r.Verdict = Agrees
		}
	}
	return r.because(sizes)
}

const sizes = "the size of such a difference hangs on few jobs, on the version of the log and on how ties at " +
	"one instant are taken"

func name(metric string) string {
	switch metric {
	case strict:
		return "strict unfairness"
	case relaxed:
		return "relaxed unfairness"
	default:
		return strings.ReplaceAll(metric, "_", " ")
	}
}

// onlyDCGains judges that on LPC-EGEE neither PC nor EASY differs from Conservative in unfairness.
func onlyDCGains(g *grid) Row {
	const trace = "LPC-EGEE"
	r := Row{
		Statement: "LPC-EGEE, all jobs of one processor: no difference but DC's",
		Paper:     "PC and EASY 0 in both unfairnesses", Verdict: Untested,
	}
	var texts []string
	same := true
	for _, s := range []scheduler{{"pc", fcfs}, easy} {
		for _, metric := range []string{strict, relaxed} {
			i, ok := g.improvement(trace, s, conservative, metric)
			if !ok {
				return r.because("")
			}
			same = same && math.Abs(i) < 0.0005
			texts = append(texts, fmt.Sprintf("%v %s %s", s, name(metric), percent(i)))
		}
	}
	r.Ours, r.Verdict = strings.Join(texts, ", "), Differs
	if same {
		r.Verdict = Agrees
	}
	return r.because(sizes)
}

// mostlyWorse judges that a scheduler is worse than Conservative on nearly all traces.
func mostlyWorse(g *grid, s scheduler, metric string) Row {
	t := g.count(func(trace string) (bool, bool) {
		i, ok := g.improvement(trace, s, conservative, metric)
		return i < 0, ok
	})
	r := Row{
		Statement: fmt.Sprintf("%s is worse than Conservative in %s", strings.ToUpper(s.policy), name(metric)),
		Paper:     "nearly always", Ours: "on " + t.String(),
	}
	switch {
	case t.total == 0:
		r.Verdict = Untested
	case 4*t.holds >= 3*t.total:
		r.Verdict = Agrees
	case 2*t.holds >= t.total:
		r.Verdict = Partly
	default:
		r.Verdict = Differs
	}
	return r.because(versions)
}

// pcOverEASY judges on which traces PC is at least as good as EASY in strict unfairness.
func pcOverEASY(g *grid, pc scheduler) Row {
	t := g.count(func(trace string) (bool, bool) {
		p, ok := g.value(trace, pc, strict)
		e, easyOK := g.value(trace, easy, strict)
		return p <= e, ok && easyOK
	})
	return Row{
		Statement: "PC is at least as good as EASY in strict unfairness", Paper: "on all but DAS2-fs1 and LLNL-Thunder",
		Ours: "on " + t.String(), Verdict: t.onlyExcept("DAS2-fs1", "LLNL-Thunder"),
	}.because(versions)
}

// smallImprovements judges that most differences to Conservative in fair share are below 5 %.
func smallImprovements(g *grid, s scheduler) Row {
	t := g.count(func(trace string) (bool, bool) {
		i, ok := g.improvement(trace, s, conservative, "fairshare_unweighted")
		return math.Abs(i) < 0.05, ok
	})
	r := Row{
		Statement: "these differences are small", Paper: "mostly below 5 %", Ours: "on " + t.String(),
		Verdict: Differs,
	}
	switch {
	case t.total == 0:
		r.Verdict = Untested
	case 2*t.holds > t.total:
		r.Verdict = Agrees
	}
	return r.because(versions)
}

// pcWorse counts the traces on which jobs wait longer under PC than under Conservative.
func pcWorse(g *grid, pc scheduler) Row {
	least := 0.0
	t := g.count(func(trace string) (bool, bool) {
		i, ok := g.improvement(trace, pc, conservative, "mean_wait")
		least = min(least, i)
		return i < 0, ok
	})
	r := Row{
		Statement: "PC with fifo has a longer mean wait than Conservative", Paper: "on 9 of 14, by less than 3.5 %",
		Ours: fmt.Sprintf("on %v, at the worst %s", t, percent(least)), Verdict: t.near(9, 14),
	}
	if r.Verdict == Agrees && least < -0.05 {
		r.Verdict = Partly
	}
	return r.because(versions)
}
