package host

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// talking is EASY with log output in the troubled round.
func talking() backfill.PolicySpec {
	spec := easy.Spec()
	build := spec.New
	spec.Name = "talking"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		log := sdk.Logger()
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			if !isTrouble(c.Fast().Round()) {
				return
			}
			log.Trace("looked", "at", 1<<60)
			log.Debug("thought")
			log.Info("decided", "jobs", 3, "why", "it fits", "all", true, "share", 0.5, "of", []string{"a", "b"},
				"level", log.GetLevel().String())
			log.Named("part").Warn("doubted")
			log.Error("stumbled", "over", "a\x1b[2J\nstone")
			_, _ = fmt.Fprint(os.Stdout, "printed \x1b[1m", "and ended\n\n[DEBUG] printed for few\n")
			_, _ = fmt.Fprintln(os.Stderr, "grumbled")
		}), err
	}
	return spec
}

// logged is a host's log; it may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger(level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "host", Level: level, Output: l, DisableTime: true})
}

// What a policy logs and prints appears in the host's log, at the given level and nothing else.
func TestALogPassesTheBoundary(t *testing.T) {
	lines := []struct {
		level hclog.Level
		line  string
	}{
		{hclog.Trace, "[TRACE] host.talking: looked: at=1152921504606846976"},
		{hclog.Debug, "[DEBUG] host.talking: thought"},
		{hclog.Info, `[INFO]  host.talking: decided: all=true jobs=3 level=LEVEL of=[a, b] share=0.5 why="it fits"`},
		{hclog.Warn, "[WARN]  host.talking.part: doubted"},
		{hclog.Error, "[ERROR] host.talking: stumbled:\n  over=\n  | a\uFFFD[2J\n  | stone"},
		{hclog.Info, "[INFO]  host.talking: printed \uFFFD[1mand ended"},
		{hclog.Debug, "[DEBUG] host.talking: printed for few"},
		{hclog.Info, "[INFO]  host.talking: grumbled"},
	}
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error, hclog.Off} {
		t.Run(level.String(), func(t *testing.T) {
			var log logged
			remote := child(t, "talking", Options{Logger: log.logger(level)})
			host, g := newHost(t, "fcfs", remote), newScenario(1)
			r := g.next(host.State)
			j := g.job(1000)
			j.Labels[trouble] = "yes"
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
			_, err := host.Decide(t.Context(), r)
			require.NoError(t, err)
			require.Empty(t, host.refusals)
			all := 0
			for _, l := range lines {
				if l.level >= level {
					want := strings.ReplaceAll(l.line, "LEVEL", level.String()) + "\n"
					poll.Contains(t, want, log.String)
					all += len(want)
				}
			}
			remote.Close()
			if level > hclog.Debug {
				text := strings.ReplaceAll(log.String(), "\n  \n", "\n") // blank lines between separate lines
				require.Len(t, text, all, text)
			}
		})
	}
}

// A crash is reported once, with the plugin's own message about it.
func TestACrashIsLoggedOnce(t *testing.T) {
	t.Setenv(badWhen, "decide")
	t.Setenv(badHow, "crash")
	for policy, want := range map[string][]string{
		"bad":       {"[ERROR] host.bad: the policy plugin failed: "},
		"hanging":   {`[ERROR] host.hanging: the policy plugin failed: error="no decision within 1s"`},
		"panicking": {"[ERROR] host.panicking: policy panicked: "},
	} {
		t.Run(policy, func(t *testing.T) {
			var log logged
			remote := child(t, policy, Options{
				Logger: log.logger(hclog.Info), Environment: []string{badWhen, badHow},
			})
			short := time.Duration(0)
			if policy == "hanging" {
				short = time.Second
			}
			runThroughTrouble(t, remote, short, nothingHappens)
			remote.Close()
			if policy != "panicking" { // its process does not end
				want = append(want, "[INFO]  host."+policy+": restarting the policy plugin: failures=1\n")
			}
			text := log.String()
			require.Equal(t, len(want), strings.Count("\n"+text, "\n["), text)
			for _, line := range want {
				require.Contains(t, text, line)
			}
		})
	}
}

// plainLog returns a host's log of a plugin's output, written in pieces of some size.
func plainLog(level hclog.Level, size int, text string) (shown, words string) {
	var log logged
	p := newPrinter(log.logger(level))
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = p.Write([]byte(text[:n]))
		text = text[n:]
	}
	p.drain(strings.NewReader(""))
	return log.String(), p.words()
}

func TestWhatAPluginWritesBecomesLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct{ written, want, words string }{
		"nothing":        {"", "", ""},
		"empty lines":    {"\n \n\t\n", "", ""},
		"lines":          {"a\nb\n", "[INFO]  host: a\n[INFO]  host: b\n", "a … b"},
		"no end of line": {"a\nb", "[INFO]  host: a\n[INFO]  host: b\n", "a … b"},
		"levels": {
			"[ERROR] a\n[WARN] b\n[TRACE] c\n", "[ERROR] host: a\n[WARN]  host: b\n",
			"[ERROR] a … [TRACE] c",
		},
		"a panic": {
			"a\npanic: b\n\ngoroutine 1 [running]:\n",
			"[INFO]  host: a\n[ERROR] host: panic: b\n[ERROR] host: goroutine 1 [running]:\n", "panic: b",
		},
		"control characters": {
			"a\x1b[2J\rb\x00\xff\u202e\n", "[INFO]  host: a\uFFFD[2J b\uFFFD\uFFFD\uFFFD\n",
			"a\uFFFD[2J b\uFFFD\uFFFD\uFFFD",
		},
		"a long line": {
			long + "\nb\n", "[INFO]  host: " + long[:maxShown] + "…\n[INFO]  host: b\n",
			long[:maxWords] + "… … b",
		},
		"an entry": {`{"@level":"warn","@message":"m","@module":"a.b","@timestamp":"2026-01-01T00:00:00Z",` +
			`"n":12345678901234567890,"z":null}` + "\n", "[WARN]  host.a.b: m: n=12345678901234567890 z=<nil>\n", ""},
		"an entry of no level": {`{"@level":"off","@message":"m"}`, "[INFO]  host: m\n", ""},
		"an error":             {`{"@level":"error","@message":"m"}`, "[ERROR] host: m\n", "m"},
		"an entry below":       {`{"@level":"debug","@message":"m"}`, "", ""},
		"other lines in it": {
			`{"@level":"info","@message":"m\n[ERROR] forged","k\n":"a\nb"}`,
			"[INFO]  host: m [ERROR] forged:\n  k =\n  | a\n  | b\n  \n", "",
		},
		"what would kill some": {
			`{"@message":1}` + "\n" + `{"@message":"m","@level":[]}` + "\n" +
				`{"@message":"m","@timestamp":{}}` + "\n",
			"[INFO]  host: {\"@message\":1}\n[INFO]  host: m\n[INFO]  host: m\n", `{"@message":1}`,
		},
		"other JSON": {
			"{}\n[1]\nnull\n",
			"[INFO]  host: {}\n[INFO]  host: [1]\n[INFO]  host: null\n", "{} … null",
		},
		"a long entry": {
			`{"@message":"` + long[:30_000] + `","k":"` + long[:30_000] + `"}`,
			"[INFO]  host: " + long[:maxShown] + "…: k=\"" + long[:maxShown] + "…\"\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1024, 1 << 20} {
				text, words := plainLog(hclog.Info, size, test.written)
				require.True(t, test.want == text, "%.500q", text) //nolint:testifylint // Equal would print pages
				require.Equal(t, test.words, words)
			}
		})
	}
}

// Whatever a plugin writes, in whatever pieces, every line of the log is marked by the host.
func TestALogCannotBeForged(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.StringMatching("[\n\r\x1b\\[\\]{}\":,@a]{0,20}"),
		rapid.SampledFrom([]string{"\n", `{"@message":"`, `"}`, `{"@message":"m","k":"`}))
	rapid.Check(t, func(t *rapid.T) {
		text, _ := plainLog(hclog.Trace, rapid.IntRange(1, 50).Draw(t, "size"),
			strings.Join(rapid.SliceOf(piece).Draw(t, "written"), ""))
		for line := range strings.Lines(text) {
			require.Regexp(t, `^(\[(TRACE|DEBUG|INFO|WARN|ERROR)\] {1,2}host|  )`, line)
			require.NotContains(t, line, "\x1b")
			require.NotContains(t, line, "\r")
		}
	})
}

func TestAFloodOfLinesIsBounded(t *testing.T) {
	var log logged
	p := newPrinter(log.logger(hclog.Info))
	second := time.Unix(1, 0)
	p.now = func() time.Time { return second }
	line := strings.Repeat("x", 1023) + "\n"
	for range 5000 {
		_, _ = p.Write([]byte(line))
	}
	require.Less(t, len(log.String()), 2*maxLog)
	require.False(t, strings.Contains(log.String(), "too much")) //nolint:testifylint // it would print a megabyte
	_, _ = p.Write([]byte("panic: in the flood\n"))
	require.Equal(t, "panic: in the flood", p.words())
	p.crashing = false
	second = second.Add(time.Second)
	_, _ = p.Write([]byte("after it\n"))
	end := log.String()[len(log.String())-200:]
	require.Regexp(t, `too much to its log: of each second the rest is left out: lines=409\d\n.*after it\n$`,
		end)
}

// TestAFloodWithoutEndIsToldSeldom: a warning each second would be a flood itself.
func TestAFloodWithoutEndIsToldSeldom(t *testing.T) {
	var log logged
	p := newPrinter(log.logger(hclog.Warn)) // the lines themselves are not shown
	second := time.Unix(1, 0)
	p.now = func() time.Time { return second }
	flood := bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), 1200)
	for range 30 {
		_, _ = p.Write(flood)
		second = second.Add(time.Second)
	}
	p.drain(strings.NewReader("the last\n"))
	told := regexp.MustCompile(`lines=(\d+)`).FindAllStringSubmatch(log.String(), -1)
	require.Len(t, told, 3, "after a second, after ten, at the end")
	first, err := strconv.Atoi(told[0][1])
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(30*first), told[2][1], "in all")
}

// Entries with many keys and lines are as long in the log as they are in all, not as one of their
// texts; beyond the limit they are not parsed, which would take the host more time than the plugin.
func TestAFloodOfWideEntriesIsBounded(t *testing.T) {
	var log logged
	p := newPrinter(log.logger(hclog.Info))
	p.now = func() time.Time { return time.Unix(1, 0) }
	var line strings.Builder
	line.WriteString(`{"@level":"info","@message":"much"`)
	for key := range 2000 {
		fmt.Fprintf(&line, `,"%04d":"a\nb\nc\n"`, key)
	}
	line.WriteString("}\n")
	require.Less(t, line.Len(), maxLine)
	entry := []byte(line.String())
	for range 200 {
		_, _ = p.Write(entry)
	}
	require.Less(t, len(log.String()), 3*maxLog)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = p.Write(entry) }), 20.0)
}
