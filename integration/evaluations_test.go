package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayEvaluate are the functions that evaluate expressions, in packages that go over what strangers
// write, and who pays for it.
var mayEvaluate = map[string]string{
	"accountant/groups.go sortKey":     "the configuration's expression over an ad of ours",
	"accountant/settings.go evaluate":  "the configuration",
	"claims/clock.go admits":           "FewSteps for a slot's START; the result counts as true beyond that",
	"claims/clock.go limitsOn":         "FewSteps for each try to hand a job over whose limits depend on the slot",
	"claims/takeover.go retires":       "FewSteps for each slot of a job that several make way for",
	"track/claim.go vacate":            "FewSteps for each claimed slot, where jobs may make way",
	"observe/claimed.go preemptBy":     "the configuration",
	"track/slotlimits.go limitsOn":     "FewSteps for each start of such a job; mostSteps to tell users why they wait",
	"track/limits.go Charge":           "the client, whose question takes FewSteps",
	"claims/gangs.go rival":            "rivalSteps for all gangs",
	"dispatch/negotiate.go match":      "nobody: it hands a match over",
	"observe/amounts.go Amounts":       "slotSteps for an ad",
	"observe/alone.go evaluate":        "the job's user",
	"observe/amounts.go by":            "maxConsumptionSteps for a policy, which is dropped beyond that",
	"observe/amounts.go settle":        "slotSteps for an ad",
	"observe/devices.go ofOneKind":     "an ad in an ad, whose attributes are not evaluated",
	"observe/ranks.go put":             "slotSteps for an ad, by the configuration's expressions",
	"daemon/tuning.go valueOf":         "the configuration's expression over an ad of ours",
	"observe/price.go value":           "the job's user",
	"observe/references.go externals":  "the job's user, the slot's host",
	"observe/curb.go readCurb":         "usualReferSteps and curbSteps for an ad",
	"observe/schedds.go ofSubmitters":  "the configuration",
	"observe/schedds.go readSubmitter": "the configuration's expression over the constants of an ad",
	"observe/slots.go endsSoon":        "slotSteps for each of two attributes",
	"observe/spec.go affordable":       "the job's user",
	"observe/wanted.go referTo":        "the configuration",
	"observe/weights.go weigh":         "slotSteps for each of two attributes, and for the configuration's expression",
	"observe/weights.go WeightOf":      "slotSteps for a slot; weighSteps of track for waiting jobs",
	"track/sizes.go weighedBy":         "nobody: it follows names once for each new ad of a slot",
	"security/revoked.go stillGood":    "the configuration's expression, revocationSteps",
	"server/answer.go selects":         "the client, whose question ends when it is too expensive",
	"server/query.go Wants":            "tests, whose daemons answer queries by it",
}

// TestStrangersAdsAreReadAsConstants says that packages which go over what strangers write read
// attributes by Literal, which evaluates nothing, and that each evaluation has somebody who pays.
func TestStrangersAdsAreReadAsConstants(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"accountant", "client", "claims", "daemon", "dispatch", "observe", "security", "server", "track", "."} {
		for _, file := range goFiles(t, filepath.Join("../negotiator/htcondor", dir)) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, f := range parsed.Decls {
				if f, isFunc := f.(*ast.FuncDecl); isFunc && evaluates(f) {
					found[strings.TrimPrefix(file, "../negotiator/htcondor/")+" "+f.Name.Name] = true
				}
			}
		}
	}
	for name := range found {
		if mayEvaluate[name] == "" {
			t.Errorf("%s evaluates: read the attribute by Literal, if daemons write it as a constant; else bound the steps, "+
				"charge them to somebody, and say so in mayEvaluate", name)
		}
	}
	for name := range mayEvaluate {
		if !found[name] {
			t.Errorf("%s evaluates nothing: take it out of mayEvaluate", name)
		}
	}
}

// evaluates tells whether a function evaluates an expression or an attribute of an ad:
// ad.Int("State"), unlike v.Int() of a value and config.Int("KNOB").
func evaluates(f *ast.FuncDecl) (does bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		method, isMethod := call.Fun.(*ast.SelectorExpr)
		if !isMethod {
			return true
		}
		switch method.Sel.Name {
		case "Eval", "Attr", "EvaluateMetered", "EvaluateAlone", "Evaluate", "Match", "Accepts", "Rank", "LeftRank", "RightRank", "Items", "Refs":
			does = true
		case "Int", "Text", "Bool", "Real":
			does = does || len(call.Args) == 1 && !isConfig(method.X)
		}
		return true
	})
	return does
}

// isConfig tells whether an expression is the configuration by its name: s.Config or c.
func isConfig(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "c"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Config"
	}
	return false
}
