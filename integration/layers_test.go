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
// itself, and every test may import integration/{poll,thorough}. Commands (package main) may
// import anything. What a package may import indirectly follows, as each import obeys its own row.
var arrows = []struct{ importer, may, tests string }{
	{"classad/...", "", ""},
	{"classad/parser", "classad/ast", ""},
	{"classad", "classad/{ast,parser,internal/...}", "classad/classadtest"},
	{"classad/classadtest", "classad classad/ast", ""},
	{"classad/usermap", "classad/internal/pcre", ""},

	{"backfill/...", "backfill", "backfill/..."},
	{"backfill/profile", "", ""},
	{"backfill/inwords", "", ""},
	{"backfill", "backfill/profile", "backfill/..."},
	{"backfill/balance", "backfill backfill/scan", "backfill/..."},
	{"backfill/ahead", "backfill", "backfill/..."},
	{"backfill/plan", "backfill backfill/profile", "backfill/..."},
	{"backfill/policies/...", "backfill backfill/{balance,plan,profile,scan}", "backfill/..."},
	{"backfill/policies", "backfill backfill/policies/...", "backfill/..."},
	{"backfill/estimate", "backfill backfill/inwords", "backfill/..."},
	{"backfill/conformance", "backfill backfill/{policies,profile}", "backfill/..."},
	{"backfill/backfilltest", "backfill backfill/conformance backfill/profile", "backfill/..."},

	{"plugins/...", "backfill/... plugins/...", ""},
	{"plugins/{policyv1,version}", "", ""},
	{"plugins/wire", "backfill backfill/profile plugins/policyv1", ""},
	{"plugins/host", "backfill backfill/profile plugins/{wire,policyv1}", "backfill/... plugins/{sdk,serve}"},
	{"plugins/sdk", "backfill plugins/{wire,policyv1,version}", "backfill/..."},
	{"plugins/choose", "backfill/... plugins/host", "plugins/serve"},
	{"plugins/examples/cookbook", "backfill backfill/scan", "backfill/..."},

	{"negotiator/...", "classad/... backfill/... negotiator/...", ""},
	{"negotiator", "classad classad/ast backfill/... negotiator/{matchmaker,preempt,scavenge}", "negotiator/outlook"},
	{"negotiator/preempt", "classad classad/ast backfill", ""},
	{"negotiator/scavenge", "backfill", ""},
	{"negotiator/matchmaker", "classad classad/ast backfill", "classad/classadtest"},
	{"negotiator/concurrency", "", ""},
	{"negotiator/outlook", "backfill backfill/{ahead,estimate} negotiator", "classad backfill/policies"},
	{"negotiator/drains", "backfill backfill/inwords", "negotiator"},
	{"negotiator/instant", "", ""},
	{
		"negotiator/livepage", "backfill classad negotiator/{matchmaker,whatif} negotiator/htcondor/{security,server} negotiator/meter/shapes " +
			"negotiator/livepage/{access,drawing,picture,promises}",
		"backfill/policies negotiator negotiator/{instant,whatif} negotiator/livepage/browsertest",
	},
	{"negotiator/livepage/access", "", ""},
	{"negotiator/livepage/browsertest", "", ""},
	{"negotiator/livepage/drawing", "", ""},
	{
		"negotiator/livepage/picture", "backfill negotiator negotiator/{drains,instant,outlook} negotiator/meter/shapes",
		"backfill/... condorsim condorsim/input/... configs",
	},
	{"negotiator/livepage/promises", "backfill negotiator/livepage/picture", ""},
	{"negotiator/record", "backfill classad negotiator negotiator/{packed,record/recordv1} plugins/{policyv1,wire}", "backfill/policies"},
	{"negotiator/record/recordv1", "", ""},
	{"negotiator/record/replay", "backfill backfill/policies negotiator/{record,record/recordv1} plugins/{policyv1,wire}", ""},
	{"negotiator/whatif", "classad backfill/... negotiator negotiator/outlook", ""},
	{"negotiator/auto", "classad backfill/... negotiator negotiator/outlook", ""},
	{"negotiator/source", "negotiator/config negotiator/htcondor/condorconfig", ""},
	// Besides commands, these two alone start plugins.
	{
		"negotiator/active", "backfill/... negotiator/packed negotiator " +
			"negotiator/{auto,cli,config,record,source} plugins/{choose,host,version}", "",
	},
	{"negotiator/catalogue", "backfill backfill/policies negotiator/{auto,cli} plugins/{choose,host}", "negotiator"},
	{"negotiator/liveview", "backfill/... negotiator negotiator/{cli,instant}", "classad condorsim condorsim/input/... configs"},
	{
		"negotiator/ask", "classad backfill backfill/{estimate,inwords} negotiator/packed negotiator " +
			"negotiator/{cli,config,drains,instant,source,whatif} negotiator/htcondor/{cedar,client,condorconfig,daemon,security}", "",
	},
	{
		"negotiator/process", "classad backfill/... negotiator negotiator/{active,ask,auto,cli,config,record,source} " +
			"negotiator/livepage negotiator/livepage/access " +
			"negotiator/htcondor negotiator/htcondor/{accountant,broker,cedar,client,condorconfig,daemon,observe,security,server,track,witness}",
		"condorsim/rehearsal negotiator/htcondor/fakes",
	},
	{"negotiator/meter", "backfill negotiator negotiator/meter/shapes", "backfill/{policies,profile} condorsim condorsim/input/... configs"},
	{"negotiator/meter/shapes", "backfill", "backfill/profile"},
	{"negotiator/cli", "backfill backfill/inwords negotiator/cli/grammar", ""},
	{"negotiator/cli/grammar", "plugins/version", ""},
	{"negotiator/strictyaml", "", ""},
	{"negotiator/packed", "negotiator/packed/kinds", ""},
	{"negotiator/packed/kinds", "", ""},
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
	{"negotiator/htcondor/broker", "classad negotiator/htcondor/{cedar,security,server}", "negotiator/htcondor/{client,fakes}"},
	{"negotiator/htcondor/fakes", "classad negotiator/htcondor/{cedar,security,server}", "negotiator/htcondor/client"},
	{"negotiator/htcondor/setup", "negotiator/cli negotiator/htcondor/{condorconfig,daemon}", "configs"},
	{"negotiator/htcondor/statefile", "", ""},
	{"negotiator/htcondor/witness", "", ""},
	{"negotiator/htcondor/verdict", "backfill/inwords negotiator/{cli,instant} negotiator/htcondor/witness", ""},
	{
		"negotiator/htcondor/accountant", "classad/... backfill negotiator/concurrency negotiator/htcondor/statefile",
		"negotiator/htcondor/accountant/stockmodel",
	},
	{"negotiator/htcondor/accountant/stockmodel", "", ""},
	{"negotiator/htcondor/accountlog", "classad classad/ast backfill negotiator/htcondor/accountant", ""},
	{"negotiator/htcondor/condorconfig", "classad/... backfill negotiator/config", ""},
	{
		"negotiator/htcondor/observe",
		"classad/... backfill negotiator negotiator/config negotiator/htcondor/{accountant,cedar,client,security}",
		"negotiator/htcondor/fakes",
	},
	{
		"negotiator/htcondor/track", "classad/... backfill negotiator negotiator/{drains,preempt} negotiator/htcondor/{accountant,observe}",
		"negotiator/htcondor/statefile",
	},
	{"negotiator/htcondor/claims", "classad backfill negotiator negotiator/htcondor/{accountant,observe,track}", ""},
	{
		"negotiator/htcondor/dispatch",
		"classad/... backfill negotiator negotiator/config negotiator/htcondor/{cedar,claims,client,observe,security}",
		"negotiator/htcondor/{fakes,track}",
	},
	{
		"negotiator/htcondor", "classad/... backfill negotiator negotiator/{config,drains} " +
			"negotiator/htcondor/{accountant,claims,client,dispatch,observe,security,track}",
		"backfill/... negotiator/{matchmaker,preempt} negotiator/htcondor/{broker,cedar,fakes,server,statefile}",
	},

	{"condorsim/input/...", "classad backfill/... negotiator negotiator/{concurrency,strictyaml} negotiator/packed/... condorsim/input/...", ""},
	{
		"condorsim/input/pools", "classad backfill/... negotiator negotiator/{concurrency,preempt,strictyaml} " +
			"negotiator/htcondor/accountant negotiator/packed/... condorsim/input/...",
		"",
	},
	{"condorsim/input/batsim", "condorsim/input/workload", ""},
	{"condorsim/input/history", "classad backfill/... negotiator condorsim/input/workload", ""},
	{
		"condorsim/input/formats", "backfill backfill/estimate negotiator negotiator/packed/... negotiator/record " +
			"condorsim/input/{batsim,eventlog,gwf,history,pbs,recorded,slurm,workload/...}",
		"classad condorsim",
	},
	{"condorsim/input/settle", "negotiator/packed condorsim/input/workload", ""},
	{"condorsim/input/{gwf,pbs}", "condorsim/input/{settle,workload}", ""},
	{"condorsim/input/eventlog", "classad condorsim/input/{history,settle,workload}", ""},
	{"condorsim/input/slurm", "condorsim/input/workload negotiator/packed", "classad backfill negotiator"},
	{
		"condorsim/input/recorded", "classad backfill negotiator negotiator/packed negotiator/record negotiator/record/recordv1 " +
			"plugins/policyv1 condorsim/input/{pools,workload}", "",
	},
	{"condorsim/input/workload/...", "condorsim/input/workload/...", ""},
	{"condorsim/input/workload", "backfill/inwords negotiator/instant negotiator/packed/... condorsim/input/workload/...", ""},
	{
		"condorsim", "classad backfill/... negotiator negotiator/{concurrency,instant,outlook,packed,preempt} " +
			"negotiator/htcondor/accountant condorsim/input/... condorsim/output/{metrics,wholefile} condorsim/profileevents",
		"condorsim/output/{jobtable,report} configs negotiator/auto negotiator/htcondor/accountant/stockmodel " +
			"negotiator/record negotiator/record/{recordv1,replay} plugins/policyv1",
	},
	{"condorsim/profileevents", "backfill backfill/profile", "backfill/..."},
	{"condorsim/output/{metrics,spreadsheet,wholefile}", "", ""},
	{"condorsim/output/chart", "negotiator/livepage/drawing", ""},
	{"condorsim/output/intervals", "condorsim/output/metrics", ""},
	{
		"condorsim/output/jobtable",
		"backfill condorsim negotiator/packed condorsim/output/{lanes,spreadsheet,wholefile}", "classad negotiator",
	},
	{"condorsim/output/lanes", "backfill condorsim negotiator", "backfill condorsim negotiator"},
	{"condorsim/output/results", "backfill backfill/inwords condorsim/input/workload " +
		"condorsim/output/{intervals,metrics,spreadsheet,wholefile}", ""},
	{"condorsim/output/papers", "condorsim/output/results", ""},
	{
		"condorsim/output/page", "backfill/inwords negotiator/livepage/drawing " +
			"condorsim/output/{chart,intervals,metrics,papers,results,spreadsheet,wholefile}",
		"condorsim/{input/workload,output/page/pagetest} negotiator/livepage/browsertest",
	},
	{"condorsim/output/console", "backfill/inwords condorsim/output/{intervals,metrics,page,results}", ""},
	{
		"condorsim/output/report", "backfill backfill/{estimate,inwords} condorsim condorsim/input/workload condorsim/output/metrics negotiator/auto",
		"negotiator",
	},
	{
		"condorsim/output/compare", "backfill/inwords negotiator/instant " +
			"condorsim/output/{compare/schedules,intervals,metrics,results}", "condorsim/output/page/pagetest",
	},
	{
		"condorsim/output/compare/pages", "backfill/inwords negotiator/instant " +
			"condorsim/output/{chart,compare,metrics,page}", "condorsim/output/{compare/schedules,intervals,page/pagetest,results} negotiator/livepage/browsertest",
	},
	{
		"condorsim/output/compare/schedules", "backfill condorsim/input/{formats,recorded,workload} negotiator/packed/... " +
			"negotiator/record condorsim/output/spreadsheet",
		"condorsim/output/{jobtable,page/pagetest}",
	},
	{"condorsim/output/survey", "backfill backfill/inwords negotiator/instant condorsim/input/{history,workload} condorsim/output/{chart,metrics,wholefile}", ""},
	{"condorsim/output/...", "classad backfill/... negotiator negotiator/{auto,instant,livepage/drawing} condorsim condorsim/{input,output}/...", "negotiator/livepage/browsertest"},
	{
		"condorsim/rehearsal", "classad backfill/... configs negotiator " +
			"negotiator/{active,cli,config,drains,instant,liveview,meter,outlook,record,source,whatif} negotiator/livepage " +
			"negotiator/livepage/{access,picture} condorsim condorsim/input/... " +
			"condorsim/output/{metrics,report}", "negotiator/livepage/browsertest",
	},
	{"condorsim/sweep", "classad backfill/... negotiator negotiator/{auto,packed,strictyaml} condorsim condorsim/input/... " +
		"condorsim/output/{papers,results,wholefile}", ""},
	{"condorsim/fleet", "condorsim/output/wholefile", ""},

	{"configs", "", "backfill/... plugins/... negotiator/... condorsim/..."},
	{"integration/...", "", "backfill/... plugins/... negotiator/{drains,record,whatif} " +
		"negotiator/record/{recordv1,replay} configs integration/..."},
	{"integration/htcondor/pooltest", "classad", ""},
	{
		"integration", "", "backfill/... plugins/... negotiator negotiator/whatif condorsim " +
			"condorsim/input/{pools,workload} configs integration/...",
	},
}

