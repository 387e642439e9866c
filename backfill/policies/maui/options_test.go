package maui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/maui"
)

// TestDefaults checks that the defaults are valid, and the same as Maui's.
func TestDefaults(t *testing.T) {
	require.NoError(t, maui.Spec().Validate(), "the defaults are valid")
	got := options{}
	for _, o := range maui.Spec().Options {
		got[o.Name] = o.Default
		require.NotEmpty(t, o.Doc)
	}
	require.Equal(t, options{
		"backfillpolicy": "FIRSTFIT", "backfillmetric": "PROCS", "backfilldepth": "0", "backfillmaxschedules": "1000",
		"bfchunksize": "0", "bfchunkduration": "0",
		"reservationpolicy": "CURRENTHIGHEST", "reservationdepth": "1", "reservationqoslist": "ALL",
		"usercfg": "", "groupcfg": "", "accountcfg": "", "qoscfg": "",
	}, got)
}

// TestOptionErrors checks that the error for a wrong value names the option and says what is wrong.
func TestOptionErrors(t *testing.T) {
	for _, tt := range []struct{ option, value, want string }{
		{"backfillpolicy", "WORSTFIT", "must be one of FIRSTFIT, BESTFIT, GREEDY, NONE"},
		{"backfillpolicy", "", "must be one of"},
		{"backfillmetric", "PE", "must be one of PROCS, PROCSECONDS, SECONDS"},
		{"reservationpolicy", "ALWAYS", "must be one of CURRENTHIGHEST, HIGHEST, NEVER"},
		{"backfilldepth", "-1", "must be a whole number of at least 0"},
		{"backfillmaxschedules", "0", "must be a whole number of at least 1"},
		{"bfchunksize", "four", "must be a whole number of at least 0"},
		{"bfchunkduration", "5 min", "must be a number of seconds, or a length of time as [[DD:]HH:]MM:SS"},
		{"bfchunkduration", "-5", "must be a number of seconds"},
		{"bfchunkduration", "1::5", "must be a number of seconds"},
		{"bfchunkduration", "1:1:1:1:1", "must be a number of seconds"},
		{"bfchunkduration", "", "must be a number of seconds"},
		{"bfchunkduration", "4000000000:0:0:0", "must be at most 1099511627776 seconds"},
		{"reservationdepth", "", "must be a whole number of at least 0"},
		{"reservationdepth", "-1", `must be a whole number of at least 0, or one for each list, like "[0] 8 [1] 2"`},
		{"reservationdepth", "[0] 1 2", "one for each list"},
		{"reservationdepth", "[0]", "one for each list"},
		{"reservationdepth", "[0] 1 [0] 2", "has [0] twice"},
		{"reservationdepth", "1 [0] 2", "has [0] twice"},
		{"reservationdepth", "[high] 1", "has [high], which is no number of a list: must be like [0]"},
		{"reservationdepth", "[-1] 1", "no number of a list"},
		{"reservationdepth", "[1 1", `has a "[" without a name and "]" behind it`},
		{"reservationdepth", "[] 1", `has a "[" without a name`},
		{"reservationqoslist", "", "must be ALL or names of QOS's"},
		{"reservationqoslist", "[0] high [1]", "has a list without a QOS: must name some, or ALL"},
		{"usercfg", "MAXJOB=1", "has MAXJOB=1 before it says whose that is"},
		{"usercfg", "[fred]", "has no limit for [fred]: must be like MAXJOB=2,4"},
		{"groupcfg", "[a] MAXJOBS=1", "has for [a] MAXJOBS=1: must be one of MAXJOB, MAXPROC, MAXPS"},
		{"accountcfg", "[a] MAXJOB", "has for [a] MAXJOB: must be like MAXJOB=4, or MAXJOB=2,4"},
		{"qoscfg", "[a] MAXPROC=0", "whole numbers of at least 1"},
		{"qoscfg", "[a] MAXPROC=0,4", "whole numbers of at least 1"},
		{"qoscfg", "[a] MAXPROC=1,2,3", "must be like MAXPROC=4"},
		{"qoscfg", "[a] MAXPS=99999999999999999999", "must be like MAXPS=4"},
		{"qoscfg", "[a] MAXJOB=1 [b] MAXJOB=1 [a] MAXJOB=2", "MAXJOB is given twice"},
		{"usercfg", "[fred MAXJOB=1", `has a "[" without a name and "]" behind it`},
	} {
		_, err := maui.Spec().Make(with(tt.option, tt.value))
		require.ErrorContains(t, err, tt.want, "%s=%q", tt.option, tt.value)
		require.ErrorContains(t, err, "policy maui: option "+tt.option)
	}
}

