package classad_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Values outlive the evaluations that made them: a later evaluation must not write to memory that
// they refer to.
func TestValuesOutliveEvaluations(t *testing.T) {
	ad, err := classad.Parse(`[ l = { 1, "two", [ a = 3; b = { a, MY.a } ], { l2[0] } }; l2 = split("a,b,c,d,e,f,g,h");
		ads = { [ a = 1 ], [ a = 2 ], [ a = 3 ] }; n = [ x = 1; y = [ z = x; w = parent.x ] ]; s = "text" ]`)
	require.NoError(t, err)
	var exprs []*classad.Expr
	for _, text := range []string{
		`l`, `l2`, `split("x y z")`, `ads.a`, `evalInEachContext(a * 10, ads)`, `n`, `n.y`, `n.y.w`, `l[2]`, `l[2].b`,
		`{ l, l2, n }`,
		`strcat(s, s, string(l))`, `join("-", l2)`, `toUpper(s)`, `substr(strcat(s, "abc"), 1)`,
		`splitTime(absTime(0, 0))`, `{ ads.a, ads.a }.x`,
		`argsToList("a b c")`, `self`, `TARGET`, `root`, `evalInEachContext({ a, a }, ads)`,
		`evalInEachContext([ b = a ], ads)`, `{ split("p q"), ads.a }`,
		`regexps("(t)e", s, "\\1\\1")`, `userMap("m", "u")`, `formatTime(0)`, `eval("{ s, s }")`, `ads["x"]`,
		`ifThenElse(true, split("c d"), 1)`,
	} {
		exprs = append(exprs, classad.MustParseExpr(text))
	}
	deep := func(v classad.Value) string {
		var b strings.Builder
		var walk func(v classad.Value, depth int)
		walk = func(v classad.Value, depth int) {
			fmt.Fprintln(&b, v)
			if items, ok := v.Items(); ok && depth < 3 {
				for _, item := range items {
					walk(item, depth+1)
				}
			}
			if inner, ok := v.Ad(); ok {
				fmt.Fprintln(&b, inner.Format(classad.Lines))
			}
		}
		walk(v, 0)
		return b.String()
	}
	scope := classad.Scope{My: ad, Target: ad}
	type kept struct {
		value classad.Value
		text  string
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			var all []kept
			for round := range 50 {
				for _, e := range exprs {
					v := e.Eval(scope)
					all = append(all, kept{v, deep(v)})
				}
				classad.Match(ad, ad)
				if round%10 == 9 {
					for _, k := range all {
						if got := deep(k.value); got != k.text {
							t.Errorf("%q has become %q", k.text, got)
							return
						}
					}
				}
			}
		})
	}
	wait.Wait()
}

// Many goroutines match, explain and print ads that were never used before.
func TestFirstUseByManyGoroutines(t *testing.T) {
	for range 20 {
		var p classad.Parser
		job, err := p.Parse(`[ RequestMemory = 100; Requirements = TARGET.Memory >= RequestMemory && regexp("^L", ` +
			`TARGET.OpSys, "i") && member(1, { 1, x }); Rank = Memory * 2; x = y; y = 5 ]`)
		require.NoError(t, err)
		slot, err := p.ParseOld("Memory = 200\nOpSys = \"LINUX\"\nRequirements = START && TARGET.RequestMemory > 1\n" +
			"START = true || x\n")
		require.NoError(t, err)
		e, err := p.ParseExpr("TARGET.Memory + x")
		require.NoError(t, err)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				ok := classad.Match(job, slot) && classad.Rank(job, slot) == 400 &&
					e.Eval(classad.Scope{My: job, Target: slot}).String() == "205" &&
					job.Explain("Requirements", slot).Holds &&
					job.Clone().Format(classad.Lines) == job.Format(classad.Lines) &&
					e.Flatten(job).String() == "TARGET.Memory + 5"
				if _, external, err := e.Refs(job); !ok || err != nil || len(external) != 1 {
					t.Error("a wrong answer")
				}
			})
		}
		wait.Wait()
	}
}
