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
		refused(backfill.Refusal{Now: backfill.Time(i), Policy: "mine", Err: err})
	}
	require.Equal(t, []string{
		`[ERROR] decision refused, the fallback decides: policy=mine at=0 error=no`,
		`[ERROR] decision refused, the fallback decides: policy=mine at=1 error=no`,
		`[ERROR] the policy is given up for good, the fallback decides from now on: policy=mine at=2 ` +
			`error="mine: given up"`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}
