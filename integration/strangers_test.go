package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayFail are the functions with a loop that returns an error for one item, in packages that go
// over what strangers write, and why they may.
var mayFail = map[string]string{
	"accountant/groups.go CheckGroups":      "groups of the file of a simulated pool",
	"accountant/groups.go newTree":          "groups of the configuration",
	"accountant/store.go write":             "an error of the file, not of an account",
	"client/collector.go noting":            "what the caller's function returns",
	"client/collector.go query":             "an error of the connection, or what the caller's function returns",
	"client/collector.go tellOne":           "an error of the connection",
	"client/negotiate.go Requests":          "an error of the connection",
	"client/schedd.go jobs":                 "an error of the connection, or what the caller's function returns",
	"client/submitted.go Submitted":         "the first ad is all that is wanted",
	"client/users.go users":                 "an error of the connection, or what the caller's function returns",
	"daemon/cycles.go run":                  "cycles",
	"daemon/daemon.go schedule":             "attempts",
	"daemon/drains.go SaveDrains":           "an error of the file, not of a drain",
	"daemon/explain.go explain":             "the client waits no longer",
	"daemon/learned.go Learn":               "an error of the file: any run fits",
	"daemon/learned.go LearnWords":          "an error of the file, not of a user",
	"daemon/learned.go forgetRuns":          "an error of the file",
	"daemon/master.go Inherit":              "what condor_master hands down",
	"daemon/master.go parseInheritance":     "what condor_master hands down",
	"daemon/rival.go alone":                 "attempts",
	"daemon/rival.go without":               "a negotiator that answers, for which this one is to step back",
	"daemon/secrets_linux.go privateCopies": "the administrator's files",
	"daemon/setup.go Client":                "the configuration",
	"daemon/collectors.go Collectors":       "the configuration",
	"daemon/setup.go Listen":                "attempts",
	"daemon/state.go OpenState":             "attempts",
	"daemon/state.go openFile":              "an error of the file",
	"daemon/ledger.go readLedger":           "the record on which all others rest",
	"daemon/ledger.go write":                "an error of the file, not of a record",
	"dispatch/negotiate.go each":            "nobody is there",
	"dispatch/negotiate.go match":           "an error of the connection",
	"dispatch/negotiate.go reject":          "an error of the connection",
	"look.go lookPatiently":                 "attempts",
	"observe/amounts.go settle":             "of one slot: what it has",
	"observe/observe.go Look":               "an error of the collector",
	"observe/queue.go readQueue":            "all of a queue, which has no end",
	"observe/rooms.go readRecords":          "all of an answer, which has no end",
	"pool.go wait":                          "the end",
	"server/answer.go answer":               "the client, who has hung up",
	"server/answer.go selects":              "the client's question, which is too expensive",
	"server/configval.go special":           "the client's question",
	"server/places.go Accept":               "the listener",
	"server/places.go seat":                 "the end",
	"server/port.go Serve":                  "the listeners",
}

// TestNoLoopFailsForOneItem says that in the packages which go over what strangers write (jobs,
// slots, names) no loop returns an error for one item, which would cost all others; and that this
// is so of functions which are called for each ad.
func TestNoLoopFailsForOneItem(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"accountant", "client", "claims", "daemon", "dispatch", "observe", "server", "track", "."} {
		for _, file := range goFiles(t, filepath.Join("../negotiator/htcondor", dir)) {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, 0)
			require.NoError(t, err)
			for _, f := range parsed.Decls {
				if f, isFunc := f.(*ast.FuncDecl); isFunc && f.Body != nil && failsInALoop(f.Type, f.Body, false) {
					found[strings.TrimPrefix(file, "../negotiator/htcondor/")+" "+f.Name.Name] = true
				}
			}
		}
	}
	for name := range found {
		require.NotEmpty(t, mayFail[name], "%s: if one item is bad, leave it out, tell that, and go on with the "+
			"others; if the items are no strangers', say so in mayFail", name)
	}
	for name := range mayFail {
		require.True(t, found[name], "%s does not fail in a loop: take it out of mayFail", name)
	}
}

func goFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range all {
		if !f.IsDir() && strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			files = append(files, filepath.Join(dir, f.Name()))
		}
	}
	return files
}

// failsInALoop tells whether a function, or one in it, returns an error from within a loop or, if
// it is one that is called for each ad, at all.
func failsInALoop(f *ast.FuncType, body *ast.BlockStmt, eachAd bool) (fails bool) {
	errs := returnsError(f)
	var visit func(n ast.Node, inLoop bool)
	visit = func(n ast.Node, inLoop bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				fails = fails || failsInALoop(n.Type, n.Body, takesAd(n.Type))
				return false
			case *ast.RangeStmt:
				visit(n.Body, true)
				return false
			case *ast.ForStmt:
				visit(n.Body, true)
				return false
			case *ast.ReturnStmt:
				fails = fails || inLoop && errs && !endsInNil(n)
			}
			return true
		})
	}
	visit(body, eachAd)
	return fails
}

// takesAd tells whether a function's only parameter is the lines of an ad.
func takesAd(f *ast.FuncType) bool {
	if len(f.Params.List) != 1 {
		return false
	}
	selector, ok := f.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Lines"
}

func returnsError(f *ast.FuncType) bool {
	if f.Results == nil {
		return false
	}
	last, ok := f.Results.List[len(f.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

func endsInNil(r *ast.ReturnStmt) bool {
	if len(r.Results) == 0 {
		return false
	}
	last, ok := r.Results[len(r.Results)-1].(*ast.Ident)
	return ok && last.Name == "nil"
}
