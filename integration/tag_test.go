package integration_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tag is a version as which this tree is offered in tests. No such tag was ever made.
const tag = "v0.999.0"

// offered makes a folder that serves this tree as a module of the version, as a proxy does, and returns the
// environment of a go command that takes modules from there, and others from where they were downloaded to.
func offered(t *testing.T) []string {
	t.Helper()
	listed, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("skipped: git cannot tell which files a tag would have")
	}
	proxy := t.TempDir()
	versions := filepath.Join(proxy, module, "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	packed, err := os.Create(filepath.Join(versions, tag+".zip"))
	require.NoError(t, err)
	writer := zip.NewWriter(packed)
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		text, failed := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if os.IsNotExist(failed) {
			continue // removed, and not yet committed
		}
		require.NoError(t, failed)
		require.False(t, path.Base(name) == "go.mod" && name != "go.mod", "%s: that would be a module of its own", name)
		file, failed := writer.Create(module + "@" + tag + "/" + name)
		require.NoError(t, failed)
		_, failed = file.Write(text)
		require.NoError(t, failed)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, packed.Close())
	ours, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"list": tag + "\n", tag + ".mod": string(ours), tag + ".info": `{"Version":"` + tag + `","Time":"2026-01-01T00:00:00Z"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600))
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	// What is built without paths is compiled once, wherever its modules are.
	return append(os.Environ(), "GOPROXY=file://"+proxy+",file://"+downloads, "GOSUMDB=off", "GONOSUMDB=*",
		"GOFLAGS=-modcacherw -mod=mod -trimpath -buildvcs=false -ldflags=-s", "GOMODCACHE="+t.TempDir(), "GOWORK=off")
}

// TestATagCanBeInstalledAndRequired installs a program from a tag of this tree, and builds a stranger's module
// that requires the tag, without a replace: a policy as a plugin, and as a part of the core.
func TestATagCanBeInstalledAndRequired(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: compiles all anew, without paths")
	}
	env := offered(t)
	home := t.TempDir()
	run := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = home, append(env, "GOBIN="+filepath.Join(home, "bin"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s\n%s", program, strings.Join(args, " "), out)
		return string(out)
	}
	run("go", "install", module+"/condorsim/cmd/condorsim@"+tag)
	condorsim := filepath.Join(home, "bin", "condorsim")
	require.Contains(t, run(condorsim, "--version"), "condorsim "+tag+"\n")

	require.NoError(t, os.WriteFile(filepath.Join(home, "main.go"), []byte(strangersProgram), 0o600))
	run("go", "mod", "init", "example.org/backfill-heads")
	run("go", "mod", "edit", "-require="+module+"@"+tag)
	run("go", "build", "-o", "backfill-heads", ".")
	text, err := os.ReadFile(filepath.Join(home, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "replace")
	require.Equal(t, "heads starts 2 of 5 jobs\n", run("./backfill-heads", "decide"))
	require.Contains(t, run(condorsim, "run", "lublin-128", "--policy", "./backfill-heads"), "under heads")
}

// strangersProgram is a policy by someone who has no checkout, who also lets it decide a round of the core.
const strangersProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() {
	spec := backfill.PolicySpec{
		Name: "heads", Doc: "starts in the queue's order, and reserves for whoever is blocked",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) { scan.Heads(c) }), nil
		},
	}
	if len(os.Args) == 1 || os.Args[1] != "decide" {
		sdk.Serve(spec)
		return
	}
	policy, err := backfill.Link(spec, nil)
	check(err)
	order, err := backfill.OrderNamed("fcfs")
	check(err)
	state := backfill.NewState([]string{"cpus"}, profile.ByRank)
	host, err := backfill.NewHost(state, order, policy, policy, func(r backfill.Refusal) { check(r.Err) })
	check(err)
	round := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{8}}}},
	}
	for id := range backfill.JobID(5) { // of 3 cpus each
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1, Request: backfill.Vector{3}, Estimate: 60,
		}})
	}
	decision, err := host.Decide(context.Background(), round)
	check(err)
	fmt.Println(decision.By, "starts", len(decision.Started), "of 5 jobs")
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
`
