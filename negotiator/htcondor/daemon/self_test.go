package daemon

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// The Negotiator ad has what the stock negotiator's has, but for what cannot be said here.
func TestAdHasWhatTheStockOneHas(t *testing.T) {
	w := newWorld()
	o := w.options("easy")
	o.Sessions = func() int { return 7 }
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Contains(t, "BackfillCycles = 1;", func() string { return d.Ad().String() })
	ad := d.Ad()
	require.NoError(t, end())

	text, err := os.ReadFile("testdata/stock-ad.txt")
	require.NoError(t, err)
	stock := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, why, missing := strings.Cut(strings.TrimSpace(line), ": ")
		require.Equal(t, missing, why != "", line)
		name = strings.Replace(name, "<i>", "0", 1)
		_, has := ad.Lookup(name)
		require.Equal(t, missing, !has, line)
		stock[name] = true
	}
	own := regexp.MustCompile(`^Backfill|^LastNegotiationCycle(Fetch|Match|Plan|Act|Publish|Rest)Time0$`)
	for name := range ad.All() {
		require.True(t, stock[name] || own.MatchString(name), "the stock negotiator has no %s", name)
	}

	for _, name := range []string{
		"MonitorSelfImageSize", "MonitorSelfResidentSetSize", "DetectedCpus", "DetectedMemory", "MonitorSelfTime",
	} {
		n, _ := ad.Int(name)
		require.Positive(t, n, name)
	}
	sessions, _ := ad.Int("MonitorSelfSecuritySessions")
	require.EqualValues(t, 7, sessions)
	busy, _ := ad.Real("RecentDaemonCoreDutyCycle")
	require.LessOrEqual(t, busy, 1.0)
}

func TestMonitor(t *testing.T) {
	at := time.Unix(1000, 0)
	m := monitor{at: at}
	for _, step := range []struct {
		after, used time.Duration
		percent     float64
	}{
		{0, 0, 0},
		{10 * time.Second, 5 * time.Second, 50}, // since the start
		{20 * time.Second, 5 * time.Second, 25},
		{100 * time.Second, 10 * time.Second, 10},
		{159 * time.Second, 60 * time.Second, 10}, // this period is not over
		{160 * time.Second, 61 * time.Second, 85},
		{150 * time.Second, 61 * time.Second, 85}, // the clock was put back
		{280 * time.Second, 61 * time.Second, 0},
	} {
		require.InDelta(t, step.percent, m.sample(at.Add(step.after), step.used), 1e-9, "%v", step)
	}
}

func TestSockets(t *testing.T) {
	before := sockets()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // nothing comes
	require.Greater(t, sockets(), before)
}

// TestTimed: what a function takes counts, and what others take beside it does not.
func TestTimed(t *testing.T) {
	spin := func() {
		for began := usedBy(ofThread); usedBy(ofThread) < began+20*time.Millisecond; { //nolint:revive // it spins
		}
	}
	require.GreaterOrEqual(t, Timed(spin), 20*time.Millisecond)
	spun := make(chan struct{})
	require.Less(t, Timed(func() {
		go func() { Timed(spin); close(spun) }()
		<-spun
	}), 20*time.Millisecond)
}
