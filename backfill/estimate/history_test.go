package estimate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

func TestHistoryIsWrittenDown(t *testing.T) {
	h := estimate.NewHistory(2)
	h.Add(estimate.Ended{Job: estimate.Job{Name: "what cannot be", Requested: -5}, Ran: -1})
	written := `{"name":"what cannot be","requested":1,"ran":0,"at":0}` + "\n"
	require.Equal(t, written, string(text(t, h)))
	h.Add(estimate.Ended{Job: job("gone", "", 5), Ran: 1})
	h.Add(estimate.Ended{Job: estimate.Job{Name: "1.0", Requested: 60, Unestimated: true, Actual: 7}, Ran: 7, At: 100})
	h.Add(estimate.Ended{Job: estimate.Job{
		Name: "1.1", Requested: 60,
		Labels: map[string]string{"project": "<p>", "owner": "ann"},
	}, Ran: 90, At: 50})
	const want = `{"name":"1.0","requested":60,"unestimated":true,"ran":7,"at":100}
{"name":"1.1","requested":60,"ran":90,"at":100,"labels":{"owner":"ann","project":"\u003cp\u003e"}}
`
	require.Equal(t, want, string(text(t, h))) //nolint:testifylint // to the byte
	require.Equal(t, 2, h.Len())

	read, err := estimate.ReadHistory(strings.NewReader(want), "state", 0)
	require.NoError(t, err)
	require.Equal(t, slices.Collect(h.All()), slices.Collect(read.All()))
	for e := range read.All() { // the loop may end early
		require.Equal(t, "1.0", e.Name)
		break
	}
}

func TestWrongHistories(t *testing.T) {
	const good = `{"requested":60,"ran":7,"at":100}` + "\n"
	for text, want := range map[string]string{
		good + good[:20]:   "state:2: no job that ended: it ends too early",
		good + "\n" + good: "state:2: no job that ended",
		`{"requested":0,"ran":7,"at":1}`: "state:1: requested 0 s and ran for 7 s: must be from 1 and from " +
			"0 to",
		`{"requested":7,"ran":-1,"at":1}`:        "state:1: requested 7 s and ran for -1 s",
		`{"requested":7,"ran":1,"at":1.5}`:       "state:1: no job that ended",
		`{"requested":7,"ran":1,"labels":["a"]}`: "state:1: labels: ",
	} {
		_, err := estimate.ReadHistory(strings.NewReader(text), "state", 0)
		require.ErrorContains(t, err, "read the history of run times: "+want)
	}
	_, err := estimate.ReadHistory(broken{}, "state", 0)
	require.ErrorIs(t, err, errBroken)
	h := estimate.NewHistory(0)
	h.Add(estimate.Ended{Job: job("ann", "", 5)})
	require.ErrorIs(t, h.Write(broken{}), errBroken)
}

var errBroken = errors.New("the disk is broken")

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestAgeing checks that jobs are forgotten once they ended longer ago than max-age.
func TestAgeing(t *testing.T) {
	set := made(t, estimate.Settings{All: "user", Options: options("threshold=2 max-age=100")}, nil)
	end := func(user string, ran, at backfill.Time) {
		set.Learn(estimate.Ended{Job: job(user, "", 100), Ran: ran, At: at})
	}
	end("ann", 10, 0)
	end("ann", 20, 50)
	require.EqualValues(t, 20, planned(t, set, job("ann", "", 100)))
	end("bob", 10, 100)
	require.EqualValues(t, 20, planned(t, set, job("ann", "", 100)), "the first job is just not too old")
	end("bob", 10, 101)
	require.EqualValues(t, 100, planned(t, set, job("ann", "", 100)), "one of two jobs is forgotten")
	end("ann", 30, 101)
	require.EqualValues(t, 30, planned(t, set, job("ann", "", 100)))
	end("ann", 40, 7)
	require.EqualValues(t, 101, slices.Collect(set.History().All())[5].At, "it was reported late")
}

// TestWindow checks that only the last jobs of a user count, as many as the window holds, whatever
// jobs of others end in between.
func TestWindow(t *testing.T) {
	set := made(t, estimate.Settings{All: "user", Options: options("threshold=2 window=2 percentile=100")}, nil)
	for _, step := range [][2]backfill.Time{{90, 100}, {50, 90}, {40, 50}, {10, 40}, {20, 20}} {
		learn(set, 1, "ann", "", step[0])
		learn(set, 5, "bob", "", 1)
		require.Equal(t, step[1], planned(t, set, job("ann", "", 100)), "after %d", step[0])
	}
}

// TestKeysAreLabels checks that user-key and project-key choose the labels of user and project, and
// that the first label that a job has counts.
func TestKeysAreLabels(t *testing.T) {
	set := made(t, estimate.Settings{
		All:     "combined",
		Options: options("threshold=1 user-key=executable project-key=team,qos"),
	}, nil)
	labels := func(all string) estimate.Job { return estimate.Job{Requested: 100, Labels: options(all)} }
	set.Learn(estimate.Ended{Job: labels("executable=fit owner=ann"), Ran: 10})
	set.Learn(estimate.Ended{Job: labels("team=a qos=high"), Ran: 20})
	set.Learn(estimate.Ended{Job: labels("qos=a"), Ran: 30})
	for all, want := range map[string]backfill.Time{
		"owner=ann": 100, "executable=fit": 10, "executable=fit team=a": 15, "team=a": 20, "qos=high": 100, "qos=a": 30,
		"qos=a team=b": 100,
	} {
		require.Equal(t, want, planned(t, set, labels(all)), all)
	}
}

// A history is bounded by the bytes of labels, too: a new job drops as many old ones as its labels take,
// and estimators forget these.
func TestHistoryIsBoundedByBytes(t *testing.T) {
	h := estimate.NewHistory(1000)
	set, err := estimate.New(estimate.Settings{All: "user"}, h, false, false, nil)
	require.NoError(t, err)
	long := strings.Repeat("x", 900*estimate.DefaultBound)
	add := func(size int) {
		set.Learn(estimate.Ended{Job: job("", long[:size], 5), Ran: 1})
	}
	for range 900 {
		add(estimate.DefaultBound) // a thousandth of what there is room for, and a bit
	}
	require.Equal(t, 900, h.Len())
	add(estimate.DefaultBound * 900)
	require.Less(t, h.Len(), 200)
	for range 2000 {
		add(10)
	}
	require.Equal(t, 1000, h.Len())
}
