package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
)

// TestTheGuideShowsHowToGuarantee requires that the section Guarantees of plugins/README.md shows what is
// at the end of this file, and that this is a policy which conforms in pools of every kind.
func TestTheGuideShowsHowToGuarantee(t *testing.T) {
	guide, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	here, err := os.ReadFile("guarantees_test.go")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(here), "\n// shown:\n\n")
	require.Contains(t, string(guide), "```go\n"+shown+"```\n")

	backfilltest.Conform(t, 16, 100, func(t *testing.T) backfill.Decider {
		t.Helper()
		d, err := backfill.Link(backfill.PolicySpec{
			Name: "guarantees", Doc: "promises each job a start", Guarantees: true,
			New: func(backfill.Values) (backfill.Policy, error) { return backfill.PolicyFunc(decide), nil },
		}, nil)
		require.NoError(t, err)
		return d
	})
}

// shown:

func decide(c *backfill.Cycle) {
	for _, more := c.Next(); more; { // take all events
		_, more = c.Next()
	}
	for j := range c.Waiting() { // whoever has come, lost a place, or fits again, as slots have opened
		if _, _, planned := c.Reservation(j); planned {
			continue
		}
		start, at, ok := c.Earliest(j, c.Now())
		if !ok { // all slots for it close or end too soon: it waits without a promise until that changes
			continue
		}
		c.Reserve(j, start, at)
		if _, promised := c.State().Guaranteed(j.ID); !promised {
			c.Guarantee(j, start) // once
		}
	}
	for _, j := range c.Due() { // what is planned for now must start now
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}
