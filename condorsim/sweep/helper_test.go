package sweep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// linked makes policies that are linked in.
func linked(_ context.Context, policy string, options map[string]string, resources []string) (Deciders, error) {
	spec, err := policies.Named(policy)
	if err != nil {
		return Deciders{}, err
	}
	main, err := backfill.Link(spec, options)
	if err != nil {
		return Deciders{}, err
	}
	if err = spec.CheckResources(options, resources); err != nil {
		return Deciders{}, err
	}
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	return Deciders{Main: main, Fallback: fallback}, err
}

// folder makes traces of random jobs on 16 processors, named a.swf, b.swf and so on.
func folder(t *testing.T, jobs ...int) string {
	t.Helper()
	dir := t.TempDir()
	for i, n := range jobs {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		var text strings.Builder
		text.WriteString("; MaxProcs: 16\n")
		submit := 1000 * i
		for id := range n {
			submit += random.IntN(40)
			run, procs := random.IntN(100), 1+random.IntN(1+random.IntN(16))
			fmt.Fprintf(&text, "%d %d -1 %d %d -1 %d %d %d -1 1 %d 1 1 1 -1 -1 -1\n", id+1, submit, run,
				procs, 1024*(1+random.IntN(64)), procs, run+random.IntN(200), random.IntN(5))
		}
		name := string(rune('a'+i)) + ".swf"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600))
	}
	return dir
}

// prepared returns the sweep of a text, with the files of a folder.
func prepared(t *testing.T, dir, text string) *Sweep {
	t.Helper()
	p, err := prepare(t, dir, text)
	require.NoError(t, err)
	return p
}

func prepare(t *testing.T, dir, text string) (*Sweep, error) {
	t.Helper()
	f, err := Parse("sweep.yaml", []byte(text))
	require.NoError(t, err)
	return Prepare(t.Context(), f, Settings{Places: Places{Dirs: []string{dir}}, Policies: linked, Version: "v1"})
}

// whole returns the indices of all cells.
func whole(p *Sweep) []int {
	all := make([]int, len(p.cells))
	for i := range all {
		all[i] = i
	}
	return all
}

// collect runs all cells and returns the finished ones by name.
func collect(t *testing.T, p *Sweep, parallel int) map[string]results.Cell {
	t.Helper()
	cells := map[string]results.Cell{}
	failures, err := p.Run(t.Context(), whole(p),
		Runner{Parallel: parallel, Memory: 1 << 30, Save: func(c results.Cell) error {
			cells[c.ID] = c
			return nil
		}})
	require.NoError(t, err)
	require.Empty(t, failures)
	return cells
}
