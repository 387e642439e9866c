package host

import (
	"math"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// A plugin may describe itself in any way, so its description is checked.
func TestADescriptionIsChecked(t *testing.T) {
	with := func(o *policyv1.Option) *policyv1.DescribeResponse {
		return &policyv1.DescribeResponse{Name: "mine", Options: []*policyv1.Option{o}}
	}
	low, high, nan := 1.0, 8.0, math.NaN()
	depth := &policyv1.Option{
		Name: "depth", DefaultValue: "2", Type: policyv1.OptionType_OPTION_TYPE_WHOLE_NUMBER,
		Low: &low, High: &high,
	}
	for _, test := range []struct {
		said  *policyv1.DescribeResponse
		given map[string]string
		want  string // empty if the description is valid
	}{
		{said: &policyv1.DescribeResponse{Name: "mine"}},
		{said: with(depth), given: map[string]string{"depth": "8"}},
		{
			said:  with(&policyv1.Option{Name: "new", Type: 99, Choices: []string{"\x00"}}),
			given: map[string]string{"new": "anything"},
		},
		{said: &policyv1.DescribeResponse{}, want: "what it says of itself is wrong: the policy's name is missing"},
		{said: &policyv1.DescribeResponse{Name: "\x1b]0;mine\a"}, want: "must be a word of letters and digits"},
		{said: &policyv1.DescribeResponse{Name: strings.Repeat("m", 1<<20)}, want: "must have at most 40 letters"},
		{said: &policyv1.DescribeResponse{Name: "mine", Doc: "a\rb"}, want: `its description has '\r' in it`},
		{
			said: &policyv1.DescribeResponse{Name: "mine", Options: make([]*policyv1.Option, 1000)},
			want: "it has 1000 options: must be at most 100",
		},
		{said: &policyv1.DescribeResponse{Name: "mine", Order: "wfp"}},
		{
			said: &policyv1.DescribeResponse{Name: "mine", Order: "tallest"},
			want: `what it says of itself is wrong: policy mine: its order: unknown order "tallest"`,
		},
		{
			said: &policyv1.DescribeResponse{Name: "mine", Order: "sjf", IgnoresOrder: true},
			want: "it ignores the order, and names one, sjf",
		},
		{said: with(&policyv1.Option{
			Name: "f", Type: policyv1.OptionType_OPTION_TYPE_NUMBER, DefaultValue: "1",
			Low: &nan,
		}), want: "its range has a bound that is no number"},
		{said: with(&policyv1.Option{
			Name: "f", Type: policyv1.OptionType_OPTION_TYPE_NUMBER, DefaultValue: "1",
			Low: &high, High: &low,
		}), want: "its range from 8 to 1 holds nothing"},
		{
			said: with(depth), given: map[string]string{"depth": "9"},
			want: `policy mine: option depth="9" must be a whole number from 1 to 8`,
		},
		{
			said: with(depth), given: map[string]string{"dept": "9"},
			want: `policy mine has no option "dept", did you mean depth?: it has depth`,
		},
	} {
		spec, err := described(test.said, test.given)
		if test.want == "" {
			require.NoError(t, err)
			require.Equal(t, "mine", spec.Name)
			continue
		}
		require.ErrorContains(t, err, test.want)
		require.Less(t, len(err.Error()), 500)
	}
}

// wrong returns a policy with an invalid description.
func wrong() backfill.PolicySpec {
	return backfill.PolicySpec{Name: "wrong", Options: []backfill.Option{{Name: "depth", Type: backfill.WholeNumber}}}
}

// The author of an unservable plugin reads the reason where the plugin is started.
func TestAWrongPolicyIsNotServed(t *testing.T) {
	command, err := Self("wrong")
	require.NoError(t, err)
	_, err = Start(t.Context(), command, Options{Logger: hclog.NewNullLogger()})
	require.EqualError(t, err, command.Path+`: its policy cannot be served: policy wrong: option depth: its default "" `+
		`must be a whole number`)
	require.ErrorIs(t, err, ErrNotPlugin)
}

// The host refuses options by their types, the policy refuses the rest; the errors look the same.
func TestOptionsAreRefused(t *testing.T) {
	for _, test := range []struct{ policy, option, value, want string }{
		{"easy", "depth", "0", `: policy easy: option depth="0" must be a whole number of at least 1`},
		{
			"maui", "backfillpolicy", "WORSTFIT",
			`: policy maui: option backfillpolicy="WORSTFIT" must be one of FIRSTFIT, BESTFIT, GREEDY, NONE`,
		},
		{
			"maui", "reservationdepth", "[",
			`: policy maui: option reservationdepth="[" has a "[" without a name and "]" behind it`,
		},
	} {
		command, err := Self(test.policy)
		require.NoError(t, err)
		_, err = Start(t.Context(), command,
			Options{Policy: map[string]string{test.option: test.value}, Logger: hclog.NewNullLogger()})
		require.EqualError(t, err, "start "+command.Path+test.want)
	}
}
