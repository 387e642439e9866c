package classad_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

func TestFormat(t *testing.T) {
	ad, err := classad.Parse(`[
		Memory = 2048; Load = 0.25; Name = "slot1@host <\"é\">"; Ok = true; None = undefined; Bad = error; 'odd ` +
		`name' = 1e300 * 1e300;
		Tags = { "x", { 1 }, {} }; Inner = [ b = MY.a =?= "\001"; a = [] ]; Start = ` +
		`absTime("2021-03-04T05:06:07+02:00");
		Span = relTime("01:30"); Req = TARGET.Disk > 1 && (Owner =!= "me")
	]`)
	require.NoError(t, err)
	want := map[classad.Style]string{
		classad.Brackets: `[ Ok = true; Bad = error; Req = TARGET.Disk > 1 && (Owner isnt "me"); ` +
			`Load = 2.500000000000000E-01; ` +
			`Name = "slot1@host <\"\303\251\">"; None = undefined; Span = relTime("01:30"); Tags = { ` +
			`"x",{ 1 },{  } }; ` +
			`Inner = [ a = [  ]; b = MY.a is "\001" ]; Start = absTime("2021-03-04T05:06:07+02:00"); Memory = 2048; ` +
			`'odd name' = 1.000000000000000E+300 * 1.000000000000000E+300 ]`,
		classad.Lines: strings.Join([]string{
			`Bad = error`, "Inner = [ a = [  ]; b = MY.a =?= \"\001\" ]", `Load = 0.25`, `Memory = 2048`,
			`Name = "slot1@host <\"é\">"`,
			`None = undefined`, `Ok = true`, `Req = TARGET.Disk > 1 && (Owner =!= "me")`, `Span = relTime("01:30")`,
			`Start = absTime("2021-03-04T05:06:07+02:00")`, `Tags = { "x",{ 1 },{  } }`,
			`odd name = 1E+300 * 1E+300`, ``,
		}, "\n"),
		classad.JSON: `{"Ok": true,"Bad": "\/Expr(error)\/","Req": "\/Expr(TARGET.Disk > 1 && (Owner ` +
			`isnt \"me\"))\/",` +
			`"Load": 0.25,"Name": "slot1@host <\"é\">","None": null,"Span": 90.0,"Tags": ["x",[1],[]],` +
			`"Inner": {"a": {},"b": "\/Expr(MY.a is \"\\001\")\/"},"Start": ` +
			`"\/Expr(absTime(\"2021-03-04T05:06:07+02:00\"))\/",` +
			`"Memory": 2048,"odd name": "\/Expr(1.000000000000000E+300 * 1.000000000000000E+300)\/"}`,
		classad.XML: `<c><a n="Ok"><b v="t"/></a><a n="Bad"><er/></a>` +
			`<a n="Req"><e>TARGET.Disk &gt; 1 &amp;&amp; (Owner isnt "me")</e></a><a ` +
			`n="Load"><r>2.500000000000000E-01</r></a>` +
			`<a n="Name"><s>slot1@host &lt;"\303\251"&gt;</s></a><a n="None"><un/></a><a ` +
			`n="Span"><r>9.000000000000000E+01</r></a>` +
			`<a n="Tags"><l><s>x</s><l><i>1</i></l><l></l></l></a>` +
			`<a n="Inner"><c><a n="a"><c></c></a><a n="b"><e>MY.a is "\001"</e></a></c></a>` +
			`<a n="Start"><at>2021-03-04T05:06:07+02:00</at></a><a n="Memory"><i>2048</i></a>` +
			`<a n="odd name"><e>1.000000000000000E+300 * 1.000000000000000E+300</e></a></c>`,
	}
	for style, text := range want {
		require.Equal(t, text, ad.Format(style))
		require.Equal(t, "x"+text, string(ad.AppendFormat([]byte("x"), style)))
	}
	require.Equal(t, want[classad.Brackets], ad.String())
}

func TestFormatOverSeveralLines(t *testing.T) {
	ad, err := classad.Parse(`[ one = { 1, [ two = {} ] }; three = f({ 2 }) ]`)
	require.NoError(t, err)
	want := map[classad.Style]string{
		classad.JSONIndented: "{\n  \"one\": [\n    1,\n    {\n      \"two\": [\n      ]\n    }\n  ],\n" +
			"  \"three\": \"\\/Expr(f({ 2 }))\\/\"\n}",
		classad.XMLIndented: "<c>\n    <a n=\"one\"><l><i>1</i><c>\n        <a n=\"two\"><l></l></a>\n" +
			"    </c></l></a>\n" +
			"    <a n=\"three\"><e>f({ 2 })</e></a>\n</c>\n",
		classad.Pretty: "\n    [\n        one = \n           {\n              1,\n              \n" +
			"                  [\n" +
			"                      two = \n                         {\n                         }\n" +
			"                  ]\n           }; \n" +
			"        three = f(\n           {\n              2\n           })\n    ]",
	}
	for style, text := range want {
		require.Equal(t, text, ad.Format(style))
	}
}

