package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

const (
	shared = "../../shared"
	kth    = shared + "/traces/KTH-SP2-1996-2.swf.gz"
)

// command runs one of the project's binaries and returns its standard output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	return commandEnv(t, nil, name, args...)
}

func commandEnv(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, name), args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", name, args, stderr.String())
	require.NotContains(t, stderr.String(), "refused")
	return string(out)
}

// kinds returns a policy of each kind, with -thorough all: one without guarantees, one with them, one
// that plans bundles, one whose options add to the state. What a policy decides is tested beside it,
// linked in; here it only has to be the same in a process.
func kinds() []backfill.PolicySpec {
	return slices.DeleteFunc(policies.All(), func(spec backfill.PolicySpec) bool {
		return !thorough.On() && !slices.Contains([]string{"easy", "conservative", "drain", "maui"}, spec.Name)
	})
}

// TestBinariesConform checks policy binaries with the conformance suite and against the policy's
// own promises.
func TestBinariesConform(t *testing.T) {
	for _, spec := range kinds() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			decider := func(t *testing.T) backfill.Decider {
				t.Helper()
				return binary(t, spec.Name)
			}
			pools := thorough.Cases(3, 6)
			backfilltest.ConformOn(t, backfilltest.Plain, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Partitioned, pools/2, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Deferred, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Windowed, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Limited, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Ending, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			backfilltest.ConformOn(t, backfilltest.Sparing, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			if spec.PlanDepth {
				backfilltest.ConformOn(t, backfilltest.Shallow, pools, 80, decider, conformance.PromisesOf(spec.Name)...)
			}
		})
	}
}

// binary starts a policy's binary as a decider.
func binary(t *testing.T, policy string) backfill.Decider {
	t.Helper()
	remote, err := host.Start(t.Context(), host.Command{Path: filepath.Join(pluginDir(), host.Prefix+policy)},
		host.Options{Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	t.Cleanup(remote.Close)
	return remote
}

// TestSameDecisionsWithPredictions runs random pools linked in and as a binary. Jobs are predicted
// to run for longer or shorter than their places, and some pools have bundles.
func TestSameDecisionsWithPredictions(t *testing.T) {
	for _, spec := range kinds() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			remote := binary(t, spec.Name)
			outlasting := 0
			for seed := range thorough.Seeds(4, 8) {
				switch seed % 4 {
				case 1:
					seed += conformance.Windowed + conformance.Limited + conformance.Preempting
				case 2:
					seed += conformance.Deferred + conformance.Ending
				case 3:
					seed += conformance.Partitioned + conformance.Sparing
				}
				linked, err := backfill.Link(spec, nil)
				require.NoError(t, err)
				run := func(main backfill.Decider) (told []string) {
					d := conformance.NewDriver(seed)
					d.Calm, d.Predicted = seed%2 == 0, true
					h := backfilltest.NewHost(t, d, main) // fails on a refusal
					h.SetPlanning(backfill.Planning{
						Depth: int(seed % 4), Reorder: seed%3 == 0, Horizon: backfill.Time(seed%2) * 30,
					})
					for range 100 {
						decision, err := h.Decide(t.Context(), d.Round(h.State))
						require.NoError(t, err)
						for _, s := range decision.Started {
							if s.Job.Running > s.Job.Estimate {
								outlasting++
							}
						}
						told = append(told, fmt.Sprint(decision.Actions))
						for _, j := range h.State.Snapshot().Jobs {
							told = append(told, fmt.Sprint(j.Job.ID, j.Running, j.Held, j.Placement, j.Start,
								j.End, j.Guarantee))
						}
					}
					return told
				}
				require.Equal(t, run(linked), run(remote), "pool %d", seed)
			}
			require.NotZero(t, outlasting)
		})
	}
}

// TestBinariesPassTheCheck runs negotiator plugin check on the binary of a policy with guarantees,
// with -thorough on all of them. Others are checked in script/plugin_check, encrypted, and in
// package check.
func TestBinariesPassTheCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			mtls := "off" // it takes as long as the rest
			if spec.Name == "easy" {
				mtls = "auto"
			}
			if spec.Name != "conservative" && !thorough.On() {
				t.Skip("skipped: one is enough, but for -thorough")
			}
			out := command(t, "negotiator", "plugin", "check", "--quick", "--mtls", mtls, "--plugin-dir",
				pluginDir(), spec.Name)
			require.Contains(t, out, "backfill-"+spec.Name+": all 11 checks passed\n")
		})
	}
}

