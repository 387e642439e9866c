package backfill

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// A limit of the pool is a row of the profile: an amount that all slots share. What a job takes of rows
// it takes once, for all its chunks, for as long as it is placed: while it runs, from now until its
// expected end, and while it has a reservation, from its planned start through its estimate. Whether a
// job fits is asked of slots and rows together. So a policy need not know rows.
//
// A row that is reduced below what is taken of it waits for jobs to end. Those that run stay; the
// reservations that have no room in it any more are given up, by Changed events that the host adds.

// Rows returns all rows that the pool ever had, by RowID.
func (s *State) Rows() []Row { return s.rows }

// RowsGrown lists the rows that the round has made higher, or added, and by how much.
func (f Fast) RowsGrown() []Take { return f.c.grownRows }

// validate returns an error if the row's ID is negative or beyond the next free one, or if its height is
// out of range.
func (r Row) validate(rows int) error {
	switch {
	case r.ID < 0 || int(r.ID) > rows:
		return fmt.Errorf("row %d: the next free ID is %d", r.ID, rows)
	case r.Height < 0 || r.Height > MaxAmount:
		return fmt.Errorf("row %s has a height of %d: must be from 0 to %d", r.Name, r.Height, MaxAmount)
	default:
		return nil
	}
}

// rowsWith returns how many rows there are with those that a round adds, or an error if one is invalid.
func (s *State) rowsWith(r *Round) (rows int, err error) {
	rows = len(s.rows)
	for _, row := range r.Rows {
		if err = row.validate(rows); err != nil {
			return rows, err
		}
		rows = max(rows, int(row.ID)+1)
	}
	return rows, nil
}

// validateTakes returns an error unless the job takes positive amounts of rows that exist, in ascending
// order.
func (j *Job) validateTakes(rows int) error {
	for i, t := range j.Takes {
		switch {
		case t.Row < 0 || int(t.Row) >= rows:
			return fmt.Errorf("job %d takes of an unknown row %d", j.ID, t.Row)
		case i > 0 && t.Row <= j.Takes[i-1].Row:
			return fmt.Errorf("job %d takes of row %d, which is not in ascending order", j.ID, t.Row)
		case t.Amount < 1 || t.Amount > MaxAmount:
			return fmt.Errorf("job %d takes %d of row %d: must be from 1 to %d", j.ID, t.Amount, t.Row, MaxAmount)
		}
	}
	return nil
}

// sameTakes reports whether two jobs take the same of rows. Most of those that do share a list.
func sameTakes(a, b []Take) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// takesWithin reports whether a takes of no row more than b does.
func takesWithin(a, b []Take) bool {
	for _, t := range a {
		i := slices.IndexFunc(b, func(o Take) bool { return o.Row == t.Row })
		if i < 0 || t.Amount > b[i].Amount {
			return false
		}
	}
	return true
}

// onlyTakesMore reports whether a job takes more of rows than it did, and is else planned by what it was.
// Then it keeps a promised start that is free for it.
func onlyTakesMore(before, now *Job) bool {
	a, b := *before, *now
	if sameTakes(a.Takes, b.Takes) || !takesWithin(a.Takes, b.Takes) || !slices.Equal(a.Request, b.Request) {
		return false
	}
	a.Takes, a.Request, a.Labels = nil, nil, nil
	b.Takes, b.Request, b.Labels = nil, nil, nil
	return reflect.DeepEqual(&a, &b)
}

// keepsStart reports whether a job with a record keeps its promised start, if that is free, as it becomes
// another.
func (s *State) keepsStart(r *record, now *Job) bool {
	return s.guarantees && r.promised && r.in(waiting) && r.placement != nil && onlyTakesMore(r.job, now)
}

// takesOf reports whether the job takes of one of the rows.
func (j *Job) takesOf(rows []RowID) bool {
	return slices.ContainsFunc(j.Takes, func(t Take) bool { return slices.Contains(rows, t.Row) })
}

// rowsOf lists the rows that a job takes of.
func rowsOf(takes []Take) []RowID {
	rows := make([]RowID, len(takes))
	for i, t := range takes {
		rows[i] = t.Row
	}
	return rows
}

// setRow adds a row, or gives one another name and height.
func (s *State) setRow(r Row) {
	if int(r.ID) == len(s.rows) {
		s.rows, s.queue.given, s.widest = append(s.rows, r), append(s.queue.given, 0), append(s.widest, 0)
	}
	s.rows[r.ID] = r
	s.queue.given[r.ID]++
	s.profile.SetRow(r.ID, r.Name, r.Height)
}

