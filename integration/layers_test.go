// Package integration tests the layers together: real binaries, real plugin
// processes, and the rules between packages.
package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/condor-backfill/condor-backfill"

// arrows says which of our packages a package may import, and which its tests may import as well.
// Paths are relative to the module. "x/..." is x and everything below it, "x/{a,b}" is x/a and x/b.
// If several rows name a package, the one with the longest pattern counts. Every package may import
// itself, and every test may import integration/poll. Commands (package main) may import anything.
// What a package may import indirectly follows, as each import obeys its own row.
var arrows = []struct{ of, may, tests string }{
	{"classad/...", "", ""},
	{"classad/parser", "classad/ast", ""},
	{"classad", "classad/{ast,parser,internal/...}", "classad/classadtest"},
	{"classad/classadtest", "classad classad/ast", ""},

	{"backfill/...", "backfill", "backfill/..."},
	{"backfill/profile", "", ""},
	{"backfill", "backfill/profile", "backfill/..."},
	{"backfill/balance", "backfill backfill/scan", "backfill/..."},
	{"backfill/ahead", "backfill", "backfill/..."},
	{"backfill/{plan,profileevents}", "backfill backfill/profile", "backfill/..."},
	{"backfill/policies/...", "backfill backfill/{balance,plan,profile,scan}", "backfill/..."},
	{"backfill/policies", "backfill backfill/policies/...", "backfill/..."},
	{"backfill/conformance", "backfill backfill/{policies,profile}", "backfill/..."},
	{"backfill/backfilltest", "backfill backfill/conformance", "backfill/..."},

	{"plugins/...", "backfill/... plugins/...", ""},
	{"plugins/{policyv1,version}", "", ""},
	{"plugins/internal/wire", "backfill backfill/profile plugins/policyv1", ""},
	{"plugins/host", "backfill plugins/{internal/wire,policyv1}", "backfill/... plugins/{sdk,serve}"},
	{"plugins/sdk", "backfill plugins/{internal/wire,policyv1,version}", "backfill/..."},
	{"plugins/choose", "backfill/... plugins/host", "plugins/serve"},
	{"plugins/examples/cookbook", "backfill backfill/scan", "backfill/..."},

	{"negotiator/...", "classad/... backfill/... negotiator/...", ""},
	{"negotiator", "classad backfill/... negotiator/matchmaker", "negotiator/outlook"},
	{"negotiator/matchmaker", "classad backfill", "classad/classadtest"},
	{"negotiator/outlook", "backfill backfill/{ahead,estimate} negotiator", "classad backfill/policies"},
	{"negotiator/whatif", "classad backfill/... negotiator negotiator/outlook", ""},
	{"negotiator/auto", "classad backfill/... negotiator negotiator/outlook", ""},
	{"negotiator/source", "negotiator/config negotiator/htcondor/condorconfig", ""},
	// Besides commands, these two alone start plugins.
	{"negotiator/active", "backfill/... negotiator negotiator/{auto,cli,config,source} plugins/{choose,host}", ""},
	{"negotiator/catalogue", "backfill backfill/policies negotiator/{auto,cli} plugins/{choose,host}", "negotiator"},
	{"negotiator/liveview", "backfill/... negotiator negotiator/cli", "classad condorsim condorsim/input/... configs"},
	{
		"negotiator/ask", "classad backfill negotiator/{cli,config,source,whatif} " +
			"negotiator/htcondor/{cedar,client,condorconfig,daemon,security}", "",
	},
	{
		"negotiator/process", "classad backfill/... negotiator negotiator/{active,auto,cli,config,source} " +
			"negotiator/htcondor negotiator/htcondor/{accountant,cedar,client,condorconfig,daemon,observe,security,server,track}",
		"condorsim/rehearsal",
	},
	{"negotiator/cli", "backfill negotiator/cli/grammar", ""},
	{"negotiator/cli/grammar", "plugins/version", ""},
	{"negotiator/strictyaml", "", ""},
	{"negotiator/config", "backfill/... negotiator negotiator/strictyaml", ""},

	{"negotiator/htcondor/cedar", "classad/...", ""},
	{"negotiator/htcondor/security", "classad negotiator/htcondor/cedar", "negotiator/htcondor/internal/tape"},
	{
		"negotiator/htcondor/client", "classad negotiator/htcondor/{cedar,security}",
		"negotiator/htcondor/{fakes,server}",
	},
	{
		"negotiator/htcondor/server", "classad negotiator/htcondor/{cedar,security}",
		"negotiator/htcondor/{client,internal/tape}",
	},
	{"negotiator/htcondor/fakes", "classad negotiator/htcondor/{cedar,security,server}", "negotiator/htcondor/client"},
	{"negotiator/htcondor/statefile", "", ""},
	{"negotiator/htcondor/accountant", "classad backfill negotiator/htcondor/statefile", ""},
	{"negotiator/htcondor/condorconfig", "classad backfill negotiator/config", ""},
	{
		"negotiator/htcondor/observe",
		"classad/... backfill negotiator negotiator/config negotiator/htcondor/{accountant,cedar,client,security}",
		"negotiator/htcondor/fakes",
	},
	{
		"negotiator/htcondor/track", "classad/... backfill negotiator negotiator/htcondor/{accountant,observe}",
		"negotiator/htcondor/statefile",
	},
	{
		"negotiator/htcondor/claims", "classad backfill negotiator negotiator/htcondor/{observe,track}",
		"negotiator/htcondor/accountant",
	},
	{
		"negotiator/htcondor/dispatch",
		"classad/... backfill negotiator negotiator/config negotiator/htcondor/{cedar,claims,client,observe,security}",
		"negotiator/htcondor/{fakes,track}",
	},
	{
		"negotiator/htcondor", "classad backfill negotiator negotiator/config " +
			"negotiator/htcondor/{accountant,claims,client,dispatch,observe,security,track}",
		"backfill/... negotiator/htcondor/{cedar,fakes,statefile}",
	},

	{"condorsim/input/...", "classad backfill/... negotiator negotiator/strictyaml condorsim/input/...", ""},
	{"condorsim/input/history", "classad backfill/... negotiator condorsim/input/workload", "condorsim"},
	{"condorsim/input/workload/...", "condorsim/input/workload/...", ""},
	{"condorsim/input/workload/packed", "", ""},
	{
		"condorsim", "classad backfill/... negotiator negotiator/outlook condorsim/input/... " +
			"condorsim/output/{metrics,wholefile}",
		"condorsim/output/report negotiator/auto",
	},
	{"condorsim/output/{chart,metrics,spreadsheet,wholefile}", "", ""},
	{"condorsim/output/results", "condorsim/input/workload condorsim/output/{metrics,spreadsheet,wholefile}", ""},
	{"condorsim/output/papers", "condorsim/output/results", ""},
	{
		"condorsim/output/page", "condorsim/output/{chart,metrics,papers,results,spreadsheet,wholefile}",
		"condorsim/{input/workload,output/page/pagetest}",
	},
	{"condorsim/output/survey", "backfill condorsim/input/workload condorsim/output/{chart,metrics,wholefile}", ""},
	{"condorsim/output/...", "classad backfill/... negotiator negotiator/auto condorsim condorsim/{input,output}/...", ""},
	{
		"condorsim/rehearsal", "classad backfill/... configs negotiator " +
			"negotiator/{active,cli,config,liveview,outlook,source,whatif} condorsim condorsim/input/... condorsim/output/report", "",
	},
	{"condorsim/sweep", "classad backfill/... negotiator negotiator/{auto,strictyaml} condorsim condorsim/input/... " +
		"condorsim/output/{papers,results}", ""},

	{"configs", "", "backfill/... plugins/... negotiator/... condorsim/..."},
	{"integration/...", "", "backfill/... plugins/... negotiator/whatif configs integration/..."},
	{
		"integration", "", "backfill/... plugins/... negotiator negotiator/whatif condorsim " +
			"condorsim/input/{pools,workload} configs integration/...",
	},
}

