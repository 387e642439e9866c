package preempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

func expr(tb testing.TB, text string) *classad.Expr {
	tb.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(tb, err)
	return e
}

func ad(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	a, err := classad.Parse("[" + text + "]")
	require.NoError(tb, err)
	return a
}

// TestWhereNobodyIsDisplaced: it is known without an evaluation where nothing can come of it.
func TestWhereNobodyIsDisplaced(t *testing.T) {
	for text, some := range map[string]bool{"": false, "false": false, "0": false, "0.0": false, "true": true, "1": true, "x": true} {
		r := preempt.Rules{}
		if text != "" {
			r.Requirements = expr(t, text)
		}
		require.Equal(t, some, r.Prioritised(), text)
		require.Equal(t, !some, r.Never(false), text)
		require.False(t, r.Never(true))
		r.Off = true
		require.True(t, r.Never(true))
	}
	for text, ranked := range map[string]bool{
		"": false, "Rank = 0": false, "Rank = 0.0": false, "Rank = 5": true, "RANK = Owner == \"alice\"": true,
	} {
		require.Equal(t, ranked, preempt.Ranked(ad(t, text)), text)
	}
}

func TestWhatUsersAreTold(t *testing.T) {
	at := func(backfill.Time) string { return "15:32" }
	require.Equal(t, "could displace 3 jobs on slot1@n2, but they retire until 15:32",
		preempt.Blocked{Slot: "slot1@n2", Victims: 3, Until: 7}.Text(at))
	require.Equal(t, "could displace a job on slot1@n2, but it retires until 15:32",
		preempt.Blocked{Slot: "slot1@n2", Victims: 1, Until: 7}.Text(at))
	d := preempt.Displaced{Name: "12.0", User: "bob", Reason: preempt.StartdRank}
	require.Equal(t, "displaced by 12.0 of bob: the machine prefers it", d.Text())
	d.Reason, d.User = preempt.UserPriority, ""
	require.Equal(t, "displaced by 12.0: PREEMPTION_REQUIREMENTS allows it", d.Text())
	require.Equal(t, "startd rank", preempt.StartdRank.String())
	require.Equal(t, "user priority", preempt.UserPriority.String())
	require.Equal(t, "unknown reason 9", preempt.Reason(9).String())
}
