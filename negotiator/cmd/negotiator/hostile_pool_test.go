package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// besieged is a pool in real time, with a collector and a schedd whose jobs start where they are
// matched and run for some seconds. The honest user alice always has jobs that wait. What others put
// into it comes and goes with their attacks.
type besieged struct {
	t         *testing.T
	collector *fakes.Collector
	schedd    *fakes.Schedd
	capable   string
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
	name, start string // start are lines of the ad, among them START
	claim       int
	job         *besiegedJob
	ad          *classad.ClassAd // nil: it has changed
	private     *classad.ClassAd
}

type besiegedJob struct {
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

func newBesieged(t *testing.T, seed uint64, slots, waiting int) *besieged {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 21)) //nolint:gosec // a test
	p := &besieged{
		t: t, collector: fakes.NewCollector(t), schedd: fakes.NewSchedd(t, "schedd@test"), waiting: waiting,
		random: random, more: map[string][]*classad.ClassAd{},
	}
	p.capable = p.schedd.Capability("topsecretcapability", 0)
	for i := range slots {
		p.slots = append(p.slots, &besiegedSlot{name: fmt.Sprintf("n%d", i), start: mildStart})
	}
	p.schedd.Taken(p.take)
	p.publish(time.Now())
	return p
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
	for _, j := range p.jobs {
		for _, s := range p.slots {
			if j.cluster != m.Cluster || "slot1@"+s.name != name || s.job != nil || j.slot != nil || m.Claim != s.id() {
				continue
			}
			j.slot, j.ad, j.ends = s, nil, time.Now().Add(time.Duration(2+p.random.IntN(4))*time.Second)
			s.job, s.ad = j, nil
			if j.user == alice {
				p.starts++
			}
		}
	}
}

// submit adds jobs of mallory with these attributes; withdraw removes them.
func (p *besieged) submit(extras ...string) (withdraw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, extra := range extras {
		p.add(mallory, extra)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		kept := p.jobs[:0]
		for _, j := range p.jobs {
			if j.user == alice {
				kept = append(kept, j)
			} else if j.slot != nil {
				j.slot.free()
			}
		}
		p.jobs = kept
	}
}

// show adds ads of a type to those of the collector; hide removes all that were added.
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

// restart gives each slot what it asks of jobs.
func (p *besieged) restart(start func(i int) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.slots {
		s.start, s.ad = start(i), nil
	}
}

func (p *besieged) honestStarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// add needs the lock.
func (p *besieged) add(user, extra string) {
	p.last++
	p.jobs = append(p.jobs, &besiegedJob{cluster: p.last, user: user, extra: extra})
}

// publish ends the jobs whose time is over, submits others of alice in their place, and shows
// everything to the collector and the schedd.
func (p *besieged) publish(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle, running := map[string]int{}, map[string]int{}
	kept := p.jobs[:0]
	for _, j := range p.jobs {
		switch {
		case j.slot == nil:
			idle[j.user]++
		case now.After(j.ends):
			j.slot.free()
			continue
		default:
			running[j.user]++
		}
		kept = append(kept, j)
	}
	for p.jobs = kept; idle[alice] < p.waiting; idle[alice]++ {
		p.add(alice, fmt.Sprintf("RequestMemory = %d\nEnvironment = \"ID=%d %s\"", 100*(1+p.random.IntN(16)), p.last,
			strings.Repeat("x", 200)))
	}
	jobs := make([]*classad.ClassAd, len(p.jobs))
	for i, j := range p.jobs {
		jobs[i] = j.show(p.t)
	}
	p.schedd.SetJobAds(jobs...)
	p.schedd.SetTime(now.Unix())
	var submitters []*classad.ClassAd
	for _, user := range []string{alice, mallory} {
		submitters = append(submitters,
			parsed(p.t, p.schedd.SubmitterAd(user+"@test", p.capable, idle[user], running[user])))
	}
	var slots, private []*classad.ClassAd
	for _, s := range p.slots {
		s.show(p.t)
		slots, private = append(slots, s.ad), append(private, s.private)
	}
	p.collector.SetAds("Machine", append(slots, p.more["Machine"]...)...)
	p.collector.SetAds("MachinePrivate", private...)
	p.collector.SetAds("Submitter", append(submitters, p.more["Submitter"]...)...)
	p.collector.SetAds("Scheduler", append(p.more["Scheduler"], parsed(p.t, p.schedd.Ad()))...)
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
			"GlobalJobId = \"schedd@test#%d.0#1\"\nJobStart = %d", j.cluster, j.cluster, j.ends.Unix()-5)
	}
	s.ad = parsed(t, fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\n%s\n"+
		"Cpus = 1\nMemory = 2048\nArch = \"X86_64\"\nRequirements = START\n%s", s.name, s.name, s.name, state, s.start))
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
		"AllowedExecuteDuration = 6\n"+
		"Requirements = TARGET.Arch == \"X86_64\" && TARGET.Memory >= RequestMemory\n%s\n%s",
		j.cluster, j.user, j.user, state, j.extra))
	return j.ad
}

func parsed(t *testing.T, text string) *classad.ClassAd {
	t.Helper()
	ad, err := classad.ParseOld(text)
	require.NoError(t, err, "%.300s", text)
	return ad
}
