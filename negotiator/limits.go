package negotiator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// LimitUnit is one of what a limit counts, such as a licence or a cpu, in the unit of [Limit] and
// [Take]: these are in millionths, as amounts of licences may be fractions.
const LimitUnit = 1_000_000

// Limit is an amount that jobs of all slots share while they run: the licences of a program, the
// quota of a group, or how many jobs a schedd runs at once.
type Limit struct {
	// Name is unique among the limits, and stands in reasons.
	Name string
	// Height is how much there is for the jobs that the negotiator knows, from 0 to
	// [backfill.MaxAmount]. Running jobs may have more.
	Height int64
}

// Take is what a job takes of a limit while it runs, from 1 to [backfill.MaxAmount], once for all of
// its chunks.
type Take struct {
	Limit  string
	Amount int64
}

// limits numbers the pool's limits, which are rows to the core. A row whose limit is gone has all
// the height there is, until another limit gets it.
type limits struct {
	rows    []Limit // by row
	byName  map[string]backfill.RowID
	gone    []backfill.RowID
	fresh   map[string]bool         // limits that came in this cycle
	changed []backfill.Row          // that change in this cycle
	moved   map[backfill.JobID]bool // running jobs that arrive for them, with another end
	// translated are the takes of jobs in the core's terms, by the first of them: jobs that are alike
	// share both.
	translated map[*Take][]backfill.Take
}

// mostTranslated bounds the takes that are remembered.
const mostTranslated = 100_000

// checkLimits refuses limits that are out of bounds or named twice, and the end of unknown ones.
func (n *Negotiator) checkLimits(d *Delta) error {
	named := map[string]bool{}
	for _, l := range d.Limits {
		switch {
		case l.Name == "":
			return errors.New(`limit "" has no name`)
		case named[l.Name]:
			return fmt.Errorf("limit %q is reported twice", l.Name)
		case l.Height < 0 || l.Height > backfill.MaxAmount:
			return fmt.Errorf("limit %q has a height of %d: must be from 0 to %d", l.Name, l.Height, int64(backfill.MaxAmount))
		}
		named[l.Name] = true
	}
	for _, name := range d.LimitsGone {
		switch _, known := n.limits.byName[name]; {
		case !known:
			return fmt.Errorf("limit %q is gone, and was not there", name)
		case named[name]:
			return fmt.Errorf("limit %q is gone, and is reported, too", name)
		}
		named[name] = true
	}
	return nil
}

// checkTakes refuses amounts out of bounds.
func checkTakes(takes []Take) error {
	for _, t := range takes {
		if t.Amount < 1 || t.Amount > backfill.MaxAmount {
			return fmt.Errorf("it takes %d of the limit %q: must be from 1 to %d", t.Amount, t.Limit, int64(backfill.MaxAmount))
		}
	}
	return nil
}

// setLimits takes in the delta's limits, and notes which rows change, and which limits are fresh.
func (n *Negotiator) setLimits(d *Delta) {
	l := &n.limits
	clear(l.fresh)
	l.changed = nil
	if len(d.Limits)+len(d.LimitsGone) == 0 {
		return
	}
	free, asked := []backfill.RowID(nil), false
	for _, limit := range d.Limits {
		id, known := l.byName[limit.Name]
		if !known && !asked {
			free, asked = n.unusedRows(), true
		}
		if !known {
			id, free = l.number(limit.Name, free)
		}
		l.rows[id] = limit
		l.changed = append(l.changed, l.row(id))
	}
	for _, name := range d.LimitsGone {
		id := l.byName[name]
		delete(l.byName, name)
		l.gone, l.rows[id].Height = append(l.gone, id), backfill.MaxAmount
		l.changed = append(l.changed, l.row(id))
	}
	clear(l.translated)
}

// list returns the limits that are there, by row.
func (l *limits) list() (all []Limit) {
	for id, limit := range l.rows {
		if at, there := l.byName[limit.Name]; there && int(at) == id {
			all = append(all, limit)
		}
	}
	return all
}

