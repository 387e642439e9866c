package condorconfig

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

const dump = `# Configuration from machine: pool.test

# Parameters with names that match .*:
BACKFILL_POLICY = easy
BACKFILL_POLICY_OPTIONS = depth=2 other=a=b
BACKFILL_SYSTEM = 
BACKFILL_OBSERVER_ARGS = -f
backfill_observer.BACKFILL_STATE = /x
backfill_order = expr:-EstimatedRunTime
BACKFILL_ESTIMATE_ATTRIBUTES = MaxRuntime, AllowedJobDuration
BACKFILL_ESTIMATES = combined
BACKFILL_ESTIMATES_RUNNING = requested
BACKFILL_ESTIMATES_OPTIONS = threshold=20 user-key=JobBatchName
BACKFILL_INTERVAL = 2 * 15
BACKFILL_POLCY = mine
BACKFILL_REASONS = no
BACKFILL_PLAN_DEPTH = 2 * 500
BACKFILL_FUTURES = 16
BACKFILL_REORDER = no
NEGOTIATOR.BACKFILL_POLICY = conservative
NEGOTIATOR_INTERVAL = 5
NEGOTIATOR_SLOT_CONSTRAINT @=end
   Cpus > 1 &&
   Memory == 5
@end
n2.BACKFILL_POLICY = pc
SPOOL = /var/spool/condor
MAX_NEGOTIATOR_LOG = 10 Mb
SEC_DEFAULT_AUTHENTICATION_METHODS = FS,IDTOKENS
# Contributing configuration file(s):
#	/etc/condor/condor_config
`

func TestParse(t *testing.T) {
	c := Parse(dump, "")
	require.Equal(t, "conservative", c.Text("Backfill_Policy"), "the one for negotiators")
	require.Equal(t, "pc", Parse(dump, "n2").Text("BACKFILL_POLICY"), "the one of that local name")
	require.Equal(t, "Cpus > 1 &&\nMemory == 5", c.Text("NEGOTIATOR_SLOT_CONSTRAINT"))
	require.Equal(t, "/var/spool/condor/backfill", c.Text("BACKFILL_STATE"), "a default that refers to others")
	require.Equal(t, []string{"FS", "IDTOKENS"}, c.List("SEC_CLIENT_AUTHENTICATION_METHODS"))
	_, set := c.Lookup("BACKFILL_SYSTEM")
	require.False(t, set, "empty is not set")
	require.Empty(t, c.Text("NO_SUCH_KNOB"))
	require.Equal(t, []string{"there is no knob BACKFILL_POLCY, did you mean backfill_policy?"}, c.Unknown())
	require.NoError(t, c.Check())
}

// TestParseVerbose reads what HTCondor 23.9 prints of where settings come from.
// TestCutOff: the output of a tool that died may end within a text.
func TestCutOff(t *testing.T) {
	s, known := Parse("FULL_HOSTNAME = x\nA @=end\n  1 +", "").Setting("A")
	require.True(t, known)
	require.Equal(t, "1 +", s.Value)
	Parse("FULL_HOSTNAME = x\nA @=end", "")
}

func TestParseVerbose(t *testing.T) {
	c := Parse(`# Configuration from machine: pool.test
EMPTY = 
 # at: /etc/condor/config.d/98-x.conf, line 6
 # raw: 
HERE @=end
   /var/log/condor &&
   b == 5
@end
 # at: /etc/condor/config.d/98-x.conf, line 5
 # raw: 
 #     $(LOG) &&
 #     b == 5
 # default: 
 #     a
 #     b
NEGOTIATOR.LOG = /log
 # description: where = logs go
 # at: /etc/condor/condor_config, line 78
 # raw: $(DIR)/log
 # default: $(LOCAL_DIR)/log
Log = /var/log
NEGOTIATOR.HERE =
n1.STARTD_LOG = /var/log/StartLog.n1
 # at: <Default>
 # raw: $(LOG)/StartLog.n1
`, "n2")
	const file = "/etc/condor/config.d/98-x.conf, line "
	for name, want := range map[string]Setting{
		"empty":         {"EMPTY", "", "", file + "6", ""},
		"HERE":          {"HERE", "/var/log/condor &&\nb == 5", "$(LOG) &&\nb == 5", file + "5", "a\nb"},
		"log":           {"NEGOTIATOR.LOG", "/log", "$(DIR)/log", "/etc/condor/condor_config, line 78", "$(LOCAL_DIR)/log"},
		"n1.startd_log": {"n1.STARTD_LOG", "/var/log/StartLog.n1", "$(LOG)/StartLog.n1", "<Default>", ""},
	} {
		s, known := c.Setting(name)
		require.True(t, known, name)
		require.Equal(t, want, s, name)
	}
	_, known := c.Setting("STARTD_LOG")
	require.False(t, known)
	require.Equal(t, []string{"EMPTY", "HERE", "Log", "NEGOTIATOR.HERE", "NEGOTIATOR.LOG", "n1.STARTD_LOG"}, c.Names())
}

