package classad_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

func TestRefusals(t *testing.T) {
	const pilot = `START = (MY.ToRetire =?= undefined || CurrentTime < ToRetire) && TARGET.Owner =!= "mallory"; ` +
		`ToRetire = 1770000000; Requirements = START`
	at := func(now int64) *classad.Host { return &classad.Host{Now: func() int64 { return now }} }
	for _, c := range []struct {
		slot string
		host *classad.Host
		want []string
	}{
		{pilot, at(1_760_000_000), nil},
		{pilot, at(1_780_000_000), []string{
			"START: MY.ToRetire =?= undefined || CurrentTime < ToRetire is false " +
				"(1770000000 =?= undefined; 1780000000 < 1770000000)",
		}},
		{pilot, nil, []string{
			"START: MY.ToRetire =?= undefined || CurrentTime < ToRetire is undefined " +
				"(1770000000 =?= undefined; CurrentTime is undefined: the time is not known, ToRetire = 1770000000)",
		}},
		{
			`START = Owned && time() < ToRetire; Owned = TARGET.Owner == "ann"; ToRetire = 1770000000; ` +
				`Requirements = START && WithinLimits; WithinLimits = TARGET.RequestCpus <= Cpus; Cpus = 4`,
			at(1_780_000_000),
			[]string{
				`Owned: TARGET.Owner == "ann" is false ("bob" == "ann")`,
				"START: time() < ToRetire is false (1780000000 < 1770000000)",
				"WithinLimits: TARGET.RequestCpus <= Cpus is false (8 <= 4)",
			},
		},
		{"Requirements = START; START = Open; Open = false", nil, []string{"Open is false"}},
		{"Requirements = false", nil, []string{"Requirements is false"}},
		{"a = 1", nil, []string{"MY.Requirements is undefined (the own ad has no such attribute)"}},
		{"Requirements = TARGET.HasDocker", nil, []string{
			"Requirements: TARGET.HasDocker is undefined (the other ad has no such attribute)",
		}},
		{"Requirements = time() > 0", nil, []string{
			"Requirements: time() > 0 is undefined (time() is undefined: the time is not known)",
		}},
		{"Requirements = MY.CurrentTime > 0", nil, []string{
			"Requirements: MY.CurrentTime > 0 is undefined (MY.CurrentTime is undefined: the time is not known)",
		}},
		{"Requirements = !Busy; Busy = true", nil, []string{"Requirements: !Busy is false (Busy = true)"}},
		{"Requirements = ToRetire - time() > 144000; ToRetire = 1000", at(900), []string{
			"Requirements: ToRetire - time() > 144000 is false (100 > 144000)",
		}},
		{
			"Requirements = a == 1 || a == 2 || a == 3 || a == 4 || a == 5 || a == 6; a = 0", nil,
			[]string{"Requirements: a == 1 || a == 2 || a == 3 || a == 4 || a == 5 || a == 6 is false " +
				"(0 == 1; 0 == 2; 0 == 3; 0 == 4; 0 == 5; …)"},
		},
	} {
		slot, job := parseAd(t, "["+c.slot+"]"), parseAd(t, `[ Owner = "bob"; RequestCpus = 8 ]`)
		var got []string
		for _, r := range (classad.Scope{My: slot, Target: job, Host: c.host}).Explain("Requirements").Refusals() {
			got = append(got, r.String())
		}
		require.Equal(t, c.want, got, c.slot)
	}
}

// Something refuses exactly if the whole is not true, and what refuses must be true and is not.
func TestRefusalsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := classad.ParseExpr(wildExpressions().Draw(t, "text"))
		require.NoError(t, err)
		x := e.Explain(classad.Scope{My: wildAds().Draw(t, "my"), Target: wildAds().Draw(t, "target")})
		require.Equal(t, !x.Holds, len(x.Refusals()) > 0)
		for _, r := range x.Refusals() {
			require.False(t, r.Clause.Holds)
			require.Less(t, len(r.String()), 5000)
		}
	})
}

// The parts of an explanation draw the random numbers of the whole, whose value they explain.
func TestExplanationsDrawOnce(t *testing.T) {
	my := parseAd(t, "[ luck = random() < 0.7 ]")
	rapid.Check(t, func(t *rapid.T) {
		clause := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{
				"random() < 0.5", "(random() < 0.9)", "luck", "random() < random()", "true", "random(4)",
				"luck && random() > 0.1", "(luck || random(2) == 1)",
			}).Draw(t, "clause")
		})
		text := strings.Join(rapid.SliceOfN(clause, 1, 8).Draw(t, "clauses"), " && ")
		seed := rapid.Uint64().Draw(t, "seed")
		scope := func() classad.Scope {
			return classad.Scope{My: my, Host: &classad.Host{Random: rand.New(rand.NewPCG(seed, 0)).Float64}}
		}
		e := classad.MustParseExpr(text)
		x := e.Explain(scope())
		require.Equal(t, e.Eval(scope()).IsTrue(), x.Holds)
		require.Equal(t, fmt.Sprint(x), fmt.Sprint(e.Explain(scope())))
		for _, part := range x.All() {
			switch part.Join {
			case "all":
				require.Equal(t, part.Holds, !hasPart(part, false), "%s", x)
			case "any":
				require.Equal(t, part.Holds, hasPart(part, true), "%s", x)
			}
		}
	})
}

func hasPart(whole *classad.Explanation, holds bool) bool {
	for _, p := range whole.Parts {
		if p.Holds == holds {
			return true
		}
	}
	return false
}