// walls says which other packages a package must not import, those of the standard library
// included. Tests may.
var walls = []struct{ of, never, why string }{
	{"backfill/...", "time os/... net/... math/rand crypto/rand log/... google.golang.org/grpc/... " +
		"github.com/hashicorp/go-plugin/...", "the core knows nothing of clocks, files, networks and processes"},
	{
		"backfill backfill/{balance,estimate,plan,policies/...,profile,profileevents,scan}", "math/rand/v2",
		"decisions are not random",
	},
	{
		"negotiator/htcondor/{claims,track}", "context sync/... os/... net/... math/rand/... crypto/rand",
		"what changed and what follows from it depend on belief, snapshot and time alone",
	},
	{
		"negotiator negotiator/{active,ask,catalogue,cli,config,liveview,matchmaker,outlook,process,source,whatif} condorsim/...",
		"net/http/... google.golang.org/grpc/... github.com/hashicorp/go-plugin/...",
		"plugins/host alone speaks to plugins, and the daemon alone HTTP",
	},
	{
		"backfill/conformance plugins/check", "testing github.com/stretchr/testify/...",
		"findings are values; backfilltest makes failed tests of them",
	},
}

// clockless are the packages that take the time as an argument and never read a clock or wait.
// Commands may.
const clockless = "backfill/... negotiator " +
	"negotiator/{active,ask,catalogue,config,liveview,matchmaker,outlook,source,strictyaml,whatif} " +
	"negotiator/htcondor/{claims,track} condorsim/..."

