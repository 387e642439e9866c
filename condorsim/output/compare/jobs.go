package compare

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Kept bounds the rows of each table of a comparison.
const Kept = 100

// Options say how to compare.
type Options struct {
	// Cpus are those of the pool; 0: not known, and there is no utilisation.
	Cpus int64
	// AnySubmit pairs jobs of the same name even if they were submitted at different times.
	AnySubmit bool
	// Clock says what the hour of an instant is.
	Clock instant.Clock
}

// Side is one of the two that are compared.
type Side struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Ran counts the jobs that ran to their ends.
	Ran int `json:"ran"`
	// Scavengers are left out of everything.
	Scavengers int `json:"scavengers,omitempty"`
}

// Comparison is what differs between two schedules of the same jobs, B less A. Times are in seconds.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Compared counts the jobs that ran to their ends in both: all measures are of these.
	Compared  int       `json:"compared"`
	Unmatched Unmatched `json:"unmatched"`
	Measures  []Measure `json:"measures"`
	// Shorter, Longer and Same count the jobs whose wait got so.
	Shorter int `json:"shorter_waits"`
	Longer  int `json:"longer_waits"`
	Same    int `json:"same_waits"`

	Users  Groups `json:"users"`
	Widths Groups `json:"widths"`
	Hours  Groups `json:"hours"`
	// Gained are the jobs whose wait got shorter most, Lost those whose wait got longer most; Kept at most.
	Gained []Job `json:"gained"`
	Lost   []Job `json:"lost"`
	// First is the first start that differs; nil: none does.
	First *First `json:"first"`

	Shapes Shapes `json:"-"`
}

// Jobs compares two schedules. It errs if no job is in both.
func Jobs(a, b *schedules.Schedule, o Options) (*Comparison, error) {
	s := &sides{a: a.Rows, b: b.Rows}
	c := &Comparison{A: sideOf(a), B: sideOf(b), Unmatched: s.match(o.AnySubmit)}
	if len(s.pairs) == 0 {
		return nil, fmt.Errorf("%s and %s have no job in common%s", a.Name, b.Name, c.Unmatched.why())
	}
	c.First = s.first()
	s.keepRan(&c.Unmatched)
	c.Compared = len(s.pairs)
	if c.Compared == 0 {
		return nil, fmt.Errorf("no job of %s and %s ran to its end in both: there is nothing to compare", a.Name, b.Name)
	}
	c.measure(s, o.Cpus)
	c.Users = s.groups(s.user)
	widths := map[int64]string{}
	c.Widths = s.groups(func(i int) string {
		cpus := s.a[s.pairs[i].a].Cpus
		if widths[cpus] == "" {
			widths[cpus] = metrics.WidthClass(cpus)
		}
		return widths[cpus]
	})
	c.Hours = s.groups(func(i int) string { return hours[o.Clock.Date(s.a[s.pairs[i].a].Submit).Hour()] })
	c.extremes(s)
	c.Shapes = s.shapes(o.Clock)
	return c, nil
}

// hours names the hours of a day.
//
//nolint:gochecknoglobals // a table
var hours = func() (names [24]string) {
	for i := range names {
		names[i] = fmt.Sprintf("%02d:00", i)
	}
	return names
}()

func sideOf(s *schedules.Schedule) Side {
	side := Side{Name: s.Name, Jobs: len(s.Rows), Scavengers: s.Scavengers}
	for i := range s.Rows {
		if s.Rows[i].Ended {
			side.Ran++
		}
	}
	return side
}

// jobs returns the compared jobs of a side as package metrics takes them. The submit time is that of A in
// both, so that both have the same jobs in each week.
func (s *sides) jobs(side int) []metrics.Job {
	all := make([]metrics.Job, len(s.pairs))
	for i, p := range s.pairs {
		row := &s.a[p.a]
		shift := int64(0)
		if side == 1 {
			row = &s.b[p.b]
			shift = s.a[p.a].Submit - row.Submit
		}
		length := row.End - row.Start
		all[i] = metrics.Job{
			Submit: row.Submit + shift, Start: row.Start + shift, Run: length, Saved: saved(row),
			Estimate: max(1, row.Estimate), Procs: row.Cpus, User: s.user(i),
		}
	}
	return all
}

// saved returns how much of a job's work was done before its last run: what its last run did not do.
func saved(row *schedules.Row) int64 {
	return min(max(0, row.Run-(row.End-row.Start)), row.Start-row.Submit)
}

// wait returns how long a job that ran to its end has waited, as package metrics counts it.
func wait(row *schedules.Row) int64 { return row.Start - saved(row) - row.Submit }

// work returns how long a job has worked in all, and slowdown its bounded slowdown, as package metrics counts
// them.
func work(row *schedules.Row) int64 { return row.End - row.Start + saved(row) }

func slowdown(row *schedules.Row) float64 {
	return max(1, float64(row.End-row.Submit)/float64(max(work(row), metrics.DefaultBound)))
}

// week returns in which week a pair's job came, from 0.
func (s *sides) week(i int) int64 {
	const week = 7 * 24 * 3600
	return (s.a[s.pairs[i].a].Submit - s.a[s.pairs[0].a].Submit) / week
}

// user returns the user of a pair, who is known if one side knows it.
func (s *sides) user(i int) string {
	if user := s.a[s.pairs[i].a].User; user != "" {
		return user
	}
	return s.b[s.pairs[i].b].User
}

// change returns by how much longer a pair's job waits in B.
func (s *sides) change(i int) int64 {
	p := s.pairs[i]
	return wait(&s.b[p.b]) - wait(&s.a[p.a])
}