// setRows takes over the rows of the round, for the open cycle.
func (c *Cycle) setRows(rows []Row) {
	if len(rows) == 0 {
		return
	}
	c.formerRows = slices.Clone(c.s.rows)
	for _, row := range rows {
		if int(row.ID) == len(c.s.rows) {
			c.grownRows = append(c.grownRows, Take{Row: row.ID, Amount: row.Height})
			c.onUndo(func() {
				c.s.rows, c.s.queue.given, c.s.widest = c.s.rows[:row.ID], c.s.queue.given[:row.ID], c.s.widest[:row.ID]
				c.s.profile.DropLastRow()
			})
		} else {
			old := c.s.rows[row.ID]
			c.onUndo(func() { c.s.setRow(old) })
			if row.Height > old.Height {
				c.grownRows = append(c.grownRows, Take{Row: row.ID, Amount: row.Height - old.Height})
			}
		}
		c.s.setRow(row)
	}
}

// FormerRows returns the rows as they were before the round.
func (t *Transaction) FormerRows() []Row {
	if len(t.round.Rows) > 0 {
		return t.formerRows
	}
	return t.s.rows
}

// give notes that room was given back in the rows that a job takes of.
func (q *queue) give(takes []Take) {
	for _, t := range takes {
		q.given[t.Row]++
	}
}

// gives returns a number that grows when room is given back in one of the rows.
func (q *queue) gives(takes []Take) (n int) {
	for _, t := range takes {
		n += q.given[t.Row]
	}
	return n
}

// gives returns a number that grows when room is given back in a row that the shape's jobs take of.
func (s *shape) gives(q *queue) int {
	if s.like == nil {
		return 0
	}
	return q.gives(s.like.Takes)
}

// overfull returns those of the rows of which more is taken than they have, now or later.
func (c *Cycle) overfull(rows []RowID) []RowID {
	return slices.DeleteFunc(rows, func(id RowID) bool { return !c.s.profile.Rows().Overfull(id, c.round.Now) })
}

// resized returns a Changed event for each job that a changed row affects: its reservation has no room
// in it any more, or it takes more than there is and waits, or was held for that and fits again. Jobs
// that the round has an event for are left out.
func (s *State) resized(r *Round) []Event {
	if len(r.Rows) == 0 {
		return nil
	}
	if _, err := s.rowsWith(r); err != nil {
		return nil // the round will be refused
	}
	p, changed := s.profile.Rows().Alone(), make([]RowID, len(r.Rows))
	var low, higher rowSet
	for i, row := range r.Rows {
		p.SetRow(row.ID, row.Name, row.Height)
		changed[i] = row.ID
		if int(row.ID) < len(s.rows) && row.Height > s.rows[row.ID].Height {
			higher = higher.with(row.ID)
		} else if int(row.ID) < len(s.rows) && row.Height < s.widest[row.ID] {
			low = low.with(row.ID)
		}
	}
	known := r.concerned()
	events := s.squeezed(p, r, changed, &known)
	meet := func(rec *record) {
		events = append(events, Event{Kind: Changed, Job: rec.job, Key: rec.key, LimitChanged: true})
	}
	isLow := func(j *Job) bool { _, low := p.Rows().TooLow(j.Takes); return low }
	if low != nil {
		s.jobs.Scan(func(id JobID, rec *record) bool {
			if rec.phase == waiting && rec.placement == nil && low.anyOf(rec.job) && !known.Has(id) && isLow(rec.job) {
				meet(rec)
			}
			return true
		})
	}
	if higher != nil {
		s.held.Scan(func(q queued) bool {
			rec := s.jobs.Find(q.job.ID)
			if NeverFits(rec.hold) && higher.anyOf(q.job) && !known.Has(q.job.ID) && !isLow(q.job) && s.fitsSlots(q.job) {
				meet(rec)
			}
			return true
		})
	}
	return events
}

// rowSet is a set of rows. That many may change at once, and very many jobs are asked for each.
type rowSet []bool

// with returns the set with another row.
func (set rowSet) with(id RowID) rowSet {
	set = append(set, make([]bool, max(0, int(id)+1-len(set)))...)
	set[id] = true
	return set
}

// anyOf reports whether the job takes of a row in the set.
func (set rowSet) anyOf(j *Job) bool {
	return slices.ContainsFunc(j.Takes, func(t Take) bool { return int(t.Row) < len(set) && set[t.Row] })
}

// fitsSlots reports whether the job would fit an empty pool without limits.
func (s *State) fitsSlots(j *Job) bool {
	request := s.Request(j)
	request.Takes = nil
	return s.profile.EverFits(request)
}

