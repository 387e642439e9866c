package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// besieged is a pool in real time, with a collector and schedds whose jobs start where they are matched
// and run for some seconds. The honest user alice always has jobs that wait. What others put into it
// comes and goes with their attacks. Their jobs may start on slots of the barracks alone, and hers
// on the others alone: how many of hers start tells what the negotiator can do for her, and not what
// share of the pool is due to the others.
type besieged struct {
	t         *testing.T
	collector *fakes.Collector
	schedd    *fakes.Schedd // of alice
	theirs    *fakes.Schedd // of those who attack, where there are barracks
	capable   map[*fakes.Schedd]string
	waiting   int // jobs of alice that wait at any time

	mu     sync.Mutex
	random *rand.Rand
	slots  []*besiegedSlot
	jobs   []*besiegedJob
	last   int64 // cluster
	starts int   // of jobs of alice
	more   map[string][]*classad.ClassAd
}

type besiegedSlot struct {
	name     string
	start    *classad.ClassAd // with START, and what it refers to
	barracks bool
	claim    int
	job      *besiegedJob
	ad       *classad.ClassAd // nil: it has changed
	private  *classad.ClassAd
}

type besiegedJob struct {
	schedd  *fakes.Schedd
	cluster int64
	user    string
	extra   string
	slot    *besiegedSlot // nil: it waits
	ends    time.Time
	ad      *classad.ClassAd // nil: it has changed
}

const (
	alice   = "alice"
	mallory = "mallory"
)

func newBesieged(t *testing.T, seed uint64, slots, barracks, waiting int) *besieged {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 21)) //nolint:gosec // a test
	p := &besieged{
		t: t, collector: fakes.NewCollector(t), schedd: fakes.NewSchedd(t, "schedd@test"), waiting: waiting,
		random: random, more: map[string][]*classad.ClassAd{}, capable: map[*fakes.Schedd]string{},
	}
	if barracks > 0 {
		p.theirs = fakes.NewSchedd(t, "theirs@test")
	}
	for i, s := range p.schedds() {
		p.capable[s] = s.Capability(fmt.Sprintf("topsecretcapability%d", i), 0)
		s.Taken(p.take)
	}
	for i := range slots {
		p.slots = append(p.slots, &besiegedSlot{name: fmt.Sprintf("n%d", i), start: parsed(t, mildStart)})
	}
	for i := range barracks {
		p.slots = append(p.slots, &besiegedSlot{name: fmt.Sprintf("b%d", i), start: parsed(t, mildStart), barracks: true})
	}
	p.publish(time.Now())
	return p
}

func (p *besieged) schedds() []*fakes.Schedd {
	if p.theirs == nil {
		return []*fakes.Schedd{p.schedd}
	}
	return []*fakes.Schedd{p.schedd, p.theirs}
}

// live publishes the pool as it is, four times a second, until the context ends.
func (p *besieged) live(ctx context.Context) {
	every := time.NewTicker(250 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			p.publish(now)
		}
	}
}

// take starts the job of a match, if its slot still has the claim.
func (p *besieged) take(m fakes.Match) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, _ := m.Ad.Text("Name")
	i := slices.IndexFunc(p.jobs, func(j *besiegedJob) bool { return j.cluster == m.Cluster })
	k := slices.IndexFunc(p.slots, func(s *besiegedSlot) bool { return name == "slot1@"+s.name })
	if i < 0 || k < 0 || p.jobs[i].slot != nil || p.slots[k].job != nil || m.Claim != p.slots[k].id() {
		return
	}
	j, s := p.jobs[i], p.slots[k]
	lasts := time.Duration(0) // theirs end at once, as many are worse than few
	if j.user == alice {
		p.starts++
		lasts = time.Duration(2+p.random.IntN(4)) * time.Second
	}
	j.slot, j.ad, j.ends = s, nil, time.Now().Add(lasts)
	s.job, s.ad = j, nil
}

