package accountant

import (
	"fmt"
	"strings"
)

// Room returns a function that says why concurrency limits, as a job names them, have no room for it
// beside what was found to be used; "": they have. What it returns can stand behind "is". Any goroutine
// may call it.
func (b *Bounds) Room() func(limits string) (why string) {
	used, all := map[string]float64{}, b.limits
	for _, bound := range b.all {
		if name, concurrency := strings.CutPrefix(bound.Name, limitName); concurrency {
			used[name] = bound.Used
		}
	}
	return func(limits string) string {
		wanted, err := ParseLimits(limits)
		if err != nil {
			return "closed: " + err.Error()
		}
		for _, l := range wanted {
			most, err := all.Max(l.Name)
			if most = max(0, most); err != nil {
				return "closed: " + err.Error()
			} else if used[l.Name]+l.Wanted > most+slack {
				return fmt.Sprintf("closed by %s%s (%s of %s in use, %s wanted)", limitName, l.Name,
					decimal(used[l.Name]), decimal(most), decimal(l.Wanted))
			}
		}
		return ""
	}
}

// Asked returns what a job that is only asked about wants of concurrency limits. Nothing is noted.
func (b *Bounds) Asked(limits []Limit) (wants []Want) {
	for _, l := range limits {
		bound := b.byName[limitName+l.Name]
		if bound == nil {
			bound = &Bound{Name: limitName + l.Name}
			bound.Max, bound.err = b.limits.Max(l.Name)
			bound.Max = max(0, bound.Max)
		}
		wants = append(wants, Want{Bound: bound, Amount: l.Wanted})
	}
	return wants
}

// Admit charges a job that starts with its concurrency limits, or returns why they have no room for it.
func (b *Bounds) Admit(c Candidate) (why string) {
	wants := b.lookUp(c)
	if why = noRoom(wants); why == "" {
		for _, w := range wants {
			w.Used += w.Amount
		}
	}
	return why
}

// Move charges a job that starts with other concurrency limits than it was admitted with, or returns why
// these have no room for it; then it is charged as before.
func (b *Bounds) Move(from, to Candidate) (why string) {
	had := b.lookUp(from)
	for _, w := range had {
		w.Used -= w.Amount
	}
	if why = b.Admit(to); why != "" {
		for _, w := range had {
			w.Used += w.Amount
		}
	}
	return why
}

// Lacks returns which of a job's concurrency limits has no room for it now; "" if all have.
func (b *Bounds) Lacks(c Candidate) (why string) {
	if why = b.May(c); why != "" {
		return why
	}
	return noRoom(b.lookUp(c))
}

func noRoom(wants []Want) string {
	if why := Never(wants); why != "" {
		return why
	}
	return Lacking(wants)
}
