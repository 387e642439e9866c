package pages

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
)

// ofJobs returns the section of a comparison job by job.
func (p *Page) ofJobs(c *compare.Comparison) Section {
	a, b := p.labels(c.A.Name, c.B.Name)
	s := Section{Title: b + " against " + a, jobs: c}
	s.Sentences = append(s.Sentences, fmt.Sprintf("%s jobs ran in both. Under %s, %s of them (%s) wait shorter, %s (%s) longer, and %s "+
		"as long.", inwords.Whole(c.Compared), b, inwords.Whole(c.Shorter), share(c.Shorter, c.Compared), inwords.Whole(c.Longer),
		share(c.Longer, c.Compared), inwords.Whole(c.Same)))
	for i := range c.Measures {
		if m := &c.Measures[i]; m.Name == "mean_wait" {
			s.Sentences = append(s.Sentences, verdict(m, a, b))
		}
	}
	s.Sentences = append(s.Sentences, p.firstInWords(c.First, a, b))
	s.Whole = append(s.Whole, measures(c.Measures, a, b))
	if c.First != nil {
		s.Tables = append(s.Tables, p.waiting(c.First, a, b), p.running(c.First))
	}
	s.Tables = append(s.Tables,
		groups("Users", "User", c.Users, a, b), groups("Widths in cpus", "Cpus", c.Widths, a, b),
		groups("Hours of arrival", "Hour", c.Hours, a, b),
		p.jobs("Who gained most", c.Gained, a, b), p.jobs("Who lost most", c.Lost, a, b))
	s.Notes = heeded(c, a, b)
	return s
}

// verdict says how the mean waits differ, and whether that is chance.
func verdict(m *compare.Measure, a, b string) string {
	direction := "shorter"
	if m.Difference > 0 {
		direction = "longer"
	}
	amount := max(m.Difference, -m.Difference)
	switch {
	case m.Difference == 0:
		return fmt.Sprintf("The mean wait is %s in both.", hours(m.A))
	case m.HalfWidth == nil:
		return fmt.Sprintf("The mean wait is %s instead of %s, %s %s. Whether that is chance is not known, as the jobs came in fewer than "+
			"four weeks.", hours(m.B), hours(m.A), hours(amount), direction)
	case m.Sure():
		return fmt.Sprintf("The mean wait is %s instead of %s: %s %s under %s (95 %%, %d %s).", hours(m.B), hours(m.A),
			within(amount, *m.HalfWidth), direction, b, m.Pairs, m.Sample)
	}
	return fmt.Sprintf("The mean wait is %s instead of %s: %s %s, so %s and %s may differ by chance alone (95 %%, %d %s).", hours(m.B),
		hours(m.A), within(amount, *m.HalfWidth), direction, a, b, m.Pairs, m.Sample)
}

// firstInWords says which start is the first that differs.
func (p *Page) firstInWords(f *compare.First, a, b string) string {
	if f == nil {
		return "All jobs start at the same instants in both."
	}
	start := func(at *int64) string {
		if at == nil {
			return "never"
		}
		return "at " + p.Clock.Text(*at)
	}
	text := fmt.Sprintf("The first start that differs is that of job %s (%s cpus, submitted at %s): %s in %s, %s in %s.", f.Job.Name,
		inwords.Whole(f.Job.Cpus), p.Clock.Text(f.Job.Submit), start(f.Job.StartA), a, start(f.Job.StartB), b)
	if f.A == f.B {
		return text + fmt.Sprintf(" At %s %s ran on %s cpus, and %s waited, in both.", p.Clock.Text(f.At), jobs(f.A.Running),
			inwords.Whole(f.A.Cpus), jobs(f.A.Waiting))
	}
	return text + fmt.Sprintf(" At %s %s ran on %s cpus and %s waited in %s; %s on %s cpus and %s in %s.", p.Clock.Text(f.At),
		jobs(f.A.Running), inwords.Whole(f.A.Cpus), jobs(f.A.Waiting), a, jobs(f.B.Running), inwords.Whole(f.B.Cpus), jobs(f.B.Waiting), b)
}

// jobs writes a number of jobs.
func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return inwords.Whole(n) + " jobs"
}

// heeded says what is not compared, and what is not the same.
func heeded(c *compare.Comparison, a, b string) (notes []string) {
	u := &c.Unmatched
	for _, n := range []struct {
		some *compare.Some
		what string
	}{
		{&u.OnlyA, "in " + a + " alone, and not compared"},
		{&u.OnlyB, "in " + b + " alone, and not compared"},
		{&u.OtherSubmit, "submitted at different times, and not compared; --any-submit goes by names alone"},
		{&u.RanOnlyInA, "in both, and ran to the end in " + a + " alone; not compared"},
		{&u.RanOnlyInB, "in both, and ran to the end in " + b + " alone; not compared"},
		{&u.RanInNeither, "in both, and ran to the end in neither"},
		{&u.OtherRun, "compared although their run times differ"},
		{&u.OtherCpus, "compared although they ran on other numbers of cpus"},
	} {
		if n.some.Jobs > 0 {
			notes = append(notes, n.some.String()+": "+n.what+".")
		}
	}
	if left := max(c.A.Scavengers, c.B.Scavengers); left > 0 {
		notes = append(notes, jobs(left)+" are scavengers, and left out.")
	}
	return notes
}