// submit adds jobs of mallory with these attributes to a schedd of their own, and intrude puts them
// before those of alice; withdraw removes them.
func (p *besieged) submit(extras ...string) (withdraw func()) { return p.enqueue(p.theirs, extras) }

func (p *besieged) intrude(extras ...string) (withdraw func()) { return p.enqueue(p.schedd, extras) }

func (p *besieged) enqueue(schedd *fakes.Schedd, extras []string) (withdraw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var added []*besiegedJob
	for _, extra := range extras {
		added = append(added, p.job(schedd, mallory, extra))
	}
	p.jobs = append(slices.Clone(added), p.jobs...)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		gone := map[*besiegedJob]bool{}
		for _, j := range added {
			gone[j] = true
		}
		p.jobs = slices.DeleteFunc(p.jobs, func(j *besiegedJob) bool {
			if gone[j] && j.slot != nil {
				j.slot.free()
			}
			return gone[j]
		})
	}
}

// show adds ads of a type to those of the collector, before and after the honest ones; hide removes all
// that were added.
func (p *besieged) show(adType string, ads ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range ads {
		p.more[adType] = append(p.more[adType], parsed(p.t, text))
	}
}

func (p *besieged) hide() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.more)
}

// mildStart is what slots ask of jobs.
const mildStart = "START = TARGET.Banned =!= true"

