package main

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/generate"
)

// What is left out is the same for the command as in sweeps' files.
func TestGeneratorsHaveOneSetOfDefaults(t *testing.T) {
	var c simpleCommand
	parser, err := kong.New(&c, kong.Vars{
		"generate_estimate_model": "", "generate_memory_model": "", "simple_shape": "", "simple_run_median": "",
		"simple_zipf": "", "out_out": "",
	})
	require.NoError(t, err)
	_, err = parser.Parse(nil)
	require.NoError(t, err)
	require.Equal(t, generate.UsualSimple(generate.UsualJobs, generate.UsualProcessors), c.generator())
}