// squeezed returns a Changed event for each job whose reservation has no room any more in one of the
// rows that have changed, and adds these jobs to those that have an event. Of the reservations that take
// of a row which is overfull, each keeps its place, by planned start, that fits beside what runs and
// those before it. So do, in the same order, those of jobs whose events let them take of other rows;
// such events are marked. The profile p has the rows as they are now.
func (s *State) squeezed(p *profile.Profile, r *Round, changed []RowID, known *JobSet) (events []Event) {
	rows, _ := s.rowsWith(r)
	amended := s.reckon(p, r, rows)
	var full rowSet
	for _, id := range changed {
		if p.Rows().Overfull(id, r.Now) {
			full = full.with(id)
		}
	}
	if len(full)+len(amended) == 0 {
		return nil
	}
	var out []*record
	s.planned.Scan(func(planned planned) bool {
		rec := s.jobs.Find(planned.job.ID)
		switch {
		case amended[rec.job.ID] != nil:
			out = append(out, rec)
		case full.anyOf(rec.job) && !known.Has(rec.job.ID):
			p.GiveBack(rec.job.Takes, rec.start, rec.end)
			out = append(out, rec)
		}
		return true
	})
	for _, rec := range out {
		takes, e := rec.job.Takes, amended[rec.job.ID]
		if e != nil {
			takes = e.Job.Takes
		}
		fits := p.Rows().Free(takes, max(rec.start, r.Now), rec.end)
		if fits {
			p.Take(takes, rec.start, rec.end)
		}
		switch {
		case e != nil:
			e.stays = fits
		case !fits:
			known.Add(rec.job.ID)
			events = append(events, Event{Kind: Changed, Job: rec.job, Key: rec.key, LimitChanged: true})
		}
	}
	return events
}

// reckon gives back what the jobs with events in the round take of rows, and takes it for those that are
// found running. It returns the events of jobs with a promised start of which only the takes are new.
func (s *State) reckon(p *profile.Profile, r *Round, rows int) (amended map[JobID]*Event) {
	for i := range r.Events {
		e := &r.Events[i]
		id, ok := e.concerns()
		if !ok || e.keepsTakes() || e.Job != nil && e.Job.validateTakes(rows) != nil {
			continue
		}
		rec := s.jobs.Find(id)
		if rec != nil && rec.placement != nil {
			p.GiveBack(rec.job.Takes, rec.start, rec.end)
		}
		if e.Kind == Found {
			p.Take(e.Job.Takes, e.Start, max(e.End, r.Now+1))
		}
		if e.Kind == Changed && rec != nil && s.keepsStart(rec, e.Job) {
			if amended == nil {
				amended = map[JobID]*Event{}
			}
			amended[id] = e
		}
	}
	return amended
}

// keepsTakes reports whether the event leaves what its job takes of rows, at least until a new end is known.
func (e *Event) keepsTakes() bool {
	switch e.Kind {
	case EstimateChanged, Released, EndsSooner, Pinned:
		return true
	default:
		return false
	}
}

// overLimit is how the reason begins of a job that is held as it takes more of a row than there is.
const overLimit = "takes more of a limit than there is: "

// neverFits returns the reason for which the state holds a job that not even an empty pool could run.
func (s *State) neverFits(j *Job) string {
	if low, ok := s.profile.Rows().TooLow(j.Takes); ok {
		row := s.rows[low.Row]
		return fmt.Sprintf("%s%s of %s, which is %s", overLimit, row.count(low.Amount), row.Name, row.count(row.Height))
	}
	return ReasonNeverFits
}

// WhyNever returns why not even an empty pool could run a job that the state need not know, on candidates of its
// own: the reason for which it would be held; "" if one could.
func (s *State) WhyNever(j *Job, on *Candidates) string {
	request := profile.Request{Chunk: j.chunk(), Nodes: j.Nodes, Whole: j.Whole, Candidates: on, Takes: j.Takes}
	if s.profile.EverFits(request) {
		return ""
	}
	return s.neverFits(j)
}

// NeverFits reports whether a held job's reason is that of the state itself, which holds jobs that not
// even an empty pool could run: [ReasonNeverFits], or one that names a limit.
func NeverFits(reason string) bool { return reason == ReasonNeverFits || OverLimit(reason) }

// OverLimit reports whether a held job's reason is that it takes more of a limit than there is now.
func OverLimit(reason string) bool { return strings.HasPrefix(reason, overLimit) }

// Limit is a row that has no room for a job now.
type Limit struct {
	Name string
	// Height is how much there is, and Taken how much of it jobs take now; Wants is what the job takes.
	Height, Taken, Wants int64
	// Unit is that of the row.
	Unit int64
}

// count returns an amount of the row in words.
func (r Row) count(amount int64) string {
	if r.Unit < 2 {
		return strconv.FormatInt(amount, 10)
	}
	return strconv.FormatFloat(float64(amount)/float64(r.Unit), 'f', -1, 64)
}

// String says how much of the limit is in use.
func (l Limit) String() string {
	row := Row{Unit: l.Unit}
	text := fmt.Sprintf("limit %s: %s of %s in use", l.Name, row.count(l.Taken), row.count(l.Height))
	if l.Wants != max(l.Unit, 1) {
		text += ", it takes " + row.count(l.Wants)
	}
	return text
}

// limit returns the first row that has no room for a waiting job now; nil if all have.
func (v *View) limit(j *Job) *Limit {
	for _, t := range j.Takes {
		if free := v.profile.Rows().FreeAt(t.Row, v.now); free < t.Amount {
			row := v.rows[t.Row]
			return &Limit{Name: row.Name, Height: row.Height, Taken: row.Height - free, Wants: t.Amount, Unit: row.Unit}
		}
	}
	return nil
}
