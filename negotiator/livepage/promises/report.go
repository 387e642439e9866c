package promises

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Report says how true what was told is.
type Report struct {
	Now int64 `json:"now"`
	// Leads are the errors of starts by how long before them they were told.
	Leads []Lead `json:"leads"`
	// Calibration compares how many of the ranges held with how many were to.
	Calibration []Calibration `json:"calibration"`
	Guarantees  Guarantees    `json:"guarantees"`
	Broken      []Broken      `json:"broken"` // the last ones, the newest first
	Delays      []Delay       `json:"delays"`
	// Starts are the last jobs that started, and what they were told at their arrival, the newest first.
	Starts []Start `json:"starts"`
}

// Lead is the starts that were told so many seconds before they came to be due.
type Lead struct {
	From int64          `json:"from"`
	To   picture.Moment `json:"to,omitzero"`
	Jobs int            `json:"jobs"` // told starts; a job counts once for each that it was told
	// Median and P90 are of the size of the error, and Bias is the mean of started less told, in seconds.
	Median int64   `json:"median"`
	P90    int64   `json:"p90"`
	Bias   int64   `json:"bias"`
	Minute float64 `json:"within_1m"` // shares
	Ten    float64 `json:"within_10m"`
	Ranged int     `json:"ranged"`
	Within float64 `json:"within_range"` // of those that were told a range
}

// Calibration is which share of starts came by a bound that so many were to come by.
type Calibration struct {
	Told float64 `json:"told"`
	Came float64 `json:"came"`
	Jobs int     `json:"jobs"`
}

// Guarantees counts jobs that were promised a latest start.
type Guarantees struct {
	Given  int `json:"given"`
	Kept   int `json:"kept"`
	Broken int `json:"broken"`
	// Elsewhere are those that another negotiator has started.
	Elsewhere int     `json:"elsewhere"`
	Open      int     `json:"open"` // they wait
	Causes    []Cause `json:"causes"`
}

// Cause is why guarantees were broken.
type Cause struct {
	Cause string `json:"cause"`
	Jobs  int    `json:"jobs"`
}

// Start is a start that was told at an instant, and when it came.
type Start struct {
	Job     string `json:"job"`
	Owner   string `json:"owner"`
	At      int64  `json:"at"`
	Told    int64  `json:"told"`
	Started int64  `json:"started"`
}

// leads are the bounds of lead times, in seconds.
var leads = []int64{0, 600, 3600, 6 * 3600, 24 * 3600} //nolint:gochecknoglobals // a table

// mostStarts is how many starts a report lists.
const mostStarts = 500

// Report returns how true what was told so far is.
func (l *Ledger) Report(now int64) Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Now: now, Leads: []Lead{}, Calibration: []Calibration{}, Broken: []Broken{}, Delays: l.listDelays(), Starts: []Start{}}
	for i, from := range leads {
		lead := Lead{From: from}
		to := int64(1) << 62
		if i+1 < len(leads) {
			to = leads[i+1]
			lead.To = picture.Moment{At: to, Known: true}
		}
		lead.measure(l.came, from, to)
		r.Leads = append(r.Leads, lead)
	}
	r.calibrate(l.came)
	r.Guarantees = Guarantees{Given: l.given, Kept: l.kept, Broken: l.failed, Elsewhere: l.away, Causes: []Cause{}}
	for _, t := range l.waiting {
		if t.guaranteed && !t.broken {
			r.Guarantees.Open++
		}
	}
	for cause, n := range l.causes {
		r.Guarantees.Causes = append(r.Guarantees.Causes, Cause{cause, n})
	}
	slices.SortFunc(r.Guarantees.Causes, func(a, b Cause) int { return b.Jobs - a.Jobs })
	r.Broken = append(r.Broken, l.broken...)
	slices.Reverse(r.Broken)
	for i := len(l.came) - 1; i >= 0 && len(r.Starts) < mostStarts; i-- {
		if c := l.came[i]; c.arrival {
			r.Starts = append(r.Starts, Start{c.job, c.owner, c.at, c.told, c.started})
		}
	}
	return r
}

// measure fills in what was told between two lead times.
func (d *Lead) measure(all []came, from, to int64) {
	var errs []int64
	var sum int64
	minute, ten, within := 0, 0, 0
	for _, c := range all {
		if lead := max(0, c.told-c.at); lead < from || lead >= to {
			continue
		}
		off := c.started - c.told
		sum += off
		off = max(off, -off)
		errs = append(errs, off)
		if off <= 60 {
			minute++
		}
		if off <= 600 {
			ten++
		}
		if c.ranged {
			d.Ranged++
			if c.low.At <= c.started && (!c.high.Known || c.started <= c.high.At) {
				within++
			}
		}
	}
	n := len(errs)
	if d.Jobs = n; n == 0 {
		return
	}
	slices.Sort(errs)
	d.Median, d.P90, d.Bias = errs[(n-1)/2], errs[(n-1)*9/10], sum/int64(n)
	d.Minute, d.Ten = float64(minute)/float64(n), float64(ten)/float64(n)
	if d.Ranged > 0 {
		d.Within = float64(within) / float64(d.Ranged)
	}
}

// calibrate compares the bounds of ranges with what came: one start in ten is to come before the lower
// one, five by the middle and nine by the upper one.
func (r *Report) calibrate(all []came) {
	n, low, mid, high := 0, 0, 0, 0
	for _, c := range all {
		if !c.ranged {
			continue
		}
		n++
		if c.started <= c.low.At {
			low++
		}
		if c.started <= c.told {
			mid++
		}
		if c.high.Known && c.started <= c.high.At {
			high++
		}
	}
	if n == 0 {
		return
	}
	share := func(k int) float64 { return float64(k) / float64(n) }
	r.Calibration = []Calibration{{0.1, share(low), n}, {0.5, share(mid), n}, {0.9, share(high), n}}
}