// clocks are the functions of package time that read a clock or wait.
const clocks = "Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker"

// pkg is a package as go list describes it.
type pkg struct {
	ImportPath, Name, Dir              string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

// TestLayers checks the imports of every package and its tests against the arrows and walls.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Dir,GoFiles,Imports,TestImports,XTestImports",
		module+"/...").Output()
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	packages, found := []string{}, []string{}
	for {
		var p pkg
		if err = decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found = append(found, broken(p)...)
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			found = append(found, clocksIn(p, file, text)...)
		}
		packages = append(packages, strings.TrimPrefix(p.ImportPath, module+"/"))
	}
	require.Empty(t, found)
	for _, row := range arrows {
		for _, pattern := range expand(row.of) {
			isNamed := func(path string) bool { return matches(pattern, path) }
			require.True(t, slices.ContainsFunc(packages, isNamed), "no package is left for the row of %s", pattern)
		}
	}
}

// TestInstalledCommands requires that the README names every command that go install ./...
// installs, so that nobody finds a program of unknown origin in the path.
func TestInstalledCommands(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, module+"/...").Output()
	require.NoError(t, err)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, commands, _ := strings.Cut(string(readme), "## What there is")
	commands, _, _ = strings.Cut(commands, "\nA policy is a Go function")
	require.NotEmpty(t, strings.Fields(string(out)))
	for path := range strings.FieldsSeq(string(out)) {
		require.Contains(t, commands, "`"+filepath.Base(path)+"`")
	}
}

