package verdict

import "github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"

// Promises says what became of the starts that the observer promised: the first promise of each
// job, from when it entered the plan. Nobody was told, and the live negotiator knew nothing of
// them.
type Promises struct {
	Made int `json:"made"`
	// Both are the jobs that started in time, and that the observer would have started in time as
	// well; Ours those that it would have started in time and the live negotiator did not; Theirs
	// those that the live negotiator started in time, before the observer would have.
	Both   int `json:"both"`
	Ours   int `json:"ours_only"`
	Theirs int `json:"theirs_first"`
	// Neither are those that started late or not at all by the end, and that the observer could not
	// have started in time on what the live negotiator had left free.
	Neither int `json:"neither"`
	// Elsewhere were started by another negotiator: in another pool, or on slots that the observer does
	// not see.
	Elsewhere int `json:"elsewhere"`
	// Gone left the queue before, and Open are still waiting before their time.
	Gone int `json:"gone"`
	Open int `json:"open"`
}

// Due counts the promises whose time has come.
func (p Promises) Due() int { return p.Both + p.Ours + p.Theirs + p.Neither }

// keptPromises judges the promises of jobs by the end of the record.
func keptPromises(jobs []*witness.Job, end int64) (p Promises) {
	for _, j := range jobs {
		if j.Would != 0 && j.Would < j.Told {
			continue // it would have run by then
		}
		p.Made++
		started := j.Start != 0 && j.Start <= j.Promise
		would := j.Would != 0 && j.Would <= j.Promise && (j.Start == 0 || j.Would <= j.Start+Alike)
		switch {
		case j.Start == 0 && j.Elsewhere != 0:
			p.Elsewhere++
		case started && would:
			p.Both++
		case would && (j.Start != 0 || j.Promise <= end || j.Gone != 0):
			p.Ours++
		case started:
			p.Theirs++
		case j.Gone != 0 && j.Gone <= j.Promise:
			p.Gone++
		case j.Start == 0 && j.Promise > end:
			p.Open++
		default:
			p.Neither++
		}
	}
	return p
}
