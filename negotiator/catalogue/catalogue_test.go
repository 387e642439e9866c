package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestThePoliciesFitAHundredColumns(t *testing.T) {
	var all []Policy
	for _, spec := range policies.All() {
		all = append(all, describePolicy(spec, linkedIn))
	}
	long := strings.Repeat("x", 40)
	all = append(all, describePolicy(backfill.PolicySpec{
		Name: long, Doc: strings.Repeat("ü", 300), Promise: long, Source: long + long,
		Options: []backfill.Option{{
			Name: long, Default: long, Doc: long + long, Type: backfill.Choice,
			Choices: []string{long, "y"},
		}},
	}, "/"+long+long+"/"+long), Policy{From: "/" + long + long + "/" + long, Error: "it ended: " + long + long})
	text := Tables(all) + negotiator.OrderHelp()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
	}
	words := strings.Join(strings.Fields(text), " ")
	require.Equal(t, "learned", all[slices.IndexFunc(all, func(p Policy) bool { return p.Name == "slack" })].Estimates)
	require.Contains(t, words, "│ wfp-wide; │")
	for _, p := range all[:len(all)-2] {
		require.Contains(t, words, "│ "+p.Name+" │")
		for _, o := range p.Options {
			require.Contains(t, words, "│ "+p.Name+" │ "+o.Name+" │ "+cmp.Or(o.Default, "none")+" │")
		}
	}
}
