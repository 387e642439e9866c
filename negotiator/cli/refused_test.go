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
		errors.New("no"), errors.New("no"), fmt.Errorf("mine: %w", backfill.ErrGivenUp),
		fmt.Errorf("mine: %w", backfill.ErrGivenUp),
	} {
		refused(backfill.Refusal{Now: backfill.Time(i), Policy: "mine", Fallback: "easy", Err: err})
	}
	require.Equal(t, []string{
		`[ERROR] decision refused, the fallback decides: policy=mine at=0 error=no`,
		`[ERROR] decision refused, the fallback decides: policy=mine at=1 error=no`,
		`[ERROR] the policy is given up for good, the fallback decides from now on: policy=mine fallback=easy at=2 ` +
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
	require.Equal(t, 50, strings.Count(out.String(), "error=\"policy mine panicked: no\""))
	require.Equal(t, 1, strings.Count(out.String(), "the policy panicked; this is told once"))
	require.Less(t, strings.Count(out.String(), "deep"), 1000)
}
