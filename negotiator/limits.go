package negotiator

import (
	"cmp"
	"math"
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

// AmountOf returns an amount in the unit of [Take], rounded up: so no sum of them stands for more than it is.
func AmountOf(amount float64) int64 {
	const tiny = 1e-3 // of the unit, what a fraction such as 0.1 may be off
	return int64(min(math.Ceil(amount*LimitUnit-tiny), backfill.MaxAmount))
}

// HeightOf returns what there is of a limit for the jobs that the negotiator knows, in the unit of [Limit] and
// rounded down: what is free, and what the jobs that run are known to take, which is in that unit.
func HeightOf(free, known float64) int64 {
	const tiny = 1e-9
	height := math.Floor((free+tiny)*LimitUnit + known)
	return int64(max(0, min(height, backfill.MaxAmount)))
}

// limits numbers the pool's limits, which are rows to the core. A row whose limit is gone has all
// the height there is, until another limit gets it.
type limits struct {
	rows    []Limit // by row
	byName  map[string]backfill.RowID
	gone    []backfill.RowID          // the rows without a limit, in the order in which they lost it
	former  map[string]backfill.RowID // the same, by the limit that they had
	lists   map[*Take]*named          // the different lists of takes of the known jobs, by the first of them
	fresh   map[string]bool           // limits that came in this cycle
	changed []backfill.Row            // that change in this cycle
	moved   map[backfill.JobID]bool   // running jobs that arrive for them, with another end
	// translated are the takes of jobs in the core's terms, by the first of them: jobs that are alike
	// share both.
	translated map[*Take][]backfill.Take
}

// named is a list of takes that so many known jobs share.
type named struct {
	takes []Take
	jobs  int
}

// know notes that a job takes of limits instead of what it was before; nil: there is none.
func (l *limits) know(before, now *Job) {
	if now != nil && len(now.Takes) > 0 {
		list := l.lists[&now.Takes[0]]
		if list == nil {
			if l.lists == nil {
				l.lists = map[*Take]*named{}
			}
			list = &named{takes: now.Takes}
			l.lists[&now.Takes[0]] = list
		}
		list.jobs++
	}
	if before != nil && len(before.Takes) > 0 {
		list := l.lists[&before.Takes[0]]
		if list.jobs--; list.jobs == 0 {
			delete(l.lists, &before.Takes[0])
		}
	}
}

// mostTranslated bounds the takes that are remembered.
const mostTranslated = 100_000

// list returns the limits that are there, by row.
func (l *limits) list() (all []Limit) {
	for id, limit := range l.rows {
		if at, there := l.byName[limit.Name]; there && int(at) == id {
			all = append(all, limit)
		}
	}
	return all
}

// number gives a limit that comes a row: the one that it had before, one that is free, or a new one.
// It returns what is free then.
func (l *limits) number(name string, free []backfill.RowID) (id backfill.RowID, left []backfill.RowID) {
	for len(free) > 0 && !l.isGone(free[0]) { // it has its limit again
		free = free[1:]
	}
	id, had := l.former[name]
	switch {
	case had:
	case len(free) > 0:
		id, free = free[0], free[1:]
	default:
		id = backfill.RowID(len(l.rows)) //nolint:gosec // there are fewer
		l.rows = append(l.rows, Limit{})
	}
	if l.byName == nil {
		l.byName, l.fresh = map[string]backfill.RowID{}, map[string]bool{}
		l.translated, l.moved = map[*Take][]backfill.Take{}, map[backfill.JobID]bool{}
		l.former = map[string]backfill.RowID{}
	}
	delete(l.former, l.rows[id].Name)
	l.byName[name], l.fresh[name] = id, true
	return id, free
}

// isGone reports whether a row has lost its limit.
func (l *limits) isGone(id backfill.RowID) bool {
	at, gone := l.former[l.rows[id].Name]
	return gone && at == id
}

// row returns a row as the core has it.
func (l *limits) row(id backfill.RowID) backfill.Row {
	return backfill.Row{ID: id, Name: l.rows[id].Name, Height: l.rows[id].Height, Unit: LimitUnit}
}

// further returns the rows that limits would get which came now; nothing is changed.
func (l *limits) further(limits []Limit) (rows []backfill.Row) {
	for i, limit := range limits {
		id := backfill.RowID(len(l.rows) + i) //nolint:gosec // there are fewer
		rows = append(rows, backfill.Row{ID: id, Name: limit.Name, Height: limit.Height, Unit: LimitUnit})
	}
	return rows
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
