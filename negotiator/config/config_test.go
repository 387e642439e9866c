package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// load writes the text to a file and loads it.
func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path)
}

func TestDefault(t *testing.T) {
	require.NoError(t, Default().Validate())
	for _, text := range []string{
		"", "\n", "  \n\t\n", "{}\n", "# nothing is set yet\n", "---\n",
		"---\n# nothing\n---\n# at all\n",
	} {
		c, err := load(t, text)
		require.NoError(t, err, "%q", text)
		require.Equal(t, Default(), c, "%q", text)
	}
	d := Default()
	require.Equal(t, []string{"ibb", "", "rank", "simulated", "40", ""},
		[]string{d.Policy, d.Order, d.Placement, d.Pool, d.Speed, d.LogLevel})
	require.Equal(t, "24h0m0s", d.DefaultEstimate.String())
}

func TestLoad(t *testing.T) {
	c, err := load(t, `
# all there is
policy: ./backfill-mine
policy_options: {depth: "2", other: 3}
order: sjf
placement: spread
pool: slots.ads
workload: jobs.ads
dependencies: ignore
speed: 2.5
estimate_attributes: [MyEstimate]
slot_end: [MyEnd, GLIDEIN_ToDie]
estimates: combined
estimates_order: file:runs.csv
estimates_backfill: user
estimates_running: requested
estimates_options: {threshold: 5, user-key: "JobBatchName owner"}
history: past.swf
default_estimate: 90m
futures: 8
plugins:
  dirs: [/opt/a, b]
  in_process: true
  start_timeout: 1s
  deadline: 500ms
  mtls: "off"
  memory: 2GiB
  processes: 20
  environment: [SITE, PYTHONPATH]
  restarts: 0
  allow: [mine, /opt/a/backfill-b]
  checksums:
    ./backfill-mine: 0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef
  each:
    backfill-py: {mtls: auto, deadline: 2s}
    ./x.y z: {memory: 0, restarts: 3, processes: 0, environment: [SITE]}
    nothing:
log_level: debug
fallback: first-fit
`)
	require.NoError(t, err)
	running := Running{
		StartTimeout: time.Second, Deadline: 500 * time.Millisecond, MTLS: "off",
		Memory: 2 << 30, Processes: 20, User: "nobody", Environment: []string{"SITE", "PYTHONPATH"},
	}
	py, odd := running, running
	py.MTLS, py.Deadline = "auto", 2*time.Second
	odd.Memory, odd.Restarts, odd.Processes, odd.Environment = 0, 3, 0, []string{"SITE"}
	var sum Checksum
	for i := range sum {
		sum[i] = []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}[i%8]
	}
	tuning := Default().Tuning
	tuning.Futures = 8
	require.Equal(t, Config{
		Policy: "./backfill-mine", Options: map[string]string{"depth": "2", "other": "3"}, Order: "sjf",
		Placement: "spread",
		Pool:      "slots.ads", Workload: "jobs.ads", Dependencies: "ignore", Speed: "2.5",
		EstimateAttributes: []string{"MyEstimate"},
		SlotEnds:           []string{"MyEnd", "GLIDEIN_ToDie"},
		DefaultEstimate:    90 * time.Minute,
		Estimators: Estimators{
			Estimates: "combined", EstimatesOrder: "file:runs.csv", EstimatesBackfill: "user",
			EstimatesRunning: "requested",
			EstimatesOptions: map[string]string{"threshold": "5", "user-key": "JobBatchName owner"},
			EstimateTrust:    "record",
			History:          "past.swf",
		},
		Plugins: Plugins{
			Dirs: []string{"/opt/a", "b"}, InProcess: true, Running: running,
			Allow: []string{"mine", "/opt/a/backfill-b"}, Checksums: map[string]Checksum{"./backfill-mine": sum},
			Each: map[string]Running{"backfill-py": py, "./x.y z": odd, "nothing": running},
		},
		LogLevel: "debug", Fallback: "first-fit",
		Resources: Default().Resources, Simulated: Default().Simulated, Real: Default().Real, Tuning: tuning,
		Serving: Default().Serving, Recording: Default().Recording,
	}, c)
	require.Equal(t, []string{"MyEstimate"}, c.Schema().Estimates)
	require.Equal(t, []string{"JobBatchName", "owner"}, c.Schema().Labels)
	require.Equal(t, []string{"cpus", "memory", "disk", "gpus"}, c.Schema().Resources)

	c, err = load(t, "plugins: {in_process: true}\n")
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, c.Plugins.Deadline, "what is not named keeps its default")
}

