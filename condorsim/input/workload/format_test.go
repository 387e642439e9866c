package workload_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		format workload.Format
		texts  []string
	}{
		{workload.FormatSWF, []string{
			"", "\n", "; MaxProcs: 4\n1 0 -1", "1 0 -1 60", "-1 0", "hello", "; a, b, c, d | e | f | g\n1 0",
			"; JobID User\n1 0",
			"1 0 0 5 1 {7,7,7,7,7}", "1 0 0 5 1 a|b|c|d", "1 0 0 JobID x",
		}},
		{workload.FormatAds, []string{
			"ClusterId = 1\n", "  a=1", "*** Offset = 0", "\n-- Schedd: a.example.org : <192.0.2.1:9618?...\nJobs = 1",
			`{"ClusterId": 1}`, "[ClusterId = 1]", "[\n{\"ClusterId\": 1,\n\"Args\": \"a,b,c,d\"}]",
			`<?xml version="1.0"?>`, "# a comment\n", "JobID = 7\n", "A = \"x|y|z|\"\n", `{"Args": "x|y|z|"}`, "Args = \"a,b,c,d,e\"\n",
		}},
		{workload.FormatInstance, []string{
			`{"processors": 4, "jobs": []}`, "{\n \"name\": \"x\",\n \"jobs\": [", `{"expected": {}}`,
		}},
	} {
		for _, text := range c.texts {
			in := bufio.NewReader(strings.NewReader(text))
			format, err := workload.Recognise(in, "x")
			require.NoError(t, err, text)
			require.Equal(t, c.format, format, text)
			rest, err := io.ReadAll(in)
			require.NoError(t, err)
			require.Equal(t, text, string(rest), "all is still to be read")
		}
	}
}

func TestFormatsThatAreNotRead(t *testing.T) {
	const toSWF = ", which is not read; convert it to SWF, which condorsim workload formats describes"
	const slurm = "x: looks like the accounting of Slurm, as sacct prints it" + toSWF
	for text, want := range map[string]string{
		`{"nb_res": 4, "jobs": [{"id": "1", "subtime": 0}], "profiles": {}}`: "x: looks like a workload of Batsim" + toSWF,
		"{\n \"jobs\": [\n  {\"id\": \"1\", \"subtime\": 0":                  "x: looks like a workload of Batsim" + toSWF,
		"JobID|JobName|State\n1|a|COMPLETED\n":                               slurm,
		"User|JobIDRaw|Elapsed|\n":                                           slurm,
		"JobID           JobName  Partition\n------- ---------- -----\n":     slurm,
		"       JobID\n------------\n":                                       slurm,
		"17|bash|COMPLETED|0:0\n":                                            slurm,
		"04/01/2013 00:00:22;E;12345.server;user=eve\n":                      "x: looks like the accounting log of PBS or Torque" + toSWF,
		"id,submit,start,end,run\n1,0,0,5,5\n":                               "x: looks like comma-separated values" + toSWF,
		" ID     OWNER          SUBMITTED   RUN_TIME     ST COMPLETED CMD\n": "x: looks like the table that condor_history " +
			"and condor_q print for people, which is not read; print ads: with -long, -json or -xml",
		"-- Schedd: a : <192.0.2.1:9618?... @ 01/01\nOWNER BATCH_NAME\n": "x: looks like the table that condor_history " +
			"and condor_q print for people, which is not read; print ads: with -long, -json or -xml",
	} {
		_, err := workload.Recognise(bufio.NewReader(strings.NewReader(text)), "x")
		require.EqualError(t, err, want)
		_, err = workload.ReadSWF(strings.NewReader(text), "x", workload.Options{})
		require.EqualError(t, err, want)
	}
	for text, what := range map[string]string{"ClusterId = 1\n": "job ads", `{"jobs": []}`: "an instance"} {
		_, err := workload.ReadSWF(strings.NewReader(text), "x", workload.Options{})
		require.EqualError(t, err, "x: holds "+what+", and a trace in SWF is asked for; "+
			"condorsim workload convert makes one of it")
	}
}
