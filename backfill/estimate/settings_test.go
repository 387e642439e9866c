package estimate_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestWrongSettings checks that wrong settings are refused with the same error by Validate and New,
// and that all mistakes are named.
func TestWrongSettings(t *testing.T) {
	for _, tt := range []struct {
		settings estimate.Settings
		want     string
	}{
		{
			estimate.Settings{All: "combinde"},
			`estimates: unknown estimator "combinde", did you mean combined?: choose one of requested, user, ` +
				`project, combined, selective, tsafrir, learned, file:PATH, accurate or mix:A`,
		},
		{estimate.Settings{Order: "x:1"}, `estimates-order: unknown estimator "x:1": choose one of requested`},
		{estimate.Settings{Backfill: "mix"}, `estimates-backfill: "mix": must be written as mix:A`},
		{estimate.Settings{Running: "file:"}, `estimates-running: "file:": must be written as file:PATH`},
		{estimate.Settings{All: "mix:1.5"}, `estimates: "mix:1.5": A must be a number from 0 to 1`},
		{estimate.Settings{All: "mix:NaN"}, `A must be a number from 0 to 1`},
		{estimate.Settings{All: "mix:0.1234567"}, `A must have at most six decimals`},
		{estimate.Settings{All: "user:ann"}, `estimates: "user:ann": nothing goes behind user`},
		{
			estimate.Settings{Order: "selective"},
			`estimates-order: selective is for all three uses at once (--estimates): choose combined or requested here`,
		},
		{
			estimate.Settings{Options: options("windw=3")},
			`estimates-opt has no option "windw", did you mean window?: it has percentile, threshold, window, ` +
				`max-age, user-key, project-key`,
		},
		{
			estimate.Settings{Options: options("percentile=0")},
			`estimates-opt: option percentile="0" must be a whole number from 1 to 100`,
		},
		{
			estimate.Settings{Options: options("threshold=0")},
			`option threshold="0" must be a whole number of at least 1`,
		},
		{
			estimate.Settings{Options: options("max-age=soon")},
			`option max-age="soon" must be a number of seconds, or a length of time`,
		},
		{
			estimate.Settings{Options: options("user-key=")},
			`option user-key="" must name at least one label, such as owner or executable`,
		},
		{
			estimate.Settings{Options: options("window=49")},
			`option window=49 with threshold=50: nothing would ever be adjusted`,
		},
	} {
		require.ErrorContains(t, tt.settings.Validate(false), tt.want)
		require.ErrorContains(t, tt.settings.Validate(true), tt.want)
		_, err := estimate.New(tt.settings, nil, false, true, nil)
		require.ErrorContains(t, err, tt.want)
	}
	wrong := estimate.Settings{All: "a", Order: "b", Options: options("c=d")}.Validate(false)
	for _, setting := range []string{"estimates: ", "estimates-order: ", "estimates-opt "} {
		require.ErrorContains(t, wrong, setting, "all mistakes are named")
	}
	_, isOptions := errors.AsType[*backfill.OptionsError](wrong)
	require.True(t, isOptions)
}

func TestOptionsThatSuit(t *testing.T) {
	for _, text := range []string{
		"", "percentile=100 threshold=1 window=1", "window=0 max-age=7:00:00:00",
		"user-key=executable project-key=qos,owner",
	} {
		require.NoError(t, estimate.Settings{All: "combined", Options: options(text)}.Validate(false), text)
	}
}

// TestUnusedOptions checks that CheckOptions refuses an option that no estimator of the settings
// uses. Validate accepts it, as other estimators may be chosen later.
func TestUnusedOptions(t *testing.T) {
	for _, tt := range []struct {
		settings estimate.Settings
		want     string
	}{
		{
			estimate.Settings{Options: options("threshold=20")},
			`estimates-opt: option threshold=20: no estimator that was chosen goes by it: choose user, project, ` +
				`combined or selective, or leave the option out`,
		},
		{
			estimate.Settings{All: "mix:0.5", Options: options("max-age=60")},
			`option max-age=60: no estimator that was chosen goes by it: choose user, project, combined, ` +
				`selective or tsafrir, or`,
		},
		{estimate.Settings{All: "tsafrir", Options: options("max-age=60 window=60")}, `option window=60: no estimator`},
		{
			estimate.Settings{All: "user", Options: options("project-key=qos")},
			`option project-key=qos: no estimator that was chosen goes by it: choose project, combined or selective`,
		},
		{estimate.Settings{
			All: "combined", Order: "requested", Backfill: "accurate", Running: "requested",
			Options: options("threshold=2"),
		}, `option threshold=2: no estimator`},
	} {
		require.NoError(t, tt.settings.Validate(false))
		require.ErrorContains(t, estimate.CheckOptions(tt.settings.Options, tt.settings), tt.want)
		require.NoError(t, estimate.CheckOptions(tt.settings.Options, tt.settings, estimate.Settings{All: "combined"}),
			"other settings use it")
	}
	require.ErrorContains(t, estimate.CheckOptions(options("windw=3")), "has no option")
}

// TestOptionsOfOneUse checks that an option is accepted if the estimator of one use uses it, or an
// unknown estimator might.
func TestOptionsOfOneUse(t *testing.T) {
	s := estimate.Settings{
		Order: "requested", Backfill: "requested", Running: "user",
		Options: options("threshold=2 user-key=executable"),
	}
	require.NoError(t, s.Validate(false))
	require.True(t, s.Learns())
	require.False(t, estimate.Settings{All: "mix:0.5", Order: "file:x"}.Learns())
	for _, s := range []estimate.Settings{
		s,
		{All: "combined", Order: "requested", Options: options("threshold=2")},
		{All: "usr", Options: options("threshold=2")},
	} {
		require.NoError(t, estimate.CheckOptions(s.Options, s), "an unknown estimator might use it")
	}
}

// TestGuaranteesRefuseWhatIsNamedForPlans checks that, under a policy that gives guarantees, the
// settings must not name an estimator for backfill or for running, but may name one for all uses or
// for the order.
func TestGuaranteesRefuseWhatIsNamedForPlans(t *testing.T) {
	for _, s := range []estimate.Settings{{Backfill: "user"}, {All: "combined", Running: "requested"}} {
		require.NoError(t, s.Validate(false))
		require.ErrorContains(t, s.Validate(true),
			"the policy gives guarantees, which only hold if it plans with what jobs request")
	}
	require.NoError(t, estimate.Settings{All: "selective", Order: "user"}.Validate(true))
}

// TestOnlySimulationsKnowRunTimes checks that estimators which need the actual run times are
// refused without an oracle.
func TestOnlySimulationsKnowRunTimes(t *testing.T) {
	for _, s := range []estimate.Settings{{All: "accurate"}, {Order: "mix:0.5"}} {
		require.NoError(t, s.Validate(false))
		_, err := estimate.New(s, nil, false, false, nil)
		require.ErrorContains(t, err,
			"needs the actual run times, which only a simulation knows: choose requested, user, project, combined, "+
				"selective, tsafrir, learned or file:PATH")
	}
}
