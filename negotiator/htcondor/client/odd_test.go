package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// hundred makes ninety-nine ads, and puts an odd one in the middle.
func hundred(good func(i int) string, odd string) []string {
	var all []string
	for i := range 99 {
		if i == 50 {
			all = append(all, odd)
		}
		all = append(all, good(i))
	}
	return all
}

// TestOneOddJobInAHundred says that no job ends a schedd's answer before its end, whatever the job
// has in common with the summary that does.
func TestOneOddJobInAHundred(t *testing.T) {
	summary := "Owner = 0\nErrorCode = 0\nErrorString = \"x\"\nServerTime = 1\nMyType = \"Summary\"\nMyName = \"me\"\nJobs = 5\n"
	for name, odd := range map[string]string{
		"its owner": "Owner = 0\n", "all of it": summary, "in another case": strings.ReplaceAll(summary, "Owner", "oWNER"),
		"with an error": strings.ReplaceAll(summary, "ErrorCode = 0", "ErrorCode = 7"),
	} {
		t.Run(name, func(t *testing.T) {
			s := fakes.NewSchedd(t, "s@test")
			s.SetJobs(hundred(func(i int) string { return fmt.Sprintf("ClusterId = 1\nProcId = %d\nA = %d\n", i, i) },
				odd+"ClusterId = 2\nProcId = 0\nJobIds = undefined\nJobCount = undefined\n")...)
			at := client.Schedd{Security: fakes.Client(), Address: s.Address()}
			for _, q := range []client.JobQuery{
				{Projection: []string{"ClusterId", "ProcId"}},
				{},
				{Projection: []string{"A", "Owner", "ErrorCode", "MyType"}, Group: true},
			} {
				count := 0
				end, err := at.Jobs(t.Context(), q, func(cedar.Lines) error { count++; return nil })
				require.NoError(t, err)
				require.Equal(t, 100, count, "%+v", q)
				kind, _ := end.Text("MyType")
				require.Equal(t, "Summary", kind)
			}
		})
	}
}

// TestOneOddUserInAHundred is the same of what a schedd has written down of users.
func TestOneOddUserInAHundred(t *testing.T) {
	s := fakes.NewSchedd(t, "s@test")
	s.SetUsers(hundred(func(i int) string {
		return fmt.Sprintf("MyType = \"Owner\"\nUser = \"u%d@test\"\nMaxJobsRunning = 1", i)
	},
		"MyType = \"Summary\"\nUser = \"eve@test\"\nMaxJobsRunning = 1")...)
	count := 0
	err := client.Schedd{Security: fakes.Client(), Address: s.Address()}.Users(t.Context(), "true",
		[]string{"MyType", "User", "Name"}, func(cedar.Lines) error { count++; return nil })
	require.NoError(t, err)
	require.Equal(t, 100, count)
}

// TestOneOddAdInAHundred says that an ad of any length costs no other ad of the collector, and that
// its short attributes come.
func TestOneOddAdInAHundred(t *testing.T) {
	many := classad.New()
	many.SetString("Name", "odd")
	for i := range 110_000 {
		many.SetInt(fmt.Sprint("A", i), 1)
	}
	long := classad.New()
	long.SetString("Long", strings.Repeat("x", 17<<20))
	long.SetString("Name", "odd")
	for name, odd := range map[string]*classad.ClassAd{"of many attributes": many, "with a long one": long, "empty": classad.New()} {
		t.Run(name, func(t *testing.T) {
			c := fakes.NewCollector(t)
			var ads []*classad.ClassAd
			for i, text := range hundred(func(i int) string { return fmt.Sprintf("Name = \"n%d\"", i) }, "") {
				ad, err := classad.ParseOld(text)
				require.NoError(t, err)
				if i == 50 {
					ad = odd
				}
				ads = append(ads, ad)
			}
			c.SetAds("Machine", ads...)
			got, err := names(t, &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{c.Address()}})
			require.NoError(t, err)
			require.Len(t, got, 100)
			if odd.Len() > 1 && name != "empty" {
				require.Equal(t, `"odd"`, got[50])
			}
		})
	}
}
