package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

func TestBad(t *testing.T) {
	require.NoError(t, Bad(nil))
	err := errors.New("no such file")
	require.EqualError(t, Bad(err), "no such file")
	require.ErrorIs(t, Bad(err), err)
}

func TestCode(t *testing.T) {
	failure := errors.New("failure")
	for _, c := range []struct {
		name string
		err  error
		want int
		says string
	}{
		{"done", nil, 0, ""},
		{"failed", failure, 1, "prog: failure\n"},
		{"bad input", Bad(failure), 2, "prog: failure\n"},
		{"bad input, wrapped", fmt.Errorf("read: %w", Bad(failure)), 2, "prog: read: failure\n"},
		{"bad input beside other errors", errors.Join(failure, Bad(failure)), 2, "prog: failure\nfailure\n"},
		{"interrupted", context.Canceled, 130, "prog: interrupted\n"},
		{"interrupted, wrapped", fmt.Errorf("plan: %w", context.Canceled), 130, "prog: interrupted\n"},
		{"interrupted while reading", Bad(context.Canceled), 130, "prog: interrupted\n"},
		{"failed, and told", fmt.Errorf("check: %w", ErrTold), 1, ""},
		{"too late", context.DeadlineExceeded, 1, "prog: context deadline exceeded\n"},
		{
			"what a terminal cannot bear",
			Bad(errors.New("a\x1b[2J\xff\x00ü\tb\n" + strings.Repeat("x", 2000) + "\n^")),
			2, "prog: a\ufffd[2J\ufffd\ufffdü b\n" + strings.Repeat("x", 1000) + "…\n^\n",
		},
		{"ends of lines are trimmed", Bad(fmt.Errorf("%s", "x\n\n")), 2, "prog: x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, Code(c.err))
			var out bytes.Buffer
			require.Equal(t, c.want, report(&out, "prog", c.err))
			require.Equal(t, c.says, out.String())
		})
	}
}

// someCommands is a command line for tests.
type someCommands struct {
	Do struct {
		run
		Flag int
	} `cmd:""`
}

type run struct{}

func (run) Run(ctx context.Context, result *error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return *result
}

func TestMainParses(t *testing.T) {
	for _, args := range [][]string{{}, {"do", "--nonsense"}, {"do", "--flag=x"}, {"other"}, {"do", "more"}} {
		require.Equal(t, BadInput, Main("prog", "", &someCommands{}, args), "%q", args)
	}
	require.Equal(t, Failed, Main("prog", "", 1, nil), "no grammar at all")
}

func TestJoined(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", ""},
		{"run --cpus -5 x", "run --cpus=-5 x"},
		{"--load -.5 --cpus -1e3", "--load=-.5 --cpus=-1e3"},
		{"--cpus 5 -p -5", "--cpus 5 -p -5"},
		{"--cpus=4 -5", "--cpus=4 -5"},
		{"-5 --out -", "-5 --out -"},
		{"--json --cpus", "--json --cpus"},
		{"--cpus -- --load -5", "--cpus -- --load -5"},
	} {
		require.Equal(t, c.want, strings.Join(joined(strings.Fields(c.args)), " "))
	}
}