// TestSameDecisionsEverywhere runs the built-in workload linked in, as a child of the same
// executable, and as a separate binary.
func TestSameDecisionsEverywhere(t *testing.T) {
	for _, spec := range kinds() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			run := func(args ...string) string {
				return command(t, "negotiator", append([]string{
					"--policy", spec.Name, "--speed", "max", "--json",
					"--log-level", "warn",
				}, args...)...)
			}
			linked := run("--in-process")
			require.Equal(t, linked, run())
			require.Equal(t, linked, run("--plugin-dir", pluginDir()))
		})
	}
}

// TestSameScheduleOfATrace runs the start of a real trace linked in and as a binary, and requires
// the same row for every job.
func TestSameScheduleOfATrace(t *testing.T) {
	if _, err := os.Stat(kth); err != nil {
		t.Skip("skipped: a real trace; shared/traces is not here")
	}
	variants := map[string][]string{
		"maui, chunking": {
			"--policy", "maui", "--policy-opt", "bfchunksize=8", "--policy-opt",
			"bfchunkduration=10:00",
		},
		"maui, limits": {
			"--policy", "maui", "--policy-opt", "usercfg=[DEFAULT] MAXJOB=2,6", "--policy-opt",
			"reservationpolicy=HIGHEST",
		},
	}
	for _, spec := range kinds() {
		variants[spec.Name] = []string{"--policy", spec.Name}
	}
	for name, policy := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(args ...string) string {
				rows := filepath.Join(t.TempDir(), "jobs.csv")
				command(t, "condorsim", slices.Concat([]string{
					"run", "--workload", kth, "--jobs", "2000", "--order",
					"sjf", "--jobs-out", rows,
				}, policy, args)...)
				text, err := os.ReadFile(rows)
				require.NoError(t, err)
				require.Equal(t, 2001, strings.Count(string(text), "\n"))
				return string(text)
			}
			require.Equal(t, run(), run("--plugin-dir", pluginDir()))
		})
	}
}

// TestDeterminism requires the same bytes on any number of cores.
func TestDeterminism(t *testing.T) {
	for _, policy := range []string{"ibb", "conservative", "dc", "maui"} {
		var first string
		for i, cores := range []string{"1", "8"} {
			out := commandEnv(t, []string{"GOMAXPROCS=" + cores}, "negotiator", "--policy", policy, "--speed", "max",
				"--json", "--log-level", "warn")
			if i == 0 {
				first = out
			}
			require.Equal(t, first, out, "%s on %s cores", policy, cores)
		}
	}
}

// TestSimulatorDeterminism requires the same bytes of the simulator's JSON and of
// its table of jobs on any number of cores, for a real trace.
func TestSimulatorDeterminism(t *testing.T) {
	if _, err := os.Stat(kth); err != nil {
		t.Skip("skipped: a real trace; shared/traces is not here")
	}
	for _, args := range [][]string{
		{"--policy", "easy", "--order", "wfp"},
		{"--policy", "pc", "--order", "sjf", "--count-events", "--per-user"},
		{"--policy", "dc", "--order", "ljf", "--count-events", "--bound", "60"},
		{"--policy", "maui", "--policy-opt", "reservationdepth=3"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var first string
			jobs := fmt.Sprintf("--jobs=%d", thorough.Cases(1500, 4000))
			for i, cores := range []string{"1", "8"} {
				rows := filepath.Join(t.TempDir(), "jobs.csv")
				out := commandEnv(t, []string{"GOMAXPROCS=" + cores}, "condorsim",
					slices.Concat([]string{"run", "--workload", kth, jobs, "--json", "--jobs-out", rows},
						args)...)
				text, err := os.ReadFile(rows)
				require.NoError(t, err)
				if out += string(text); i == 0 {
					first = out
				}
				require.Equal(t, first, out, "on %s cores", cores)
			}
		})
	}
}

// TestScaledTime schedules in scaled real time and requires the results of virtual time.
func TestScaledTime(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "pc", "dc", "maui"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			run := func(speed string) string {
				return command(t, "negotiator", "--policy", policy, "--order", "sjf", "--in-process", "--speed",
					speed, "--json", "--log-level", "error")
			}
			require.Equal(t, run("max"), run("5000"))
		})
	}
}

// TestSameFairStartTimes computes fair start times in copies of the simulation, each with its own
// policy, linked in and as processes.
func TestSameFairStartTimes(t *testing.T) {
	for _, policy := range []string{"easy", "pc"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			run := func(args ...string) string {
				rows := filepath.Join(t.TempDir(), "jobs.csv")
				command(t, "condorsim", append([]string{
					"run", "--workload", "lublin-128", "--jobs", "300", "--policy",
					policy, "--fst", "strict,relaxed", "--jobs-out", rows,
				}, args...)...)
				table, err := os.ReadFile(rows)
				require.NoError(t, err)
				return string(table)
			}
			require.Equal(t, run(), run("--plugin-dir", pluginDir()))
		})
	}
}
