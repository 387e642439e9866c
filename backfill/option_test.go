package backfill_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// sampler returns a policy with options of each type.
func sampler() backfill.PolicySpec {
	return backfill.PolicySpec{Name: "try", Options: []backfill.Option{
		{Name: "text", Default: "some text"},
		{
			Name: "odd", Default: "1", Type: backfill.WholeNumber, Range: backfill.Range{Low: -3, High: 9},
			Check: func(value string) error {
				if strings.ContainsAny(value[len(value)-1:], "02468") {
					return errors.New("must be odd")
				}
				return nil
			},
		},
		{Name: "any", Default: "-5", Type: backfill.WholeNumber},
		{Name: "few", Default: "0", Type: backfill.WholeNumber, Range: backfill.AtMost(3)},
		{Name: "share", Default: "0.5", Type: backfill.Number, Range: backfill.Range{Low: 0, High: 1}},
		{Name: "factor", Default: "1e3", Type: backfill.Number, Range: backfill.AtLeast(0.25)},
		{Name: "window", Default: "1:30", Type: backfill.LengthOfTime},
		{Name: "pause", Default: "2:00:00", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 60, High: 86400}},
		{Name: "strict", Default: "false", Type: backfill.Flag},
		{Name: "when", Default: "NEVER", Type: backfill.Choice, Choices: []string{"NEVER", "Always"}},
		{Name: "queues", Default: "", Type: backfill.List},
		{Name: "resources", Default: "cpus,memory", Type: backfill.Resources},
	}}
}

// made makes a policy with the given options and returns the values that it gets.
func made(t require.TestingT, spec backfill.PolicySpec, given map[string]string) (v backfill.Values) {
	spec.New = func(values backfill.Values) (backfill.Policy, error) {
		v = values
		return backfill.PolicyFunc(func(*backfill.Cycle) {}), nil
	}
	_, err := spec.Make(given)
	require.NoError(t, err)
	return v
}

func TestOptionsAreRead(t *testing.T) {
	v := made(t, sampler(), nil)
	require.Equal(t, "some text", v.Text("text"))
	require.Equal(t, 1, v.Int("odd"))
	require.Equal(t, -5, v.Int("any"))
	require.InDelta(t, 0.5, v.Number("share"), 0)
	require.InDelta(t, 1000, v.Number("factor"), 0)
	require.Equal(t, backfill.Time(90), v.Time("window"))
	require.Equal(t, backfill.Time(7200), v.Time("pause"))
	require.False(t, v.Flag("strict"))
	require.Equal(t, "NEVER", v.Choice("when"))
	require.Empty(t, v.List("queues"))
	require.Equal(t, []string{"cpus", "memory"}, v.List("resources"))

	v = made(t, sampler(), map[string]string{
		"text": "", "odd": "-3", "share": ".25", "strict": "true", "when": "aLWAYS", "queues": `a, b,,"" c "d, e":f `,
		"pause": "60",
	})
	require.Empty(t, v.Text("text"))
	require.Equal(t, -3, v.Int("odd"))
	require.InDelta(t, 0.25, v.Number("share"), 0)
	require.True(t, v.Flag("strict"))
	require.Equal(t, "Always", v.Choice("when"), "as the policy spells it")
	require.Equal(t, []string{"a", "b", "c", "d, e:f"}, v.List("queues"))
	require.Equal(t, backfill.Time(60), v.Time("pause"))
}

func TestOptionsAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"odd", "4", "must be odd"},
		{"odd", "11", "must be a whole number from -3 to 9"},
		{"odd", "", "must be a whole number from -3 to 9"},
		{"any", "1.0", "must be a whole number"},
		{"any", "99999999999999999999", "must be a whole number"},
		{"few", "4", "must be a whole number of at most 3"},
		{"share", "1.01", "must be a number from 0 to 1"},
		{"share", "NaN", "must be a number from 0 to 1"},
		{"factor", "inf", "must be a number of at least 0.25"},
		{"factor", "1e999", "must be a number of at least 0.25"},
		{"factor", "0x1p3", "must be a number of at least 0.25"},
		{"factor", "1_000", "must be a number of at least 0.25"},
		{"factor", "-1", "must be a number of at least 0.25"},
		{"window", "5 min", "must be a number of seconds, or a length of time as [[DD:]HH:]MM:SS"},
		{"window", "1099511627777", "must be at most 1099511627776 seconds"},
		{"pause", "59", "must be a number of seconds, or a length of time as [[DD:]HH:]MM:SS, from 60 to 86400 " +
			"seconds"},
		{"strict", "yes", "must be true or false"},
		{"strict", "True", "must be true or false"},
		{"when", "often", "must be one of NEVER, Always"},
		{"when", "", "must be one of NEVER, Always"},
		{"wenn", "NEVER", `policy try has no option "wenn", did you mean when?: it has text, odd, `},
	} {
		err := sampler().CheckOptions(map[string]string{tt.name: tt.value})
		require.ErrorContains(t, err, tt.want)
		require.ErrorContains(t, err, "policy try")
		_, again := sampler().Make(map[string]string{tt.name: tt.value})
		require.Equal(t, err, again)
	}
}