// A command without a context is abandoned at the first interrupt, one with a context at the
// second.
func TestUntilInterrupted(t *testing.T) {
	failure := errors.New("failure")
	forever := make(chan struct{})
	defer close(forever)
	hang := func() error {
		<-forever
		return nil
	}
	for _, c := range []struct {
		name       string
		interrupts int
		want       error
		run        func(ctx func(unhurried bool) context.Context) error
	}{
		{"done", 0, nil, func(func(bool) context.Context) error { return nil }},
		{"failed", 0, failure, func(func(bool) context.Context) error { return failure }},
		{"no context", 1, context.Canceled, func(func(bool) context.Context) error { return hang() }},
		{"orderly", 1, failure, func(ctx func(bool) context.Context) error {
			<-ctx(false).Done()
			return failure
		}},
		{"unhurried", 1, failure, func(ctx func(bool) context.Context) error {
			<-ctx(true).Done()
			return failure
		}},
		{"unhurried and stuck", 2, context.Canceled, func(ctx func(bool) context.Context) error {
			ctx(true)
			return hang()
		}},
		{"stuck", 2, context.Canceled, func(ctx func(bool) context.Context) error {
			ctx(false)
			return hang()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			interrupts := make(chan os.Signal, 2)
			if c.name == "no context" { // which is not asked for
				interrupts <- os.Interrupt
			}
			err := untilInterrupted(interrupts, func(ctx func(bool) context.Context) error {
				return c.run(func(unhurried bool) context.Context {
					defer func() {
						for range c.interrupts {
							interrupts <- os.Interrupt
						}
						c.interrupts = 0
					}()
					return ctx(unhurried)
				})
			})
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestLogger(t *testing.T) {
	for level := range strings.SplitSeq(LogLevels, ",") {
		require.Equal(t, hclog.LevelFromString(level), Logger("prog", level, &bytes.Buffer{}).GetLevel(), level)
	}
	var out bytes.Buffer
	log := Logger("prog", "warn", &out)
	log.Info("hidden")
	log.Warn("shown")
	require.NotContains(t, out.String(), "hidden")
	require.Contains(t, out.String(), "prog: shown")
}

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // a test's
	require.False(t, IsTerminal(file))
}

func TestProgressWithoutATerminal(t *testing.T) {
	p := &Progress{}
	p.Update(1, 2)
	p.Done()
	require.Nil(t, p.writer)
}

// A line that is said while a bar is shown stays: the bar is drawn over what is printed without its knowledge.
func TestLinesBesideTheBar(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{out: &out, what: "cells"} // begun long ago
	require.False(t, p.Line("no bar yet"))
	p.Update(1, 2)
	require.True(t, p.Line("100 % of it is said"))
	p.Done()
	require.False(t, p.Line("no bar any more"))
	require.Contains(t, strings.Split(screen(out.String()), "\n"), "100 % of it is said")
	require.Contains(t, out.String(), "cells")
}

// screen returns what a terminal shows of a text that goes up and erases lines.
func screen(text string) string {
	lines, at := []string{""}, 0
	for text != "" {
		if rest, up := strings.CutPrefix(text, "\x1b[A"); up {
			text, at = rest, at-1
		} else if rest, erases := strings.CutPrefix(text, "\x1b[K"); erases {
			text, lines[at] = rest, ""
		} else if text[0] == '\n' {
			text, at = text[1:], at+1
			if at == len(lines) {
				lines = append(lines, "")
			}
		} else {
			lines[at], text = lines[at]+text[:1], text[1:]
		}
	}
	return strings.Join(lines, "\n")
}

func TestHoldable(t *testing.T) {
	var out bytes.Buffer
	h := NewHoldable(&out)
	say := func(text string) {
		n, err := h.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	h.Release()
	say("a")
	require.Equal(t, "a", out.String())
	h.Hold()
	say("b")
	h.Hold()
	say("c")
	require.Equal(t, "a", out.String())
	require.Equal(t, "c", h.Last())
	h.Release()
	require.Empty(t, h.Last())
	require.Equal(t, "abc", out.String())
	say("d")
	h.Release()
	require.Equal(t, "abcd", out.String())
}

// TestJSONForTerminals prints texts of strangers as JSON: no control character is left, and the value
// is the same.
func TestJSONForTerminals(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x200) {
		all.WriteRune(r)
	}
	var out strings.Builder
	require.NoError(t, JSON(&out, map[string]string{all.String(): all.String()}))
	require.Equal(t, -1, strings.IndexFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }))
	var read map[string]string
	require.NoError(t, json.Unmarshal([]byte(out.String()), &read))
	require.Equal(t, map[string]string{all.String(): all.String()}, read)
	require.Error(t, JSON(&out, make(chan int)))
}