// The printed form of deep trees has a proportionate size.
func TestFormatIsBounded(t *testing.T) {
	e := classad.MustParseExpr(strings.Repeat("{", 900) + strings.Repeat("1,", 1000) + "1" + strings.Repeat("}", 900))
	for style := classad.Brackets; style <= classad.XMLIndented; style++ {
		require.Less(t, len(e.Format(style)), 1_000_000)
	}
	e = classad.MustParseExpr("1" + strings.Repeat(" - 1", 9000))
	for style := classad.Brackets; style <= classad.XMLIndented; style++ {
		require.Less(t, len(e.Format(style)), 40_000)
	}
}

func TestExprFormat(t *testing.T) {
	e := classad.MustParseExpr(`a =?= 1.5`)
	require.Equal(t, `a is 1.500000000000000E+00`, e.Format(classad.Brackets))
	require.Equal(t, `a =?= 1.5`, e.Format(classad.Lines))
	require.Equal(t, `[ a = 1.5 ]`, classad.MustParseExpr(`[ a = 1.5 ]`).Format(classad.Lines))
	require.Equal(t, `"\/Expr(a is 1.500000000000000E+00)\/"`, e.Format(classad.JSON))
	require.Equal(t, `<e>a is 1.500000000000000E+00</e>`, e.Format(classad.XML))
}

func TestParseJSON(t *testing.T) {
	for _, c := range [][2]string{
		{
			`{"a": [1, -2, .5, 1e3, "x", True, nULL, {"b": []}]}`,
			`[ a = { 1,-2,5.000000000000000E-01,1.000000000000000E+03,"x",true,undefined,[ b = {  } ] } ]`,
		},
		{` { , "a" : 1 , , "A" : 2 , } `, `[ a = 2 ]`},
		{`{"a": "\/Expr(x > \"\\t\" && y)\/"}`, `[ a = x > "\t" && y ]`},
		{`{"a": "\/eXPR(a ? b : c ] )\/"}`, `[ a = a ? b : c ]`},
		{`{"a": "/Expr(1)/", "b": "\/Expr(1)/"}`, `[ a = "/Expr(1)/"; b = "/Expr(1)/" ]`},
		{`{"a": "\u0041\u00e9\u20AC\ud83d\ude00"}`, `[ a = "A\303\251\342\202\254\360\237\230\200" ]`},
		{`{"a": "\ud83d!\ude00\ud83d\u0041"}`, `[ a = "\357\277\275!\357\277\275\357\277\275A" ]`},
		{`{"a": "\b\f\n\r\t\"\\\/\x"}`, `[ a = "\b\f\n\r\t\"\\/x" ]`},
		{`{"a": "x" "y"} // done`, `[ a = "xy" ]`},
		{`{"a b": 9223372036854775808, "\u0061": -1e999}`, `[ a = real("-INF"); 'a b' = 0 ]`},
	} {
		ad, err := classad.ParseJSON(c[0])
		require.NoError(t, err, c[0])
		require.Equal(t, c[1], ad.String())
	}
	for text, want := range map[string]string{
		``:                  `1:1: unexpected end, expected "{"`,
		`[{"a": 1}]`:        `1:1: unexpected "[", expected "{"`,
		`{"a": 1} {`:        `1:10: unexpected "{", expected the end`,
		`{a: 1}`:            `1:2: unexpected "a", expected a name in quotes or "}"`,
		`{,}`:               `1:3: unexpected "}", expected a name in quotes or "}"`,
		`{"": 1}`:           `1:2: attribute without a name`,
		`{"a" 1}`:           `1:6: unexpected "1", expected ":"`,
		`{"a": 1; "b": 2}`:  `1:8: unexpected ";", expected "," or "}"`,
		`{"a": [1, ]}`:      `1:11: unexpected "]", expected a value`,
		`{"a": [1}`:         `1:9: unexpected "}", expected "," or "]"`,
		`{"a": - 1}`:        `1:7: unexpected "-", expected a value`,
		`{"a": 012}`:        `1:7: integer 012 begins with 0`,
		`{"a": undefined}`:  `1:7: unexpected "undefined", expected a value`,
		`{"a": "x}`:         `1:7: text without closing quote`,
		`{"a": "xy\u12g4"}`: `1:10: \u without four hexadecimal digits, or \u0000`,
		`{"\u0000": 1}`:     `1:3: \u without four hexadecimal digits, or \u0000`,
		"{\"a\": 1,\n \"b\": \"\\/Expr(\\\"\\u0041\\\" + )\\/\"}": `2:28: unexpected end, expected an expression`,
	} {
		_, err := classad.ParseJSON(text)
		requireSyntaxError(t, want, err)
	}
}

