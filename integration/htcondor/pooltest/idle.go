package pooltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// How often a pool with our negotiator is looked at, and how long a slot may be idle beside a job
// that fits it and is allowed to run: a few cycles, and the time that a busy machine needs for a
// start.
const (
	lookEvery = 5 * time.Second
	idleLimit = 30 * time.Second
)

// Look is what collector and schedds told at one time.
type Look struct {
	At    time.Time
	Slots []*classad.ClassAd
	Jobs  []*classad.ClassAd // that wait, each with its schedd in GlobalJobId
}

// watch looks at the pool until it is stopped. Looks at which a daemon did not answer are left out,
// with a gap in their place: nothing is known of the time until the next one.
type watch struct {
	mu    sync.Mutex
	looks []Look
	stop  chan struct{}
	ended chan struct{}
}

// startWatch begins to look at the pool every few seconds.
func startWatch(p *Pool) *watch {
	w := &watch{stop: make(chan struct{}), ended: make(chan struct{})}
	schedds := p.schedds()
	go func() {
		defer close(w.ended)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ticker.C:
			}
			look := p.look(schedds)
			w.mu.Lock()
			w.looks = append(w.looks, look)
			w.mu.Unlock()
		}
	}()
	return w
}

// all returns the looks so far; none if w is nil.
func (w *watch) all() []Look {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.looks)
}

// gap says that the pool is disturbed now: what was idle before counts no more.
func (w *watch) gap() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, Look{At: time.Now().UTC()})
}

// end stops looking; it may be called again, or with nil.
func (w *watch) end() {
	if w == nil {
		return
	}
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.ended
}

// look asks collector and schedds. The result has no slots if one of them does not answer.
func (p *Pool) look(schedds []string) Look {
	look := Look{At: time.Now().UTC()}
	slots, err := p.told("condor_status", "-slots", "-long")
	if err != nil {
		return look
	}
	for _, schedd := range schedds {
		jobs, err := p.told("condor_q", "-allusers", "-long", "-name", schedd, "-constraint", "JobStatus == 1")
		if err != nil {
			return look
		}
		look.Jobs = append(look.Jobs, jobs...)
	}
	look.Slots = slots
	return look
}

// told runs a command that prints ads.
func (p *Pool) told(args ...string) ([]*classad.ClassAd, error) {
	text, err := p.Try("root", args...)
	if err != nil {
		return nil, err
	}
	var ads []*classad.ClassAd
	for ad, err := range classad.ReadAds(strings.NewReader(text), args[0]) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", args[0], err)
		}
		ads = append(ads, ad)
	}
	return ads, nil
}

// idleBesideWork goes through the looks and notes a violation if a slot was idle for longer than
// idleLimit beside a waiting job that fits it and may run. Whether a job fits is asked of the ads,
// not of the negotiator. Nothing is said of times at which a job waited that is too wide for what
// is free: slots may be kept for it.
func (a *Audit) idleBesideWork(looks []Look) {
	since := map[pair]time.Time{}
	told := map[JobID]bool{}
	for i, look := range looks[:max(0, len(looks)-1)] {
		next := looks[i+1].At
		since = a.idlePairs(look, next, since)
		for key, begin := range since {
			if next.Sub(begin) > idleLimit && !told[key.job] {
				told[key.job] = true
				a.violated("slot %s was idle from %s to %s beside job %v, which fits it and may run",
					key.slot, begin.Format(time.TimeOnly), next.Format(time.TimeOnly), key.job)
			}
		}
	}
}

// pair is a job and a slot that it fits.
type pair struct {
	job  JobID
	slot string
}

// idlePairs returns since when the slots of a look have been idle beside the jobs that fit them, given
// that of the look before; the slots are idle until the next look.
func (a *Audit) idlePairs(look Look, next time.Time, since map[pair]time.Time) map[pair]time.Time {
	idle := map[pair]time.Time{}
	if len(look.Slots) == 0 || slices.ContainsFunc(look.Jobs, look.blocked) {
		return idle
	}
	for _, job := range look.Jobs {
		if !mayRun(job, look.At) {
			continue
		}
		for _, slot := range look.Slots {
			if !look.fits(job, slot) || whole(job, "RequestCpus")+a.begun(slot, look.At, next) > whole(slot, "Cpus") {
				continue
			}
			key := pair{jobOf(job), text(slot, "Name")}
			begin, before := since[key]
			if entered := time.Unix(whole(job, "EnteredCurrentStatus"), 0); !before || entered.After(begin) {
				begin = look.At
			}
			idle[key] = begin
		}
	}
	return idle
}