// TestSame: what is written counts, or the value where that is not known.
func TestSame(t *testing.T) {
	one := Parse("A = 1\n # raw: $RANDOM_CHOICE(1,2)\nB = 2\n", "")
	for dump, same := range map[string]bool{
		"A = 2\n # raw: $RANDOM_CHOICE(1,2)\nB = 2\n": true, "A = 1\n # raw: 1\nB = 2\n": false,
		"A = 1\n # raw: $RANDOM_CHOICE(1,2)\nB = 3\n": false, "B = 2\n": false,
	} {
		require.Equal(t, same, Same(one, Parse(dump, "")), dump)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		value string
		read  func(*Config, string) (any, error)
		want  any
		err   string
	}{
		{"true", boolean, true, ""},
		{"Yes", boolean, true, ""},
		{"0", boolean, false, ""},
		{"1 > 2", boolean, false, ""},
		{"perhaps", boolean, false, "X = perhaps: must be true or false"},
		{"60", seconds, time.Minute, ""},
		{"10 * 60", seconds, 10 * time.Minute, ""},
		{"-1", seconds, time.Duration(0), "X = -1: must be a whole number of seconds, at least 0"},
		{"1.5", seconds, time.Duration(0), "must be a whole number of seconds"},
		{"1e300", seconds, time.Duration(0), "must be a whole number of seconds"},
		{"ten", whole, int64(0), "X = ten: must be a whole number from 0"},
		{"10 Mb", sizes, int64(10 << 20), ""},
		{"5", sizes, int64(5), ""},
		{"2GB", sizes, int64(2 << 30), ""},
		{"3 MiB", sizes, int64(3 << 20), ""},
		{"7M", sizes, int64(7 << 20), ""},
		{"1 day", sizes, 24 * time.Hour, ""},
		{"7 m", sizes, 7 * time.Minute, ""},
		{"7 Min", sizes, 7 * time.Minute, ""},
		{"2 weeks", sizes, 14 * 24 * time.Hour, ""},
		{"1 month", sizes, int64(0), "X = 1 month: must be a size such as 10 Mb, or a time such as 1 day"},
		{"99999999999 d", sizes, int64(0), "must be a size"},
		{"99999999999 Tb", sizes, int64(0), "must be a size"},
		{"a", pairs, map[string]string(nil), "X = a: must be NAME=VALUE"},
		{`a=1,b="x y, z"  c= d=e=f,`, pairs, map[string]string{"a": "1", "b": "x y, z", "c": "", "d": "e=f"}, ""},
		{`a=1 b="x y`, pairs, map[string]string(nil), `X = b="x y: must be NAME=VALUE`},
		{`a="1"b=2`, pairs, map[string]string(nil), `X = a="1"b=2: must be NAME=VALUE`},
	} {
		got, err := tt.read(Parse("X = "+tt.value, ""), "X")
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
			continue
		}
		require.NoError(t, err, tt.value)
		require.Equal(t, tt.want, got, tt.value)
	}
}

func boolean(c *Config, name string) (any, error) { return c.Bool(name) }
func seconds(c *Config, name string) (any, error) { return c.Seconds(name) }
func whole(c *Config, name string) (any, error)   { return c.Int(name) }

func sizes(c *Config, name string) (any, error) {
	bytes, every, err := c.LogSize(name)
	if every > 0 {
		return every, err
	}
	return bytes, err
}

func pairs(c *Config, name string) (any, error) { return c.Pairs(name) }

// TestKnobs checks the table: each default must be a valid value of its knob.
func TestKnobs(t *testing.T) {
	require.NoError(t, Parse("BACKFILL_POLICY_OPTIONS = a=b\nUID_DOMAIN = here", "").Check())
	for _, k := range Knobs() {
		require.NotEmpty(t, k.Doc, k.Knob)
		require.Contains(t, []config.Kind{
			config.Text, config.List, config.Pairs, config.Bool, config.Whole, config.Seconds, config.LogSize,
			config.Expression, config.Rank,
		}, k.Kind, k.Knob)
	}
	require.ErrorContains(t, Parse("NEGOTIATOR_INTERVAL = soon\nBACKFILL_OBSERVE = a little", "").Check(),
		"BACKFILL_OBSERVE = a little: must be true or false\n"+
			"NEGOTIATOR_INTERVAL = soon: must be a whole number of seconds")
	require.Contains(t, Help(), "BACKFILL_START_SLACK")
}

