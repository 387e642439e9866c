package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestLogRefusals(t *testing.T) {
	var out bytes.Buffer
	refused := LogRefusals(hclog.New(&hclog.LoggerOptions{Output: &out, DisableTime: true}))
	for i, err := range []error{
		errors.New("no"), errors.New("no"), backfill.ErrNotAsked, backfill.ErrNotAsked, fmt.Errorf("mine: %w", backfill.ErrGivenUp),
		fmt.Errorf("mine: %w", backfill.ErrGivenUp),
	} {
		refused(backfill.Refusal{Now: backfill.Time(i), Policy: "mine", Fallback: "easy", Err: err})
	}
	require.Equal(t, []string{
		`[ERROR] decision refused, the fallback decides: policy=mine at=0 error=no`,
		`[WARN]  the policy is to be started again, the fallback decides: policy=mine at=2 rounds=1`,
		`[ERROR] the policy is given up for good, the fallback decides from now on: policy=mine fallback=easy at=4 ` +
			`error="mine: given up"`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

// Of the stacks of a policy that panics again and again, the first is logged, and a bounded part of it.
func TestLogPanics(t *testing.T) {
	var out bytes.Buffer
	refused := LogRefusals(hclog.New(&hclog.LoggerOptions{Output: &out, DisableTime: true}))
	for i := range 50 {
		refused(backfill.Refusal{Now: backfill.Time(i), Policy: "mine", Fallback: "easy", Err: &backfill.PanicError{
			Policy: "mine", Value: "no", Stack: bytes.Repeat([]byte("deep "), 10_000),
		}})
	}
	require.Equal(t, 2, strings.Count(out.String(), "error=\"policy mine panicked: no\""))
	require.Equal(t, 1, strings.Count(out.String(), "the policy panicked; this is told once"))
	require.Less(t, strings.Count(out.String(), "deep"), 1000)
}

// The log is bounded, however often a policy fails and in however many ways: each kind of failure is told when it
// happens first, and with how often it has happened when that is a power of ten.
func TestLogOfAFloodOfFailures(t *testing.T) {
	const rounds = 50_000
	for name, tt := range map[string]struct {
		fails func(i int) error
		lines int
		last  string
	}{
		"the same": {func(int) error { return errors.New("no") }, 5, "times=10000 error=no"},
		"with other numbers": {
			func(i int) error { return fmt.Errorf("start job %d: it runs since %d", i, i/2) }, 5,
			`times=10000 error="start job 9999: it runs since 4999"`,
		},
		"two kinds": {
			func(i int) error { return []error{errors.New("no"), errors.New("yes")}[i%2] }, 10, "times=10000 error=yes",
		},
		"ever new ones": {
			func(i int) error { return errors.New(strings.Repeat("x", 1+i%250) + strings.Repeat("y", 1+i/250)) },
			19*3 + 5, "times=10000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			refused := LogRefusals(hclog.New(&hclog.LoggerOptions{Output: &out, DisableTime: true}))
			for i := range rounds {
				refused(backfill.Refusal{Now: backfill.Time(i), Policy: "mine", Fallback: "easy", Err: tt.fails(i)})
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			require.LessOrEqual(t, len(lines), tt.lines)
			require.Contains(t, lines[len(lines)-1], tt.last)
		})
	}
}
