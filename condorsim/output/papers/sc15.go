package papers

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// marks are the mean bounded slowdowns, at least 10 s counting as run time, that were published for a
// trace, over all jobs that the strong filter leaves; 0: none was.
type marks struct {
	trace string
	// clairvoyant is EASY's with actual run times, requested its with requested ones.
	clairvoyant, requested float64
	// best is the least, of 128 combinations of predictions, corrections and orders of backfilling.
	best float64
}

// published has what the study and the results of its authors' simulator say.
func published() []marks {
	return []marks{
		{trace: "KTH-SP2", clairvoyant: 71.722, requested: 92.58, best: 45.80},
		{trace: "CTC-SP2", clairvoyant: 37.165, requested: 49.57, best: 15.15},
		{trace: "SDSC-SP2", requested: 87.87, best: 65.02},
		{trace: "SDSC-BLUE", clairvoyant: 30.621, requested: 36.52, best: 16.75},
		{trace: "CEA-Curie", clairvoyant: 69.926, requested: 202.1, best: 37.06},
	}
}

// sc15 compares with the published rows.
func sc15(f *results.Folder) (rows []Row) {
	for _, m := range published() {
		if m.clairvoyant > 0 {
			rows = append(rows, m.row(f, "clairvoyant EASY", m.clairvoyant, "%.3f", easyWith(accurate), exactly,
				"another version of the log, or other jobs left of it"))
		}
		rows = append(rows, m.row(f, "EASY with requested times", m.requested, "%.2f", easyWith(requested), nearly,
			"a simulator that decides after each event, and not once all events of a second have come, starts other jobs"))
	}
	for _, m := range published() {
		rows = append(rows, m.row(f, "slack, which keeps a promise to each job, at most the best of 128 that promise nothing",
			m.best, "%.2f", slackAny, atMost, "the best was chosen in hindsight on this trace, and may break what it planned"))
	}
	return rows
}

// easyWith chooses the results of EASY in order of arrival with an estimator.
func easyWith(estimator string) func(c *results.Cell) bool {
	return func(c *results.Cell) bool {
		return c.Policy == easy.policy && c.Order == fcfs && c.Estimator() == estimator
	}
}

// slackAny chooses all results of slack.
func slackAny(c *results.Cell) bool { return c.Policy == "slack" }

// exactly judges by the digits that were printed.
func exactly(ours, paper float64) Verdict {
	return judged(math.Abs(ours-paper), 0.0005, 0.01*paper)
}

// nearly lets results differ by 2 %.
func nearly(ours, paper float64) Verdict {
	return judged(math.Abs(ours-paper), 0.02*paper, 0.1*paper)
}

// atMost judges that a result is not above what was published.
func atMost(ours, paper float64) Verdict { return judged(ours-paper, 0, 0.1*paper) }

// judged returns Agrees up to one distance, and Partly up to another.
func judged(distance, agrees, partly float64) Verdict {
	switch {
	case distance <= agrees:
		return Agrees
	case distance <= partly:
		return Partly
	default:
		return Differs
	}
}

// row compares the least of the chosen results with what was published.
func (m marks) row(f *results.Folder, subject string, paper float64, format string, choice func(*results.Cell) bool,
	judge func(ours, paper float64) Verdict, why string,
) Row {
	r := Row{
		Statement: m.trace + ": mean bounded slowdown under " + subject, Paper: fmt.Sprintf(format, paper), Verdict: Untested,
	}
	least := math.Inf(1)
	for i := range f.Cells {
		c := &f.Cells[i]
		if v, ok := c.Metrics["mean_bounded_slowdown"]; ok && c.Trace == m.trace && c.Load == 1 && choice(c) && v < least {
			least = v
			r.Ours, r.Verdict = fmt.Sprintf(format, v)+", "+c.Scheduler, judge(v, paper)
		}
	}
	return r.because(why)
}