func TestFaultsOfTheFile(t *testing.T) {
	for _, c := range []struct{ name, text, err string }{
		{"unknown key", "policy: easy\nordr: fcfs\n", `negotiator.yaml: [2:1] unknown field "ordr", did you mean order?`},
		{"unknown key below", "plugins:\n  dirs: []\n  dead: 3s\n", `negotiator.yaml: [3:3] unknown field "dead"`},
		{"key twice", "order: sjf\norder: ljf\n", `negotiator.yaml: [2:1] `},
		{"no YAML", "policy: [easy\n", "negotiator.yaml: [1:"},
		{"another kind", "plugins:\n  in_process: perhaps\n", "negotiator.yaml: [2:15] "},
		{"a list for a word", "order: [sjf]\n", "negotiator.yaml: [1:8] "},
		{"a second document", "policy: easy\n---\nordr: fcfs\n", "negotiator.yaml: [2:1] there is a second document"},
		{
			"a word for a duration", "policy: easy\ndefault_estimate: long\n",
			"negotiator.yaml: [2:19] long is no length of time such as 10s or 24h",
		},
		{"a number for a duration", "plugins:\n  deadline: 10\n", "negotiator.yaml: [2:13] 10 is no length of time"},
		{
			"no size", "plugins:\n  memory: 2 GB\n",
			"negotiator.yaml: [2:11] 2 GB is no size such as 512MiB or 2GiB\n   1 | plugins:\n>  2 |   memory: 2 GB\n" +
				"                 ^",
		},
		{"less than nothing", "plugins: {memory: -1}\n", "[1:19] -1 is no size"},
		{"more than there can be", "plugins: {memory: 9999999TiB}\n", "is no size"},
		{"a list for a size", "plugins: {memory: [1]}\n", "[1:19] [1] is no size"},
		{
			"a sum that is too short", "plugins:\n  checksums:\n    mine: 0123\n",
			"negotiator.yaml: [3:11] 0123 is no SHA-256 sum: 64 hexadecimal digits",
		},
		{
			"a sum of other letters", "plugins: {checksums: {mine: " + strings.Repeat("xy", 32) + "}}\n",
			"xyxy is no SHA-256 sum",
		},
		{
			"unknown key of one plugin", "plugins:\n  each:\n    mine: {deadlin: 2s}\n",
			`negotiator.yaml: [3:12] unknown field "deadlin"`,
		},
		{"a word for one plugin", "plugins:\n  each:\n    mine: fast\n", `negotiator.yaml: [3:11] `},
		{
			"a list for one plugin's duration", "plugins:\n  each:\n    mine: {deadline: [2s]}\n",
			`[3:22] [2s] is no length of time`,
		},
		{
			"where plugins are found is for all", "plugins:\n  each:\n    mine: {dirs: [a]}\n",
			`[3:12] unknown field "dirs"`,
		},
		{
			"a list for a duration", "plugins:\n  deadline: [10s]\n",
			"negotiator.yaml: [2:13] [10s] is no length of time",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text)
			require.ErrorContains(t, err, c.err)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "none.yaml")
}