// unusedRows returns the rows of limits that are gone and that no job names any more.
func (n *Negotiator) unusedRows() (free []backfill.RowID) {
	l, unused := &n.limits, map[string]bool{}
	if len(l.gone) == 0 {
		return nil
	}
	for _, id := range l.gone {
		unused[l.rows[id].Name] = true
	}
	n.jobs.Scan(func(_ backfill.JobID, k *known) bool {
		if k.job != nil {
			for _, t := range k.job.Takes {
				delete(unused, t.Limit)
			}
		}
		return len(unused) > 0
	})
	for _, id := range l.gone {
		if unused[l.rows[id].Name] {
			free = append(free, id)
		}
	}
	return free
}

// number gives a limit that comes a row: the one that it had before, one that is free, or a new one.
// It returns what is free then.
func (l *limits) number(name string, free []backfill.RowID) (id backfill.RowID, left []backfill.RowID) {
	at := slices.IndexFunc(l.gone, func(id backfill.RowID) bool { return l.rows[id].Name == name })
	switch {
	case at >= 0:
		id = l.gone[at]
	case len(free) > 0:
		id = free[0]
	default:
		id = backfill.RowID(len(l.rows)) //nolint:gosec // there are fewer
		l.rows = append(l.rows, Limit{})
	}
	is := func(other backfill.RowID) bool { return other == id }
	l.gone = slices.DeleteFunc(l.gone, is)
	if l.byName == nil {
		l.byName, l.fresh = map[string]backfill.RowID{}, map[string]bool{}
		l.translated, l.moved = map[*Take][]backfill.Take{}, map[backfill.JobID]bool{}
	}
	l.byName[name], l.fresh[name] = id, true
	return id, slices.DeleteFunc(free, is)
}

// row returns a row as the core has it.
func (l *limits) row(id backfill.RowID) backfill.Row {
	return backfill.Row{ID: id, Name: l.rows[id].Name, Height: l.rows[id].Height, Unit: LimitUnit}
}

// takes returns what a job takes of rows, by ascending row: of limits that are not there it takes
// nothing.
func (l *limits) takes(takes []Take) []backfill.Take {
	if len(l.byName) == 0 || len(takes) == 0 {
		return nil
	}
	if known, ok := l.translated[&takes[0]]; ok {
		return known
	}
	var all []backfill.Take
	for _, t := range takes {
		if id, known := l.byName[t.Limit]; known {
			all = append(all, backfill.Take{Row: id, Amount: t.Amount})
		}
	}
	slices.SortFunc(all, func(a, b backfill.Take) int { return cmp.Compare(a.Row, b.Row) })
	if len(l.translated) >= mostTranslated {
		clear(l.translated)
	}
	l.translated[&takes[0]] = all
	return all
}

// retake adds to the arrivals the jobs that are known and take of a limit that has just come. They
// wait and run as before.
func (n *Negotiator) retake(d *Delta) {
	clear(n.limits.moved)
	if len(n.limits.fresh) == 0 || n.predictions.anew { // then all jobs arrive anyway
		return
	}
	concerned := map[backfill.JobID]bool{}
	n.jobs.Scan(func(id backfill.JobID, k *known) bool {
		if k.job != nil && slices.ContainsFunc(k.job.Takes, func(t Take) bool { return n.limits.fresh[t.Limit] }) {
			concerned[id] = true
		}
		return true
	})
	if len(concerned) == 0 {
		return
	}
	ends := map[backfill.JobID]backfill.Time{}
	for _, end := range d.Ends {
		ends[end.Job] = max(n.predictions.expectedEnd(end, d.Now), n.jobs.get(end.Job).Lease)
	}
	isBack := n.returning(d)
	for _, before := range n.State().Snapshot().Jobs {
		id := before.Job.ID
		end, moved := ends[id]
		returns := before.Running && isBack(id, before.Placement)
		if !concerned[id] || n.reported.Has(id) && !moved && !returns {
			continue
		}
		a := arrival{kind: backfill.Changed, job: n.jobs.get(id)}
		if before.Running && !returns {
			a.kind, a.placement, a.start, a.end = backfill.Found, before.Placement, before.Start, cmp.Or(end, before.End)
		}
		if moved {
			n.limits.moved[id] = true
		}
		n.reported.Add(id)
		n.arrivals = append(n.arrivals, a)
	}
}
