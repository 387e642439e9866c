package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostMethods is how many exported methods a type may have: nobody keeps more in mind.
const mostMethods = 25

// wideTypes may have more, each for the reason beside it.
var wideTypes = map[string]string{ //nolint:gochecknoglobals // a table
	"negotiator/htcondor/cedar.Stream":          "one method to read and one to write for each type on the wire",
	"negotiator/htcondor/accountant.Accountant": "ten methods are one command of condor_userprio each",
}

// exportedMethods returns, for each type outside tests and generated code, the names of its exported
// methods, each with the file that declares it.
func exportedMethods(t *testing.T, root string) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || !method.Name.IsExported() {
				continue
			}
			owner := filepath.ToSlash(folder) + "." + receiver(method.Recv.List[0].Type)
			if found[owner] == nil {
				found[owner] = map[string]string{}
			}
			found[owner][method.Name.Name] = filepath.Base(path)
		}
		return nil
	}))
	return found
}

// receiver returns the name of a receiver's type.
func receiver(expr ast.Expr) string {
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// TestTypesAreSmall requires that no type has more exported methods than one can keep in mind, and
// that none of the exceptions is one no more.
func TestTypesAreSmall(t *testing.T) {
	methods := exportedMethods(t, "..")
	require.Contains(t, methods, "backfill.Cycle")
	for owner, names := range methods {
		if wideTypes[owner] == "" {
			require.LessOrEqual(t, len(names), mostMethods, "%s: %v", owner, slices.Sorted(maps.Keys(names)))
		} else {
			require.Greater(t, len(names), mostMethods, "%s is small now: it needs no exception", owner)
		}
	}
}

// TestAuthorsMeetOneType requires that all that most policies need stands in one file, that the rest
// is reached from there, and that policies written for authors to read do without what is only fast.
func TestAuthorsMeetOneType(t *testing.T) {
	asked := exportedMethods(t, "..")["backfill.Cycle"]
	require.NotEmpty(t, asked)
	for name, file := range asked {
		require.Equal(t, "cycle.go", file, "Cycle.%s: what few policies need belongs to Fast or View", name)
	}
	recipes, err := filepath.Glob("../plugins/examples/cookbook/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, recipes)
	for _, path := range recipes {
		text, readErr := os.ReadFile(path)
		require.NoError(t, readErr)
		require.NotContains(t, string(text), ".Fast()", path)
	}
	guide, err := os.ReadFile("../plugins/README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n.*?```").FindAllString(string(guide), -1)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		require.NotContains(t, program, ".Fast()")
	}
}