func TestParseXML(t *testing.T) {
	for _, c := range [][2]string{
		{
			`<?xml version="1.0"?><!DOCTYPE classads SYSTEM "classads.dtd"><classads> <c> <a n="x"> <i> -5x </i> </a>` +
				` </c> </classads>`,
			`[ x = -5 ]`,
		},
		{
			`<c><a n="x"><s> a &lt;&amp;lt; &quot; &apos; &amp;apos; &#65; \101\n\" & </s></a><a n="y"><s/></a><a n="z"><s> </s></a></c>`,
			`[ x = " a <&lt; \" ' &apos; &#65; A\n\" & "; y = ""; z = " " ]`,
		},
		{
			`<c><a n="t"><b v="t"/></a><a n="u"><b v="T"></b></a><a n="v"><b/></a><a n="w"><un/></a>` +
				`<a n="x"><er></er></a></c>`,
			`[ t = true; u = true; v = false; w = undefined; x = error ]`,
		},
		{
			`<c><a n="i"><i>x</i></a><a n="j"><i>99999999999999999999</i></a><a n="r"><r>x</r></a>` +
				`<a n="s"><r>0x1.8</r></a></c>`,
			`[ i = error; j = error; r = error; s = 1.500000000000000E+00 ]`,
		},
		{
			`<c><a n="i"><r>INF</r></a><a n="j"><r>-Infinity</r></a><a n="k"><r>1e999</r></a>` +
				`<a n="l"><r>nanny</r></a>` +
				`</c>`,
			`[ i = real("INF"); j = real("-INF"); k = real("INF"); l = real("NaN") ]`,
		},
		{
			`<c><a n="x"><l><i>1</i><l></l><c><a n="y"><e>a &lt; b c</e></a></c></l></a></c>`,
			`[ x = { 1,{  },[ y = a < b ] } ]`,
		},
		{`<c><a n="x"><i>1</a><a n="y"><l><i>2</i></c>`, `[ x = 1; y = { 2 } ]`},
		{`<c><a n="x"><i>1</i>`, `[ x = 1 ]`},
		{`<!-- > <c> --><c><!-- <a> --><a n="x"><!-- - --><i>1</i></a>text</c> <c></c>`, `[ x = 1 ]`},
		{`<c><a n="a&lt;\"b" m="x"><i>1</i></a><a n = 'c'><i>2</i></a></c>`, `[ 'c\'' = 2; 'a<"b' = 1 ]`},
		{`<c><c><a n=="x"><i>1</i></a><c/></c>`, `[ x = 1 ]`},
		{
			`<c><a n="A"><at>2020-01-02T03:04:05-01:00</at></a><a n="a"><rt>-00:01</rt></a></c>`,
			`[ A = relTime("-01") ]`,
		},
	} {
		ad, err := classad.ParseXML(c[0])
		require.NoError(t, err, c[0])
		require.Equal(t, c[1], ad.String())
	}
	for text, want := range map[string]string{
		``:                             `1:1: unexpected end, expected <c>`,
		`junk`:                         `1:5: unexpected end, expected <c>`,
		`<c/>`:                         `1:1: unexpected "<c/>", expected <c>`,
		"<c>\n<a><i>1</i></a></c>":     `2:1: attribute without a name`,
		`<c><a n="x"></a></c>`:         `1:13: unexpected "</a>", expected a value`,
		`<c><a n="x">1</a></c>`:        `1:13: unexpected "1", expected a value`,
		`<c><a n="x"><q>1</q></a></c>`: `1:13: unexpected "<q>", expected a value`,
		`<c><a n="x"><i></i></a></c>`:  `1:16: unexpected "</i>", expected the content of <i>`,
		`<c><a n="x"><e>a &lt; &amp;</e></a></c>`:   `1:23: unexpected "&", expected an expression`,
		`<c><a n="x"><e>(1</e></a></c>`:             `1:18: unexpected end, expected ")"`,
		`<c><a n="x"><at>noon</at></a></c>`:         `1:17: malformed time`,
		`<c><a n="x"><rt>long</rt></a></c>`:         `1:17: malformed time`,
		`<c><a n="x"><s>\0</s></a></c>`:             `1:16: text with \0`,
		`<c><a n="x"><l>1</l></a></c>`:              `1:16: unexpected "1", expected a value or "</l>"`,
		`<c><i>1</i><a n="x"><i>1</i></a></c>`:      `1:4: unexpected "<i>", expected an attribute or "</c>"`,
		`<c><a n="x"><i>1</i></a><a n="` + longTail: `1:25: tag without ">"`,
	} {
		_, err := classad.ParseXML(text)
		requireSyntaxError(t, want, err)
	}
}

