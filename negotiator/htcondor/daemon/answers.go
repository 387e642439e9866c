package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// answers are what clients ask of one plan. Each is made when somebody first asks, and is shared by
// all who do.
type answers struct {
	plan      *Forecast
	unplanned []track.Unplanned
	waiting   func() []JobForecast // all that do not run; those that are not planned come last
	ads       func() *server.Ads   // of these jobs
	listing   func() *listing      // of these jobs
}

// answers returns the answers of the last plan; before the first cycle has ended, the error is
// [ErrNoPlan].
func (d *Daemon) answers() (*answers, error) {
	plan, err := d.Forecast()
	if err != nil {
		return nil, err
	}
	unplanned := (*d.pool.Load()).Unplanned()
	d.askedOf.Lock()
	defer d.askedOf.Unlock()
	if d.asked == nil || d.asked.plan != plan || !same(d.asked.unplanned, unplanned) {
		d.asked = newAnswers(plan, unplanned)
	}
	return d.asked, nil
}

// forgetAnswers frees the memory of answers from an earlier plan.
func (d *Daemon) forgetAnswers() {
	d.askedOf.Lock()
	defer d.askedOf.Unlock()
	d.asked = nil
}

// same tells whether both are one slice.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func newAnswers(plan *Forecast, unplanned []track.Unplanned) *answers {
	a := &answers{plan: plan, unplanned: unplanned}
	a.waiting = sync.OnceValue(func() (jobs []JobForecast) {
		for j := range a.all {
			if !j.started() {
				jobs = append(jobs, j)
			}
		}
		return jobs
	})
	a.ads = sync.OnceValue(func() *server.Ads {
		all := make([]*classad.ClassAd, len(a.waiting()))
		for i, j := range a.waiting() {
			all[i] = j.Ad(plan.Now)
		}
		return server.NewAds(all...)
	})
	a.listing = sync.OnceValue(func() *listing { return newListing(int64(plan.Now), a.waiting()) })
	return a
}

// all iterates over the forecasts of all jobs; those that are left out of the plan come last.
func (a *answers) all(yield func(JobForecast) bool) {
	for _, j := range a.plan.Jobs {
		if !yield(j) {
			return
		}
	}
	for _, u := range a.unplanned {
		if _, known := a.plan.Find(u.ID); !known && !yield(unplannedForecast(u)) {
			return
		}
	}
}

// listing is a list of start times as JSON. Whole or in pages, it is sent from the same bytes.
type listing struct {
	now   int64
	jobs  []byte // "job,job,job"
	at    []int  // where each job begins, and the end of a further one
	tag   string // names the content
	gzip  func() []byte
	parts [][]byte // the whole list
}

func newListing(now int64, jobs []JobForecast) *listing {
	l := &listing{now: now, at: make([]int, 1, len(jobs)+1)}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, j := range jobs {
		_ = encoder.Encode(j)            // it has nothing that JSON cannot say
		text.Bytes()[text.Len()-1] = ',' // instead of a line feed
		l.at = append(l.at, text.Len())
	}
	l.jobs = bytes.Clone(text.Bytes())
	l.parts = l.page(0, len(jobs))
	sum := sha256.New()
	for _, part := range l.parts {
		sum.Write(part)
	}
	l.tag = base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12])
	l.gzip = sync.OnceValue(func() []byte { return compress(l.parts) })
	return l
}

func compress(parts [][]byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level that exists
	for _, part := range parts {
		_, _ = w.Write(part) // memory takes everything
	}
	_ = w.Close()
	return packed.Bytes()
}

// page returns the JSON of up to limit jobs from an offset on, in parts of which the jobs are not
// copied.
func (l *listing) page(offset, limit int) [][]byte {
	total := len(l.at) - 1
	from := min(offset, total)
	to := from + min(limit, total-from)
	jobs := bytes.TrimSuffix(l.jobs[l.at[from]:l.at[to]], []byte(","))
	head := fmt.Sprintf(`{"now":%d,"total":%d,"offset":%d,"jobs":[`, l.now, total, offset)
	return [][]byte{[]byte(head), jobs, []byte("]}\n")}
}
