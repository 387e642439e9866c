package classad_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

var jsonSeeds = []string{
	`{}`, `{"a": 1}`, `{,"a":1,,"b":2,}`, `{"a": [1, .5, -1e3, "x", true, NULL, {"b": [[]]}]}`,
	`{"a": "\/Expr(x > \"y\")\/"}`,
	`{"a": "/Expr(1)/"}`, `{"a": "\/expr(1 ? 2 : 3 )\/"}`, `{"a": "\/Expr(absTime(\"2020-01-02T03:04:05Z\"))\/"}`,
	`{"a": "\u00e9\ud83d\ude00\ud83d\u0041"}`, `{"a": "x" "y" /* c */, // d`, `{"a b": -0.0, "A B": 012}`,
	"{\"a\": \"\xff\"}",
	`[{"a": 1}, {"a": {"b": 2}}]`, "{\"a\": 1}\n{\"a\": [}\n{\"a\": 3}", `{"a": 1e999, "b": 9223372036854775808}`,
	`{"a":"\/Expr(` + "`" + `)\/"}`,
	strings.Repeat(`{"a":`, 50) + strings.Repeat(`[`, 50),
}

var xmlSeeds = []string{
	`<c></c>`, `<c><a n="x"><i>1</i></a><a n="y"><r>-1.5E+00</r></a><a n="z"><b v="t"/></a></c>`,
	`<c><a n="x"><l><un/><er/><l>`,
	`<?xml version="1.0"?><!DOCTYPE classads><classads><c><a n="x"><c></c></a></c><!-- > <c> --><c></c></classads>`,
	`<c><a n="x&lt;\"y"><s> a &amp;lt; \101\n&bogus; </s></a></c>`,
	`<c><a n="x"><e>a &lt; b &amp;&amp; c d</e></a></c>`,
	`<c><a n="x"><at>2020-01-02T03:04:05+01:00</at></a><a n="y"><rt>-1+00:00:01.5</rt></a>`, `<c/>`, `<c><q/></c>`,
	`<c><a n='x'><s/></a>`,
	`<c><a n="x"><i>99999999999999999999</i></a><a n="y"><r>inf</r></a></c>`, `<c><a n="x"`, `<c><!-- `, `</c><c>`,
	`<c><a n="x"><l>x</l></a></c>`,
}

// fuzzFormat checks a reader: it fails with a position, or returns an ad of proportionate size that
// stays the same when it is written and read again. The first writings may change it: numbers lose
// digits, and relative times become numbers.
func fuzzFormat(t *testing.T, text string, style classad.Style, parse func(string) (*classad.ClassAd, error)) {
	t.Helper()
	const each, fixed = 3000, 4 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ad, err := parse(text)
	count := 0
	for ad, err := range classad.ReadAds(strings.NewReader(text), "fuzz") {
		require.NotEqual(t, ad == nil, err == nil)
		count++
	}
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, count, len(text)+1)
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(fixed+each*len(text)))
	if err != nil {
		var syntax *classad.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.NotPanics(t, func() { _ = syntax.Error() })
		return
	}
	if joins(ad.String()) || strangeTime.MatchString(ad.Format(style)) {
		return
	}
	printed := ad.Format(style)
	for left := strings.Count(text, "-") + 2; ; left-- { // each writing joins one more minus to its number
		ad = readAgain(t, printed, parse)
		again := ad.Format(style)
		if again == printed {
			break
		}
		require.Positive(t, left, printed)
		printed = again
	}
	for _, s := range []classad.Style{
		classad.Brackets, classad.Pretty, classad.Lines, classad.JSONIndented,
		classad.XMLIndented,
	} {
		require.LessOrEqual(t, len(ad.Format(s)), 400*(len(text)+100))
	}
}

// strangeTime matches times whose printed form cannot be read back: as in the reference, the year
// does not have four digits, or the seconds are tiny.
var strangeTime = regexp.MustCompile(`(?i)(<at>|abstime\(\\?")(-|\d{5}|\d{1,3}-)|reltime\(\\?"[^"]*e`)

func readAgain(t *testing.T, text string, parse func(string) (*classad.ClassAd, error)) *classad.ClassAd {
	t.Helper()
	ad, err := parse(text)
	require.NoError(t, err, text)
	return ad
}

func FuzzJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { fuzzFormat(t, text, classad.JSON, classad.ParseJSON) })
}

func FuzzXML(f *testing.F) {
	for _, s := range xmlSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { fuzzFormat(t, text, classad.XML, classad.ParseXML) })
}
