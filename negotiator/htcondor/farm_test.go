package htcondor

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// farm is a pool of many schedds whose slots are all free and whose jobs all wait. A test moves its
// clock.
type farm struct {
	t         *testing.T
	collector *fakes.Collector
	schedds   []*fakes.Schedd
	ads       []string // of schedds and submitters
	more      []string
	now       time.Time
	log       *strings.Builder
	pool      *Pool
	n         *negotiator.Negotiator
}

func newFarm(t *testing.T, policy string, slots, schedds int, patience ...time.Duration) *farm {
	t.Helper()
	f := &farm{t: t, collector: fakes.NewCollector(t), now: time.Unix(1_700_000_000, 0), log: &strings.Builder{}}
	for i := range schedds {
		f.schedds = append(f.schedds, fakes.NewSchedd(t, fmt.Sprintf("s%02d@test", i)))
	}
	ads, private := make([]string, slots), make([]string, slots)
	for i := range slots {
		ads[i] = fmt.Sprintf("Name = \"slot1@n%d\"\nMyAddress = \"<n%d>\"\nState = \"Unclaimed\"\n"+
			"Activity = \"Idle\"\nCpus = 1\nMemory = 1024\nArch = \"X86_64\"\nRequirements = true", i, i)
		private[i] = fmt.Sprintf("Name = \"slot1@n%d\"\nMyAddress = \"<n%d>\"\nClaimId = \"<n%d>#1#%d#[]topsecret\"",
			i, i, i, i)
	}
	f.collector.Set("Machine", ads...)
	f.collector.Set("MachinePrivate", private...)
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", observe.Claims}
	security := fakes.Client()
	f.pool = New(Settings{
		Collector: &client.Collector{Security: security, Addresses: []cedar.Address{f.collector.Address()}},
		Security:  security,
		Schema:    schema, StartSlack: 60, Clock: func() time.Time { return f.now }, Patience: append(patience,
			3*time.Second)[0],
		Tuning: Tuning{Hold: poll.Patience}, // no fake is late because the machine is busy
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: f.log, DisableTime: true}),
	})
	var err error
	f.n, err = negotiator.New((&world{t: t, pool: f.pool, policy: policy}).config())
	require.NoError(t, err)
	return f
}

// submit puts idle jobs of one cpu into a schedd's queue.
func (f *farm) submit(s *fakes.Schedd, jobs int, more string) {
	f.t.Helper()
	var ads []string
	for i := range jobs {
		ads = append(ads, fmt.Sprintf("ClusterId = 1\nProcId = %d\nUser = \"alice@test\"\nOwner = \"alice\"\n"+
			"JobUniverse = 5\nJobStatus = 1\nQDate = 1600000000\nRequestCpus = 1\nRequestMemory = 10\n"+
			"Requirements = true\nAllowedExecuteDuration = 600\n%s", i, more))
	}
	s.SetJobs(ads...)
}

// publish shows the schedds to the collector.
func (f *farm) publish() {
	schedds, submitters := append([]string{}, f.ads...), append([]string{}, f.more...)
	for _, s := range f.schedds {
		s.SetTime(f.now.Unix())
		schedds = append(schedds, s.Ad())
		submitters = append(submitters, s.SubmitterAd("alice@test", "", 1, 0))
	}
	f.collector.Set("Scheduler", schedds...)
	f.collector.Set("Submitter", submitters...)
}

// cycle runs one cycle.
func (f *farm) cycle() *negotiator.Report {
	f.t.Helper()
	report := f.decide()
	f.act(report)
	return report
}

// decide looks at the pool and plans, the first half of a cycle.
func (f *farm) decide() *negotiator.Report {
	f.t.Helper()
	f.publish()
	l, err := f.pool.look(f.t.Context())
	require.NoError(f.t, err)
	report, err := f.n.RunCycle(f.t.Context(), f.pool.compare(l))
	require.NoError(f.t, err)
	return report
}

// act hands over the matches of a cycle, its second half.
func (f *farm) act(report *negotiator.Report) {
	f.t.Helper()
	require.NoError(f.t, f.pool.Act(f.t.Context(), report.Matches))
}

// jobs lists the jobs that are known.
func (f *farm) jobs() []*track.Job { return slices.Collect(f.pool.belief.Jobs()) }

// matches waits until a schedd has been handed n matches.
func (f *farm) matches(s *fakes.Schedd, n int) {
	f.t.Helper()
	poll.Until(f.t, fmt.Sprintf("%d matches at %s", n, s.Name), func() (seen []any, so bool) {
		have := len(s.Matches())
		return []any{have, f.log}, have == n
	})
}

// crooked is a schedd that answers every caller with talk, until the test ends.
func crooked(t *testing.T, name string, talk func(ctx context.Context, c net.Conn)) (ad, submitter string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				talk(ctx, c)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		all.Wait()
	})
	at := "<" + listener.Addr().String() + ">"
	return fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\nMyCurrentTime = 1\n",
			name, at, at),
		fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = %q\nScheddIpAddr = %q\n"+
			"MyAddress = %q\nIdleJobs = 1\n", name, at, at)
}

// silent sends nothing, drips sends a byte now and then, and babbles sends rubbish without end.
func silent(ctx context.Context, _ net.Conn) { <-ctx.Done() }

func drips(ctx context.Context, c net.Conn) {
	for ctx.Err() == nil {
		if _, err := c.Write([]byte{1}); err != nil {
			return
		}
		wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		<-wait.Done()
		cancel()
	}
}

func babbles(_ context.Context, c net.Conn) {
	rubbish := make([]byte, 4096)
	for {
		_, _ = rand.Read(rubbish)
		if _, err := c.Write(rubbish); err != nil {
			return
		}
	}
}