// TestLayersAreHeld breaks each rule with an import that is made up.
func TestLayersAreHeld(t *testing.T) {
	for _, c := range []struct{ of, imports, test string }{
		{of: "classad", imports: "backfill"},
		{of: "classad/parser", imports: "classad"},
		{of: "classad/internal/pcre", imports: "classad"},
		{of: "backfill", imports: "backfill/policies/easy"},
		{of: "backfill", test: "negotiator"},
		{of: "backfill/profile", imports: "backfill"},
		{of: "backfill/policies/easy", imports: "backfill/policies/fcfs"},
		{of: "backfill/policies/made-up", imports: "classad"},
		{of: "plugins/host", imports: "plugins/sdk"},
		{of: "plugins/sdk", imports: "plugins/host"},
		{of: "plugins/made-up", test: "negotiator"},
		{of: "negotiator", imports: "negotiator/config"},
		{of: "negotiator/matchmaker", imports: "negotiator"},
		{of: "negotiator", imports: "plugins/host"},
		{of: "negotiator", test: "condorsim"},
		{of: "negotiator", imports: "negotiator/outlook"},
		{of: "negotiator/outlook", imports: "negotiator/whatif"},
		{of: "negotiator/active", imports: "condorsim/output/report"},
		{of: "negotiator/active", imports: "plugins/serve"},
		{of: "negotiator/ask", imports: "negotiator/process"},
		{of: "negotiator/liveview", imports: "condorsim"},
		{of: "negotiator/process", imports: "plugins/choose"},
		{of: "negotiator/process", imports: "condorsim/rehearsal"},
		{of: "negotiator/process", imports: "net/http"},
		{of: "condorsim/rehearsal", imports: "plugins/choose"},
		{of: "negotiator/made-up", imports: "condorsim/input/history"},
		{of: "negotiator/htcondor/cedar", imports: "negotiator/htcondor/security"},
		{of: "negotiator/htcondor/security", imports: "negotiator/htcondor/client"},
		{of: "negotiator/htcondor/security", test: "negotiator/htcondor/server"},
		{of: "negotiator/htcondor/client", imports: "negotiator/htcondor/server"},
		{of: "negotiator/htcondor/server", imports: "negotiator/htcondor/client"},
		{of: "negotiator/htcondor/statefile", imports: "negotiator/htcondor/accountant"},
		{of: "negotiator/htcondor/accountant", imports: "negotiator/htcondor"},
		{of: "negotiator/htcondor/accountant", test: "negotiator/htcondor/client"},
		{of: "negotiator/htcondor", imports: "negotiator/htcondor/daemon"},
		{of: "negotiator/htcondor/observe", imports: "negotiator/htcondor/track"},
		{of: "negotiator/htcondor/observe", imports: "negotiator/htcondor/dispatch"},
		{of: "negotiator/htcondor/track", imports: "negotiator/htcondor/client"},
		{of: "negotiator/htcondor/track", imports: "negotiator/htcondor/security"},
		{of: "negotiator/htcondor/track", imports: "negotiator/htcondor/dispatch"},
		{of: "negotiator/htcondor/track", imports: "net"},
		{of: "negotiator/htcondor/track", imports: "math/rand/v2"},
		{of: "negotiator/htcondor/track", imports: "negotiator/htcondor/claims"},
		{of: "negotiator/htcondor/claims", imports: "negotiator/htcondor/dispatch"},
		{of: "negotiator/htcondor/claims", imports: "negotiator/htcondor/client"},
		{of: "negotiator/htcondor/claims", imports: "context"},
		{of: "negotiator/htcondor/claims", imports: "sync"},
		{of: "negotiator/htcondor/dispatch", imports: "negotiator/htcondor/track"},
		{of: "negotiator/htcondor/dispatch", imports: "negotiator/htcondor/server"},
		{of: "condorsim", imports: "condorsim/sweep"},
		{of: "condorsim", imports: "plugins/choose"},
		{of: "condorsim/input/pools", imports: "condorsim"},
		{of: "condorsim/input/pools", test: "condorsim"},
		{of: "condorsim/input/workload", imports: "condorsim/output/results"},
		{of: "condorsim/output/results", imports: "condorsim"},
		{of: "condorsim/output/metrics", test: "condorsim"},
		{of: "condorsim/output/made-up", imports: "plugins/host"},
		{of: "configs", imports: "negotiator"},
		{of: "integration/poll", imports: "backfill"},
		{of: "made-up", imports: "backfill"},
		{of: "backfill/profileevents", imports: "time"},
		{of: "backfill/profileevents", imports: "math/rand/v2"},
		{of: "backfill/made-up", imports: "os/exec"},
		{of: "backfill/estimate", imports: "net/http"},
		{of: "backfill/conformance", imports: "testing"},
		{of: "negotiator", imports: "google.golang.org/grpc/codes"},
		{of: "condorsim/sweep", imports: "github.com/hashicorp/go-plugin"},
	} {
		ours := func(path string) []string {
			if _, _, known := allowed(path); known {
				path = module + "/" + path
			}
			return []string{path}
		}
		p := pkg{ImportPath: module + "/" + c.of, Imports: ours(c.imports), XTestImports: ours(c.test)}
		require.Len(t, broken(p), 1, "%+v", c)
		p.Name = "main"
		require.Empty(t, broken(p), "%+v", c)
	}
	fine := pkg{
		ImportPath:  module + "/backfill/policies/made-up",
		Imports:     []string{"math", module + "/backfill/scan"},
		TestImports: []string{"time", module + "/backfill/conformance", module + "/integration/poll"},
	}
	require.Empty(t, broken(fine))
}

