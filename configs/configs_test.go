package configs_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/configs"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write generated files anew")
	flag.Parse()
	os.Exit(m.Run())
}

// ad has the expressions of a ClassAd by name.
type ad map[string]string

func (a ad) number(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(a[name])
	require.NoError(t, err, "%s of %v", name, a)
	return n
}

// ads scans a file in the line form.
func ads(t *testing.T, path string) []ad {
	t.Helper()
	text, err := fs.ReadFile(configs.Files(), path)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(text), "\n\n"), "an empty line behind each ad")
	var list []ad
	open := false
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			require.Empty(t, list, "comments are at the top")
		case line == "":
			open = false
		default:
			if !open {
				list = append(list, ad{})
				open = true
			}
			name, expression, found := strings.Cut(line, " = ")
			require.True(t, found, "%s:%d: %s", path, n+1, line)
			require.NotContains(t, list[len(list)-1], name, "%s:%d: twice in one ad", path, n+1)
			list[len(list)-1][name] = expression
		}
	}
	return list
}

func requireNames(t *testing.T, a ad, names string) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		require.Contains(t, a, name)
	}
}

func TestFourNodes(t *testing.T) {
	slots := ads(t, configs.FourNodes)
	require.Len(t, slots, poolNodes)
	for i, a := range slots {
		requireNames(t, a,
			"MyType Name Machine SlotType PartitionableSlot Cpus Memory Disk TotalSlotCpus TotalSlotMemory "+
				"OpSys Arch Start Requirements WithinResourceLimits Rank")
		require.Equal(t, `"Machine"`, a["MyType"])
		require.Equal(t, fmt.Sprintf(`"slot1@node%d.cluster"`, i+1), a["Name"])
		require.Equal(t, coresPerNode, a.number(t, "Cpus"))
		require.Equal(t, nodeMemory, a.number(t, "Memory"))
		require.Equal(t, a["Cpus"], a["TotalSlotCpus"])
		require.Equal(t, a["Memory"], a["TotalSlotMemory"])
	}
}

func TestJobsFitThePool(t *testing.T) {
	jobs, slot := ads(t, configs.NPB54), ads(t, configs.FourNodes)[0]
	require.Len(t, jobs, jobCount)
	for i, a := range jobs {
		requireNames(t, a,
			"MyType ClusterId ProcId Owner QDate JobUniverse MinHosts MaxHosts RequestCpus RequestMemory "+
				"RequestDisk Cmd EstimatedRunTime RemoteWallClockTime Requirements Rank")
		require.Equal(t, `"Job"`, a["MyType"])
		require.Equal(t, i, a.number(t, "ProcId"))
		require.Equal(t, i, a.number(t, "QDate"), "one each second")
		require.Equal(t, a["MinHosts"], a["MaxHosts"])
		require.LessOrEqual(t, a.number(t, "MaxHosts"), poolNodes)
		require.Positive(t, a.number(t, "MinHosts"))
		for request, capacity := range map[string]string{
			"RequestCpus": "Cpus", "RequestMemory": "Memory",
			"RequestDisk": "Disk",
		} {
			require.Positive(t, a.number(t, request))
			require.LessOrEqual(t, a.number(t, request), slot.number(t, capacity))
		}
		run, estimate := a.number(t, "RemoteWallClockTime"), a.number(t, "EstimatedRunTime")
		require.GreaterOrEqual(t, run, shortestRun)
		require.LessOrEqual(t, run, longest)
		require.GreaterOrEqual(t, estimate, run)
		require.Zero(t, estimate%estimateRounding)
	}
}

// TestReadme keeps the table of the model in the README equal to the model.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("workloads/README.md")
	require.NoError(t, err)
	for _, b := range benchmarks() {
		var gop, memory []string
		for _, c := range []class{"A", "B", "C"} {
			gop = append(gop, fmt.Sprintf("%.1f", b.size[c].gop))
			memory = append(memory, fmt.Sprintf("%.0f", b.size[c].memory))
		}
		row := fmt.Sprintf(`(?m)^\| %s \| %s \| %s \| .* \| %.1f \| %.3f \|$`, strings.ToUpper(b.name),
			strings.Join(gop, ", "), strings.Join(memory, ", "), b.rate, b.comm)
		require.Regexp(t, row, string(text))
	}
}

// TestSweeps reads every sweep as strictly as the command does, down to the
// policies' options, and says how large each is with all of its traces.
func TestSweeps(t *testing.T) {
	cells := map[string]int{
		"guarantees": 16 * 12, "guarantees-events": 16 * 11, "fairness": 15 * 4, "ibb": 5 * 7, "ibb-mixed": 5 * 4,
		"ibb-nodes": 3, "auto": 12 * 7, "slack": 12 * 13, "slack-memory": 4 * 11, "slack-factor": 12 * 9,
		"estimates": 4 * 30, "estimates-partitions": 3 * 20, "estimates-intrepid": 26, "pilots": 5 * 3,
		"preemption": 4 * 4, "scavengers": 15 * 4, "sc15": 5 * 5, "memory": 9 * 10,
	}
	paths, err := fs.Glob(configs.Files(), "sweeps/*.yaml")
	require.NoError(t, err)
	require.Len(t, paths, len(cells))
	for _, path := range paths {
		text, err := fs.ReadFile(configs.Files(), path)
		require.NoError(t, err)
		file, err := sweep.Parse(path, text)
		require.NoError(t, err)
		require.Equal(t, path, "sweeps/"+file.Name+".yaml", "it is found by its name")
		require.NotEmpty(t, file.Title)
		require.NotEmpty(t, file.Description)
		require.Equal(t, slices.Contains([]string{"slack-factor", "pilots", "preemption", "scavengers", "memory"}, file.Name), file.Paper == "", "all others compare with what is said")

		// Empty files stand for the archive's.
		traces := t.TempDir()
		for _, trace := range file.Traces {
			for _, source := range append(trace.Merge, trace.Source) {
				if source.File != "" {
					require.NoError(t, os.WriteFile(filepath.Join(traces, source.File), nil, 0o600))
				}
			}
		}
		plan, err := sweep.Prepare(t.Context(), file, sweep.Settings{
			Places: sweep.Places{Dirs: []string{traces}, BuiltIn: configs.Files()}, Policies: linked,
		})
		require.NoError(t, err)
		require.Len(t, plan.Manifest.Cells, cells[file.Name], file.Name)
	}
}

// linked makes policies that are linked in.
func linked(_ context.Context, policy string, options map[string]string, resources []string) (sweep.Deciders, error) {
	spec, err := policies.Named(policy)
	if err != nil {
		return sweep.Deciders{}, err
	}
	main, err := backfill.Link(spec, options)
	if err != nil {
		return sweep.Deciders{}, err
	}
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	if err != nil {
		return sweep.Deciders{}, err
	}
	return sweep.Deciders{Main: main, Fallback: fallback}, spec.CheckResources(options, resources)
}
