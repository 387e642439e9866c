package daemon

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// budgeted returns a logger with a budget, on a clock that the test moves, and what it has written.
func budgeted(level hclog.Level) (log hclog.Logger, written *buffer, pass func(time.Duration)) {
	written = &buffer{}
	now := time.Unix(1_700_000_000, 0)
	inner := hclog.New(&hclog.LoggerOptions{Level: level, Output: written, DisableTime: true})
	return withBudget(inner, func() time.Time { return now }), written, func(d time.Duration) { now = now.Add(d) }
}

var toldLeftOut = regexp.MustCompile(`left out: lines=(\d+)`)

// leftOut returns how many lines the log says were left out.
func leftOut(t *testing.T, log string) (n int) {
	t.Helper()
	for _, found := range toldLeftOut.FindAllStringSubmatch(log, -1) {
		lines, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		n += lines
	}
	return n
}

// TestFlood writes 20 kB of a stranger's text 1,000 times a second for a minute.
func TestFlood(t *testing.T) {
	log, written, pass := budgeted(hclog.Info)
	flood := log.Named("port")
	text := errors.New(strings.Repeat("\x1b[2J\nx", 4000))
	for second := range 60 {
		if second%20 == 10 {
			log.Info("the one line that matters", "second", second)
			flood.Warn("a command failed", "error", "rare")
		}
		for range 1000 {
			flood.Info("refused", "error", text)
			pass(time.Millisecond)
		}
	}
	Tell(log)
	all := written.String()
	require.Less(t, len(all), 600_000)
	require.Equal(t, 3, strings.Count(all, "the one line that matters"))
	require.Equal(t, 3, strings.Count(all, "a command failed"))
	require.Equal(t, 60_000, strings.Count(all, "refused:")+leftOut(t, all), "each line is there or counted")
	require.Len(t, toldLeftOut.FindAllString(all, -1), 6, "it is told every ten seconds")
	require.NotContains(t, all, "\x1b")
	require.Contains(t, all, `port: more lines like one above were left out: lines=`)
	require.Contains(t, all, `like=refused`)
}

// TestUsualCycles has the log take all of what large cycles write, for hours.
func TestUsualCycles(t *testing.T) {
	log, written, pass := budgeted(hclog.Info)
	for cycle := range 500 {
		log.Info(fmt.Sprintf("cycle %d: fetch=%d.%03ds slots=100000", cycle, cycle, cycle))
		for i := range 50 {
			log.Warn("a job was not started: its claim was refused", "job", fmt.Sprint(i, ".0"))
		}
		pass(time.Minute)
	}
	for range 900 { // after a failure of the network
		log.Warn("a slot is gone", "slot", "slot1@somewhere")
	}
	Tell(log)
	require.Zero(t, leftOut(t, written.String()))
	require.Equal(t, 500*51+900, strings.Count(written.String(), "\n"))
}

// TestKindsOfPlugins has a plugin invent kinds of lines, and names: it has one part of the log.
func TestKindsOfPlugins(t *testing.T) {
	log, written, _ := budgeted(hclog.Trace)
	plugin := log.Named("plugin")
	for i := range 100_000 {
		word := strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i))
		plugin.Named(word).Error("invented " + word)
	}
	for _, message := range []string{"first", "second"} {
		log.Error(message)
		log.Named("port").Info(message)
	}
	Tell(log)
	all := written.String()
	require.Equal(t, 2, strings.Count(all, "first"))
	require.Equal(t, 2, strings.Count(all, "second"))
	require.Less(t, strings.Count(all, "invented"), 2*burst)
	require.Equal(t, 100_000, strings.Count(all, ": invented ")+leftOut(t, all))
	require.Len(t, log.(frugal).budget.parts["plugin"], mostOfPart+1)
}

// TestLines shows what a line is made of, whatever it is told.
func TestLines(t *testing.T) {
	log, written, _ := budgeted(hclog.Debug)
	for _, tt := range []struct {
		log  func()
		want string
	}{
		{
			func() { log.Info("plain", "a", 1, "b", "x y", "c", 1.5, "d", true, "e", nil, "f", time.Second) },
			"[INFO]  plain: a=1 b=\"x y\" c=1.5 d=true e=<nil> f=1s\n",
		},
		{
			func() { log.Info("two\n[ERROR] lines\r\x1b[31m", "error", errors.New("a\nb\x07")) },
			"[INFO]  two [ERROR] lines �[31m:\n  error=\n  | a\n  | b�\n  \n",
		},
		{func() { log.With("user", "\x1b[0m").Named("port").Warn("w") }, "[WARN]  port: w: user=\"�[0m\"\n"},
		{func() { log.Trace("not at this level") }, ""},
		{
			func() {
				log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}).Print("[WARN] http: x")
			},
			"[DEBUG] http: x\n",
		},
		{func() {
			_, _ = log.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true}).Write([]byte("[ERROR] no\n"))
		}, "[ERROR] no\n"},
		{func() { _, _ = log.StandardWriter(nil).Write([]byte("[ERROR] as it is\n")) }, "[INFO]  [ERROR] as it is\n"},
		{func() { log.Info("list", "of", []string{"a", "b"}) }, "[INFO]  list: of=\"[a b]\"\n"},
	} {
		before := len(written.String())
		tt.log()
		require.Equal(t, tt.want, written.String()[before:])
	}
}

// TestAnyLine has lines bounded, one line each and printable, whatever is in them.
func TestAnyLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log, written, _ := budgeted(hclog.Trace)
		text := func(name string) string {
			piece := rapid.String().Draw(rt, name)
			return strings.Repeat(piece, rapid.IntRange(1, 5000).Draw(rt, name+" times"))
		}
		log.Named(text("name")).With(text("key"), text("value")).Error(text("message"), text("key"), errors.New(text("error")))
		all := written.String()
		require.Less(rt, len(all), 50_000)
		for line := range strings.SplitSeq(strings.TrimSuffix(all, "\n"), "\n") {
			for _, r := range line {
				require.False(rt, r < ' ' || r == 0x7f, "%q", line)
			}
			require.True(rt, strings.HasPrefix(line, "[ERROR]") || strings.HasPrefix(line, "  "), "%q", line)
		}
	})
}

// TestNotes has a schedd be told a reason for each of very many jobs: its log keeps all matches, and
// counts the rejections that it leaves out.
func TestNotes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	notes := NewNotes(func() time.Time { return now })
	var all []string
	for i := range 50_000 {
		all = append(all, notes.Admit(fmt.Sprintf("      Rejected %d.0 eve@d <1.2.3.4:5>: %s", i, strings.Repeat("x", 500)))...)
		all = append(all, notes.Admit(fmt.Sprintf("      Matched %d.0 eve@d <1.2.3.4:5> preempting none <1.2.3.4:6> slot1@n", i))...)
		now = now.Add(time.Millisecond)
	}
	now = now.Add(tellEvery)
	all = append(all, notes.Admit("      Rejected 1.0 bob@d <1.2.3.4:5>: why")...)
	matched, rejected, left := 0, 0, 0
	for _, line := range all {
		n := 0
		switch {
		case strings.Contains(line, "Matched"):
			matched++
		case strings.Contains(line, "Rejected "):
			rejected++
		default:
			_, err := fmt.Sscanf(line, "      and %d more lines like it (Rejected) in", &n)
			require.NoError(t, err, line)
			left += n
		}
	}
	require.Equal(t, 50_000, matched)
	require.Less(t, rejected, 2*burst*forDebug)
	require.Equal(t, 50_001, rejected+left)
}