// TestClocksAreFound uses clocks in a file that is made up.
func TestClocksAreFound(t *testing.T) {
	text := []byte("package p\n\nvar a, b, c = time.Now(), time.Second, time.After\n")
	p := pkg{ImportPath: module + "/negotiator/htcondor/track"}
	require.Equal(t, []string{
		"negotiator/htcondor/track: made-up.go:3:15 uses time.Now",
		"negotiator/htcondor/track: made-up.go:3:40 uses time.After",
	}, clocksIn(p, "made-up.go", text))
	p.ImportPath = module + "/negotiator/htcondor/dispatch"
	require.Empty(t, clocksIn(p, "made-up.go", text))
}

// broken lists the imports of a package that an arrow or a wall forbids.
func broken(p pkg) (found []string) {
	if p.Name == "main" {
		return nil
	}
	of := strings.TrimPrefix(p.ImportPath, module+"/")
	may, tests, known := allowed(of)
	if !known {
		return []string{of + " is in no row of arrows"}
	}
	check := func(imports []string, what, may string) {
		for _, path := range imports {
			imported, ours := strings.CutPrefix(path, module+"/")
			if ours && imported != of && !matches(may, imported) {
				found = append(found, fmt.Sprintf("%s%s imports %s", of, what, imported))
			}
		}
	}
	check(p.Imports, "", may)
	check(slices.Concat(p.TestImports, p.XTestImports), " (test)", may+" "+tests+" integration/poll")
	for _, wall := range walls {
		for _, imported := range p.Imports {
			if matches(wall.of, of) && matches(wall.never, imported) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", of, imported, wall.why))
			}
		}
	}
	return found
}

// clocksIn lists where a file of a package without clocks uses one.
func clocksIn(p pkg, name string, text []byte) (found []string) {
	of := strings.TrimPrefix(p.ImportPath, module+"/")
	if p.Name == "main" || !matches(clockless, of) {
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && matches(clocks, selector.Sel.Name) {
			if from, ok := selector.X.(*ast.Ident); ok && from.Name == "time" {
				at := files.Position(n.Pos())
				found = append(found, fmt.Sprintf("%s: %s uses time.%s", of, at, selector.Sel.Name))
			}
		}
		return true
	})
	return found
}

// allowed finds the row of arrows for a package.
func allowed(of string) (may, tests string, known bool) {
	longest := -1
	for _, row := range arrows {
		for _, pattern := range expand(row.of) {
			folder, below := strings.CutSuffix(pattern, "/...")
			length := 2 * len(folder)
			if !below {
				length++ // "x" counts before "x/..."
			}
			if length > longest && matches(pattern, of) {
				longest, may, tests, known = length, row.may, row.tests, true
			}
		}
	}
	return may, tests, known
}

// matches reports whether one of the patterns, separated by spaces, names the package.
func matches(patterns, of string) bool {
	for _, pattern := range expand(patterns) {
		folder, below := strings.CutSuffix(pattern, "/...")
		if of == folder || below && strings.HasPrefix(of, folder+"/") {
			return true
		}
	}
	return false
}

// expand lists the patterns of a text, separated by spaces, without braces.
func expand(patterns string) (list []string) {
	for pattern := range strings.FieldsSeq(patterns) {
		before, rest, braces := strings.Cut(pattern, "{")
		items, after, _ := strings.Cut(rest, "}")
		if !braces {
			list = append(list, pattern)
			continue
		}
		for item := range strings.SplitSeq(items, ",") {
			list = append(list, before+item+after)
		}
	}
	return list
}
