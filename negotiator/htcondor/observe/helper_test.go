package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a pool of a fake collector and fake schedds, and an observer that looks at it. Time
// stands still unless it is moved.
type site struct {
	t         *testing.T
	collector *fakes.Collector
	schedds   []*fakes.Schedd
	slots     []string
	at        time.Time
	who       string // sends the schedds' ads
	log       strings.Builder
	*Observer
}

func newSite(t *testing.T, schedds ...string) *site {
	t.Helper()
	p := &site{t: t, collector: fakes.NewCollector(t), at: time.Unix(1_700_000_000, 0)}
	for _, name := range schedds {
		p.schedds = append(p.schedds, fakes.NewSchedd(t, name))
	}
	security := fakes.Client()
	p.Observer = New(Settings{
		Collector: &client.Collector{Security: security, Addresses: []cedar.Address{p.collector.Address()}},
		Security:  security, Schema: schema(), Patience: poll.Patience,
		Scope:  Scope{Look: config.Look{Interval: time.Minute}, Hold: poll.Patience},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &p.log, DisableTime: true}),
		Clock:  func() time.Time { return p.at },
	})
	return p
}

func schema() negotiator.Schema {
	s := negotiator.DefaultSchema()
	s.Resources = []string{"cpus", "memory", Claims}
	return s
}

// quiet is an observer that is given ads by hand.
func quiet() *Observer {
	return New(Settings{
		Schema: schema(), Logger: hclog.NewNullLogger(), Clock: func() time.Time { return time.Unix(1_700_000_000, 0) },
	})
}

// lookOf is the look of this number.
func lookOf(number int) *look {
	return &look{Snapshot: Snapshot{Number: number}, conflicts: map[string]bool{}}
}

// publish shows slots and schedds to the collector.
func (p *site) publish() {
	p.collector.Set("Machine", p.slots...)
	var schedds, submitters []string
	for _, s := range p.schedds {
		s.SetTime(p.at.Unix())
		schedds = append(schedds, s.Ad()+sentBy(p.who))
		submitters = append(submitters, s.SubmitterAd("alice@test", "", 1, 0)+"Flocked = false\n"+sentBy(p.who))
	}
	p.collector.Set("Scheduler", schedds...)
	p.collector.Set("Submitter", submitters...)
}

// see publishes the pool and looks at it, a second after the look before.
func (p *site) see() *Snapshot {
	p.t.Helper()
	p.at = p.at.Add(time.Second)
	p.publish()
	s, err := p.Look(p.t.Context())
	require.NoError(p.t, err)
	return s
}

// partitionable is the ad of a slot that is cut into parts, and part that of a part of it.
func partitionable(more string) string {
	return "MyType = \"Machine\"\nName = \"slot1@n\"\nState = \"Unclaimed\"\nPartitionableSlot = true\n" +
		"Cpus = 4\nMemory = 4096\nTotalSlotCpus = 4\nTotalSlotMemory = 4096\nRequirements = true\n" + more
}

func part(more string) string {
	return "MyType = \"Machine\"\nName = \"slot1_1@n\"\nState = \"Claimed\"\nDynamicSlot = true\n" +
		"Cpus = 1\nMemory = 128\nRequirements = true\nJobStart = 100\n" +
		"JobId = \"7.0\"\nGlobalJobId = \"s@test#7.0#1\"\n" + more
}

// job is an idle job's ad.
func job(more string) string {
	return "ClusterId = 1\nProcId = 0\nUser = \"alice@test\"\nJobUniverse = 5\nJobStatus = 1\nQDate = 1600000000\n" +
		"RequestCpus = 1\nRequestMemory = 10\nRequirements = true\n" + more
}
