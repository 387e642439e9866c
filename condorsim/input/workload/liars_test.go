package workload

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A share of the users says less than their jobs run, all of them or none of a user's.
func TestLiars(t *testing.T) {
	made := &Trace{Machine: Machine{Processors: 8}}
	for i := range int64(4000) {
		made.Jobs = append(made.Jobs, Job{ID: i, Run: 5 + i%1000, Estimate: 2000, Procs: 1, User: strconv.FormatInt(i%400, 10)})
	}
	lying, err := made.Transform(Transform{Estimates: "liars:0.25:20", Seed: 3})
	require.NoError(t, err)
	again, err := made.Transform(Transform{Estimates: "liars:0.25:20", Seed: 3})
	require.NoError(t, err)
	require.Equal(t, lying.Jobs, again.Jobs)
	users := map[string]bool{}
	for i, j := range lying.Jobs {
		before, known := users[j.User]
		require.True(t, !known || before == j.Lies, "user %s", j.User)
		users[j.User] = j.Lies
		want := made.Jobs[i].Estimate
		if j.Lies {
			want = max(1, j.Run/20)
		}
		require.Equal(t, want, j.Estimate)
		require.Equal(t, made.Jobs[i].Run, j.Run)
	}
	liars := 0
	for _, lies := range users {
		if lies {
			liars++
		}
	}
	require.InDelta(t, 100, liars, 25)

	for _, model := range []EstimateModel{"liars", "liars:0.5", "liars:2:3", "liars:0.5:0", "liars:0.5:x", "liars:0.5:3:4", "liars:-1:2"} {
		_, err = made.Transform(Transform{Estimates: model})
		require.ErrorContains(t, err, "liars:SHARE:RATIO", model)
	}
	none, err := made.Transform(Transform{Estimates: "liars:0:20"})
	require.NoError(t, err)
	require.Equal(t, made.Jobs, none.Jobs)
}

// Liars are compared with others, so there must be two users; a trace that names none has one.
func TestLiarsWithoutUsers(t *testing.T) {
	for _, users := range [][]string{{}, {"", ""}, {"a", "a"}} {
		made := &Trace{Machine: Machine{Processors: 8}}
		for i, user := range users {
			made.Jobs = append(made.Jobs, Job{ID: int64(i), Run: 500, Estimate: 2000, Procs: 1, User: user})
		}
		_, err := made.Transform(Transform{Estimates: "liars:0.5:10"})
		require.ErrorContains(t, err, "does not tell two users apart")
	}
}