func TestSettings(t *testing.T) {
	s, err := Parse(dump, "").Settings("")
	require.NoError(t, err)
	want := config.ForPool(config.LocalPool)
	want.Policy, want.Options = "conservative", map[string]string{"depth": "2", "other": "a=b"}
	want.Estimates, want.EstimatesRunning, want.EstimatesOptions = "combined", "requested",
		map[string]string{"threshold": "20", "user-key": "JobBatchName"}
	want.Order, want.EstimateAttributes = "expr:-EstimatedRunTime", []string{"MaxRuntime", "AllowedJobDuration"}
	want.PlanDepth, want.Reorder, want.Futures = 1000, false, 16
	want.Interval, want.Reasons, want.State = 30*time.Second, false, "/var/spool/condor/backfill"
	want.SlotConstraint = "Cpus > 1 &&\nMemory == 5"
	require.Equal(t, want, s)

	file := filepath.Join(t.TempDir(), "more.yaml")
	require.NoError(t, os.WriteFile(file, []byte("policy: ibb\nstart_slack: 5s\nstate: /elsewhere\n"), 0o600))
	s, err = Parse(dump+"BACKFILL_CONFIG = "+file, "").Settings("")
	require.NoError(t, err)
	require.Equal(t, "conservative", s.Policy, "knobs come after the file")
	require.Equal(t, "/elsewhere", s.State)
	require.Equal(t, 5*time.Second, s.StartSlack)

	for text, says := range map[string]string{
		"BACKFILL_ORDER = tallest":            `unknown order "tallest"`,
		"BACKFILL_START_SLACK = -5":           "BACKFILL_START_SLACK = -5: must be a whole number of seconds",
		"BACKFILL_PLAN_DEPTH = -1":            "BACKFILL_PLAN_DEPTH = -1: must be a whole number from 0",
		"BACKFILL_FUTURES = 0":                "BACKFILL_FUTURES: 0: must be from 1, without ranges, to 1000",
		"BACKFILL_REORDER = maybe":            "BACKFILL_REORDER = maybe: must be true or false",
		"BACKFILL_OBSERVE = maybe":            "BACKFILL_OBSERVE = maybe: must be true or false",
		"NEGOTIATOR_INTERVAL = 0":             "NEGOTIATOR_INTERVAL: 0s: must be at least 1s",
		"BACKFILL_CYCLE_DELAY = 0":            "BACKFILL_CYCLE_DELAY: 0s: must be at least 1s",
		"BACKFILL_POLICY_OPTIONS = depth":     "BACKFILL_POLICY_OPTIONS = depth: must be NAME=VALUE",
		"BACKFILL_CONFIG = /no/such/file.yml": "/no/such/file.yml",
	} {
		_, err = Parse(text, "").Settings("")
		require.ErrorContains(t, err, says)
	}
}

// TestTable reads each default and each example of the table as a knob.
func TestTable(t *testing.T) {
	for _, s := range config.Settings() {
		if s.Knob == "" || s.Target == nil || s.Knob == "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD" {
			continue
		}
		text := map[string]any{config.KnobText(s.Example): s.Example}
		if s.KnobDefault != "" && !strings.HasPrefix(s.KnobDefault, "$(") && s.Default != "" {
			text[s.KnobDefault] = cmp.Or(s.OnReal, s.Default)
		}
		delete(text, "")
		for value, want := range text {
			c, err := Parse(s.Knob+" = "+value, "").Settings("")
			require.NoError(t, err, s.Knob)
			require.Equal(t, want, reflect.ValueOf(s.Target(&c)).Elem().Interface(), s.Knob)
		}
		if s.Kind != config.Text && s.Kind != config.List {
			require.ErrorContains(t, Parse(s.Knob+" = 1 +", "").Check(), s.Knob)
		}
	}
}

// TestRead runs another program in place of condor_config_val.
func TestRead(t *testing.T) {
	program := filepath.Join(t.TempDir(), Program)
	script := func(text string) {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+text), 0o755))
	}
	script(`echo "ARGS = $*"; echo "PID = $$"; echo "WARNING: old" >&2`)
	c, err := Read(t.Context(), Source{Program: program, LocalName: "n2"})
	require.NoError(t, err)
	require.Equal(t, "-subsystem NEGOTIATOR -local-name n2 -dump -verbose -expanded", c.Text("ARGS"))
	require.Equal(t, strconv.Itoa(os.Getpid()), c.Text("PID"), "ours, not the program's")
	require.Equal(t, strconv.Itoa(os.Getppid()), c.Text("PPID"))

	script("echo 'cannot open /etc/condor/condor_config' >&2; exit 1")
	_, err = Read(t.Context(), Source{Program: program})
	require.ErrorContains(t, err, "exit status 1: cannot open /etc/condor/condor_config")

	ended, end := context.WithCancel(t.Context())
	end()
	script("sleep 100")
	_, err = Read(ended, Source{Program: program})
	require.ErrorIs(t, err, context.Canceled)

	t.Setenv("PATH", "/nowhere")
	_, err = Read(t.Context(), Source{})
	require.ErrorIs(t, err, ErrNone)
}
