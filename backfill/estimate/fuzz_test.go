package estimate_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// FuzzSettings makes estimators from any text and any file. It checks that they are refused, or
// give estimates from 1 to the request.
func FuzzSettings(f *testing.F) {
	for _, seed := range [][3]string{
		{"combined", "threshold=1 window=3 max-age=1:00", ""},
		{"mix:0.25", "percentile=100", ""},
		{"file:a", "", "# jobs\n1.0,60\n1.1@host,1:30:00\r\n"},
		{"file:a", "", "1.0 60"},
		{"selective", "user-key=executable project-key=a,b", ""},
		{"tsafrir:", "windw=3", ""},
		{"learned", "censored=false predict-again=true user-key=executable", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, spec, opts, file string) {
		s := estimate.Settings{All: spec, Options: options(opts)}
		set, err := estimate.New(s, nil, false, true,
			func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil })
		if err != nil {
			return
		}
		require.NoError(t, s.Validate(false))
		j := job("ann", "physics", 100)
		j.Name, j.Actual = "1.0", 50
		for range 3 {
			uses := set.Estimate(&j, 0)
			require.True(t, 1 <= uses.Order && uses.Order <= 100 && 1 <= uses.Running && uses.Running <= 100, "%+v",
				uses)
			set.Learn(estimate.Ended{Job: j, Ran: 10})
			set.Started(run(j, 1, 5))
		}
	})
}

// FuzzHistory reads any text as a history. It checks that a history that can be read is the same
// after it is written and read again.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`{"name":"1.0","requested":60,"unestimated":true,"ran":7,"at":100}` + "\n"))
	f.Add([]byte(`{"requested":60,"ran":7,"at":100,"labels":{"owner":"ann"}}` + "\n" + `{"requested":1,"ran":0,"at":-5}`))
	f.Add([]byte(`{"requested":60,"ran":7,"at":100,"cpus":4,"labels":{"owner":"ann","executable":"a"}}`))
	f.Add([]byte(`{"requested":1e3,"labels":null}` + "\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := estimate.ReadHistory(bytes.NewReader(data), "state", 3)
		if err != nil {
			return
		}
		set := made(t, estimate.Settings{All: "combined", Order: "tsafrir", Running: "learned", Options: options("threshold=1")}, h)
		for e := range h.All() {
			set.Estimate(&e.Job, 0)
		}
		again, err := estimate.ReadHistory(bytes.NewReader(text(t, h)), "state", 3)
		require.NoError(t, err)
		require.Equal(t, string(text(t, h)), string(text(t, again)))
	})
}
