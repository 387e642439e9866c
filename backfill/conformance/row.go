package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Limited is added to a seed to get rows, of which most jobs take. Unless the pool is calm, rows change
// their heights and new ones come.
const Limited uint64 = 1 << 54

// rows returns the rows that a round adds or changes.
func (d *Driver) rows(snap backfill.Snapshot) (rows []backfill.Row) {
	if !d.limited {
		return nil
	}
	if d.heights == 0 {
		for range 1 + d.random.IntN(3) {
			rows = append(rows, d.row(d.heights))
			d.heights++
		}
		return rows
	}
	if d.calm() || d.random.IntN(6) > 0 {
		return nil
	}
	for _, row := range snap.Rows {
		if d.random.IntN(2) == 0 {
			rows = append(rows, d.row(int(row.ID)))
		}
	}
	if d.heights < 5 && d.random.IntN(4) == 0 {
		rows = append(rows, d.row(d.heights))
		d.heights++
	}
	return rows
}

// row returns a row of a random height.
func (d *Driver) row(id int) backfill.Row {
	return backfill.Row{ID: backfill.RowID(id), Name: string(rune('k' + id)), Height: d.random.Int64N(7)}
}

// takes makes a job take of some rows. Some jobs share what they take.
func (d *Driver) takes(j *backfill.Job) {
	if !d.limited {
		return
	}
	if d.random.IntN(3) == 0 {
		j.Takes = d.shared
		return
	}
	for id := range backfill.RowID(d.heights) {
		if d.random.IntN(2) == 0 {
			j.Takes = append(j.Takes, backfill.Take{Row: id, Amount: 1 + d.random.Int64N(3)})
		}
	}
	d.shared = j.Takes
}

// takingMore returns the job as one that takes of further rows.
func (d *Driver) takingMore(j *backfill.Job) *backfill.Job {
	more := *j
	more.Takes = nil
	for id := range backfill.RowID(d.heights) {
		i := slices.IndexFunc(j.Takes, func(t backfill.Take) bool { return t.Row == id })
		switch {
		case i >= 0:
			more.Takes = append(more.Takes, j.Takes[i])
		case d.random.IntN(2) == 0:
			more.Takes = append(more.Takes, backfill.Take{Row: id, Amount: 1 + d.random.Int64N(3)})
		}
	}
	return &more
}

// rowsOf returns what is left of each row of a snapshot in each second, before any job.
func rowsOf(snap backfill.Snapshot, seconds backfill.Time) [][]int64 {
	rows := make([][]int64, len(snap.Rows))
	for i, row := range snap.Rows {
		rows[i] = slices.Repeat([]int64{row.Height}, int(seconds))
	}
	return rows
}

// takeRows subtracts what a job takes of rows (n = 1), or gives it back (n = -1).
func (g *grid) takeRows(j backfill.JobState, n int64) {
	if j.Placement == nil {
		return
	}
	for _, t := range j.Job.Takes {
		seconds := g.rows[t.Row]
		from, to := max(j.Start-g.snap.Now, 0), min(j.End-g.snap.Now, backfill.Time(len(seconds)))
		for at := from; at < to; at++ {
			seconds[at] -= n * t.Amount
		}
	}
}

// fitsRows reports whether the rows have room for a job from the given second of the grid on, through
// its estimate or until the end of the grid.
func (g *grid) fitsRows(j *backfill.Job, second backfill.Time) bool {
	return !slices.ContainsFunc(j.Takes, func(t backfill.Take) bool {
		seconds := g.rows[t.Row]
		return slices.Min(seconds[second:min(second+j.Estimate, backfill.Time(len(seconds)))]) < t.Amount
	})
}

// limits reports rows of which more is taken than they have, now or in the plan. If a row has shrunk or
// jobs were found running, those that run may take more; no job may then be planned that takes of it.
func (r *Run) limits(left, unplanned *grid) {
	for i, row := range r.snap.Rows {
		for t, free := range left.rows[i] {
			if free < 0 && (free != unplanned.rows[i][t] || !r.shrunk) {
				r.find(Capacity, nil, "of limit %s, which is %d, too much is taken at %d: %d are left", row.Name, row.Height,
					r.snap.Now+backfill.Time(t), free)
			}
		}
	}
}