// walls says which other packages a package must not import, those of the standard library
// included. Tests may.
var walls = []struct{ importer, never, why string }{
	{"backfill/...", "time os/... net/... math/rand crypto/rand log/... google.golang.org/grpc/... " +
		"github.com/hashicorp/go-plugin/...", "the core knows nothing of clocks, files, networks and processes"},
	{
		"backfill backfill/{balance,estimate,plan,policies/...,profile,scan}", "math/rand/v2",
		"decisions are not random",
	},
	{
		"negotiator/htcondor/{claims,track}", "context sync/... os/... net/... math/rand/... crypto/rand",
		"what changed and what follows from it depend on belief, snapshot and time alone",
	},
	{
		"negotiator negotiator/{active,ask,catalogue,cli,config,drains,liveview,matchmaker,outlook,process,source,whatif} condorsim/...",
		"net/http/... google.golang.org/grpc/... github.com/hashicorp/go-plugin/...",
		"plugins/host alone speaks to plugins, and livepage and the daemon alone HTTP",
	},
	{
		"condorsim condorsim/input/{history,pools,workload} condorsim/output/{metrics,report,wholefile}",
		"github.com/parquet-go/... gonum.org/...", "every negotiator would be built with them, for nothing",
	},
	{
		"backfill/conformance plugins/check", "testing github.com/stretchr/testify/...",
		"findings are values; backfilltest makes failed tests of them",
	},
}

