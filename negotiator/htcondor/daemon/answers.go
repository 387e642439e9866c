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
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// answers are what clients ask of one plan. Each is made when somebody first asks, and is shared by
// all who do.
type answers struct {
	plan      *Forecast
	unplanned []track.Unplanned
	waiting   func() []JobForecast // all that do not run; those that are not planned come last
	ads       func() *server.Ads   // of these jobs
	listing   func() *listing      // of these jobs
	explained explained

	further func() []int // the indexes of the unplanned that the plan does not know
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
		d.asked = newAnswers(plan, unplanned, d.o.Aliases)
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

// newAnswers makes the answers of a plan. What is told over HTTP has the pseudonyms.
func newAnswers(plan *Forecast, unplanned []track.Unplanned, aliases *access.Aliases) *answers {
	a := &answers{plan: plan, unplanned: unplanned}
	a.further = sync.OnceValue(func() (further []int) {
		for i, u := range unplanned {
			if _, known := plan.Find(u.ID); !known {
				further = append(further, i)
			}
		}
		return further
	})
	a.waiting = sync.OnceValue(func() (jobs []JobForecast) {
		for i := range a.len() {
			if j := a.at(i); !j.started() {
				jobs = append(jobs, j)
			}
		}
		return jobs
	})
	a.ads = sync.OnceValue(func() *server.Ads {
		// Who reads slowly keeps the list in memory, so it has no ads besides its text.
		jobs := a.waiting()
		return server.WriteAds(len(jobs), func(i int) *classad.ClassAd { return jobs[i].Ad(plan.Now) })
	})
	a.listing = sync.OnceValue(func() *listing { return newListing(int64(plan.Now), masked(a.waiting(), aliases)) })
	return a
}

// masked returns forecasts without the names that are not to be seen by all viewers; nil aliases hide none.
func masked(jobs []JobForecast, aliases *access.Aliases) []JobForecast {
	if aliases == nil || aliases.Names() == access.All {
		return jobs
	}
	lens := aliases.Everyone()
	for i := range jobs {
		lens.User(jobs[i].Owner) // so that texts are known to name him
	}
	hidden := append([]JobForecast{}, jobs...)
	for i := range hidden {
		j := &hidden[i]
		j.Owner = lens.User(j.Owner)
		for _, text := range []*string{
			&j.Reason, &j.Early, &j.Unpromised, &j.Stretched, &j.Limit, &j.Preemption, &j.Drained, &j.Scavenger,
		} {
			*text = lens.Scrub(*text)
		}
	}
	return hidden
}

// len is the number of all jobs.
func (a *answers) len() int { return len(a.plan.Jobs) + len(a.further()) }

// at returns the forecast of a job; those that are left out of the plan come last.
func (a *answers) at(i int) JobForecast {
	if planned := len(a.plan.Jobs); i >= planned {
		return unplannedForecast(a.unplanned[a.further()[i-planned]])
	}
	return a.plan.Jobs[i]
}

// resources are the answers about the slots that submitters use, until the pool is looked at again.
type resources struct {
	mu  sync.Mutex
	all map[string]used
}

// used are the slots of a submitter, and as an ad.
type used struct {
	slots []track.Used
	lines []byte
}

// mostUsers is for how many submitters answers are remembered.
const mostUsers = 1000

// Resources returns the slots that a submitter uses, as condor_userprio -getreslist shows them: an ad
// as lines, Name1, StartTime1. Behind the last @ of a name, which the tool cuts off, the stock
// negotiator has the startd's address. All who ask share the lines.
func (d *Daemon) Resources(submitter string) []byte {
	pool := d.pool.Load()
	if pool == nil {
		return nil
	}
	slots := (*pool).UsedBy(submitter)
	if len(slots) == 0 {
		return nil
	}
	r := &d.resources
	r.mu.Lock()
	defer r.mu.Unlock()
	known, found := r.all[submitter]
	if found && same(known.slots, slots) {
		return known.lines
	}
	if r.all == nil || !found && len(r.all) >= mostUsers {
		r.all = map[string]used{}
	}
	known = used{slots: slots}
	for i, at := range slots {
		ad := classad.New()
		ad.SetString(fmt.Sprintf("Name%d", i+1), at.Slot+"@")
		ad.SetInt(fmt.Sprintf("StartTime%d", i+1), int64(at.Since))
		known.lines = ad.AppendFormat(known.lines, classad.Lines)
	}
	r.all[submitter] = known
	return known.lines
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
