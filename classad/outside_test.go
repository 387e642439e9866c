package classad

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What an evaluation is told to have asked for beyond its ad is what it came by, not what the text mentions.
func TestOutside(t *testing.T) {
	ad, err := Parse(`[ a = 1; b = a + 1; deep = c + 1; mine = MY.none; theirs = TARGET.x; nested = [ a = z; q = a ].q ]`)
	require.NoError(t, err)
	for text, want := range map[string]Outside{
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
		e, err := ParseExpr(text)
		require.NoError(t, err)
		for range 2 { // the memory of an evaluation is reused
			var got Outside
			e.Eval(Scope{My: ad, Outside: &got})
			require.Equal(t, want, got, text)
		}
		e.Eval(Scope{My: ad})
	}
}

// An expensive evaluation asks for no more names than it has steps for.
func TestOutsideIsBounded(t *testing.T) {
	e, err := ParseExpr(`sum(split(x)) + x + x + x + x + x + x + x + x`)
	require.NoError(t, err)
	var got Outside
	var m Meter
	e.Eval(Scope{MaxSteps: 5 * stepsPerReference, Meter: &m, Outside: &got})
	require.Equal(t, 1, m.Exceeded())
	require.Less(t, len(got.Names), 5)
}
