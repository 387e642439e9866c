package cookbook_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/plugins/examples/cookbook"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "copy the files into the page")

// The policies that do not start whoever is at the head of the queue, on purpose.
var waits = []string{"age-wide", "deadline-first", "owner-cap", "widest-first", "night", "turns"}

// Options that matter in pools of a few cpus and jobs of some seconds.
var tight = map[string]map[string]string{
	"deadline-first": {"soon": "10", "late": "100"},
	"short-backfill": {"longest": "10"},
	"owner-cap":      {"cpus": "4"},
	"night":          {"large": "3", "begin": "2:00", "end": "1:00"},
}

// TestPoliciesConform requires that a policy breaks no rule, and follows the advice unless it waits
// on purpose.
func TestPoliciesConform(t *testing.T) {
	for _, spec := range cookbook.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			var promises []conformance.Promise
			if spec.Name == "head-on-time" {
				promises = conformance.PromisesOf("easy")
			}
			waited := false
			for seed := range uint64(16) {
				if seed%4 == 3 {
					seed += conformance.Partitioned
				}
				d, err := backfill.Link(spec, tight[spec.Name])
				require.NoError(t, err)
				findings, err := conformance.Conform(t.Context(), seed, 80, d, promises...)
				require.NoError(t, err)
				for _, f := range findings {
					waited = waited || f.Rule == conformance.HeadStarts
					require.True(t, f.Rule == conformance.HeadStarts && slices.Contains(waits, spec.Name), f.String())
				}
			}
			require.Equal(t, slices.Contains(waits, spec.Name), waited)
		})
	}
}

// TestThePageHasTheFiles compares the code on the page with the files that it names, without their
// package clauses and imports.
func TestThePageHasTheFiles(t *testing.T) {
	const page = "../../COOKBOOK.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var shown []string
	imports := regexp.MustCompile("(?s)^package cookbook\n\nimport (?:\".*?\"|\\(.*?\n\\))\n\n")
	block := regexp.MustCompile("(?s)(\\[\\w+\\.go\\]\\((examples/cookbook/(\\w+\\.go))\\):\n\n```go\n).*?```")
	fresh := block.ReplaceAllFunc(text, func(old []byte) []byte {
		parts := block.FindSubmatch(old)
		code, missing := os.ReadFile("../../" + string(parts[2]))
		require.NoError(t, missing)
		require.Regexp(t, imports, string(code))
		code = imports.ReplaceAll(code, nil)
		shown = append(shown, string(parts[3]))
		return slices.Concat(parts[1], code, []byte("```"))
	})
	if *update {
		require.NoError(t, os.WriteFile(page, fresh, 0o600))
		text = fresh
	}
	require.Equal(t, string(fresh), string(text), "run go test ./plugins/examples/cookbook -update")
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if name := f.Name(); !slices.Contains([]string{"doc.go", "cookbook.go", "cookbook_test.go"}, name) {
			require.Contains(t, shown, name, "the page does not show it")
		}
	}
}
