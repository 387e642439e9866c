package compare

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
)

// First is the first start that differs, and what is known of the pool at that instant, before whatever
// started then.
type First struct {
	// At is the instant: the earlier of the two starts.
	At  int64   `json:"at"`
	Job Present `json:"job"`
	// A and B are what both tables say of the instant.
	A State `json:"a"`
	B State `json:"b"`
	// Running are the widest jobs that run, Waiting those that wait: first those that one of the two starts
	// at that instant, then in order of jobs. Both have mostPresent jobs at most.
	Running []Present `json:"running"`
	Waiting []Present `json:"waiting"`
}

// State counts the jobs at an instant.
type State struct {
	Running int   `json:"running"`
	Cpus    int64 `json:"cpus_in_use"`
	Waiting int   `json:"waiting"`
}

// Present is a job at an instant. A start or end is nil if the job has none, or is not in that table.
type Present struct {
	Name     string `json:"job"`
	User     string `json:"user,omitempty"`
	Cpus     int64  `json:"cpus"`
	Estimate int64  `json:"estimate,omitempty"`
	Submit   int64  `json:"submit"`
	StartA   *int64 `json:"start_a"`
	StartB   *int64 `json:"start_b"`
	EndA     *int64 `json:"end_a"`
	EndB     *int64 `json:"end_b"`
}

const mostPresent = 20

// first finds the first start that differs among the pairs; nil: none does. It must be called while the pairs
// are all that there are.
func (s *sides) first() *First {
	found, at := -1, int64(0)
	for i, p := range s.pairs {
		a, b := &s.a[p.a], &s.b[p.b]
		if a.Started == b.Started && a.Start == b.Start {
			continue
		}
		begin := min(a.Start, b.Start)
		if !a.Started {
			begin = b.Start
		} else if !b.Started {
			begin = a.Start
		}
		if found < 0 || begin < at {
			found, at = i, begin
		}
	}
	if found < 0 {
		return nil
	}
	f := &First{At: at}
	visit := func(a, b *schedules.Row) {
		inA, inB := f.A.count(a, at), f.B.count(b, at)
		switch {
		case inA == running || inB == running:
			f.Running = append(f.Running, present(a, b))
		case inA == waiting || inB == waiting:
			f.Waiting = append(f.Waiting, present(a, b))
		}
	}
	for i, p := range s.pairs {
		visit(&s.a[p.a], &s.b[p.b])
		if i == found {
			f.Job = present(&s.a[p.a], &s.b[p.b])
		}
	}
	for _, i := range s.onlyA {
		visit(&s.a[i], nil)
	}
	for _, i := range s.onlyB {
		visit(nil, &s.b[i])
	}
	slices.SortStableFunc(f.Running, func(p, q Present) int { return cmp.Compare(q.Cpus, p.Cpus) })
	slices.SortStableFunc(f.Waiting, func(p, q Present) int {
		return cmp.Compare(p.begins(at), q.begins(at))
	})
	f.Running = slices.Clip(f.Running[:min(mostPresent, len(f.Running))])
	f.Waiting = slices.Clip(f.Waiting[:min(mostPresent, len(f.Waiting))])
	return f
}

// The states of a job at an instant.
const (
	absent = iota
	running
	waiting
)

// count counts a job, and returns what it does at the instant.
func (s *State) count(row *schedules.Row, at int64) int {
	switch {
	case row == nil || row.Submit > at:
		return absent
	case !row.Started || row.Start >= at:
		s.Waiting++
		return waiting
	case !row.Ended || row.End > at:
		s.Running++
		s.Cpus += row.Cpus
		return running
	}
	return absent
}

// begins is 0 for jobs that start at the instant in one of the tables, and 1 for others.
func (p *Present) begins(at int64) int {
	if p.StartA != nil && *p.StartA == at || p.StartB != nil && *p.StartB == at {
		return 0
	}
	return 1
}

// present returns a job by its rows in both tables, of which one may be nil.
func present(a, b *schedules.Row) Present {
	row := a
	if a == nil {
		row = b
	}
	p := Present{Name: row.Job, User: row.User, Cpus: row.Cpus, Estimate: row.Estimate, Submit: row.Submit}
	p.StartA, p.EndA = times(a)
	p.StartB, p.EndB = times(b)
	return p
}

func times(row *schedules.Row) (start, end *int64) {
	if row != nil && row.Started {
		start = new(row.Start)
	}
	if row != nil && row.Ended {
		end = new(row.End)
	}
	return start, end
}