func TestFaultsOfSettings(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{`policy: ""`, `[1:9] policy: "": must be a policy's name or a plugin's path`},
		{"futures: 0", "[1:10] futures: 0: must be from 1, without ranges, to 1000"},
		{"futures: 1001", "[1:10] futures: 1001: must be from 1, without ranges, to 1000"},
		{"plan_depth: -1", "[1:13] plan_depth: -1: must be at least 1, or 0 for no limit"},
		{"plan_horizon: 1500ms", "[1:15] plan_horizon: 1.5s: must be at least 1s, in whole seconds, or 0s for no limit"},
		{"order: tallest", `[1:8] order: unknown order "tallest", did you mean widest?: choose one of area, fcfs, `},
		{"# where\nplacement: anywhere", `[2:12] placement: unknown placement rule "anywhere"`},
		{"speed: fast", `[1:8] speed: "fast": must be max or a number of at least 0.001`},
		{"speed: 0", `[1:8] speed: "0": must be max or a number of at least 0.001`},
		{"default_estimate: 0s", "default_estimate: 0s: must be at least 1s"},
		{"default_estimate: 999ms", "default_estimate: 999ms: must be at least 1s"},
		{"plugins: {start_timeout: 0s}", "[1:26] plugins.start_timeout: 0s: must be positive"},
		{"plugins: {deadline: -1s}", "[1:21] plugins.deadline: -1s: must be positive"},
		{"plugins: {mtls: perhaps}", "[1:17] plugins.mtls: perhaps: must be auto or off"},
		{"plugins: {environment: ['A=1']}", `[1:24] plugins.environment: [A=1]: must be names of variables`},
		{"plugins: {mtls: ''}", "must be auto or off"},
		{"plugins: {restarts: -1}", "[1:21] -1 is no whole number of at least 0, or too large\n" +
			">  1 | plugins: {restarts: -1}\n                           ^"},
		{"plan_depth: 1.5", "[1:13] 1.5: must be a whole number"},
		{"plan_depth: 99999999999999999999999", "[1:13] 99999999999999999999999 is given where a whole number is expected"},
		{"estimate_attributes: 5", "[1:22] a whole number is given where a list is expected"},
		{"estimate_attributes: [[a]]", "[1:23] a list is given where a text is expected"},
		{"plugins: [a]", "[1:10] a list is given where a mapping is expected"},
		{"plugins: {alow: [a]}", `[1:11] unknown field "alow", did you mean allow?`},
		{"text", "[1:1] a text is given where a mapping is expected"},
		{"policy_options: {depth: [1]}", "[1:25] a list is given where a text is expected"},
		{"policy_options:\n  depth: {a: 1}", "[2:10] a mapping is given where a text is expected"},
		{"plugins: {restarts: 1.5}", "[1:21] 1.5 is no whole number"},
		{"plugins: {restarts: 99999999999}", "[1:21] 99999999999 is no whole number"},
		{"plugins: {memory: 5}", "[1:19] plugins.memory: 5: must be 0 or at least 1MiB"},
		{"plugins: {mtls: ''}", `[1:17] plugins.mtls: "": must be auto or off`},
		{"plugins: {dirs: ['']}", `[1:17] plugins.dirs: [""]: must be paths`},
		{"plugins: {each: {'': {deadline: 1s}}}", `plugins.each: [""]: must be given for names or paths`},
		{
			"plugins: {checksums: {'': " + strings.Repeat("ab", 32) + "}}",
			`plugins.checksums: [""]: must be given for names or paths`,
		},
		{"default_estimate: 1.5s", "[1:19] default_estimate: 1.5s: must be at least 1s, in whole seconds"},
		{"plugins: {allow: ['']}", "[1:18] plugins.allow: [\"\"]: must be names or paths"},
		{"plugins: {each: {./a.b: {deadline: 0s}}}", "[1:36] plugins.each../a.b.deadline: 0s: must be positive"},
		{"plugins: {mtls: perhaps, each: {a: {mtls: auto}}}", "[1:17] plugins.mtls: perhaps"},
		{"resources: [memory]", `[1:12] resources: ["memory"]: must be names of resources, cpus first`},
		{"pool: htcondor://", "[1:7] pool: htcondor://: must be htcondor://HOST:PORT of a collector"},
		{"interval: 10ms", "[1:11] interval: 10ms: must be at least 1s"},
		{"start_slack: 1.5s", "[1:14] start_slack: 1.5s: must be at least 0s, in whole seconds"},
		{"http: here", "[1:7] http: here: must be HOST:PORT or :PORT"},
		{"order: fairshar", `unknown order "fairshar"`},
		{"priority_halflife: 0s", "[1:20] priority_halflife: 0s: must be at least 1s, in whole seconds"},
		{"priority_factors: {bob: 0.5}", `the priority factor "0.5" of bob: must be a number from 1 on`},
		{"priority_factors: {bob: much}", `the priority factor "much" of bob: must be a number from 1 on`},
		{"fallback: nonesuch", `[1:11] fallback: unknown policy "nonesuch": choose one of`},
		{"slot_end: ['']", `slot_end: [""]: must be names of attributes`},
		{"estimate_attributes: ['']", `estimate_attributes: [""]: must be names of attributes`},
		{"estimates: guess", `[1:12] estimates: `},
		{
			"policy: easy\nestimates_running: selective",
			"[2:20] estimates_running: selective is for all three uses at once",
		},
		{"estimates_options: {treshold: 5}", "estimates_options: "},
		{"estimates: [EstimatedRunTime]", "negotiator.yaml: [1:12] "},
		{"log_level: loud", "[1:12] log_level: loud: must be one of trace debug info warn error off"},
	} {
		t.Run(c.text, func(t *testing.T) {
			_, err := load(t, c.text)
			require.ErrorContains(t, err, "negotiator.yaml: ")
			require.ErrorContains(t, err, c.err)
		})
	}
	_, err := load(t, "order: tallest\nspeed: fast\nlog_level: loud\n")
	for _, setting := range []string{"order: ", "speed: ", "log_level: "} {
		require.ErrorContains(t, err, setting, "all faults are told at once")
	}
	d := Default()
	d.Speed, d.Plugins.MTLS = "fast", "perhaps"
	require.EqualError(t, d.Validate(),
		"speed: \"fast\": must be max or a number of at least 0.001\nplugins.mtls: perhaps: must be auto or off",
		"without a file")
}

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "0.5": 0.5, "0.001": 0.001, "1e3": 1000, "max": math.Inf(1)} {
		got, err := ParseSpeed(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 0, text)
	}
	for _, text := range []string{
		"", "0", "1e-300", "0.00099", "-1", "nan", "inf", "+Inf", "1e999", "fast",
		"MAX", "1 2",
	} {
		_, err := ParseSpeed(text)
		require.ErrorContains(t, err, "must be max or a number of at least 0.001", text)
	}
}