var longTail = strings.Repeat("x", 10_000)

// requireSyntaxError checks the first line of the message.
func requireSyntaxError(t *testing.T, want string, err error) {
	t.Helper()
	var syntax *classad.SyntaxError
	require.ErrorAs(t, err, &syntax)
	message, _, _ := strings.Cut(err.Error(), "\n")
	require.Equal(t, want, message)
}

func TestDataNesting(t *testing.T) {
	for depth, fails := range map[int]bool{1000: false, 1997: false, 1998: true, 100_000: true} {
		for _, text := range []string{
			`{"a": ` + strings.Repeat(`{"a": `, depth) + `1` + strings.Repeat(`}`, depth) + `}`,
			`{"a": ` + strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth) + `}`,
		} {
			_, err := classad.ParseJSON(text)
			require.Equal(t, fails, err != nil)
		}
		for _, text := range []string{
			strings.Repeat(`<c><a n="a">`, depth+1) + `<i>1</i>` + strings.Repeat(`</a></c>`, depth+1),
			`<c><a n="a">` + strings.Repeat(`<l>`, depth),
		} {
			_, err := classad.ParseXML(text)
			require.Equal(t, fails, err != nil)
		}
	}
}

// encoding/json handles ads within other values.
func TestJSONInterfaces(t *testing.T) {
	type pool struct {
		Name  string
		Slots []*classad.ClassAd
		Owner *classad.ClassAd
	}
	in := `{"Name":"p","Slots":[{"Requirements":"\/Expr(TARGET.a < 1 && \"\u2028\" is ` +
		`b)\/","a":[1,{"b":"<&>"}]},{}],"Owner":null}`
	var p pool
	require.NoError(t, json.Unmarshal([]byte(in), &p))
	require.Len(t, p.Slots, 2)
	require.Nil(t, p.Owner)
	require.Equal(t, `[ a = { 1,[ b = "<&>" ] }; Requirements = TARGET.a < 1 && "\342\200\250" is b ]`,
		p.Slots[0].String())
	out, err := json.Marshal(p)
	require.NoError(t, err)
	var again pool
	require.NoError(t, json.Unmarshal(out, &again))
	require.Equal(t, p.Slots[0].String(), again.Slots[0].String())

	ad, err := classad.Parse(`[ s = "\351\001"; n = real("NaN") ; i = 1e999; z = -0.0 ]`)
	require.NoError(t, err)
	out, err = json.Marshal(ad)
	require.NoError(t, err)
	require.True(t, json.Valid(out))
	read, err := classad.ParseJSON(string(out))
	require.NoError(t, err)
	require.Equal(t, `[ i = real("INF"); n = real("NaN"); s = "\351\001"; z = -0.0 ]`, read.String())

	ad.SetInt("\xe9", 1)
	_, err = json.Marshal(ad)
	require.ErrorContains(t, err, "not UTF-8")
	require.Error(t, json.Unmarshal([]byte(`[1]`), ad))
	require.Error(t, json.Unmarshal([]byte(`{"a": "\/Expr(()\/"}`), ad))
	require.Equal(t, 5, ad.Len(), "an error leaves the ad alone")
	require.NoError(t, ad.UnmarshalJSON([]byte("null")))
	require.Equal(t, 5, ad.Len())
}

// An ad survives being written and read in every format, alone and in a stream.
func TestAdsSurviveFormats(t *testing.T) {
	parsers := map[classad.Style]func(string) (*classad.ClassAd, error){
		classad.Brackets: classad.Parse, classad.Pretty: classad.Parse, classad.Lines: classad.ParseOld,
		classad.JSON: classad.ParseJSON, classad.JSONIndented: classad.ParseJSON,
		classad.XML: classad.ParseXML, classad.XMLIndented: classad.ParseXML,
	}
	texts := rapid.SampledFrom([]string{
		"", " ", "plain", "/Expr(1)/", `\/Expr(1)\/`, "\xff", "é", "\a\b\t\n\v\f\r\x01\x7f", `"'\`, "<a>&amp;</a>",
		"]}", "</c>", "--",
	})
	rapid.Check(t, func(t *rapid.T) {
		ad := ads().Draw(t, "ad")
		ad.SetString("text", texts.Draw(t, "text"))
		ad.SetReal("number", float64(rapid.IntRange(-1000, 1000).Draw(t, "number"))/8)
		for style, parse := range parsers {
			if style == classad.Lines {
				ad.SetString("text", "lines have no escapes")
			}
			text := ad.Format(style)
			again, err := parse(text)
			require.NoError(t, err, text)
			require.Equal(t, ad.String(), again.String(), text)
			require.Equal(t, []string{ad.String(), ad.String()}, read(strings.NewReader(text+"\n"+text)), text)
		}
	})
}