// begun returns the cores of the runs that began on a slot, or on the machine of a partitionable
// one, in a stretch of time.
func (a *Audit) begun(slot *classad.ClassAd, from, to time.Time) int64 {
	name, machine, _ := strings.Cut(text(slot, "Name"), "@")
	machine, _, named := strings.Cut(machine, "@")
	cores := 0
	for _, run := range a.Runs {
		if run.Start.Before(from.Add(-lookEvery)) || run.Start.After(to) || named && run.Node != machine {
			continue // an ad may be a few seconds older than the look
		}
		if within, _, _ := strings.Cut(run.Slot, "_"); within == name {
			cores += run.Given.Cpus
		}
	}
	return int64(cores)
}

// mayRun tells whether nothing that is known from its ad keeps a waiting job from starting: it is
// no gang, not deferred and not cooling down, and has neither limits nor a group with a quota.
func mayRun(job *classad.ClassAd, now time.Time) bool {
	const scheduler, local = 7, 12
	switch whole(job, "JobUniverse") {
	case scheduler, local, parallel:
		return false
	}
	for _, name := range []string{"DeferralTime", "ConcurrencyLimits", "AccountingGroup", "AcctGroup"} {
		if _, has := job.Lookup(name); has {
			return false
		}
	}
	return whole(job, "JobCoolDownExpiration") <= now.Unix()
}

// fits tells whether a job could start on a slot as it is now. A slot of which nothing was heard
// for some time may be gone.
func (l Look) fits(job, slot *classad.ClassAd) bool {
	const updates = 5 // seconds, in pool.sh
	heard := l.At.Unix()-whole(slot, "LastHeardFrom") <= 3*updates
	open := isTrue(slot, "PartitionableSlot") || text(slot, "State") == "Unclaimed"
	return heard && open && !isTrue(slot, "Offline") && l.match(job, slot)
}

// blocked tells whether slots may be kept for a waiting job: it fits nowhere now, and would
// if the pool were empty; or it is a gang.
func (l Look) blocked(job *classad.ClassAd) bool {
	if whole(job, "JobUniverse") == parallel {
		return true
	}
	if slices.ContainsFunc(l.Slots, func(slot *classad.ClassAd) bool { return l.fits(job, slot) }) {
		return false
	}
	return slices.ContainsFunc(l.Slots, func(slot *classad.ClassAd) bool {
		if isTrue(slot, "DynamicSlot") {
			return false
		}
		return l.match(job, emptied(slot))
	})
}

// match tells whether a job and a slot match each other at the time of the look.
func (l Look) match(job, slot *classad.ClassAd) bool {
	return classad.Pair{Left: job, Right: slot, Host: &classad.Host{Now: l.At.Unix}}.Match()
}

// emptied returns the ad of a slot as it would be if nothing ran there.
func emptied(slot *classad.ClassAd) *classad.ClassAd {
	empty := slot.Clone()
	for _, name := range []string{"Cpus", "Memory", "Disk", "GPUs"} {
		if total, has := slot.Lookup("TotalSlot" + name); has {
			empty.Set(name, total)
		}
	}
	return empty
}

func isTrue(ad *classad.ClassAd, name string) bool {
	value, _ := ad.Bool(name)
	return value
}

func text(ad *classad.ClassAd, name string) string {
	value, _ := ad.Text(name)
	return value
}

func whole(ad *classad.ClassAd, name string) int64 {
	value, _ := ad.Int(name)
	return value
}

func jobOf(job *classad.ClassAd) JobID {
	schedd, _, _ := strings.Cut(text(job, "GlobalJobId"), "#")
	return JobID{Schedd: schedd, Cluster: int(whole(job, "ClusterId")), Proc: int(whole(job, "ProcId"))}
}
