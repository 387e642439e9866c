package condorsim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Warn says, in log lines with details, what of its files a run does not heed, or cannot.
func (w *Workload) Warn(warn func(text string, details ...any)) {
	if w.UnknownZone != "" {
		warn("the trace's TimeZoneString is no time zone: expressions of ads see the time by its TimeZone, "+
			"else UTC; write a name of the IANA, such as Europe/Paris", "zone", w.UnknownZone)
	}
	for _, what := range w.Unheeded {
		warn("not all that ads ask for is heeded", "what", what)
	}
	if several, all := w.severalChunks(); several > 0 && w.Preemption != nil {
		warn("jobs of several chunks neither displace others nor are displaced; have a chunk take more processors "+
			"by the pool's pack: {chunk_cpus: N}", "jobs", several,
			"share", strconv.FormatFloat(100*float64(several)/float64(all), 'g', 3, 64)+"%")
	}
	w.warnOfGroups(warn)
	if len(w.Jobs) == 0 || len(w.Outages) == 0 {
		return
	}
	done := w.likelyDone()
	for i := range w.Outages {
		if doubt := w.beyond(&w.Outages[i], done); doubt != "" {
			warn("the pool has an outage that is outside of the trace", "what", doubt)
		}
	}
}

// severalChunks counts the jobs that have more than one chunk, of all that are no scavengers.
func (w *Workload) severalChunks() (several, all int) {
	for i := range w.Jobs {
		switch {
		case w.Jobs[i].Scavenger:
			continue
		case w.Jobs[i].Nodes > 1:
			several++
		}
		all++
	}
	return several, all
}

// beyond says that a scheduled outage begins after done, when all jobs are likely to have ended; "": it does
// not. Its instant may be meant as a Unix time: it counts from the first submission.
func (w *Workload) beyond(o *pools.Outage, done backfill.Time) string {
	clock := w.Clock()
	at := clock.First + int64(o.At)
	if o.Random() || at <= int64(done) {
		return ""
	}
	text := fmt.Sprintf("the %s of %s begins %s after the first submission, at %s: the last job is submitted at %s, and "+
		"all are likely to have ended by %s", kindOf(o), w.slotsOf(o), inwords.Duration(float64(o.At), 0), clock.Text(at),
		clock.Text(clock.Last), clock.Text(int64(done)))
	if meant, err := clock.Read(fmt.Sprintf("@%d", o.At)); err == nil && clock.First <= meant && meant <= clock.Last {
		text += fmt.Sprintf("; if %d is meant as a Unix time, write at: %d", o.At, meant-clock.First)
	}
	return text
}

// likelyDone returns when all jobs are likely to have ended: any order that leaves no slot idle that a job could use
// takes at most about twice as long as the work, or the longest job, from the last submission on.
func (w *Workload) likelyDone() backfill.Time {
	work, longest, cpus := 0.0, backfill.Time(0), 0.0
	for _, s := range w.Slots {
		cpus += float64(s.Capacity[0])
	}
	for _, j := range w.Jobs {
		work += float64(j.Cpus) * float64(j.Run)
		longest = max(longest, j.Run)
	}
	const twice = 2
	return w.Jobs[len(w.Jobs)-1].Submit + twice*(longest+backfill.Time(min(work/max(cpus, 1), backfill.MaxTime)))
}

// slotsOf names the first slots of an outage.
func (w *Workload) slotsOf(o *pools.Outage) string {
	const most = 3
	var names []string
	for _, i := range o.Slots[:min(len(o.Slots), most)] {
		names = append(names, w.Slots[i].Name)
	}
	if more := len(o.Slots) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(names, " "), "no slot")
}

// The warnings of groups: that some have no jobs, that quotas or ceilings of 0 let jobs never run, and that
// quotas sum to more than there is.
const (
	EmptyGroupsText = "no job is of these groups of the pool"
	ZeroQuotasText  = "these quotas and ceilings are 0, so that jobs of theirs never run"
	ManyCpusText    = "quotas of groups sum to more cpus than there are to share: some can never be used up, and shares " +
		"beside them are of what they leave"
	ManySharesText = "quotas of groups sum to more than 100%, so each is scaled down"
)

// warnOfGroups warns of groups whose quotas may not be what was meant.
func (w *Workload) warnOfGroups(warn func(text string, details ...any)) {
	if empty := w.emptyGroups(); len(empty) > 0 {
		warn(EmptyGroupsText, "groups", strings.Join(empty, ", "))
	}
	if closed, jobs := w.closedQuotas(); jobs > 0 {
		warn(ZeroQuotasText, "limits", strings.Join(closed, ", "), "jobs", jobs)
	}
	type sums struct{ cpus, shares float64 }
	below, quotas, names := map[string]*sums{}, map[string]float64{}, []string{""}
	quotas[""] = float64(w.Capacity()[0])
	for i := range w.Groups {
		g := &w.Groups[i]
		name := strings.ToLower(g.Name)
		names = append(names, name)
		if g.Static {
			quotas[name] = g.Quota
		}
		parent := name[:max(0, strings.LastIndexByte(name, '.'))]
		if below[parent] == nil {
			below[parent] = &sums{}
		}
		if g.Static {
			below[parent].cpus += g.Quota
		} else {
			below[parent].shares += g.Quota
		}
	}
	for _, name := range names {
		sum, shown := below[name], cmp.Or(name, "the pool")
		if sum == nil {
			continue
		}
		if has, known := quotas[name]; known && sum.cpus > has {
			warn(ManyCpusText, "of", shown, "sum", sum.cpus, "there are", has)
		}
		if sum.shares > 1+1e-9 {
			warn(ManySharesText, "of", shown, "sum", strconv.FormatFloat(100*sum.shares, 'g', 6, 64)+"%")
		}
	}
}

// closedQuotas returns the quotas and ceilings of 0, and how many jobs they hold, without scavengers.
func (w *Workload) closedQuotas() (names []string, jobs int) {
	closed := map[string]bool{}
	for _, l := range w.Quotas {
		if l.Height <= 0 {
			closed[l.Name] = true
			names = append(names, l.Name)
		}
	}
	if names == nil {
		return nil, 0
	}
	for i := range w.Jobs {
		j := w.Jobs[i].Job
		if !j.Scavenger && slices.ContainsFunc(j.Takes, func(t negotiator.Take) bool { return closed[t.Limit] }) {
			jobs++
		}
	}
	return names, jobs
}