// TestOptionsAreRead checks that every accepted form of a value is accepted.
func TestOptionsAreRead(t *testing.T) {
	for _, tt := range []struct{ option, value string }{
		{"backfillpolicy", "greedy"},
		{"backfillmetric", "ProcSeconds"},
		{"bfchunkduration", "90"},
		{"bfchunkduration", "90:00"},
		{"bfchunkduration", "1:30:00"},
		{"bfchunkduration", "1:00:00:00"},
		{"reservationdepth", " 4 "},
		{"reservationdepth", "[0] 8 [1] 2"},
		{"reservationdepth", "[0]8[1]2"},
		{"reservationqoslist", "all"},
		{"reservationqoslist", "high,debug"},
		{"reservationqoslist", "[0] high debug [1] batch"},
		{"usercfg", "[fred] MAXJOB=2,4 maxproc=16 [DEFAULT] MAXPS=3600,7200"},
		{"usercfg", "[fred]MAXJOB=2 [eve@some where.org]MAXJOB=3"},
		{"usercfg", "[fred] MAXJOB=2 [fred] MAXPROC=4"},
	} {
		_, err := maui.Spec().Make(with(tt.option, tt.value))
		require.NoError(t, err, "%s=%q", tt.option, tt.value)
	}
}

// TestReservationLists checks which jobs get reservations if each list of QOS's has its own depth.
// All jobs but the first are blocked.
func TestReservationLists(t *testing.T) {
	for _, tt := range []struct {
		depth, list string
		planned     []id // of low, high, low, debug, high, none
	}{
		{"1", "ALL", ids(2)},
		{"3", "all", ids(2, 3, 4)},
		{"2", "high", ids(3, 6)},
		{"2", "high,debug", ids(3, 5)},
		{"9", "high debug", ids(3, 5, 6)},
		{"1", "nonesuch", nil},
		{"[0] 1 [1] 2", "[0] low [1] high debug", ids(2, 3, 5)},
		{"[1] 2 [0] 1", "[1] high debug [0] low", ids(2, 3, 5)},
		{"[0] 1 [1] 1", "[0] ALL [1] high", ids(2, 3)},    // job 3 uses list 1, as list 0 has none left
		{"[0] 2 [1] 1", "[0] ALL [1] high", ids(2, 3, 6)}, // job 3 uses list 0, the first that has one left
		{"[0] 0", "[0] low [7] high", ids(3)},             // a list without a depth has one
		{"[1] 2", "ALL", ids(2, 3, 4)},                    // a depth without a list is for all jobs
	} {
		p := newPool(t, with("reservationdepth", tt.depth, "reservationqoslist", tt.list), 4)
		qos := func(name string) backfill.Job { return job(4, 10, "qos", name) }
		require.Equal(t, ids(1), p.at(0, nil, job(4, 10), qos("low"), qos("high"), qos("low"), qos("debug"),
			qos("high"), job(4, 10)))
		want := plan{}
		for i, j := range tt.planned {
			want[j] = backfill.Time(10 * (i + 1))
		}
		require.Equal(t, want, p.plan(), "depth %s, lists %s", tt.depth, tt.list)
	}
}
