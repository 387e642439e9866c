package classad_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

// What an evaluation is told to have asked for beyond its ad is what it came by, not what the text mentions.
func TestOutside(t *testing.T) {
	ad, err := classad.Parse(`[ a = 1; b = a + 1; deep = c + 1; mine = MY.none; theirs = TARGET.x; nested = [ a = z; q = a ].q ]`)
	require.NoError(t, err)
	for text, want := range map[string]classad.Outside{
		`b * 2`:                                  {},
		`MY.none ?: 2`:                           {},
		`mine`:                                   {},
		`deep`:                                   {Names: []string{"c"}},
		`None ?: 2`:                              {Names: []string{"None"}},
		`nested`:                                 {},
		`a is 1 ? b : x`:                         {},
		`ifThenElse(w is true, Cpus, time())`:    {Names: []string{"w"}, More: true},
		`ifThenElse(w is true, time(), a)`:       {Names: []string{"w"}},
		`w is true ? !isUndefined(t) ? t : b: a`: {Names: []string{"w"}},
		`a == 1 || x`:                            {},
		`a == 2 || x`:                            {Names: []string{"x"}},
		`a == 2 && x`:                            {},
		`TARGET.Cpus`:                            {More: true},
		`theirs`:                                 {More: true},
		`isUndefined(other)`:                     {More: true},
		`CurrentTime`:                            {More: true},
		`random(8)`:                              {More: true},
		`.a`:                                     {More: true},
		`parent.a`:                               {More: true},
		`LEFT.a`:                                 {More: true},
		`eval("x")`:                              {Names: []string{"x"}, More: true},
		`countMatches(x, { [ y = 1 ] })`:         {Names: nil, More: true},
		`{ x }[0]`:                               {Names: []string{"x"}},
		`sum({ x, a })`:                          {Names: []string{"x"}},
		`MY["x"]`:                                {},
	} {
		e, err := classad.ParseExpr(text)
		require.NoError(t, err)
		for range 2 { // the memory of an evaluation is reused
			var got classad.Outside
			e.Eval(classad.Scope{My: ad, Outside: &got})
			require.Equal(t, want, got, text)
		}
		e.Eval(classad.Scope{My: ad})
	}
}

// An expensive evaluation asks for no more names than it has steps for.
func TestOutsideIsBounded(t *testing.T) {
	e, err := classad.ParseExpr(`sum(split(x)) + x + x + x + x + x + x + x + x`)
	require.NoError(t, err)
	var got classad.Outside
	var m classad.Meter
	e.Eval(classad.Scope{MaxSteps: 80, Meter: &m, Outside: &got})
	require.Equal(t, 1, m.Exceeded())
	require.Less(t, len(got.Names), 5)
}

// What asks for nothing beyond its ad is the same in any match, at any time, and what asks for names that it
// lacks is in a match with an ad that lacks them, too.
func TestWithoutOutsideTheValueIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := classad.ParseExpr(wildExpressions().Draw(t, "text"))
		require.NoError(t, err)
		my, target := wildAds().Draw(t, "my"), wildAds().Draw(t, "target")
		var outside classad.Outside
		want := e.Eval(classad.Scope{My: my, Outside: &outside})
		in := classad.Scope{My: my, Target: target, Host: &world}
		if outside.More || want.Kind() == classad.List || want.Kind() == classad.Ad {
			return
		}
		for _, name := range outside.Names {
			target.Delete(name)
		}
		got := e.Eval(in)
		require.Equal(t, want.Kind(), got.Kind(), "%s in %s with %s", e, my, target)
		require.Equal(t, want.String(), got.String(), "%s in %s with %s", e, my, target)
	})
}