// restart gives each slot of the barracks what it asks of jobs.
func (p *besieged) restart(start func(i int) string) {
	var all []*classad.ClassAd // which may take some time to read
	for i := range barracks {
		all = append(all, parsed(p.t, start(i)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := 0
	for _, s := range p.slots {
		if s.barracks {
			s.start, s.ad = all[i], nil
			i++
		}
	}
}

func (p *besieged) honestStarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// job needs the lock.
func (p *besieged) job(schedd *fakes.Schedd, user, extra string) *besiegedJob {
	p.last++
	return &besiegedJob{schedd: schedd, cluster: p.last, user: user, extra: extra}
}

// publish ends the jobs whose time is over, submits others of alice in their place, and shows
// everything to the collector and the schedds.
func (p *besieged) publish(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs = slices.DeleteFunc(p.jobs, func(j *besiegedJob) bool {
		ended := j.slot != nil && now.After(j.ends)
		if ended {
			j.slot.free()
		}
		return ended
	})
	idle := 0
	for _, j := range p.jobs {
		if j.user == alice && j.slot == nil {
			idle++
		}
	}
	for ; idle < p.waiting; idle++ {
		p.jobs = append(p.jobs, p.job(p.schedd, alice, fmt.Sprintf("RequestMemory = %d\nEnvironment = \"ID=%d %s\"",
			100*(1+p.random.IntN(16)), p.last, strings.Repeat("x", 200))))
	}
	submitters, schedds := p.showQueues(now)
	var slots, private []*classad.ClassAd
	for _, s := range p.slots {
		s.show(p.t)
		slots, private = append(slots, s.ad), append(private, s.private)
	}
	around := func(adType string, honest []*classad.ClassAd) []*classad.ClassAd {
		more := p.more[adType]
		return slices.Concat(more[:len(more)/2], honest, more[len(more)/2:])
	}
	p.collector.SetAds("Machine", around("Machine", slots)...)
	p.collector.SetAds("MachinePrivate", around("MachinePrivate", private)...)
	p.collector.SetAds("Submitter", around("Submitter", submitters)...)
	p.collector.SetAds("Scheduler", around("Scheduler", schedds)...)
}

// mostSubmitters is how many submitters a schedd advertises; HTCondor's has a limit, too.
const mostSubmitters = 500

// showQueues shows the schedds their jobs, and returns the ads of submitters and schedds. It needs the
// lock.
func (p *besieged) showQueues(now time.Time) (submitters, schedds []*classad.ClassAd) {
	for _, schedd := range p.schedds() {
		var jobs []*classad.ClassAd
		counts, names := map[string]*[2]int{}, []string{}
		for _, j := range p.jobs {
			if j.schedd != schedd {
				continue
			}
			jobs = append(jobs, j.show(p.t))
			name := j.submitter()
			if counts[name] == nil {
				counts[name], names = &[2]int{}, append(names, name)
			}
			if j.slot == nil {
				counts[name][0]++
			} else {
				counts[name][1]++
			}
		}
		schedd.SetJobAds(jobs...)
		schedd.SetTime(now.Unix())
		for _, name := range names[:min(len(names), mostSubmitters)] {
			submitters = append(submitters,
				parsed(p.t, schedd.SubmitterAd(name, p.capable[schedd], counts[name][0], counts[name][1])))
		}
		schedds = append(schedds, parsed(p.t, schedd.Ad()))
	}
	return submitters, schedds
}

func (s *besiegedSlot) id() string {
	return fmt.Sprintf("<%s>#1#%d#[]topsecretclaim%d", s.name, s.claim, s.claim)
}

// free ends the slot's claim, and with it the job.
func (s *besiegedSlot) free() {
	s.job, s.ad = nil, nil
	s.claim++
}

func (s *besiegedSlot) show(t *testing.T) {
	t.Helper()
	if s.ad != nil {
		return
	}
	state := "State = \"Unclaimed\"\nActivity = \"Idle\""
	if j := s.job; j != nil {
		state = fmt.Sprintf("State = \"Claimed\"\nActivity = \"Busy\"\nJobId = \"%d.0\"\n"+
			"GlobalJobId = \"%s#%d.0#1\"\nJobStart = %d", j.cluster, j.schedd.Name, j.cluster, j.ends.Unix()-5)
	}
	s.ad = parsed(t, fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\n%s\n"+
		"Cpus = 1\nMemory = 2048\nArch = \"X86_64\"\nBarracks = %t\nRequirements = START",
		s.name, s.name, s.name, state, s.barracks))
	for name, e := range s.start.All() {
		s.ad.Set(name, e)
	}
	s.private = parsed(t, fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@%s\"\nMyAddress = \"<%s>\"\nClaimId = \"%s\"",
		s.name, s.name, s.id()))
}

func (j *besiegedJob) show(t *testing.T) *classad.ClassAd {
	t.Helper()
	if j.ad != nil {
		return j.ad
	}
	state := "JobStatus = 1"
	if j.slot != nil {
		state = fmt.Sprintf("JobStatus = 2\nRemoteHost = \"slot1@%s\"\nJobCurrentStartDate = %d", j.slot.name, j.ends.Unix()-5)
	}
	j.ad = parsed(t, fmt.Sprintf("MyType = \"Job\"\nClusterId = %d\nProcId = 0\nUser = \"%s@test\"\nOwner = \"%s\"\n"+
		"JobUniverse = 5\nQDate = 1700000000\nMinHosts = 1\nMaxHosts = 1\nRequestCpus = 1\nRequestMemory = 100\n"+
		"AllowedExecuteDuration = 6\nRequirements = TARGET.Arch == \"X86_64\" && TARGET.Memory >= RequestMemory\n%s\n%s",
		j.cluster, j.user, j.user, state, j.extra))
	home := "TARGET.Barracks =!= true"
	if j.user != alice {
		home = "TARGET.Barracks =?= true"
	}
	asks, _ := j.ad.Lookup("Requirements")
	require.NoError(t, j.ad.SetExpr("Requirements", "("+asks.String()+") && "+home))
	return j.ad
}

// submitter is the name under which the job's use is counted.
func (j *besiegedJob) submitter() string {
	name, given := j.ad.Text("AccountingGroup")
	if !given || name == "" {
		name = j.user
	}
	return name + "@test"
}

func parsed(t *testing.T, text string) *classad.ClassAd {
	t.Helper()
	ad, err := classad.ParseOld(text)
	require.NoError(t, err, "%.300s", text)
	return ad
}