// TestAcceptedOptionsCanBeRead checks that every value that CheckOptions accepts can be read, and
// is then within its range.
func TestAcceptedOptionsCanBeRead(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[-+.0-9e:]{0,6}`),
		rapid.SampledFrom([]string{"true", "never", "cpus,disk"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		given := map[string]string{}
		for _, o := range sampler().Options {
			value := text.Draw(t, o.Name)
			if sampler().CheckOptions(map[string]string{o.Name: value}) == nil {
				given[o.Name] = value
			}
		}
		v := made(t, sampler(), given)
		_ = v.Text("text")
		require.Equal(t, 1, v.Int("odd")&1)
		_, _ = v.Int("any"), v.Time("window")
		require.LessOrEqual(t, v.Int("few"), 3)
		require.LessOrEqual(t, math.Abs(v.Number("share")-0.5), 0.5)
		require.GreaterOrEqual(t, v.Number("factor"), 0.25)
		require.GreaterOrEqual(t, v.Time("pause"), backfill.Time(60))
		require.Equal(t, given["strict"] == "true", v.Flag("strict"))
		require.Contains(t, []string{"NEVER", "Always"}, v.Choice("when"))
		require.NotContains(t, append(v.List("queues"), v.List("resources")...), "")
	})
}

// TestAPolicyReadsWhatItDeclares checks that reading an option panics, with a message that names
// the mistake, if the policy does not declare the option or declares it with another type. Policies
// read their options when they are made, so the mistake shows at once.
func TestAPolicyReadsWhatItDeclares(t *testing.T) {
	spec := sampler()
	spec.Options = append(spec.Options, backfill.Option{Name: "bad", Default: "x", Type: backfill.WholeNumber})
	v := made(t, spec, nil)
	require.PanicsWithValue(t, `policy try reads option "depht", which it does not declare`, func() { v.Int("depht") })
	require.PanicsWithValue(t, `policy try reads its option "text" as flag and declares it as text`,
		func() { v.Flag("text") })
	require.PanicsWithValue(t, `policy try: option bad="x" must be a whole number`, func() { v.Int("bad") })
	require.Panics(t, func() { backfill.Values{}.Text("text") })
}

func TestValidate(t *testing.T) {
	require.NoError(t, sampler().Validate())
	require.NoError(t, backfill.PolicySpec{Name: "conservative+2.1_b-ü"}.Validate())
	with := func(o backfill.Option) backfill.PolicySpec {
		return backfill.PolicySpec{Name: "try", Options: []backfill.Option{o}}
	}
	for _, tt := range []struct {
		spec backfill.PolicySpec
		want string
	}{
		{backfill.PolicySpec{}, "the policy's name is missing"},
		{
			backfill.PolicySpec{Name: "two words"},
			`the policy's name "two words" must be a word of letters and digits, or - _ . + behind the first`,
		},
		{backfill.PolicySpec{Name: "a\x1b[2J"}, `the policy's name "a\x1b[2J" must be`},
		{backfill.PolicySpec{Name: "../easy"}, `"../easy" must be`},
		{backfill.PolicySpec{Name: "--help"}, `"--help" must be`},
		{backfill.PolicySpec{Name: "a\xff"}, `"a\xff" must be`},
		{backfill.PolicySpec{Name: strings.Repeat("ü", 41)}, `ü"… must have at most 40 letters`},
		{
			backfill.PolicySpec{Name: "try", Doc: "two\nlines"},
			`policy try: its description has '\n' in it: must be printable text in one line`,
		},
		{backfill.PolicySpec{Name: "try", Promise: "\u202e"}, `policy try: its promise has '\u202e' in it`},
		{backfill.PolicySpec{Name: "try", Source: "m\xfcller"}, `policy try: its source has '` + "\uFFFD" + `' in it`},
		{
			backfill.PolicySpec{Name: "try", Doc: strings.Repeat("x", 2001)},
			"its description has 2001 letters: must have at most 2000",
		},
		{
			backfill.PolicySpec{Name: "try", Options: make([]backfill.Option, 101)},
			"it has 101 options: must be at most 100",
		},
		{
			backfill.PolicySpec{Name: "try", Order: "wpf"},
			`policy try: its order: unknown order "wpf", did you mean wfp?: choose one of area, fcfs`,
		},
		{backfill.PolicySpec{Name: "try", Order: "expr:JobPrio"}, `its order: unknown order "expr:JobPrio"`},
		{
			backfill.PolicySpec{Name: "try", Order: "sjf", IgnoresOrder: true},
			"policy try: it ignores the order, and names one, sjf",
		},
		{with(backfill.Option{}), "policy try: the name of an option is missing"},
		{with(backfill.Option{Name: "a=b"}), `the name of an option "a=b" must be a word`},
		{
			backfill.PolicySpec{Name: "try", Options: []backfill.Option{{Name: "a"}, {Name: "b"}, {Name: "a"}}},
			"policy try: option a is there twice",
		},
		{with(backfill.Option{Name: "o", Doc: "\t"}), `policy try: option o: its description has '\t'`},
		{with(backfill.Option{Name: "o", Type: 77}), "policy try: option o: there is no type 77 of options"},
		{
			with(backfill.Option{Name: "o", Type: backfill.WholeNumber}),
			`policy try: option o: its default "" must be a whole number`,
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.WholeNumber, Default: "0", Range: backfill.AtLeast(1)}),
			`its default "0" must be a whole number of at least 1`,
		},
		{with(backfill.Option{Name: "o", Default: "\a"}), `option o: its default has '\a' in it`},
		{
			with(backfill.Option{
				Name: "o", Default: "x",
				Check: func(string) error { return errors.New("is not liked") },
			}),
			`option o: its default "x" is not liked`,
		},
		{with(backfill.Option{Name: "o", Type: backfill.Flag}), `its default "" must be true or false`},
		{
			with(backfill.Option{Name: "o", Type: backfill.Number, Default: "0", Range: backfill.Range{Low: math.NaN()}}),
			"its range has a bound that is no number",
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.Number, Default: "2", Range: backfill.Range{Low: 1}}),
			"its range from 1 to 0 holds nothing: use AtLeast or AtMost for one bound",
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.Number, Default: "2", Range: backfill.AtLeast(math.Inf(1))}),
			"its range from +Inf to +Inf holds nothing",
		},
		{with(backfill.Option{Name: "o", Range: backfill.AtLeast(1)}), "option o: it has a range: a text has none"},
		{with(backfill.Option{Name: "o", Choices: []string{"a"}}), "option o: it has choices: a text has none"},
		{with(backfill.Option{Name: "o", Type: backfill.Choice}), "option o: it is a choice without choices"},
		{
			with(backfill.Option{Name: "o", Type: backfill.Choice, Default: "c", Choices: []string{"a", "b"}}),
			`its default "c" must be one of a, b`,
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.Choice, Default: "a", Choices: []string{"a", "b", "A"}}),
			"its choice A is there twice",
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.Choice, Default: "a", Choices: []string{"a", ""}}),
			"its choice is missing",
		},
		{
			with(backfill.Option{Name: "o", Type: backfill.Choice, Default: "a", Choices: make([]string, 101)}),
			"it has 101 choices: must be at most 100",
		},
	} {
		require.ErrorContains(t, tt.spec.Validate(), tt.want)
	}
}

func TestRangesAndTypesAreToldInWords(t *testing.T) {
	for want, o := range map[string]backfill.Option{
		"text":                                    {},
		"a number":                                {Type: backfill.Number},
		"a number of at most 2.5":                 {Type: backfill.Number, Range: backfill.AtMost(2.5)},
		"a whole number of at least 1000000":      {Type: backfill.WholeNumber, Range: backfill.AtLeast(1e6)},
		"a whole number of at least 1e+300":       {Type: backfill.WholeNumber, Range: backfill.AtLeast(1e300)},
		"words, separated by commas":              {Type: backfill.List},
		"names of resources, separated by commas": {Type: backfill.Resources},
		"one of a":                                {Type: backfill.Choice, Choices: []string{"a"}},
	} {
		require.Equal(t, want, o.Accepts())
	}
}