// clockless are the packages that take the time as an argument and never read a clock or wait.
// Commands may.
const clockless = "backfill/... negotiator " +
	"negotiator/{active,ask,catalogue,config,drains,liveview,matchmaker,outlook,source,strictyaml,whatif} " +
	"negotiator/htcondor/{claims,track,verdict,witness} condorsim/..."

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
	out, err := exec.Command("go", "list", "-tags=browser", "-json=ImportPath,Name,Dir,GoFiles,Imports,TestImports,XTestImports",
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
		for _, pattern := range expand(row.importer) {
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
	for _, c := range []struct{ importer, imports, test string }{
		{importer: "classad", imports: "backfill"},
		{importer: "classad/parser", imports: "classad"},
		{importer: "classad/internal/pcre", imports: "classad"},
		{importer: "backfill", imports: "backfill/policies/easy"},
		{importer: "backfill", test: "negotiator"},
		{importer: "backfill/profile", imports: "backfill"},
		{importer: "backfill/policies/easy", imports: "backfill/policies/fcfs"},
		{importer: "backfill/policies/made-up", imports: "classad"},
		{importer: "plugins/host", imports: "plugins/sdk"},
		{importer: "plugins/sdk", imports: "plugins/host"},
		{importer: "plugins/made-up", test: "negotiator"},
		{importer: "negotiator", imports: "negotiator/config"},
		{importer: "negotiator/matchmaker", imports: "negotiator"},
		{importer: "negotiator", imports: "plugins/host"},
		{importer: "negotiator", test: "condorsim"},
		{importer: "negotiator", imports: "negotiator/outlook"},
		{importer: "negotiator/outlook", imports: "negotiator/whatif"},
		{importer: "negotiator/active", imports: "condorsim/output/report"},
		{importer: "negotiator/active", imports: "plugins/serve"},
		{importer: "negotiator/ask", imports: "negotiator/process"},
		{importer: "negotiator/liveview", imports: "condorsim"},
		{importer: "negotiator/process", imports: "plugins/choose"},
		{importer: "negotiator/process", imports: "condorsim/rehearsal"},
		{importer: "negotiator/process", imports: "net/http"},
		{importer: "condorsim/rehearsal", imports: "plugins/choose"},
		{importer: "negotiator/made-up", imports: "condorsim/input/history"},
		{importer: "negotiator/htcondor/cedar", imports: "negotiator/htcondor/security"},
		{importer: "negotiator/htcondor/security", imports: "negotiator/htcondor/client"},
		{importer: "negotiator/htcondor/security", test: "negotiator/htcondor/server"},
		{importer: "negotiator/htcondor/client", imports: "negotiator/htcondor/server"},
		{importer: "negotiator/htcondor/server", imports: "negotiator/htcondor/broker"},
		{importer: "negotiator/htcondor/server", imports: "negotiator/htcondor/client"},
		{importer: "negotiator/htcondor/statefile", imports: "negotiator/htcondor/accountant"},
		{importer: "negotiator/htcondor/accountant", imports: "negotiator/htcondor"},
		{importer: "negotiator/htcondor/accountant", test: "negotiator/htcondor/client"},
		{importer: "negotiator/htcondor", imports: "negotiator/htcondor/daemon"},
		{importer: "negotiator/htcondor/observe", imports: "negotiator/htcondor/track"},
		{importer: "negotiator/htcondor/observe", imports: "negotiator/htcondor/dispatch"},
		{importer: "negotiator/htcondor/track", imports: "negotiator/htcondor/client"},
		{importer: "negotiator/htcondor/track", imports: "negotiator/htcondor/security"},
		{importer: "negotiator/htcondor/track", imports: "negotiator/htcondor/dispatch"},
		{importer: "negotiator/htcondor/track", imports: "net"},
		{importer: "negotiator/htcondor/track", imports: "math/rand/v2"},
		{importer: "negotiator/htcondor/track", imports: "negotiator/htcondor/claims"},
		{importer: "negotiator/htcondor/claims", imports: "negotiator/htcondor/dispatch"},
		{importer: "negotiator/htcondor/claims", imports: "negotiator/htcondor/client"},
		{importer: "negotiator/htcondor/claims", imports: "context"},
		{importer: "negotiator/htcondor/claims", imports: "sync"},
		{importer: "negotiator/htcondor/dispatch", imports: "negotiator/htcondor/track"},
		{importer: "negotiator/htcondor/dispatch", imports: "negotiator/htcondor/server"},
		{importer: "condorsim", imports: "condorsim/sweep"},
		{importer: "condorsim", imports: "plugins/choose"},
		{importer: "condorsim/input/pools", imports: "condorsim"},
		{importer: "condorsim/input/pools", test: "condorsim"},
		{importer: "condorsim/input/workload", imports: "condorsim/output/results"},
		{importer: "condorsim/input/history", imports: "condorsim/input/formats"},
		{importer: "condorsim/output/results", imports: "condorsim"},
		{importer: "condorsim/output/metrics", test: "condorsim"},
		{importer: "condorsim/output/made-up", imports: "plugins/host"},
		{importer: "configs", imports: "negotiator"},
		{importer: "integration/poll", imports: "backfill"},
		{importer: "integration/thorough", imports: "backfill"},
		{importer: "made-up", imports: "backfill"},
		{importer: "backfill/plan", imports: "time"},
		{importer: "backfill/plan", imports: "math/rand/v2"},
		{importer: "condorsim/profileevents", imports: "negotiator"},
		{importer: "backfill/made-up", imports: "os/exec"},
		{importer: "backfill/estimate", imports: "net/http"},
		{importer: "backfill/conformance", imports: "testing"},
		{importer: "negotiator", imports: "google.golang.org/grpc/codes"},
		{importer: "condorsim/sweep", imports: "github.com/hashicorp/go-plugin"},
	} {
		ours := func(path string) []string {
			if _, _, known := allowed(path); known {
				path = module + "/" + path
			}
			return []string{path}
		}
		p := pkg{ImportPath: module + "/" + c.importer, Imports: ours(c.imports), XTestImports: ours(c.test)}
		require.Len(t, broken(p), 1, "%+v", c)
		p.Name = "main"
		require.Empty(t, broken(p), "%+v", c)
	}
	fine := pkg{
		ImportPath:  module + "/backfill/policies/made-up",
		Imports:     []string{"math", module + "/backfill/scan"},
		TestImports: []string{"time", module + "/backfill/conformance", module + "/integration/poll", module + "/integration/thorough"},
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
	importer := strings.TrimPrefix(p.ImportPath, module+"/")
	may, tests, known := allowed(importer)
	if !known {
		return []string{importer + " is in no row of arrows"}
	}
	check := func(imports []string, what, may string) {
		for _, path := range imports {
			imported, ours := strings.CutPrefix(path, module+"/")
			if ours && imported != importer && !matches(may, imported) {
				found = append(found, fmt.Sprintf("%s%s imports %s", importer, what, imported))
			}
		}
	}
	check(p.Imports, "", may)
	check(slices.Concat(p.TestImports, p.XTestImports), " (test)", may+" "+tests+" integration/{poll,thorough}")
	for _, wall := range walls {
		for _, imported := range p.Imports {
			if matches(wall.importer, importer) && matches(wall.never, imported) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", importer, imported, wall.why))
			}
		}
	}
	return found
}

// clocksIn lists where a file of a package without clocks uses one.
func clocksIn(p pkg, name string, text []byte) (found []string) {
	importer := strings.TrimPrefix(p.ImportPath, module+"/")
	if p.Name == "main" || !matches(clockless, importer) {
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
				found = append(found, fmt.Sprintf("%s: %s uses time.%s", importer, at, selector.Sel.Name))
			}
		}
		return true
	})
	return found
}

// allowed finds the row of arrows for a package.
func allowed(importer string) (may, tests string, known bool) {
	longest := -1
	for _, row := range arrows {
		for _, pattern := range expand(row.importer) {
			folder, below := strings.CutSuffix(pattern, "/...")
			length := 2 * len(folder)
			if !below {
				length++ // "x" counts before "x/..."
			}
			if length > longest && matches(pattern, importer) {
				longest, may, tests, known = length, row.may, row.tests, true
			}
		}
	}
	return may, tests, known
}

// matches reports whether one of the patterns, separated by spaces, names the package.
func matches(patterns, name string) bool {
	for _, pattern := range expand(patterns) {
		folder, below := strings.CutSuffix(pattern, "/...")
		if name == folder || below && strings.HasPrefix(name, folder+"/") {
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