func TestANameWithoutSettings(t *testing.T) {
	c, err := load(t, "plugins:\n")
	require.NoError(t, err)
	require.Equal(t, Default(), c)
}

func TestARealPool(t *testing.T) {
	c, err := load(t, "pool: htcondor://cm.site\norder: fairshare\nobserve: true\nstate: /var/x\n")
	require.NoError(t, err)
	require.True(t, c.OnRealPool())
	for pool, want := range map[string]string{
		"htcondor://cm.site": "cm.site:9618", "htcondor://[::1]:12": "[::1]:12",
		"htcondor": "", "htcondor://a:1/": "a:1",
	} {
		c.Pool = pool
		address, err := c.Collector()
		require.NoError(t, err)
		require.Equal(t, want, address)
		require.NoError(t, c.Validate())
	}
	require.False(t, Default().OnRealPool())
	require.NoError(t, ForPool(LocalPool).Validate())
	sjf := backfill.PolicySpec{Order: "sjf"}
	require.Equal(t, negotiator.FairShare, ForPool(LocalPool).OrderUnder(sjf), "user priorities go before the policy's order")
	require.Equal(t, negotiator.FairShare, ForPool("htcondor://cm.site").OrderUnder(backfill.PolicySpec{}))
	require.Equal(t, "sjf", Default().OrderUnder(sjf))
	require.Equal(t, "fcfs", Default().OrderUnder(backfill.PolicySpec{}))
	for _, c := range []Config{Default(), ForPool(LocalPool)} {
		c.Order = "expr:JobPrio"
		require.Equal(t, "expr:JobPrio", c.OrderUnder(sjf))
	}
	require.Equal(t, backfill.Planning{Depth: 10_000, Reorder: true, Horizon: 90}, ForPool(LocalPool).Planning())
	require.Equal(t, backfill.Planning{}, Default().Planning())
}

// TestPolicyOfRealPools checks which policy decides where nobody chooses one, and that easy keeps its
// reservations on real pools unless told otherwise.
func TestPolicyOfRealPools(t *testing.T) {
	require.Equal(t, "slack", ForPool(LocalPool).Policy)
	require.Equal(t, "ibb", Default().Policy)
	given := map[string]string{"depth": "2"}
	for _, tt := range []struct {
		config  Config
		policy  string
		options map[string]string
		want    map[string]string
	}{
		{ForPool(LocalPool), "easy", nil, map[string]string{"keep": "true"}},
		{ForPool("htcondor://cm.site"), "easy", given, map[string]string{"keep": "true", "depth": "2"}},
		{ForPool(LocalPool), "easy", map[string]string{"keep": "false"}, map[string]string{"keep": "false"}},
		{ForPool(LocalPool), "slack", nil, nil},
		{Default(), "easy", given, given},
	} {
		tt.config.Policy, tt.config.Options = tt.policy, tt.options
		require.Equal(t, tt.want, tt.config.PolicyOptions())
	}
	require.Len(t, given, 1, "what is given stays as it is")
}

// TestOddNames checks that unusual plugin names lead to their settings or to an error.
func TestOddNames(t *testing.T) {
	for _, name := range []string{
		"a'b", `a"b`, "$", "*", "[0]", "a.b", "..", " a ", "a#b", "ä", "'", "1",
		"null", "true",
	} {
		c, err := load(t, fmt.Sprintf("plugins:\n  each:\n    %q: {mtls: \"off\"}\n", name))
		require.NoError(t, err, name)
		require.Equal(t, "off", c.Plugins.Each[name].MTLS, name)
		require.EqualValues(t, 5, c.Plugins.Each[name].Restarts, name)
		_, err = load(t, fmt.Sprintf("plugins:\n  each:\n    %q: {mtls: perhaps}\n", name))
		require.ErrorContains(t, err, "perhaps: must be auto or off", name)
	}
}

// TestAPolicyChoosesNoEstimatorOfARealPool: what users are judged by there is the administrator's choice.
func TestAPolicyChoosesNoEstimatorOfARealPool(t *testing.T) {
	slack, err := policies.Named("slack")
	require.NoError(t, err)
	for pool, want := range map[string]string{"": "learned", LocalPool: "", "htcondor://here:9618": ""} {
		c := Default()
		c.Pool = pool
		require.Equal(t, want, c.EstimatesUnder(slack, "wfp-wide").Order, pool)
		require.Empty(t, c.EstimatesUnder(slack, "fairshare").Order, "goes by no run times")
		c.Estimates = "combined"
		require.Equal(t, estimate.Settings{All: "combined"}, c.EstimatesUnder(slack, "wfp-wide"), pool)
	}
}
