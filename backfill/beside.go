package backfill

import "github.com/condor-backfill/condor-backfill/backfill/profile"

// Beside is what the plan leaves of rows to jobs that start now and that are in no plan. It holds until
// the state changes.
type Beside struct {
	s    *State
	rows *profile.Profile
}

// Beside returns what the plan leaves of rows.
func (s *State) Beside() *Beside { return &Beside{s, s.profile.Rows().Alone()} }

// Fits reports whether what a job takes of rows is free from now on for as long as it may run, beside all
// that runs, all that other jobs have reserved, and those that were taken up.
func (b *Beside) Fits(j *Job) bool {
	if len(j.Takes) == 0 {
		return true
	}
	b.giveBack(j)
	free := b.rows.Rows().Free(j.Takes, b.s.now, b.end(j))
	if r := b.s.jobs.Find(j.ID); r.reserves() {
		b.rows.Take(j.Takes, r.start, r.end)
	}
	return free
}

// Take takes up a job that starts now, and needs its reservation no more.
func (b *Beside) Take(j *Job) {
	b.giveBack(j)
	b.rows.Take(j.Takes, b.s.now, b.end(j))
}

func (b *Beside) giveBack(j *Job) {
	if r := b.s.jobs.Find(j.ID); r.reserves() {
		b.rows.GiveBack(j.Takes, r.start, r.end)
	}
}

func (b *Beside) end(j *Job) Time { return b.s.now + max(1, j.Estimate, j.Running) }

// reserves reports whether the record is that of a waiting job with a reservation.
func (r *record) reserves() bool { return r.in(waiting) && r.placement != nil }
